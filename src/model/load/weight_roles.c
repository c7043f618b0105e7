/* SPDX-License-Identifier: Apache-2.0 */
/* weight_roles.c - the roles that a model configuration implies, and the shape of each. */
#include "model/load/weight_roles.h"

/* Number of rows or columns in terms of the configuration. */
enum extent {
    NONE,
    VOCAB,
    HIDDEN,
    Q_ROWS,
    K_ROWS,
    V_ROWS,
    O_COLS,
    FFN,
    Q_NORM,
    K_NORM,
    HEAD_DIM,
    HEADS,
    POSITIONS,
    TYPES,
    BUCKETS,
    EXPERTS,
    EXPERT_FFN,
    SHARED_FFN,
    Q_COLS,
    Q_RANK,
    KV_RANK,
    KV_ROW,
    NOPE,
    V_DIM,
    ONE,
    LABELS
};

static const struct {
    const char *name;
    uint8_t rows, cols; /* rows NONE: a vector */
} roles[QR_W_N_ROLES] = {
    [QR_W_TOKEN_EMBD] = { "token_embd", VOCAB, HIDDEN },
    [QR_W_OUTPUT] = { "output", VOCAB, HIDDEN },
    [QR_W_OUTPUT_BIAS] = { "output_bias", NONE, VOCAB },
    [QR_W_OUTPUT_NORM] = { "output_norm", NONE, HIDDEN },
    [QR_W_OUTPUT_NORM_BIAS] = { "output_norm_bias", NONE, HIDDEN },
    [QR_W_POS_EMBD] = { "pos_embd", POSITIONS, HIDDEN },
    [QR_W_TYPE_EMBD] = { "type_embd", TYPES, HIDDEN },
    [QR_W_EMBD_NORM] = { "embd_norm", NONE, HIDDEN },
    [QR_W_EMBD_NORM_BIAS] = { "embd_norm_bias", NONE, HIDDEN },
    [QR_W_HEAD_DENSE] = { "head_dense", HIDDEN, HIDDEN },
    [QR_W_HEAD_DENSE_BIAS] = { "head_dense_bias", NONE, HIDDEN },
    [QR_W_HEAD_NORM] = { "head_norm", NONE, HIDDEN },
    [QR_W_HEAD_NORM_BIAS] = { "head_norm_bias", NONE, HIDDEN },
    [QR_W_POOLER] = { "pooler", HIDDEN, HIDDEN },
    [QR_W_POOLER_BIAS] = { "pooler_bias", NONE, HIDDEN },
    [QR_W_ENC_POS_EMBD] = { "enc_pos_embd", POSITIONS, HIDDEN },
    [QR_W_ENC_EMBD_NORM] = { "enc_embd_norm", NONE, HIDDEN },
    [QR_W_ENC_EMBD_NORM_BIAS] = { "enc_embd_norm_bias", NONE, HIDDEN },
    [QR_W_ENC_OUTPUT_NORM] = { "enc_output_norm", NONE, HIDDEN },
    [QR_W_ENC_OUTPUT_NORM_BIAS] = { "enc_output_norm_bias", NONE, HIDDEN },
    [QR_W_CLASS_DENSE] = { "class_dense", HIDDEN, HIDDEN },
    [QR_W_CLASS_DENSE_BIAS] = { "class_dense_bias", NONE, HIDDEN },
    [QR_W_CLASS_OUT] = { "class_out", LABELS, HIDDEN },
    [QR_W_CLASS_OUT_BIAS] = { "class_out_bias", NONE, LABELS },
    [QR_W_ATTN_NORM] = { "attn_norm", NONE, HIDDEN },
    [QR_W_ATTN_NORM_BIAS] = { "attn_norm_bias", NONE, HIDDEN },
    [QR_W_ATTN_Q] = { "attn_q", Q_ROWS, Q_COLS },
    [QR_W_ATTN_Q_BIAS] = { "attn_q_bias", NONE, Q_ROWS },
    [QR_W_ATTN_K] = { "attn_k", K_ROWS, HIDDEN },
    [QR_W_ATTN_K_BIAS] = { "attn_k_bias", NONE, K_ROWS },
    [QR_W_ATTN_V] = { "attn_v", V_ROWS, HIDDEN },
    [QR_W_ATTN_V_BIAS] = { "attn_v_bias", NONE, V_ROWS },
    [QR_W_ATTN_O] = { "attn_o", HIDDEN, O_COLS },
    [QR_W_ATTN_O_BIAS] = { "attn_o_bias", NONE, HIDDEN },
    [QR_W_ATTN_Q_NORM] = { "attn_q_norm", NONE, Q_NORM },
    [QR_W_ATTN_K_NORM] = { "attn_k_norm", NONE, K_NORM },
    [QR_W_ATTN_Q_NORMS] = { "attn_q_norms", NONE, HEAD_DIM },
    [QR_W_ATTN_K_NORMS] = { "attn_k_norms", NONE, HEAD_DIM },
    [QR_W_ATTN_SINKS] = { "attn_sinks", NONE, HEADS },
    [QR_W_ATTN_POST_NORM] = { "attn_post_norm", NONE, HIDDEN },
    [QR_W_ATTN_POST_NORM_BIAS] = { "attn_post_norm_bias", NONE, HIDDEN },
    [QR_W_ATTN_REL_BIAS] = { "attn_rel_bias", BUCKETS, HEADS },
    [QR_W_LATENT_Q_A] = { "latent_q_a", Q_RANK, HIDDEN },
    [QR_W_LATENT_Q_NORM] = { "latent_q_norm", NONE, Q_RANK },
    [QR_W_LATENT_KV_A] = { "latent_kv_a", KV_ROW, HIDDEN },
    [QR_W_LATENT_KV_NORM] = { "latent_kv_norm", NONE, KV_RANK },
    [QR_W_LATENT_UK] = { "latent_uk", KV_RANK, NOPE },
    [QR_W_LATENT_UK_ROWS] = { "latent_uk_rows", NOPE, KV_RANK },
    [QR_W_LATENT_UV] = { "latent_uv", V_DIM, KV_RANK },
    [QR_W_CROSS_NORM] = { "cross_norm", NONE, HIDDEN },
    [QR_W_CROSS_NORM_BIAS] = { "cross_norm_bias", NONE, HIDDEN },
    [QR_W_CROSS_Q] = { "cross_q", Q_ROWS, HIDDEN },
    [QR_W_CROSS_Q_BIAS] = { "cross_q_bias", NONE, Q_ROWS },
    [QR_W_CROSS_K] = { "cross_k", K_ROWS, HIDDEN },
    [QR_W_CROSS_K_BIAS] = { "cross_k_bias", NONE, K_ROWS },
    [QR_W_CROSS_V] = { "cross_v", V_ROWS, HIDDEN },
    [QR_W_CROSS_V_BIAS] = { "cross_v_bias", NONE, V_ROWS },
    [QR_W_CROSS_O] = { "cross_o", HIDDEN, O_COLS },
    [QR_W_CROSS_O_BIAS] = { "cross_o_bias", NONE, HIDDEN },
    [QR_W_CROSS_POST_NORM] = { "cross_post_norm", NONE, HIDDEN },
    [QR_W_CROSS_POST_NORM_BIAS] = { "cross_post_norm_bias", NONE, HIDDEN },
    [QR_W_FFN_NORM] = { "ffn_norm", NONE, HIDDEN },
    [QR_W_FFN_NORM_BIAS] = { "ffn_norm_bias", NONE, HIDDEN },
    [QR_W_FFN_GATE] = { "ffn_gate", FFN, HIDDEN },
    [QR_W_FFN_GATE_BIAS] = { "ffn_gate_bias", NONE, FFN },
    [QR_W_FFN_UP] = { "ffn_up", FFN, HIDDEN },
    [QR_W_FFN_UP_BIAS] = { "ffn_up_bias", NONE, FFN },
    [QR_W_FFN_DOWN] = { "ffn_down", HIDDEN, FFN },
    [QR_W_FFN_DOWN_BIAS] = { "ffn_down_bias", NONE, HIDDEN },
    [QR_W_FFN_POST_NORM] = { "ffn_post_norm", NONE, HIDDEN },
    [QR_W_FFN_POST_NORM_BIAS] = { "ffn_post_norm_bias", NONE, HIDDEN },
    [QR_W_ROUTER] = { "router", EXPERTS, HIDDEN },
    [QR_W_ROUTER_BIAS] = { "router_bias", NONE, EXPERTS },
    [QR_W_ROUTER_CORRECTION] = { "router_correction", NONE, EXPERTS },
    [QR_W_EXPERT_GATE] = { "expert_gate", EXPERT_FFN, HIDDEN },
    [QR_W_EXPERT_GATE_BIAS] = { "expert_gate_bias", NONE, EXPERT_FFN },
    [QR_W_EXPERT_UP] = { "expert_up", EXPERT_FFN, HIDDEN },
    [QR_W_EXPERT_UP_BIAS] = { "expert_up_bias", NONE, EXPERT_FFN },
    [QR_W_EXPERT_DOWN] = { "expert_down", HIDDEN, EXPERT_FFN },
    [QR_W_EXPERT_DOWN_BIAS] = { "expert_down_bias", NONE, HIDDEN },
    [QR_W_SHARED_ROUTER] = { "shared_router", ONE, HIDDEN },
    [QR_W_SHARED_GATE] = { "shared_gate", SHARED_FFN, HIDDEN },
    [QR_W_SHARED_UP] = { "shared_up", SHARED_FFN, HIDDEN },
    [QR_W_SHARED_DOWN] = { "shared_down", HIDDEN, SHARED_FFN },
};

