/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_each_key.c - every key of the config.json of every family in turn: without the key,
 * with values of every type, and without memory. */
#include "model/config/validate.h"
#include "test_config.h"
#include "test_hf.h"
#include "test_published_keys.h"
#include "test_published_keys_later.h"

/* A member of an object at any depth. */
struct member {
    const char *key;   /* after its opening quote */
    const char *value; /* its first character */
    const char *end;   /* comma or bracket after it */
};

/* The first member whose key begins at or after p. */
static bool next_member(const char *p, struct member *m)
{
    while (*p) {
        if (*p != '"') {
            p++;
            continue;
        }
        const char *key = ++p;
        for (; *p != '"'; p++)
            p += *p == '\\';
        p++;
        if (*p != ':')
            continue;
        m->key = key;
        m->value = p + 1 + strspn(p + 1, " ");
        m->end = end_of_member((char *)(uintptr_t)m->value);
        return true;
    }
    return false;
}

/* The text with `value` in place of the member's, or without the member for NULL. */
static void put_value(char *out, const char *json, const struct member *m, const char *value)
{
    if (value) {
        sprintf(out, "%.*s%s%s", (int)(m->value - json), json, value, m->end);
        return;
    }
    const char *begin = m->key - 1, *end = m->end + (*m->end == ',');
    if (*m->end != ',') { /* the last one: with the comma before it, if there is one */
        while (begin[-1] == ' ' || begin[-1] == '\n')
            begin--;
        begin -= begin[-1] == ',';
    }
    sprintf(out, "%.*s%s", (int)(begin - json), json, end);
}

struct tally {
    unsigned refused, named;
};

/* A configuration that is accepted is valid; another one has a message, which mostly names
 * the key: sizes are refused under their plain names. */
static void check(const char *json, const char *generation, const struct member *m, struct tally *n)
{
    struct qr_model_config cfg;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct fail_alloc f;
    char key[64];
    fail_alloc_init(&f, 0, false);
    snprintf(key, sizeof key, "%.*s", (int)strcspn(m->key, "\""), m->key);
    const quire_status s =
        qr_model_config_from_hf(json, strlen(json), generation, generation ? strlen(generation) : 0,
                                NULL, &f.hooks, &cfg, &err);
    if (s == QUIRE_OK) {
        assert_status(QUIRE_OK, qr_model_config_validate(&cfg, &err));
    } else if ((s != QUIRE_E_FORMAT && s != QUIRE_E_UNSUPPORTED) || !err.msg[0]) {
        fail_msg("%s\n  %s: got %s \"%s\"", json, key, quire_status_name(s), err.msg);
    }
    qr_model_config_free(&cfg);
    assert_int_equal(f.live_count, 0);
    n->refused += s != QUIRE_OK;
    n->named += s != QUIRE_OK && strstr(err.msg, key);
}

/* NULL: without the member. */
static const char *const values[] = { NULL,    "null", "{\"?\":1}", "[0,-1,\"?\"]",
                                      "\"?\"", "true", "0",         "-1",
                                      "1e300", "7000", "4294967295" };

/* tried: a text whose members need no further try, or NULL. */
static void every_value(const char *json, const char *generation, bool in_generation,
                        const char *tried, struct tally *n)
{
    const char *text = in_generation ? generation : json;
    char *changed = malloc(strlen(text) + 64);
    struct member m;
    for (const char *p = text; next_member(p, &m); p = m.value) {
        snprintf(changed, strlen(text), "%.*s", (int)(m.end - m.key), m.key);
        if (tried && strstr(tried, changed))
            continue;
        if (*m.value == '[' && !strchr("[{]", m.value[1])) { /* a list whose first value is wrong */
            sprintf(changed, "%.*s[{}%s", (int)(m.value - text), text,
                    m.value + strcspn(m.value, ",]"));
            check(in_generation ? json : changed, in_generation ? changed : generation, &m, n);
        }
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            put_value(changed, text, &m, values[i]);
            check(in_generation ? json : changed, in_generation ? changed : generation, &m, n);
        }
    }
    free(changed);
}

