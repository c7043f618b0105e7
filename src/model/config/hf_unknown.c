/* SPDX-License-Identifier: Apache-2.0 */
/* hf_unknown.c - finds keys of config.json that the configuration does not account for. */
#include "model/config/hf_unknown.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys without effect in every family. */
static const struct qr_ignored_key common[] = {
    /* what the checkpoint is and who wrote it */
    { "architectures", NULL },
    { "model_type", NULL },
    { "_name_or_path", NULL },
    { "name_or_path", NULL },
    { "transformers_version", NULL },
    { "auto_map", NULL },
    { "tokenizer_class", NULL },
    { "tokenizer_name", NULL },
    { "_commit_hash", NULL },
    { "unsloth_*", NULL },
    { "license", NULL },
    { "language", NULL },
    { "custom_pipelines", NULL },
    { "is_llama_config", NULL },
    { "transformers.js_config", NULL }, /* settings of other programs */
    { "sentence_transformers", NULL },
    /* the tensors have their own data type */
    { "torch_dtype", NULL },
    { "dtype", NULL },
    { "use_bfloat16", NULL },
    { "bf16", NULL },
    { "fp16", NULL },
    { "fp32", NULL },
    /* how the reference implementation computes the same function */
    { "use_cache", NULL },
    { "cache_implementation", NULL },
    { "_attn_implementation*", NULL },
    { "attn_implementation", NULL },
    { "_flash_attn_2_enabled", NULL },
    { "use_flash_attn", NULL },
    { "use_flash_attention", NULL },
    { "torchscript", NULL },
    { "pretraining_tp", NULL },
    { "chunk_size_feed_forward", NULL },
    { "gradient_checkpointing", NULL },
    { "attention_softmax_in_fp32", NULL },
    { "scale_attention_softmax_in_fp32", NULL },
    { "return_dict", NULL },
    { "return_dict_in_generate", NULL },
    { "use_return_dict", NULL },
    { "output_attentions", NULL },
    { "output_hidden_states", NULL },
    { "output_scores", NULL },
    { "output_past", NULL },
    { "output_router_logits", NULL },
    /* training: initialization, dropout, auxiliary losses */
    { "initializer_*", NULL },
    { "init_std", NULL },
    { "init_method_std", NULL },
    { "attention_dropout*", NULL },
    { "attention_probs_dropout_prob", NULL },
    { "hidden_dropout*", NULL },
    { "activation_dropout", NULL },
    { "embedding_dropout", NULL },
    { "residual_dropout", NULL },
    { "classifier_dropout", NULL },
    { "classif_dropout", NULL },
    { "dropout", NULL },
    { "embed_dropout", NULL },
    { "resid_dropout", NULL },
    { "dropout_rate", NULL },
    { "*_pdrop", NULL },
    { "*layerdrop", NULL },
    { "router_aux_loss_coef", NULL },
    { "router_z_loss_coef", NULL },
    { "router_jitter_noise", NULL },
    { "aux_loss_alpha", NULL },
    { "z_loss", NULL },
    { "seq_aux", NULL },
    { "tf_legacy_loss", NULL },
    { "max_sequence_length", NULL }, /* of the training data */
    { "model_max_length", NULL },
    { "initial_context_length", NULL },
    { "seq_length", NULL },
    { "n_ctx", NULL },
    /* heads for other tasks; of heads that are not read, the tensors have no role */
    { "id2label", NULL },
    { "label2id", NULL },
    { "num_labels", NULL },
    { "_num_labels", NULL },
    { "problem_type", NULL },
    { "finetuning_task", NULL },
    { "task_specific_params", NULL },
    { "summary_*", NULL },
    { "predict_special_tokens", NULL },
    /* token ids, and defaults of text generation, which old files have here */
    { "*_token_id", NULL },
    { "*_token_ids", NULL },
    { "*_token_index", NULL },
    { "is_encoder_decoder", NULL }, /* properties of the family; encoder families check them */
    { "is_decoder", NULL },
    { "prefix", NULL },
    { "max_length", NULL },
    { "min_length", NULL },
    { "max_new_tokens", NULL },
    { "do_sample", NULL },
    { "early_stopping", NULL },
    { "num_beams", NULL },
    { "num_beam_groups", NULL },
    { "diversity_penalty", NULL },
    { "temperature", NULL },
    { "top_k", NULL },
    { "top_p", NULL },
    { "typical_p", NULL },
    { "repetition_penalty", NULL },
    { "length_penalty", NULL },
    { "*no_repeat_ngram_size", NULL },
    { "num_return_sequences", NULL },
    { "remove_invalid_values", NULL },
    { "exponential_decay_length_penalty", NULL },
    { "bad_words_ids", NULL },
    { "*suppress_tokens", NULL },
    { "forced_decoder_ids", NULL },
    { 0 },
};

/* Keys of RoPE parameters. The reference implementation, too, reads only those of the scaling rule
 * in use. */