bool qr_role_is_matrix(enum qr_weight_role role)
{
    switch (role) {
    case QR_W_TOKEN_EMBD:
    case QR_W_OUTPUT:
    case QR_W_POS_EMBD:
    case QR_W_TYPE_EMBD:
    case QR_W_HEAD_DENSE:
    case QR_W_POOLER:
    case QR_W_CLASS_DENSE:
    case QR_W_CLASS_OUT:
    case QR_W_ENC_POS_EMBD:
    case QR_W_CROSS_Q:
    case QR_W_CROSS_K:
    case QR_W_CROSS_V:
    case QR_W_CROSS_O:
    case QR_W_ATTN_Q:
    case QR_W_ATTN_K:
    case QR_W_ATTN_V:
    case QR_W_ATTN_O:
    case QR_W_LATENT_Q_A:
    case QR_W_LATENT_KV_A:
    case QR_W_FFN_GATE:
    case QR_W_FFN_UP:
    case QR_W_FFN_DOWN:
    case QR_W_ROUTER:
    case QR_W_SHARED_ROUTER:
    case QR_W_SHARED_GATE:
    case QR_W_SHARED_UP:
    case QR_W_SHARED_DOWN:
        return true;
    default:
        return false;
    }
}

bool qr_role_is_stack(enum qr_weight_role role)
{
    return (role >= QR_W_EXPERT_GATE && role <= QR_W_EXPERT_DOWN_BIAS) ||
           (role >= QR_W_LATENT_UK && role <= QR_W_LATENT_UV) || role == QR_W_ATTN_Q_NORMS ||
           role == QR_W_ATTN_K_NORMS;
}