static void every_allocation(const char *json)
{
    for (int forever = 0; forever < 2; forever++)
        for (size_t n = 1;; n++) {
            struct qr_model_config cfg;
            struct quire_error err = QUIRE_ERROR_INIT;
            struct fail_alloc f;
            fail_alloc_init(&f, n, forever);
            const quire_status s =
                qr_model_config_from_hf(json, strlen(json), NULL, 0, NULL, &f.hooks, &cfg, &err);
            qr_model_config_free(&cfg);
            assert_int_equal(f.live_count, 0);
            if (f.calls < n)
                break;
            assert_int_equal(s, QUIRE_E_NOMEM);
            assert_non_null(strstr(err.msg, "memory"));
        }
}

static void test_each_key(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct tally n = { 0, 0 };
    for (int i = 0; i < N_GOLDEN_DIRS; i++) {
        char *generation = slurp(golden_dirs[i], "generation_config.json"),
             *json = slurp(golden_dirs[i], "config.json"),
             *v4 = slurp(golden_dirs[i], "config_v4.json");
        if (json) {
            every_value(json, generation, false, NULL, &n);
            every_allocation(json);
        }
        if (json && generation)
            every_value(json, generation, true, NULL, &n);
        if (v4)
            every_value(v4, generation, false, json, &n);
        free(json);
        free(v4);
        free(generation);
    }
    printf("%u configurations refused, %u with the key in the message\n", n.refused, n.named);
    assert_true(n.named > 3 * (n.refused / 4));
}

#define HEAD                                                                                       \
    "\"vocab_size\":320,\"hidden_size\":64,\"intermediate_size\":160,\"num_attention_heads\":4,"   \
    "\"num_key_value_heads\":2"
#define WKV "\"vocab_size\":320,\"hidden_size\":128,\"num_hidden_layers\":3,\"head_dim\":64"

