/* SPDX-License-Identifier: Apache-2.0 */
/* test_config.h - a model configuration as text, for comparisons with readable differences. */
#ifndef QUIRE_TEST_CONFIG_H
#define QUIRE_TEST_CONFIG_H
#include "model/config/config.h"
#include "quire_cmocka.h"

struct text {
    char s[16384];
    size_t n;
};

__attribute__((format(printf, 2, 3))) static inline void say(struct text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    t->n += (size_t)vsnprintf(t->s + t->n, sizeof t->s - t->n, fmt, ap);
    va_end(ap);
    assert_true(t->n < sizeof t->s);
}

static inline void say_rope(struct text *t, const struct qr_rope_config *r)
{
    say(t,
        "rope kind %d scaling %d dim %u original %u theta %.9g factor %.9g low %g high %g fast %g "
        "slow %g truncate %d clockwise %d scale %.9g\n",
        (int)r->kind, (int)r->scaling, r->dim, r->original_context, r->theta, r->factor,
        r->low_freq_factor, r->high_freq_factor, r->beta_fast, r->beta_slow, r->truncate,
        r->clockwise, (double)r->cos_sin_scale);
    for (uint32_t i = 0; r->factors_short && i < r->dim / 2; i++)
        say(t, "%.9g ", (double)r->factors_short[i]);
    for (uint32_t i = 0; r->factors_long && i < r->dim / 2; i++)
        say(t, "%.9g ", (double)r->factors_long[i]);
}

static inline void say_recurrent(struct text *t, const struct qr_model_config *c)
{
    const struct qr_recurrent_config *r = &c->recurrent;
    say(t,
        "recurrent %d heads %u/%u dims %u %u taps %u ranks %u %u %u %u %u norm %u output %d flags "
        "%d%d%d%d%d%d%d%d%d eps %.9g %.9g scales %g %g gate %d\n",
        (int)r->kind, r->n_heads, r->n_key_heads, r->key_dim, r->value_dim, r->conv_taps,
        r->dt_rank, r->gate_rank, r->rate_rank, r->value_rank, r->mix_rank, r->norm_dim,
        (int)r->output, r->norm_per_head, r->sigmoid_gate, r->conv_bias, r->log_decay,
        r->vector_decay, r->tiled_heads, r->dt_norms, r->norm_weights, r->conv_thirds,
        (double)r->dt_norm_eps, (double)r->norm_eps, (double)r->beta_scale, (double)r->out_scale,
        c->attention_gate);
    say(t, "gelu gate %d bias %d\n", r->gelu_gate, r->bias);
    for (int i = 0; i < 5; i++)
        say(t, "%g ", (double)r->part_scales[i]);
    for (int i = 0; i < 3; i++)
        say(t, "%g %g ", (double)c->norm_alpha[i], (double)c->norm_beta[i]);
    say(t, "out %g ffn %g %g temperature %g %g %d\n", (double)c->attention_out_scale,
        (double)c->ffn_gate_scale, (double)c->ffn_out_scale, (double)c->temperature_floor,
        (double)c->temperature_scale, c->temperature_everywhere);
}

