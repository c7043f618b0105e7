/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - an open model as the forward pass sees it: configuration, packed matrices, vectors, KV groups. */
#ifndef QUIRE_MODEL_MODEL_H
#define QUIRE_MODEL_MODEL_H
#include "base/kernel.h"
#include "linear/linear.h"
#include "model/config.h"
#include "model/weights.h"
#include <quire/model.h>

/* Matrices are packed, vectors are f32; which of the two a role is follows from qr_role_is_matrix. Absent: NULL. */
struct qr_model_layer {
    struct qr_packed *mat[QR_W_N_ROLES];
    float *vec[QR_W_N_ROLES];
    struct qr_packed **experts[QR_W_N_ROLES]; /* [n_experts] of a stack of matrices; vectors lie in vec, one by one */
    struct quire_attention_config attention;
    uint32_t kv_group, kv_layer; /* group of the cache, and the layer's index in it */
    uint32_t plan_group;         /* layers that can share a plan's division of work */
};

struct quire_model {
    const struct quire_allocator *allocator;
    const struct quire_logger *logger;
    const struct quire_kernels *kernels;
    enum quire_compute compute;
    struct qr_onednn *onednn;   /* holds the matrices qr_provider_takes says; NULL: our kernels multiply all */
    struct qr_weights *weights; /* closed once the weights are in memory; the configuration stays */
    const struct qr_model_config *config;
    struct qr_model_layer global; /* roles below QR_W_FIRST_LAYER_ROLE */
    struct qr_model_layer *layers; /* [config->n_layers] */
    struct qr_arena vectors;       /* owns every vec */
    struct quire_kv_group_config *kv_groups;
    uint32_t n_kv_groups;
    struct quire_plan_group *plan_groups; /* configurations point into layers */
    uint32_t n_plan_groups;
    uint64_t weight_bytes, n_parameters;
    uint32_t n_contexts; /* atomic */
};

bool qr_role_is_matrix(enum qr_weight_role role); /* false for stacks */

/* Reads and packs every weight of the configuration; parallel when threads is not NULL. */
quire_status qr_model_load(struct quire_model *m, struct quire_threads *threads, struct quire_error *err);
void qr_model_unload(struct quire_model *m);

/* Divides the layers into groups of the cache and of the plan, and fills each layer's attention configuration. */
quire_status qr_model_group_layers(struct quire_model *m, struct quire_error *err);

/* Head: the output matrix, or the token embedding where they are tied. */
static inline const struct qr_packed *qr_model_head(const struct quire_model *m)
{
    const struct qr_packed *head = m->global.mat[QR_W_OUTPUT];
    return head ? head : m->global.mat[QR_W_TOKEN_EMBD];
}

#endif
