/* SPDX-License-Identifier: Apache-2.0 */
/* adapter_apply.h - the products of adapters beside those of the weights: u = s A x before a
 * matmul, y += B u in each block of its result. Rows without an adapter are not touched. Low-rank
 * updates that are part of the model (load/low_rank.h) apply to all rows, before adapters. */
#ifndef QR_MODEL_FORWARD_ADAPTER_APPLY_H
#define QR_MODEL_FORWARD_ADAPTER_APPLY_H
#include "base/work_steal.h"
#include "linear/linear.h"
#include "model/forward/types.h"

/* A matmul of a step. */
struct qr_adapter_site {
    enum qr_weight_role role; /* QR_W_TOKEN_EMBD: none, an encoder's or latent product */
    uint32_t layer;
    uint32_t slot; /* of u; matmuls that run at a time have different ones (QR_ADAPTER_SLOTS) */
};

/* Of a matmul that no adapter updates. */
#define QR_NO_ADAPTER_SITE                                                                         \
    {                                                                                              \
        QR_W_TOKEN_EMBD, 0, 0                                                                      \
    }

/* Whether the model or an adapter of the step updates the matrix. */
bool qr_adapter_updates(const struct qr_step *s, const struct qr_adapter_site *site);

/* u of sites with the same input, which the threads may still be computing. */
struct qr_adapter_down {
    struct qr_work_steal stage;
    bool is_empty; /* nothing updates the sites */
};

/* Computes u of all sites, which have the input x [rows][x_stride]; rows are those of the step, or
 * of role QR_W_OUTPUT of the logits. x is complete. All threads call it, with a barrier before the
 * next call. */
struct qr_adapter_down qr_adapter_down(const struct qr_step *s, const struct qr_adapter_site *sites,
                                       size_t n, const float *x, size_t x_stride,
                                       const struct quire_team *team);

/* Prefetches the part of B that qr_adapter_up() reads for block b. */
void qr_adapter_prefetch(const struct qr_step *s, const struct qr_adapter_site *site,
                         const struct qr_linear_block *b);

/* Adds B u to block b of a product, on the calling thread, when u is complete. out: the block's
 * first row and output; b->j0 is a multiple of 16. */
void qr_adapter_up(const struct qr_step *s, const struct qr_adapter_down *down,
                   const struct qr_adapter_site *site, const struct qr_linear_block *b, float *out,
                   size_t out_stride);

/* x += scale * B A of a token, for row r of the step. */
void qr_adapter_embed(const struct qr_step *s, size_t r, size_t token, float *x);

/* ---- Experts. Rows are the places of a mixture of experts (struct qr_moe_buffers). */

/* Whether an adapter of the step updates any expert. */
bool qr_adapter_updates_experts(const struct qr_step *s, const struct qr_adapter_site *site);

/* Copies the scales of the tokens to places [begin, end). */
void qr_adapter_place_scales(const struct qr_step *s, size_t begin, size_t end);

void qr_adapter_experts_down(const struct qr_step *s, const struct qr_adapter_site *sites, size_t n,
                             const float *x, size_t x_stride, const struct quire_team *team);

/* b: outputs of an expert, and its places. */
void qr_adapter_expert_up(const struct qr_step *s, const struct qr_adapter_site *site,
                          uint32_t expert, const struct qr_linear_block *b, float *out,
                          size_t out_stride);

#endif