/* All fields except the display name. */
static inline const char *describe(const struct qr_model_config *c, struct text *t)
{
    t->n = 0;
    say(t, "arch %s kind %d causal %d\n", c->arch, (int)c->kind, c->causal);
    say(t, "encoder layers %u buckets %u distance %u start %d\n", c->n_encoder_layers,
        c->relative_buckets, c->relative_distance, c->decoder_start_id);
    say(t, "layers %u hidden %u vocab %u context %u head %u %u max %u %u %u\n", c->n_layers,
        c->hidden_size, c->vocab_size, c->context_length, c->head_dim, c->v_head_dim, c->max_heads,
        c->max_kv_heads, c->max_ffn_size);
    say(t, "embedding %.9g learned %d %u norm %d types %u tied %d logits %.9g cap %.9g\n",
        (double)c->embedding_scale, c->learned_positions, c->position_offset, c->embedding_norm,
        c->n_token_types, c->tied_embeddings, (double)c->logit_scale, (double)c->final_softcap);
    say(t, "norm %d %.9g block %d residual %.9g act %d gated %d bias %d%d%d%d %d%d %d%d\n",
        (int)c->norm, (double)c->norm_eps, (int)c->block, (double)c->residual_scale,
        (int)c->activation, c->ffn_gated, c->bias.q, c->bias.k, c->bias.v, c->bias.o,
        c->bias.ffn_in, c->bias.ffn_down, c->bias.norm, c->bias.output);
    say(t,
        "qk norm after rope %d, sub norms %d, sparsemixer %.9g, cap %g, gate %d%d, flags %d%d%d\n",
        c->qk_norm_after_rope, c->sub_norms, (double)c->moe.sparsemixer_margin,
        (double)c->moe.logit_softcap, c->gate_softplus, c->gate_per_head, c->differential,
        c->key_bias, c->residual_weights);
    say(t, "v norm %d layer scale %d ple %u %u beside dense %d router norm %d expert scale %d\n",
        c->v_norm, c->layer_scale, c->ple.dim, c->ple.vocab_size, c->moe.beside_dense,
        c->moe.router_norm, c->moe.expert_scale);
    if (c->moe.beside_plain)
        say(t, "plain beside, input %d\n", (int)c->moe.beside_input);
    if (c->moe.adjugate_group)
        say(t, "adjugate %u %u %.9g\n", c->moe.adjugate_group, c->moe.adjugate_ffn_size,
            (double)c->moe.adjugate_scale);
    say(t, "altup %u %u %.9g %d laurel %u\n", c->altup.n_streams, c->altup.active,
        (double)c->altup.coef_clip, c->altup.correct_scale, c->laurel_rank);
    say(t, "sinkhorn %u %.9g limit %.9g outputs %u x %u\n", c->hyper.iterations,
        (double)c->hyper.eps, (double)c->act_limit, c->shared_kv.o_groups, c->shared_kv.o_rank);
    say(t, "hyper %d %u rank %u ngrams %u x %u of %u taps %u parts %u layers %u boundary %d\n",
        (int)c->hyper.kind, c->hyper.n_streams, c->hyper.rank, c->ngram.size, c->ngram.heads,
        c->ngram.dim, c->ngram.taps, c->ngram.n_parts, c->ngram.n_layers, c->ngram.boundary);
    for (uint32_t i = 0; i < c->ngram.n_layers * (c->ngram.size - 1) * c->ngram.heads; i++)
        say(t, " %u", c->ngram.sizes[i]);
    for (uint32_t i = 0; i < c->ngram.n_layers * c->ngram.size; i++)
        say(t, " %llu", (unsigned long long)c->ngram.multipliers[i]);
    say(t, "attention %.9g cap %.9g clip %g alibi %g %g qk %d\n", (double)c->attention_scale,
        (double)c->attention_softcap, (double)c->clip_qkv, (double)c->alibi_max_bias,
        (double)c->alibi_scale, (int)c->qk_norm);
    for (uint32_t i = 0; i < c->n_rope; i++)
        say_rope(t, &c->rope[i]);
    say(t,
        "moe %u of %u shared %u ffn %u %u groups %u %u gating %d flags %d%d%d%d%d%d%d scale %g mla "
        "%u %u %u %u\n",
        c->moe.top_k, c->moe.n_experts, c->moe.n_shared, c->moe.ffn_size, c->moe.shared_ffn_size,
        c->moe.n_groups, c->moe.topk_groups, (int)c->moe.gating, c->moe.renormalize,
        c->moe.correction, c->moe.group_top2, c->moe.shared_gate, c->moe.weight_on_input,
        c->moe.router_bias, c->moe.expert_bias, (double)c->moe.weights_scale, c->mla.q_lora_rank,
        c->mla.kv_lora_rank, c->mla.qk_nope_dim, c->mla.qk_rope_dim);
    say(t, "index %u x %u top %u blocks %u local %u flags %d%d%d%d%d%d%d%d%d\n", c->index.n_heads,
        c->index.head_dim, c->index.top_k, c->index.block_size, c->index.local_blocks,
        c->index.weighted, c->index.low_rank_q, c->index.q_norm, c->index.layer_norm,
        c->index.interleaved, c->index.compressed, c->index.unit_weights, c->index.pooled,
        c->index.rope_last);
    say(t, "latent scale %.9g identity experts %u\n", (double)c->mla.latent_scale,
        c->moe.n_identity);
    for (uint32_t i = 0; i < qr_model_total_layers(c); i++) {
        const struct qr_layer_config *l = &c->layers[i];
        say(t, "layer %u heads %u/%u of %u %u kv %u %d window %u ffn %u gates %d %.9g rope %u ", i,
            l->n_heads, l->n_kv_heads, l->head_dim, l->v_head_dim, l->kv_source, l->v_is_k,
            l->window, l->ffn_size, l->sparse_gate, (double)l->gate_cutoff, l->rope);
        say(t, "%d%d%d%d mixer %u %d%d%d block %u %u index %u %d ngram %u %llu rate %u %d\n",
            l->chunked, l->moe, l->encoder, l->skip_attn_norm, l->mixer, l->no_ffn, l->output_norm,
            l->sinks, l->block_owner, l->block_use, l->index, l->shortcut, l->ngram,
            (unsigned long long)l->ngram_rows, l->compress_rate, l->token_experts);
        if (l->ffn_limit != 0 || l->expert_limit != 0)
            say(t, "limits %.9g %.9g\n", (double)l->ffn_limit, (double)l->expert_limit);
    }
    say_recurrent(t, c);
    say(t, "shared blocks %u rank %u attention %d\n", c->shared_block.n_blocks,
        c->shared_block.rank, c->shared_block.attention_low_rank);
    say(t, "bos %d pad %d eos", c->bos_id, c->pad_id);
    for (uint32_t i = 0; i < c->n_eos; i++)
        say(t, " %d", c->eos_ids[i]);
    return t->s;
}

