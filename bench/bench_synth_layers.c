/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_synth_layers.h"
#include <stdarg.h>
#include <stdio.h>

struct walk {
    const struct synth_arch *a;
    void (*put)(void *user, const struct synth_tensor *);
    void *user;
    uint32_t layer;
};

/* ---- One tensor of the current layer ---- */

static void name_tensor(const struct walk *k, struct synth_tensor *t, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void name_tensor(const struct walk *k, struct synth_tensor *t, const char *format, ...)
{
    const int n = snprintf(t->name, sizeof t->name, "blk.%u.", k->layer);
    va_list args;
    va_start(args, format);
    vsnprintf(t->name + n, sizeof t->name - (size_t)n, format, args);
    va_end(args);
}

static void vector(const struct walk *k, const char *what, enum synth_content content, uint64_t n)
{
    struct synth_tensor t = { .content = content, .dims = { n }, .n_dims = 1 };
    name_tensor(k, &t, "%s", what);
    k->put(k->user, &t);
}

/* [rows][columns] of f32 */
static void table(const struct walk *k, const char *what, enum synth_content content, uint64_t rows,
                  uint64_t columns)
{
    struct synth_tensor t = { .content = content, .dims = { columns, rows }, .n_dims = 2 };
    name_tensor(k, &t, "%s", what);
    k->put(k->user, &t);
}

static void matrix(const struct walk *k, const char *what, enum synth_role role, uint64_t rows,
                   uint64_t columns)
{
    struct synth_tensor t = {
        .role = role, .layer = k->layer, .dims = { columns, rows }, .n_dims = 2
    };
    name_tensor(k, &t, "%s.weight", what);
    k->put(k->user, &t);
}

static void experts(const struct walk *k, const char *what, enum synth_role role, uint64_t rows,
                    uint64_t columns)
{
    struct synth_tensor t = { .role = role,
                              .layer = k->layer,
                              .of_experts = true,
                              .dims = { columns, rows, k->a->n_experts },
                              .n_dims = 3 };
    name_tensor(k, &t, "%s.weight", what);
    k->put(k->user, &t);
    if (!k->a->expert_bias)
        return;
    t = (struct synth_tensor){ .content = SYNTH_SMALL,
                               .dims = { rows, k->a->n_experts },
                               .n_dims = 2 };
    name_tensor(k, &t, "%s.bias", what);
    k->put(k->user, &t);
}

/* ---- Mixers ---- */

static void attention(const struct walk *k)
{
    const struct synth_arch *a = k->a;
    const uint64_t q = (uint64_t)a->heads * a->head_size, kv = (uint64_t)a->kv_heads * a->head_size;
    matrix(k, "attn_q", SYNTH_OTHER, a->attention_gate ? 2 * q : q, a->hidden);
    matrix(k, "attn_k", SYNTH_OTHER, kv, a->hidden);
    matrix(k, "attn_v", SYNTH_ATTN_V, kv, a->hidden);
    if (a->qkv_bias) {
        vector(k, "attn_q.bias", SYNTH_SMALL, q);
        vector(k, "attn_k.bias", SYNTH_SMALL, kv);
        vector(k, "attn_v.bias", SYNTH_SMALL, kv);
    }
    if (a->qk_norm) {
        vector(k, "attn_q_norm.weight", SYNTH_ONES, a->head_size);
        vector(k, "attn_k_norm.weight", SYNTH_ONES, a->head_size);
    }
    matrix(k, "attn_output", SYNTH_OTHER, a->hidden, q);
    if (a->sinks) {
        vector(k, "attn_output.bias", SYNTH_SMALL, a->hidden);
        vector(k, "attn_sinks.weight", SYNTH_SMALL, a->heads);
    }
}

static void short_conv(const struct walk *k)
{
    const uint64_t n = k->a->hidden;
    table(k, "shortconv.conv.weight", SYNTH_RANDOM, n, k->a->conv_size);
    matrix(k, "shortconv.in_proj", SYNTH_OTHER, 3 * n, n);
    matrix(k, "shortconv.out_proj", SYNTH_OTHER, n, n);
}

static void delta(const struct walk *k)
{
    const struct synth_arch *a = k->a;
    const uint64_t heads = a->state_heads, values = heads * a->state_head_size;
    const uint64_t channels = 2ull * a->state_groups * a->state_size + values;
    vector(k, "ssm_a", SYNTH_NEGATIVE, heads);
    table(k, "ssm_conv1d.weight", SYNTH_RANDOM, channels, a->conv_size);
    vector(k, "ssm_dt.bias", SYNTH_SMALL, heads);
    matrix(k, "ssm_alpha", SYNTH_OTHER, heads, a->hidden);
    matrix(k, "ssm_beta", SYNTH_OTHER, heads, a->hidden);
    matrix(k, "attn_qkv", SYNTH_OTHER, channels, a->hidden);
    matrix(k, "attn_gate", SYNTH_OTHER, values, a->hidden);
    vector(k, "ssm_norm.weight", SYNTH_ONES, a->state_head_size);
    matrix(k, "ssm_out", SYNTH_OTHER, a->hidden, values);
}

static void mamba2(const struct walk *k)
{
    const struct synth_arch *a = k->a;
    const uint64_t heads = a->state_heads, values = heads * a->state_head_size;
    const uint64_t channels = values + 2ull * a->state_groups * a->state_size;
    table(k, "ssm_a", SYNTH_NEGATIVE, heads, 1);
    table(k, "ssm_d", SYNTH_ONES, heads, 1);
    vector(k, "ssm_conv1d.bias", SYNTH_SMALL, channels);
    table(k, "ssm_conv1d.weight", SYNTH_RANDOM, channels, a->conv_size);
    vector(k, "ssm_dt.bias", SYNTH_SMALL, heads);
    matrix(k, "ssm_in", SYNTH_OTHER, values + channels + heads, a->hidden);
    table(k, "ssm_norm.weight", SYNTH_ONES, a->state_groups, values / a->state_groups);
    matrix(k, "ssm_out", SYNTH_OTHER, a->hidden, values);
}

/* ---- Layers ---- */

static void dense_ffn(const struct walk *k, const char *suffix, uint64_t ffn)
{
    char name[32];
    snprintf(name, sizeof name, "ffn_gate%s", suffix);
    matrix(k, name, SYNTH_OTHER, ffn, k->a->hidden);
    snprintf(name, sizeof name, "ffn_up%s", suffix);
    matrix(k, name, SYNTH_OTHER, ffn, k->a->hidden);
    snprintf(name, sizeof name, "ffn_down%s", suffix);
    matrix(k, name, SYNTH_FFN_DOWN, k->a->hidden, ffn);
}

static void moe_ffn(const struct walk *k)
{
    const struct synth_arch *a = k->a;
    table(k, "ffn_gate_inp.weight", SYNTH_RANDOM, a->n_experts, a->hidden);
    if (a->expert_bias)
        vector(k, "ffn_gate_inp.bias", SYNTH_SMALL, a->n_experts);
    experts(k, "ffn_gate_exps", SYNTH_OTHER, a->expert_ffn, a->hidden);
    experts(k, "ffn_up_exps", SYNTH_OTHER, a->expert_ffn, a->hidden);
    experts(k, "ffn_down_exps", SYNTH_FFN_DOWN, a->hidden, a->expert_ffn);
    if (a->shared_ffn)
        dense_ffn(k, "_shexp", a->shared_ffn);
    if (a->shared_gate)
        vector(k, "ffn_gate_inp_shexp.weight", SYNTH_SMALL, a->hidden);
}

static void layer(const struct walk *k)
{
    const struct synth_arch *a = k->a;
    const enum synth_mixer mixer = synth_arch_mixer(a, k->layer);
    vector(k, "attn_norm.weight", SYNTH_ONES, a->hidden);
    if (mixer == SYNTH_SHORT_CONV)
        short_conv(k);
    else if (mixer == SYNTH_DELTA)
        delta(k);
    else if (mixer == SYNTH_MAMBA2)
        mamba2(k);
    else
        attention(k);
    if (a->post_norms || a->ffn_norm_after)
        vector(k, "post_attention_norm.weight", SYNTH_ONES, a->hidden);
    if (!a->ffn_norm_after)
        vector(k, "ffn_norm.weight", SYNTH_ONES, a->hidden);
    if (a->n_experts)
        moe_ffn(k);
    else
        dense_ffn(k, "", a->ffn);
    if (a->post_norms)
        vector(k, "post_ffw_norm.weight", SYNTH_ONES, a->hidden);
}

void synth_tensors(const struct synth_arch *a, void (*put)(void *user, const struct synth_tensor *),
                   void *user)
{
    struct walk k = { .a = a, .put = put, .user = user };
    const struct synth_tensor embedding = { .name = "token_embd.weight",
                                            .role = SYNTH_EMBEDDING,
                                            .dims = { a->hidden, a->vocab },
                                            .n_dims = 2 };
    const struct synth_tensor factors = { .name = "rope_freqs.weight",
                                          .content = SYNTH_ROPE_FACTORS,
                                          .dims = { a->head_size / 2 },
                                          .n_dims = 1 };
    struct synth_tensor norm = {
        .name = "output_norm.weight", .content = SYNTH_ONES, .dims = { a->hidden }, .n_dims = 1
    };
    const struct synth_tensor head = {
        .name = "output.weight", .role = SYNTH_HEAD, .dims = { a->hidden, a->vocab }, .n_dims = 2
    };
    put(user, &embedding);
    if (a->rope_factor > 0)
        put(user, &factors);
    for (; k.layer < a->layers; k.layer++)
        layer(&k);
    if (a->embedding_norm)
        snprintf(norm.name, sizeof norm.name, "token_embd_norm.weight");
    put(user, &norm);
    if (!a->tied)
        put(user, &head);
}