uint32_t qr_role_stack_size(const struct qr_model_config *cfg, enum qr_weight_role role,
                            uint32_t layer)
{
    if (!qr_role_is_stack(role))
        return 0;
    if (role == QR_W_ATTN_K_NORMS)
        return cfg->layers[layer].n_kv_heads;
    return role <= QR_W_LATENT_UV ? cfg->layers[layer].n_heads : cfg->moe.n_experts;
}

const char *qr_weight_role_name(enum qr_weight_role role)
{
    return (unsigned)role < QR_W_N_ROLES ? roles[role].name : "unknown role";
}

/* No product overflows: qr_model_config_validate bounds the factors. */
static uint64_t extent(const struct qr_model_config *c, const struct qr_layer_config *l, uint8_t e)
{
    const uint64_t q = (uint64_t)l->n_heads * c->head_dim,
                   k = (uint64_t)l->n_kv_heads * c->head_dim;
    switch ((enum extent)e) {
    case NONE:
        return 0;
    case VOCAB:
        return c->vocab_size;
    case HIDDEN:
        return c->hidden_size;
    case Q_ROWS:
        return q;
    case K_ROWS:
        return k;
    case V_ROWS:
        return (uint64_t)l->n_kv_heads * c->v_head_dim;
    case O_COLS:
        return (uint64_t)l->n_heads * c->v_head_dim;
    case FFN:
        return l->ffn_size;
    case Q_NORM:
        return c->qk_norm == QR_QK_NORM_FULL ? q : c->head_dim;
    case K_NORM:
        return c->qk_norm == QR_QK_NORM_FULL ? k : c->head_dim;
    case HEAD_DIM:
        return c->head_dim;
    case HEADS:
        return l->n_heads;
    case POSITIONS:
        return (uint64_t)c->context_length + c->position_offset;
    case TYPES:
        return c->n_token_types;
    case LABELS:
        return c->n_labels;
    case BUCKETS:
        return c->relative_buckets;
    case EXPERTS:
        return c->moe.n_experts;
    case EXPERT_FFN:
        return c->moe.ffn_size;
    case SHARED_FFN:
        return c->moe.shared_ffn_size;
    case Q_COLS:
        return c->mla.q_lora_rank ? c->mla.q_lora_rank : c->hidden_size;
    case Q_RANK:
        return c->mla.q_lora_rank;
    case KV_RANK:
        return c->mla.kv_lora_rank;
    case KV_ROW:
        return (uint64_t)c->mla.kv_lora_rank + c->mla.qk_rope_dim;
    case NOPE:
        return c->mla.qk_nope_dim;
    case V_DIM:
        return c->v_head_dim;
    case ONE:
        return 1;
    }
    return 0;
}

