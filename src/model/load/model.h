/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - an open model: configuration, packed matrices, vectors, KV groups. */
#ifndef QR_MODEL_LOAD_MODEL_H
#define QR_MODEL_LOAD_MODEL_H
#include "base/alloc.h"
#include "base/handle.h"
#include "kernels/kernels.h"
#include "linear/linear.h"
#include "model/arch/weight_role.h"
#include "model/config/config.h"
#include "model/load/types.h"
#include <quire/model.h>

struct qr_lora;

/* Recurrent layer: vectors as the kernels read them, and its place in the state of a sequence. */
struct qr_recurrent_weights {
    const float *conv;      /* [taps][channels of q, k and v]; NULL without convolution */
    const float *conv_bias; /* [channels]; NULL: none */
    /* [decays of a token] -exp(A_log), multiplied by step sizes; Mamba-1: [key_dim][channels];
     * lightning attention: [heads] the decays themselves */
    const float *decay;
    const float *rates; /* [heads] factors of step sizes, with bounded decays */
    size_t tail, state; /* offsets in floats: last inputs of the convolution; state */
};

/* Parameters of the activation function of a feed-forward network. */
struct qr_ffn_act {
    struct qr_xielu xielu; /* alphas after softplus, beta added to alpha_n */
    /* SWIGLU_OAI, SILU: gates are at most the first, ups between minus the second and the second;
     * both 0: off */
    float gate_limit, up_limit;
};

/* Weights of a layer by role, NULL if absent. Matrices (qr_role_is_matrix) are packed, vectors are
 * f32. */
struct qr_model_layer {
    struct qr_packed *mat[QR_W_N_ROLES];
    float *vec[QR_W_N_ROLES];
    /* stacks of matrices, [stack size]; stacks of vectors are contiguous in vec */
    struct qr_packed **experts[QR_W_N_ROLES];
    struct quire_attention_config attention;
    struct quire_attention_config cross; /* decoder layers of an encoder-decoder */
    const float *k_scale, *v_scale; /* [n_kv_heads] fp8_e4m3 scales of the checkpoint, or NULL */
    uint32_t kv_group, kv_layer;    /* KV group, and the layer's index in it */
    uint32_t index_layer;           /* its index in the KV group of index keys */
    uint32_t plan_group;            /* layers of a plan group share its work items */
    struct qr_recurrent_weights recurrent;
    /* f32 keys and queries of distances, [n_heads * distance_stride][head_dim], of which the first
     * 2 span of a head count; NULL where their term is absent (qr_disentangled_config) */
    struct qr_packed *distance_keys, *distance_queries;
    const float *ngram_conv;      /* [taps][streams * hidden]; NULL without n-gram embeddings */
    const uint32_t *router_table; /* [vocab][top_k] experts of each token, or NULL */
    /* offsets in floats in the state of a sequence: the last projections of tokens to compressed
     * keys, of attention and of the indexer */
    size_t compress_ring, index_ring;
    uint32_t compress_layer;          /* its index in the KV group of compressed keys */
    size_t ngram_tail, ngram_context; /* offsets in floats in the state of a sequence */
    struct qr_lora *low_rank; /* [QR_LOW_RANK_SITES] updates of projections (low_rank.h), or NULL */
    struct qr_ffn_act act, expert_act; /* of the dense and shared networks, of the experts */
};

/* KV groups and plan groups. */
struct qr_groups {
    struct quire_kv_group_config *kv;
    struct quire_plan_group *plan; /* configurations point into quire_model.layers */
    uint32_t n_kv, n_plan, capacity;
};

/* Layers [first, end) of the encoder or decoder, and the roles of the embeddings and norms around
 * them. */
struct qr_stack {
    uint32_t first, end;
    enum qr_weight_role embedding, positions, embd_norm, embd_norm_bias, output_norm,
        output_norm_bias;
};

struct quire_model {
    struct qr_handle handle;
    const struct quire_allocator *allocator;
    const struct quire_logger *logger;
    const struct qr_kernels *kernels;
    enum quire_compute compute;
    /* holds the matrices of qr_provider_supports; NULL: quire's kernels hold all */
    struct qr_onednn *onednn;
    struct qr_weights *weights; /* owns config; its files are closed once the weights are loaded */
    const struct qr_model_config *config;
    struct qr_model_layer global;  /* roles below QR_W_FIRST_LAYER_ROLE */
    struct qr_model_layer *layers; /* [qr_model_total_layers(config)] */
    struct qr_arena vectors;       /* owns every vec */
    struct qr_groups groups;       /* decoder layers; the last ones are cross attention, if any */
    struct qr_groups encoder;      /* encoder layers, whose KV is kept for one layer of one pass */
    int32_t cross_group;           /* in groups.kv; -1: no cross attention */
    uint32_t cross_plan_group;     /* in groups.plan */
    int32_t index_group;           /* index keys, in groups.kv; -1: no indexer */
    uint32_t index_plan_group;     /* in groups.plan; only its block tables are used */
    struct quire_attention_config index_attention;
    int32_t compress_group; /* compressed keys, in groups.kv; -1: none */
    uint32_t compress_plan_group;
    struct quire_attention_config compress_attention;
    struct qr_mapping pack_cache;  /* panels of all matrices, or empty */
    const uint16_t *distance_rows; /* [2 context_length - 1] row of each distance, or NULL */
    size_t distance_stride;
    uint64_t weight_bytes, n_parameters;
    uint64_t fingerprint;
    uint64_t state_bytes;            /* recurrent state of one sequence; 0: none */
    bool bf16_states;                /* of recurrences; convolutions keep f32 */
    uint32_t n_recurrent;            /* layers with one */
    uint32_t n_contexts, n_adapters; /* atomic */
    struct quire_model *base;        /* of a head of MTP: the model that it belongs to */
    /* [rows of the LM head] token of each, of a head of MTP with clusters of tokens, or with rows
     * for some tokens only; NULL: the row's number */
    const uint32_t *token_order;
    uint32_t feature_layers[QR_MTP_MAX_FEATURES]; /* of a head of MTP with features */
    uint32_t n_heads;                             /* atomic: open heads of MTP of this model */
};

static inline bool qr_model_encodes(const struct quire_model *m)
{
    return m->config->kind != QR_MODEL_DECODER;
}
static inline bool qr_model_decodes(const struct quire_model *m)
{
    return m->config->kind != QR_MODEL_ENCODER;
}

/* LM head: the output matrix, or the token embedding if they are tied. */
static inline const struct qr_packed *qr_model_head(const struct quire_model *m)
{
    const struct qr_packed *head = m->global.mat[QR_W_OUTPUT];
    return head ? head : m->global.mat[QR_W_TOKEN_EMBD];
}

#endif
