/* SPDX-License-Identifier: Apache-2.0 */
/* test_mla.h - layers of latent attention with random weights. */
#ifndef QUIRE_TEST_MLA_H
#define QUIRE_TEST_MLA_H
#include "quire_cmocka.h"
#include <math.h>
#include <quire/attention_dense.h>
#include <quire/cpu.h>
#include <quire/mla.h>

static const struct quire_mla_dims DIMS[] = {
    { sizeof(struct quire_mla_dims), 4, 48, 32, 32, 16,
      24 }, /* heads, q rank, rank, nope, rope, v */
    { sizeof(struct quire_mla_dims), 2, 0, 512, 128, 64, 128 },
    { sizeof(struct quire_mla_dims), 5, 0, 72, 7, 8, 65 },
    { sizeof(struct quire_mla_dims), 3, 0, 8, 24, 0, 8 },
};
enum { N_DIMS = sizeof DIMS / sizeof *DIMS };

static uint64_t rng = 1;
static inline float uniform(void)
{
    rng = rng * 6364136223846793005ull + 1442695040888963407ull;
    return (float)((int32_t)(rng >> 40) - (1 << 23)) / (1 << 23);
}

static inline float *values(size_t n)
{
    float *x = malloc((n ? n : 1) * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = uniform();
    return x;
}

/* bf16 bits of a float that is exact in bf16. */
static inline uint16_t cut_bf16(float *x)
{
    uint32_t bits;
    memcpy(&bits, x, sizeof bits);
    bits &= 0xffff0000;
    memcpy(x, &bits, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* kv_b of a layer as floats and, if requested, as bf16 with the same values. */
struct layer {
    const struct quire_mla_dims *d;
    size_t n;
    float *kv_b;
    uint16_t *bf16;
    struct quire_mla_weights *weights;
};

static inline struct quire_mla_weights *pack(const struct quire_mla_dims *d, const void *kv_b,
                                             enum quire_kv_dtype dtype, const char *isa)
{
    const struct quire_mla_weights_params p = {
        .struct_size = sizeof p, .dims = d, .kv_b = kv_b, .dtype = dtype, .isa = isa
    };
    struct quire_mla_weights *w;
    struct quire_error err = QUIRE_ERROR_INIT;
    if (quire_mla_weights_create(&p, &w, &err) != QUIRE_OK)
        fail_msg("quire_mla_weights_create: %s", err.msg);
    return w;
}

static inline struct layer layer_new(const struct quire_mla_dims *d, bool bf16)
{
    struct layer l = { .d = d };
    l.n = (size_t)d->n_heads * (d->qk_nope_head_dim + d->v_head_dim) * d->kv_lora_rank;
    l.kv_b = values(l.n);
    l.bf16 = calloc(l.n, sizeof *l.bf16);
    for (size_t i = 0; bf16 && i < l.n; i++)
        l.bf16[i] = cut_bf16(&l.kv_b[i]);
    l.weights =
        pack(d, bf16 ? (const void *)l.bf16 : l.kv_b, bf16 ? QUIRE_KV_BF16 : QUIRE_KV_F32, NULL);
    return l;
}

static inline void layer_free(struct layer *l)
{
    quire_mla_weights_destroy(l->weights);
    free(l->kv_b), free(l->bf16);
}

/* Row r of a head in kv_b: W_UK's rows come first. */
static inline const float *row_of(const struct layer *l, size_t head, size_t r)
{
    const struct quire_mla_dims *d = l->d;
    return l->kv_b + (head * (d->qk_nope_head_dim + d->v_head_dim) + r) * d->kv_lora_rank;
}

static inline quire_status call(const struct quire_mla_weights *w, bool absorb,
                                const struct quire_mla_args *a, struct quire_threads *threads,
                                struct quire_error *err)
{
    return absorb ? quire_mla_absorb(w, a, threads, err) : quire_mla_v_up_proj(w, a, threads, err);
}

#endif
