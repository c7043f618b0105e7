/* SPDX-License-Identifier: Apache-2.0 */
/* rope_config.h - rotary position embeddings of a model, as data. */
#ifndef QR_MODEL_ARCH_ROPE_CONFIG_H
#define QR_MODEL_ARCH_ROPE_CONFIG_H
#include <stdbool.h>
#include <stdint.h>

enum qr_rope_kind {
    QR_ROPE_NONE,
    QR_ROPE_NEOX,        /* rotates pairs (i, i + dim/2): Hugging Face files, most GGUF files */
    QR_ROPE_INTERLEAVED, /* rotates pairs (2i, 2i + 1): GPT-J, Cohere, GGUF of arch llama */
};

enum qr_rope_scaling {
    QR_ROPE_SCALING_NONE,
    QR_ROPE_SCALING_LINEAR,   /* inv_freq / factor */
    QR_ROPE_SCALING_LLAMA3,   /* low frequencies / factor, blended between the *_freq_factor */
    QR_ROPE_SCALING_YARN,     /* NTK-by-parts */
    QR_ROPE_SCALING_LONGROPE, /* factor per frequency; two sets, by original_context */
    QR_ROPE_SCALING_DYNAMIC,  /* dynamic NTK: theta grows with lengths over original_context */
    QR_ROPE_SCALING_NTK,      /* theta * factor; inv_freq / factor^(2 / dim): the lowest / factor */
    QR_ROPE_SCALING_FREQ_FACTORS, /* inv_freq / factors_short[i] (GGUF rope_freqs.weight) */
};

/* One set of rotary parameters. The rotation applies to the first `dim` elements of a head. */
struct qr_rope_config {
    enum qr_rope_kind kind;
    enum qr_rope_scaling scaling;
    uint32_t dim;              /* even; < head_dim: partial rotary */
    uint32_t original_context; /* LLAMA3, YARN, LONGROPE, DYNAMIC; else 0 */
    double theta;
    double factor;                            /* 1 if unused */
    double low_freq_factor, high_freq_factor; /* LLAMA3 */
    double beta_fast, beta_slow;              /* YARN */
    bool truncate;       /* YARN: round the correction range to whole dimensions */
    bool clockwise;      /* rotates by the negative angles */
    float cos_sin_scale; /* multiplies cos and sin; 1 unless the scaling rule sets it */
    /* [dim / 2] each, owned by the config: LONGROPE both, FREQ_FACTORS the short ones, else NULL */
    const float *factors_short, *factors_long;
};

#endif