/* Options that no model of the reference data has. */
static const char *const texts[] = {
    MODEL("bert", ",\"architectures\":[1,\"BertForSequenceClassification\"],\"num_labels\":1,"
                  "\"sentence_transformers\":{\"activation_fn\":\"torch.nn.Sigmoid\"}"),
    MODEL("bert", ",\"architectures\":[\"Bert\",\"BertForSequenceClassification\"],"
                  "\"id2label\":{\"0\":\"a\"},"
                  "\"sbert_ce_default_activation_function\":\"torch.nn.Identity\""),
    MODEL("modernbert", ",\"architectures\":[\"ModernBertForSequenceClassification\"],"
                        "\"classifier_pooling\":\"mean\""),
    MODEL("smollm3", ",\"no_rope_layer_interval\":2"),
    MODEL("smollm3", ",\"no_rope_layers\":[1,1,1,0]"),
    MODEL("qwen3_moe", ",\"num_experts\":4,\"num_experts_per_tok\":2,"
                       "\"moe_intermediate_size\":8,\"mlp_only_layers\":[1]"),
    MODEL("gpt_neo", ",\"attention_types\":[[[\"global\",\"local\"],2]],\"window_size\":8"),
    MODEL("llama", ",\"rope_parameters\":{\"rope_theta\":10000,\"rope_type\":\"dynamic\","
                   "\"factor\":2,\"original_max_position_embeddings\":64},"
                   "\"_name_or_path\":\"a\\\"b\""),
    "{\"model_type\":\"rwkv6\"," WKV ",\"attention_hidden_size\":128,\"intermediate_size\":448,"
    "\"head_size_divisor\":8}",
    "{\"model_type\":\"rwkv7\"," WKV
    ",\"num_heads\":2,\"intermediate_size\":512,\"decay_low_rank_dim\""
    ":32,\"a_low_rank_dim\":32,\"v_low_rank_dim\":32,\"gate_low_rank_dim\":64}",
    MODEL("cohere2_moe", ",\"num_experts\":4,\"num_experts_per_tok\":2,\"num_shared_experts\":1,"
                         "\"shared_expert_combination_strategy\":\"sum\",\"layer_types\":[\"full_"
                         "attention\",\"full_attention\",\"full_attention\",\"sliding_attention\"],"
                         "\"sliding_window\":8,\"first_k_dense_replace\":4,\"prefix_dense_sliding_"
                         "window_pattern\":1,\"prefix_dense_intermediate_size\":96"),
    MODEL("cohere2_moe",
          ",\"num_experts\":4,\"num_experts_per_tok\":2,\"num_shared_experts\":1,"
          "\"shared_expert_combination_strategy\":\"average\",\"layer_types\":[\"full_"
          "attention\",\"full_attention\",\"full_attention\",\"sliding_attention\"],"
          "\"sliding_window\":8,\"first_k_dense_replace\":1,\"prefix_dense_sliding_"
          "window_pattern\":1,\"prefix_dense_intermediate_size\":96"),
    "{\"model_type\":\"openelm\",\"vocab_size\":320,\"model_dim\":64,\"head_dim\":16,"
    "\"num_transformer_layers\":3,\"max_context_length\":256,\"num_query_heads\":[2,4,4],"
    "\"num_kv_heads\":[1,2,4],\"ffn_multipliers\":[0.1,1.3,2.0],\"ffn_dim_divisor\":16}",
    MODEL("llama",
          ",\"quantization_config\":{\"quant_method\":\"auto-round\",\"bits\":4,"
          "\"group_size\":32,\"packing_format\":\"auto_round:auto_gptq\",\"extra_config\":{"
          "\"a\":{\"bits\":8,\"sym\":true,\"rotation\":false}}}"),
    MODEL("llama", ",\"quantization_config\":{\"quant_method\":\"compressed-tensors\","
                   "\"config_groups\":{\"group_0\":{\"weights\":{\"num_bits\":8}}}}"),
    "{\"model_type\":\"nemotron_h\",\"vocab_size\":320,\"hidden_size\":64,"
    "\"intermediate_size\":160,\"num_attention_heads\":4,\"num_key_value_heads\":4,"
    "\"head_dim\":16,\"mamba_num_heads\":4,\"mamba_head_dim\":16,\"n_groups\":2,"
    "\"ssm_state_size\":8,\"conv_kernel\":4,\"time_step_limit\":[0.0,Infinity],"
    "\"hybrid_override_pattern\":\"M*-M\"}",
};

/* Heads of multi-token prediction in files of their own, in the styles of their publishers and of
 * the Speculators library. */