static inline void assert_same_config(const struct qr_model_config *a,
                                      const struct qr_model_config *b)
{
    static struct text ta, tb;
    assert_string_equal(describe(a, &ta), describe(b, &tb));
}

/* Directories of the supported families in the reference data. */
static const char *const golden_dirs[] = {
    "llama",
    "llama3_rope",
    "llama_linear_rope",
    "llama_h256",
    "mistral",
    "qwen2",
    "qwen2_yarn",
    "qwen3",
    "gemma",
    "gemma2_q32",
    "gemma3_text",
    "gemma3n_text",
    "gemma4_text",
    "gemma4_text_moe",
    "phi3",
    "granite",
    "gpt2",
    "gpt_neox",
    "bloom",
    "mpt",
    "falcon_new",
    "falcon_alibi",
    "cohere2",
    "olmo",
    "olmo2",
    "nemotron",
    "stablelm",
    "starcoder2",
    "phi",
    "ernie4_5",
    "glm4",
    "gpt_bigcode",
    "gpt_neo",
    "gptj",
    "opt",
    "mixtral",
    "qwen2_moe",
    "qwen3_moe",
    "olmoe",
    "gpt_oss",
    "llama4_text",
    "bert",
    "modernbert",
    "t5",
    "bart",
    "t5gemma",
    "deepseek_v2",
    "deepseek_v2_lite",
    "deepseek_v3",
    "lfm2",
    "lfm2_moe",
    "mamba",
    "mamba2",
    "falcon_mamba",
    "granitemoehybrid",
    "granitemoehybrid_dense",
    "bamba",
    "nemotron_h",
    "nemotron_h_moe",
    "qwen3_next",
    "qwen3_5_text",
    "qwen3_5_moe_text",
    "olmo_hybrid",
    "jamba",
    "falcon_h1",
    "kimi_linear",
    "minimax",
    "recurrent_gemma",
    "rwkv",
    "zamba2",
    "zaya",
    "eurobert",
    "arcee",
    "cwm",
    "jais2",
    "ministral3",
    "vaultgemma",
    "youtu",
    "afmoe",
    "dots1",
    "ernie4_5_moe",
    "exaone_moe",
    "glm4_moe_lite",
    "minimax_m2",
    "mistral4",
    "apertus",
    "bitnet",
    "granite_swa",
    "granitemoe_swa",
    "hunyuan_v1_moe",
    "minicpm3",
    "nanochat",
    "phimoe",
    "embedding_gemma",
    "nomic_bert",
    "qwen3_embedding",
    "deepseek_v32",
    "diffllama",
    "doge",
    "glm_moe_dsa",
    "laguna",
    "longcat_flash",
    "mimo_v2_flash",
    "minimax_m3_text",
    "qwen4_exp",
    "deepseek_v4",
};
enum { N_GOLDEN_DIRS = sizeof golden_dirs / sizeof *golden_dirs };

/* Reads a file of the reference data as a string, which the caller frees; NULL if it is missing. */
static inline char *slurp(const char *dir, const char *name)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/goldens/%s/%s", shared_dir(), dir, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, f) < (1 << 20) - 1);
    fclose(f);
    return text;
}

#endif