void qr_role_shape(const struct qr_model_config *cfg, enum qr_weight_role role, uint32_t layer,
                   uint64_t *rows, uint64_t *cols)
{
    const struct qr_layer_config *l = &cfg->layers[role < QR_W_FIRST_LAYER_ROLE ? 0 : layer];
    *rows = extent(cfg, l, roles[role].rows);
    *cols = extent(cfg, l, roles[role].cols);
}

static enum qr_presence required_if(bool condition) { return condition ? QR_REQUIRED : QR_ABSENT; }

/* Norms of the input and output of a sublayer depend on the kind of block. */
static enum qr_presence norm_presence(const struct qr_model_config *c, enum qr_weight_role role,
                                      const struct qr_layer_config *l)
{
    const bool output = c->block == QR_BLOCK_SANDWICH_NORM || c->block == QR_BLOCK_OUTPUT_NORM ||
                        c->block == QR_BLOCK_POST_NORM;
    const bool input = c->block != QR_BLOCK_OUTPUT_NORM && c->block != QR_BLOCK_POST_NORM;
    const bool encoder = c->n_encoder_layers != 0, cross = encoder && !l->encoder;
    switch (role) {
    case QR_W_ATTN_NORM:
    case QR_W_ATTN_NORM_BIAS:
        return required_if(input && !l->skip_attn_norm);
    case QR_W_CROSS_NORM:
    case QR_W_CROSS_NORM_BIAS:
        return required_if(input && cross);
    case QR_W_CROSS_POST_NORM:
    case QR_W_CROSS_POST_NORM_BIAS:
        return required_if(output && cross);
    case QR_W_FFN_NORM:
    case QR_W_FFN_NORM_BIAS:
        return required_if(input && c->block != QR_BLOCK_PARALLEL);
    case QR_W_EMBD_NORM:
    case QR_W_EMBD_NORM_BIAS:
        return required_if(c->embedding_norm);
    case QR_W_ENC_EMBD_NORM:
    case QR_W_ENC_EMBD_NORM_BIAS:
        return required_if(encoder && c->embedding_norm);
    case QR_W_OUTPUT_NORM:
    case QR_W_OUTPUT_NORM_BIAS:
        return required_if(qr_model_has_final_norm(c));
    case QR_W_ENC_OUTPUT_NORM:
    case QR_W_ENC_OUTPUT_NORM_BIAS:
        return required_if(encoder && qr_model_has_final_norm(c));
    default:
        return required_if(output);
    }
}