static const char *const heads[] = {
    "{\"architectures\":[\"LlamaForCausalLMEagle3\"],\"model_type\":\"llama\",\"num_hidden_layers\""
    ":1,\"draft_vocab_size\":100,\"norm_before_residual\":true,\"target_hidden_size\":128," HEAD
    ",\"eagle_config\":{\"use_aux_hidden_state\":true,\"eagle_aux_hidden_state_layer_ids\":"
    "[1,2,3]}}",
    "{\"architectures\":[\"Qwen3Eagle3Model\"],\"model_type\":\"qwen3\",\"num_hidden_layers\":"
    "1," HEAD
    ",\"layer_types\":[\"full_attention\"],\"use_sliding_window\":false,\"sliding_window\":"
    "null,\"num_target_layers\":4,\"target_layer_ids\":[0,1,2],\"draft_num_hidden_layers\":1,"
    "\"target_model_name_or_path\":\"m\",\"ttt_length\":7,\"step_loss_decay\":0.8}",
    "{\"architectures\":[\"Gemma4Eagle3Model\"],\"model_type\":\"gemma4_text\",\"num_hidden_"
    "layers\":"
    "1," HEAD ",\"global_head_dim\":32,\"num_global_key_value_heads\":1,\"attention_k_eq_v\":true,"
    "\"hidden_activation\":\"gelu_pytorch_tanh\",\"layer_types\":[\"full_attention\"],"
    "\"final_logit_softcapping\":30,\"target_layer_ids\":[0,1],\"enable_moe_block\":false,"
    "\"target_text_model_type\":\"gemma4_text\"}",
    "{\"architectures\":[1],\"speculators_model_type\":\"eagle3\",\"transformer_layer_config\":{"
    "\"model_type\":\"llama\",\"num_hidden_layers\":1," HEAD "},\"draft_vocab_size\":320,"
    "\"eagle_aux_hidden_state_layer_ids\":[1,2,3],\"norm_before_fc\":true,\"norm_output\":true}",
    "{\"speculators_model_type\":\"eagle3\",\"transformer_layer_config\":{\"model_type\":\"llama\","
    "\"num_hidden_layers\":2," HEAD
    "},\"eagle_aux_hidden_state_layer_ids\":[1,2],\"fc_norm\":true}",
    "{\"architectures\":[1,\"Draft\",\"DFlashDraftModel\"],\"model_type\":\"qwen3\","
    "\"num_hidden_layers\":2," HEAD ",\"block_size\":8,\"dflash_config\":{\"causal\":false,"
    "\"mask_token_id\":7,\"target_layer_ids\":[0,1]}}",
    "{\"architectures\":[\"DFlashDraftModel\"],\"model_type\":\"qwen3\",\"num_hidden_layers\":"
    "2," HEAD ",\"dflash_config\":{\"block_size\":8,\"mask_token_id\":7,\"target_layer_ids\":[0]}}",
    "{\"speculators_model_type\":\"dflash\",\"transformer_layer_config\":{\"model_type\":\"qwen3\","
    "\"num_hidden_layers\":2," HEAD "},\"aux_hidden_state_layer_ids\":[0,3],\"block_size\":8,"
    "\"mask_token_id\":7,\"draft_vocab_size\":100,\"target_hidden_size\":128,"
    "\"sample_from_anchor\":false,\"sliding_window_non_causal\":true}",
    "{\"architectures\":[\"Qwen3DSparkModel\"],\"model_type\":\"qwen3\",\"num_hidden_layers\":"
    "2," HEAD
    ",\"block_size\":7,\"mask_token_id\":7,\"target_layer_ids\":[-1,1],\"markov_rank\":16,"
    "\"markov_head_type\":\"vanilla\",\"enable_confidence_head\":true,"
    "\"confidence_head_with_markov\":true,\"num_anchors\":512}",
    "{\"architectures\":[\"Draft\",\"DSparkDraftModel\"],\"model_type\":\"qwen3\","
    "\"num_hidden_layers\":2," HEAD ",\"block_size\":7,\"markov_rank\":16,\"dflash_config\":{"
    "\"mask_token_id\":7,\"target_layer_ids\":[0,1],\"markov_rank\":16,\"shift_label\":true,"
    "\"confidence_head_alpha\":1.0,\"projector_type\":\"dspark\",\"attention_mode\":\"gqa\"}}",
    "{\"architectures\":[\"DSparkDraftModel\"],\"model_type\":\"qwen3\",\"num_hidden_layers\":"
    "2," HEAD ",\"dspark_config\":{\"block_size\":7,\"mask_token_id\":7,\"target_layer_ids\":[0,1],"
    "\"markov_rank\":16,\"projector_type\":\"dflash\"}}",
    "{\"architectures\":[\"Gemma4DSparkModel\"],\"model_type\":\"gemma4_text\"," SIZES
    ",\"global_head_dim\":32,\"num_global_key_value_heads\":1,\"attention_k_eq_v\":true,"
    "\"hidden_activation\":\"gelu_pytorch_tanh\",\"layer_types\":[\"full_attention\","
    "\"full_attention\",\"full_attention\",\"full_attention\"],\"final_logit_softcapping\":30,"
    "\"block_size\":7,\"mask_token_id\":7,\"target_layer_ids\":[0,1],\"markov_rank\":16,"
    "\"markov_head_type\":\"vanilla\",\"enable_moe_block\":false,\"num_anchors\":512,"
    "\"target_model_type\":\"gemma4\",\"target_text_model_type\":\"gemma4_text\"}",
    "{\"architectures\":[\"DFlash2DraftModel\"],\"model_type\":\"qwen3\",\"num_hidden_layers\":"
    "2," HEAD ",\"is_causal\":false,\"dflash_config\":{\"block_size\":8,\"mask_token_id\":7,"
    "\"target_layer_ids\":[0,1],\"conv_kernel_size\":2,\"conv_group_size\":16,\"selector_rank\":16,"
    "\"selector_top_k\":8}}",
    "{\"speculators_model_type\":\"dflash2\",\"transformer_layer_config\":{\"model_type\":"
    "\"qwen3\","
    "\"num_hidden_layers\":2," HEAD "},\"aux_hidden_state_layer_ids\":[1,3],\"block_size\":8,"
    "\"mask_token_id\":7,\"conv_kernel_size\":2,\"conv_group_size\":16,\"selector_rank\":16,"
    "\"selector_top_k\":8,\"sample_from_anchor\":false}",
    "{\"speculators_model_type\":\"dspark\",\"transformer_layer_config\":{\"model_type\":\"qwen3\","
    "\"num_hidden_layers\":2," HEAD "},\"aux_hidden_state_layer_ids\":[1,3],\"block_size\":7,"
    "\"mask_token_id\":7,\"draft_vocab_size\":100,\"markov_rank\":16,\"sample_from_anchor\":true,"
    "\"enable_confidence_head\":false}",
    "{\"model_type\":\"gemma4_assistant\",\"backbone_hidden_size\":128,\"use_ordered_embeddings\":"
    "true,\"num_centroids\":10,\"centroid_intermediate_top_k\":2,\"text_config\":{\"model_type\":"
    "\"gemma4_text\"," SIZES ",\"num_kv_shared_layers\":4,\"hidden_size_per_layer_input\":0,"
    "\"layer_types\":[\"sliding_attention\",\"sliding_attention\",\"sliding_attention\","
    "\"full_attention\"],\"sliding_window\":8}}",
};