static const struct qr_ignored_key rope[] = {
    { "rope_type", NULL }, /* one of these two was read */
    { "type", NULL },
    { "factor", NULL },
    { "low_freq_factor", NULL },
    { "high_freq_factor", NULL },
    { "beta_fast", NULL },
    { "beta_slow", NULL },
    { "mscale", NULL },
    { "mscale_all_dim", NULL },
    { "attention_factor", NULL },
    { "short_factor", NULL },
    { "long_factor", NULL },
    { "truncate", NULL },
    { "original_max_position_embeddings", NULL },
    { "finetuned", NULL },     /* whether the model was trained with the scaling */
    { "mrope_section", NULL }, /* positions of images; those of text are plain */
    { "mrope_interleaved", NULL },
    { "xdrope_section", NULL },
    { 0 },
};

/* Keys of heads of the Speculators library beside the object of their sizes. */
static const struct qr_ignored_key speculators[] = {
    { "speculators_*", NULL },       { "tie_word_embeddings", NULL }, /* the tensors show it */
    { "embed_requires_grad", NULL },                                  /* training */
    { "max_anchors", NULL },         { "has_no_defaults_at_init", NULL }, { 0 },
};

/* Whether v is the only value without effect. */
static bool has_value(const struct qr_json *v, const char *only)
{
    double d;
    if (!only)
        return true;
    if (strcmp(only, "true") == 0)
        return qr_json_is_true(v);
    if (qr_json_is_f64(v, &d))
        return d == (double)strtoul(only, NULL, 10);
    return qr_json_is_string(v) && strcmp(qr_json_string(v), only) == 0;
}

/* Writes a value for a message. */
static void print_value(const struct qr_json *v, char out[64])
{
    double d;
    if (qr_json_is_string(v))
        snprintf(out, 64, "\"%.40s\"", qr_json_string(v));
    else if (qr_json_is_f64(v, &d))
        snprintf(out, 64, "%g", d);
    else
        snprintf(out, 64, "%s",
                 qr_json_is_object(v)  ? "{...}"
                 : qr_json_is_array(v) ? "[...]"
                 : qr_json_is_true(v)  ? "true"
                                       : "false");
}

static bool any_marked(const struct qr_hf_source *h, const struct qr_json *object)
{
    for (size_t i = 0; i < h->reads->n; i++)
        if (h->reads->list[i].object == object)
            return true;
    return false;
}

/* path: "" or the keys of the objects around, each with a dot behind it. */
static bool is_known(const struct qr_hf_source *h, const char *path, const char *key,
                     const struct qr_json *v)
{
    static const char *const sizes[] = { "text_config.",
                                         "transformer_layer_config." }; /* of heads */
    char name[128];
    if (h->encoder && (strncmp(path, "encoder.", 8) == 0 || strncmp(path, "decoder.", 8) == 0))
        path += 8; /* the objects of stacks have the keys of files */
    for (size_t i = 0; h->arch->head_of[0] && i < sizeof sizes / sizeof *sizes; i++)
        if (strncmp(path, sizes[i], strlen(sizes[i])) == 0)
            path += strlen(sizes[i]);
    snprintf(name, sizeof name, "%s%s", path, key);
    const struct qr_ignored_key *k = qr_ignored_find(h->arch->hf_ignored_keys, name);
    if (!k && path[0] == 0 && qr_json_get(h->outer, "speculators_model_type"))
        k = qr_ignored_find(speculators, name);
    if (!k)
        k = strncmp(path, "rope_", 5) == 0 ? qr_ignored_find(rope, key)
            : path[0] == 0                 ? qr_ignored_find(common, key)
                                           : NULL;
    return k ? has_value(v, k->value) : qr_hf_is_off(v);
}

static quire_status check_object(const struct qr_hf_source *h,
                                 const struct qr_unknown_policy *policy,
                                 const struct qr_json *object, const char *path)
{
    for (struct qr_json_iter i = qr_json_iterate(object); qr_json_next(&i);) {
        const struct qr_json *v = i.value;
        const char *key = i.key;
        if (qr_json_is_object(v) && any_marked(h, v)) {
            char below[128];
            snprintf(below, sizeof below, "%.60s%.60s.", path, key);
            QR_TRY(check_object(h, policy, v, below));
        } else if (!qr_hf_is_marked(h, object, key) && !is_known(h, path, key, v)) {
            char value[64];
            print_value(v, value);
            QR_TRY(qr_unknown_report(policy, h->err,
                                     "config.json: %.60s%.60s = %s is not supported in family %s",
                                     path, key, value, h->arch->name));
        }
    }
    return QUIRE_OK;
}

quire_status qr_hf_check_unknown(const struct qr_hf_source *h,
                                 const struct qr_unknown_policy *policy)
{
    const bool all = h->encoder || h->arch->head_of[0];
    return check_object(h, policy, all ? h->outer : h->root, "");
}
