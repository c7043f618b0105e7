/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - an open model as the forward pass sees it: configuration, packed matrices, vectors, KV groups. */
#ifndef QR_MODEL_MODEL_H
#define QR_MODEL_MODEL_H
#include "kernels/kernels.h"
#include "linear/linear.h"
#include "model/config/config.h"
#include "model/load/pack_cache.h"
#include "model/load/weights.h"
#include <quire/model.h>

/* Matrices are packed, vectors are f32; which of the two a role is follows from qr_role_is_matrix. Absent: NULL. */
struct qr_model_layer {
    struct qr_packed *mat[QR_W_N_ROLES];
    float *vec[QR_W_N_ROLES];
    struct qr_packed **experts
        [QR_W_N_ROLES]; /* [stack size] of a stack of matrices; vectors lie in vec, one by one */
    struct quire_attention_config attention;
    /* to the encoder's output, in decoder layers of an encoder-decoder */
    struct quire_attention_config cross;
    uint32_t kv_group, kv_layer; /* group of the cache, and the layer's index in it */
    uint32_t plan_group;         /* layers that can share a plan's division of work */
};

/* Groups of a cache and of a plan. */
struct qr_groups {
    struct quire_kv_group_config *kv;
    struct quire_plan_group *plan; /* configurations point into layers */
    uint32_t n_kv, n_plan, capacity;
};

/* The layers that a pass runs through, and the roles of what stands before and behind them. */
struct qr_stack {
    uint32_t first, end;
    enum qr_weight_role positions, embd_norm, embd_norm_bias, output_norm, output_norm_bias;
};

struct quire_model {
    const struct quire_allocator *allocator;
    const struct quire_logger *logger;
    const struct qr_kernels *kernels;
    enum quire_compute compute;
    /* holds the matrices qr_provider_takes says; NULL: our kernels multiply all */
    struct qr_onednn *onednn;
    struct qr_weights *weights; /* closed once the weights are in memory; the configuration stays */
    const struct qr_model_config *config;
    struct qr_model_layer global;  /* roles below QR_W_FIRST_LAYER_ROLE */
    struct qr_model_layer *layers; /* [qr_model_all_layers(config)] */
    struct qr_arena vectors;       /* owns every vec */
    /* of the decoder's layers; the last ones are for cross attention if cross_group >= 0 */
    struct qr_groups groups;
    /* of the layers that encode, whose keys live for one layer of one pass */
    struct qr_groups encoder;
    int32_t cross_group;          /* of groups.kv; -1: none */
    uint32_t cross_plan_group;    /* of groups.plan */
    struct qr_mapping pack_cache; /* holds the panels of every matrix, or is empty */
    uint64_t weight_bytes, n_parameters;
    uint32_t n_contexts; /* atomic */
};

bool qr_role_is_matrix(enum qr_weight_role role); /* false for stacks */

/* Reads and packs every weight of the configuration; parallel when threads is not NULL. */
/* pack_cache: a file to take packed matrices from or to leave them in; NULL = none. */
quire_status qr_model_load(struct quire_model *m, const char *pack_cache,
                           struct quire_threads *threads, struct quire_error *err);
void qr_model_unload(struct quire_model *m);

static inline bool qr_model_encodes(const struct quire_model *m)
{
    return m->config->kind != QR_MODEL_DECODER;
}
static inline bool qr_model_decodes(const struct quire_model *m)
{
    return m->config->kind != QR_MODEL_ENCODER;
}

/* Head: the output matrix, or the token embedding where they are tied. */
static inline const struct qr_packed *qr_model_head(const struct quire_model *m)
{
    const struct qr_packed *head = m->global.mat[QR_W_OUTPUT];
    return head ? head : m->global.mat[QR_W_TOKEN_EMBD];
}

#endif