static void check_text(const char *text, struct tally *n)
{
    char *json = last_keys_win(text);
    struct qr_model_config c = good(json);
    qr_model_config_free(&c);
    every_value(json, NULL, false, NULL, n);
    every_allocation(json);
    free(json);
}

static void test_other_options(void **state)
{
    (void)state;
    struct tally n = { 0, 0 };
    char json[8192];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_text(texts[i], &n);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        check_text(heads[i], &n);
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        snprintf(json, sizeof json, "{\"model_type\":\"%s\"," SIZES "%s}", published[i].type,
                 published[i].keys);
        check_text(json, &n);
    }
    for (size_t i = 0; i < sizeof published_later / sizeof *published_later; i++) {
        snprintf(json, sizeof json, "{\"model_type\":\"%s\"," SIZES "%s}", published_later[i].type,
                 published_later[i].keys);
        check_text(json, &n);
    }
    printf("%u configurations refused, %u with the key in the message\n", n.refused, n.named);
    assert_true(n.named > 3 * (n.refused / 4));
}

#define EAGLE(layers, list)                                                                        \
    "{\"speculators_model_type\":\"eagle3\",\"transformer_layer_config\":{\"model_type\":"         \
    "\"llama\","                                                                                   \
    "\"num_hidden_layers\":" layers "," HEAD "},\"eagle_aux_hidden_state_layer_ids\":" list "}"