/* The feed-forward network of a layer is dense or a mixture of experts. */
static enum qr_presence ffn_presence(const struct qr_model_config *c, enum qr_weight_role role,
                                     bool moe)
{
    const struct qr_moe_config *m = &c->moe;
    switch (role) {
    case QR_W_FFN_GATE:
        return required_if(!moe && c->ffn_gated);
    case QR_W_FFN_GATE_BIAS:
        return required_if(!moe && c->ffn_gated && c->bias.ffn_in);
    case QR_W_FFN_UP:
    case QR_W_FFN_DOWN:
        return required_if(!moe);
    case QR_W_FFN_UP_BIAS:
        return required_if(!moe && c->bias.ffn_in);
    case QR_W_FFN_DOWN_BIAS:
        return required_if(!moe && c->bias.ffn_down);
    case QR_W_ROUTER_BIAS:
        return required_if(moe && m->router_bias);
    case QR_W_ROUTER_CORRECTION:
        return required_if(moe && m->correction);
    case QR_W_EXPERT_GATE:
        return required_if(moe && c->ffn_gated);
    case QR_W_EXPERT_GATE_BIAS:
        return required_if(moe && c->ffn_gated && m->expert_bias);
    case QR_W_EXPERT_UP_BIAS:
    case QR_W_EXPERT_DOWN_BIAS:
        return required_if(moe && m->expert_bias);
    case QR_W_SHARED_GATE:
        return required_if(moe && m->shared_ffn_size && c->ffn_gated);
    case QR_W_SHARED_UP:
    case QR_W_SHARED_DOWN:
        return required_if(moe && m->shared_ffn_size);
    case QR_W_SHARED_ROUTER:
        return required_if(moe && m->shared_gate);
    default: /* router, experts */
        return required_if(moe);
    }
}

static bool is_ffn_weight(enum qr_weight_role role)
{
    return (role >= QR_W_FFN_GATE && role <= QR_W_FFN_DOWN_BIAS) || role >= QR_W_ROUTER;
}

/* MLA has low-rank projections of keys and values, and in some models of queries. */
static enum qr_presence latent_presence(const struct qr_mla_config *m, enum qr_weight_role role)
{
    switch (role) {
    case QR_W_LATENT_Q_A:
    case QR_W_LATENT_Q_NORM:
        return required_if(m->q_lora_rank != 0);
    case QR_W_LATENT_UK_ROWS:
        return required_if(m->expand);
    default:
        return required_if(m->kv_lora_rank != 0);
    }
}

/* Projections of self attention and cross attention, which have the same biases. */
static enum qr_presence projection_presence(const struct qr_model_config *c,
                                            enum qr_weight_role role)
{
    switch (role) {
    case QR_W_ATTN_Q_BIAS:
    case QR_W_CROSS_Q_BIAS:
        return required_if(c->bias.q);
    case QR_W_ATTN_K_BIAS:
    case QR_W_CROSS_K_BIAS:
        return required_if(c->bias.k);
    case QR_W_ATTN_V_BIAS:
    case QR_W_CROSS_V_BIAS:
        return required_if(c->bias.v);
    case QR_W_ATTN_O_BIAS:
    case QR_W_CROSS_O_BIAS:
        return required_if(c->bias.o);
    default:
        return QR_REQUIRED;
    }
}

/* Roles of the classification head. */
static enum qr_presence class_presence(const struct qr_model_config *c, enum qr_weight_role role)
{
    const bool dense = role == QR_W_CLASS_DENSE || role == QR_W_CLASS_DENSE_BIAS;
    if (c->class_head == QR_CLASS_NONE || (dense && c->class_head != QR_CLASS_DENSE))
        return QR_ABSENT;
    return qr_role_is_matrix(role) ? QR_REQUIRED : QR_OPTIONAL;
}