#define DFLASH(more)                                                                               \
    "{\"speculators_model_type\":\"dflash\",\"transformer_layer_config\":{\"model_type\":"         \
    "\"qwen3\","                                                                                   \
    "\"num_hidden_layers\":2," HEAD "},\"mask_token_id\":7" more "}"
#define SPARK(layers, more)                                                                        \
    "{\"architectures\":[\"Qwen3DSparkModel\"],\"model_type\":\"qwen3\",\"num_hidden_layers\":"    \
    "2," HEAD                                                                                      \
    ",\"block_size\":7,\"mask_token_id\":7,\"markov_rank\":16,\"target_layer_ids\":[" layers       \
    "]" more "}"
#define FIVE "1,2,3,4,5,"

static void test_heads(void **state)
{
    (void)state;
    struct qr_model_config c = good(EAGLE("1", "[]"));
    assert_true(c.mtp.n_features == 3 && c.mtp.feature_layers[0] == QR_MTP_DEFAULT_LAYER);
    qr_model_config_free(&c);
    c = good(DFLASH(",\"block_size\":8,\"aux_hidden_state_layer_ids\":[" FIVE FIVE FIVE "1023]"));
    assert_true(c.mtp.n_features == 16 && c.mtp.feature_layers[15] == 1023);
    assert_true(c.mtp.feature_layers[0] == 1 && !c.mtp.from_anchor);
    qr_model_config_free(&c);
    c = good(SPARK("-1,1022", ""));
    assert_true(c.mtp.feature_layers[0] == 0 && c.mtp.feature_layers[1] == 1023);
    assert_true(c.mtp.markov_rank == 16 && c.mtp.from_anchor && !c.mtp.confidence);
    qr_model_config_free(&c);
    c = good(SPARK("1", ",\"sample_from_anchor\":false,\"confidence_head_alpha\":0.5"));
    assert_true(!c.mtp.from_anchor && c.mtp.confidence && !c.mtp.confidence_markov);
    qr_model_config_free(&c);
    bad(SPARK("-2", ""), QUIRE_E_UNSUPPORTED, "target_layer_ids must list 1 to 16 numbers");
    bad(SPARK("1024", ""), QUIRE_E_UNSUPPORTED, "target_layer_ids must list 1 to 16 numbers");
    bad(SPARK("1", ",\"markov_head_type\":\"rnn\""), QUIRE_E_UNSUPPORTED,
        "markov_head_type rnn is not supported");
    bad(SPARK("1", ",\"projector_type\":\"domino\""), QUIRE_E_UNSUPPORTED,
        "projector_type domino is not supported");
    bad(SPARK("1", ",\"logit_scale\":0.5"), QUIRE_E_UNSUPPORTED, "logits with a factor of 0.5");
    c = good(EAGLE("2", "[1,2]"));
    assert_true(c.n_layers == 2 && c.mtp.n_features == 2 && !c.layers[1].skip_attn_norm);
    qr_model_config_free(&c);
    bad(EAGLE("1", "[1,1024]"), QUIRE_E_UNSUPPORTED, "layer_ids must list 1 to 16 numbers");
    bad(EAGLE("1", "[1],\"norm_before_fc\":true,\"fc_norm\":true"), QUIRE_E_FORMAT,
        "exclude each other");
    bad(DFLASH(",\"block_size\":8,\"aux_hidden_state_layer_ids\":[" FIVE FIVE FIVE "1,2]"),
        QUIRE_E_UNSUPPORTED, "layer_ids must list 1 to 16 numbers of layers");
    bad(DFLASH(",\"block_size\":8,\"aux_hidden_state_layer_ids\":[1024]"), QUIRE_E_UNSUPPORTED,
        "layer_ids must list 1 to 16 numbers of layers");
    bad(DFLASH(",\"aux_hidden_state_layer_ids\":[1]"), QUIRE_E_FORMAT, "block_size is missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_key),
                                        cmocka_unit_test(test_other_options),
                                        cmocka_unit_test(test_heads) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