/* Roles outside of the layers, except norms. */
static enum qr_presence global_presence(const struct qr_model_config *c, enum qr_weight_role role)
{
    const bool encoder = c->kind == QR_MODEL_ENCODER;
    switch (role) {
    /* the file decides: an output matrix in it is used even if the config says tied */
    case QR_W_OUTPUT:
        return c->tied_embeddings || encoder ? QR_OPTIONAL : QR_REQUIRED;
    case QR_W_OUTPUT_BIAS:
        return c->kind == QR_MODEL_DECODER ? required_if(c->bias.output) : QR_OPTIONAL;
    case QR_W_POS_EMBD:
        return required_if(c->learned_positions);
    case QR_W_ENC_POS_EMBD:
        return required_if(c->learned_positions && c->n_encoder_layers);
    case QR_W_TYPE_EMBD:
        return required_if(c->n_token_types != 0);
    case QR_W_HEAD_DENSE: /* checkpoints of encoders may lack these */
        return c->class_head == QR_CLASS_MASKED ? QR_REQUIRED : encoder ? QR_OPTIONAL : QR_ABSENT;
    case QR_W_POOLER:
        return c->class_head == QR_CLASS_POOLER ? QR_REQUIRED : encoder ? QR_OPTIONAL : QR_ABSENT;
    case QR_W_CLASS_DENSE:
    case QR_W_CLASS_DENSE_BIAS:
    case QR_W_CLASS_OUT:
    case QR_W_CLASS_OUT_BIAS:
        return class_presence(c, role);
    case QR_W_HEAD_DENSE_BIAS:
    case QR_W_HEAD_NORM:
    case QR_W_HEAD_NORM_BIAS:
    case QR_W_POOLER_BIAS:
        return encoder ? QR_OPTIONAL : QR_ABSENT;
    default:
        return QR_REQUIRED;
    }
}

enum qr_presence qr_role_presence(const struct qr_model_config *c, enum qr_weight_role role,
                                  uint32_t layer)
{
    const struct qr_layer_config *l = &c->layers[role < QR_W_FIRST_LAYER_ROLE ? 0 : layer];
    if (is_ffn_weight(role))
        return ffn_presence(c, role, l->moe);
    const bool weights = c->norm != QR_NORM_LAYER_PLAIN;
    const bool qk = c->qk_norm == QR_QK_NORM_HEAD || c->qk_norm == QR_QK_NORM_FULL;
    if (role >= QR_W_LATENT_Q_A && role <= QR_W_LATENT_UV)
        return latent_presence(&c->mla, role);
    switch (role) {
    case QR_W_ATTN_K:
    case QR_W_ATTN_V:
        return required_if(c->mla.kv_lora_rank == 0);
    case QR_W_ATTN_Q_NORM:
    case QR_W_ATTN_K_NORM:
        return required_if(qk);
    case QR_W_ATTN_Q_NORMS:
    case QR_W_ATTN_K_NORMS:
        return required_if(c->qk_norm == QR_QK_NORM_HEADS);
    case QR_W_ATTN_SINKS:
        return required_if(c->sinks);
    case QR_W_ATTN_REL_BIAS:
        return required_if(c->relative_buckets && (layer == 0 || layer == c->n_layers));
    case QR_W_OUTPUT_NORM:
    case QR_W_EMBD_NORM:
    case QR_W_ENC_OUTPUT_NORM:
    case QR_W_ENC_EMBD_NORM:
    case QR_W_ATTN_NORM:
    case QR_W_ATTN_POST_NORM:
    case QR_W_CROSS_NORM:
    case QR_W_CROSS_POST_NORM:
    case QR_W_FFN_NORM:
    case QR_W_FFN_POST_NORM:
        return weights ? norm_presence(c, role, l) : QR_ABSENT;
    case QR_W_OUTPUT_NORM_BIAS:
    case QR_W_EMBD_NORM_BIAS:
    case QR_W_ENC_OUTPUT_NORM_BIAS:
    case QR_W_ENC_EMBD_NORM_BIAS:
    case QR_W_ATTN_NORM_BIAS:
    case QR_W_ATTN_POST_NORM_BIAS:
    case QR_W_CROSS_NORM_BIAS:
    case QR_W_CROSS_POST_NORM_BIAS:
    case QR_W_FFN_NORM_BIAS:
    case QR_W_FFN_POST_NORM_BIAS:
        return weights && c->bias.norm ? norm_presence(c, role, l) : QR_ABSENT;
    default:
        if (role < QR_W_FIRST_LAYER_ROLE)
            return global_presence(c, role);
        if (role >= QR_W_CROSS_Q && role <= QR_W_CROSS_O_BIAS &&
            (l->encoder || !c->n_encoder_layers))
            return QR_ABSENT;
        return projection_presence(c, role);
    }
}
