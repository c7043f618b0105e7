/* SPDX-License-Identifier: Apache-2.0 */
/* role_extent.c - numbers of rows and columns of weights in terms of a configuration. */
#include "model/load/role_extent.h"

static uint64_t recurrent_extent(const struct qr_model_config *c, enum qr_role_extent e)
{
    const struct qr_recurrent_config *r = &c->recurrent;
    switch (e) {
    case REC_KEYS:
        return qr_recurrent_key_width(r);
    case REC_VALUES:
        return qr_recurrent_value_width(r);
    case REC_K_ROWS:
        return r->n_kv_heads ? (uint64_t)r->n_kv_heads * r->key_dim : qr_recurrent_key_width(r);
    case REC_V_ROWS:
        return r->n_kv_heads ? (uint64_t)r->n_kv_heads * r->value_dim : qr_recurrent_value_width(r);
    case REC_Z_COLS:
        return r->gate_rank ? r->gate_rank : c->hidden_size;
    case REC_Z_RANK:
        return r->gate_rank;
    case REC_DT:
        return qr_recurrent_dt_width(r);
    case REC_DT_COLS:
        return r->dt_rank ? r->dt_rank : c->hidden_size;
    case REC_DT_RANK:
        return r->dt_rank;
    case REC_RATE_RANK:
        return r->rate_rank;
    case REC_VALUE_RANK:
        return r->value_rank;
    case REC_MIX_RANK:
        return r->mix_rank;
    case REC_MIX_RANKS:
        return 5 * (uint64_t)r->mix_rank;
    case REC_X_ROWS:
        return (uint64_t)r->dt_rank + 2 * (uint64_t)r->key_dim;
    case REC_CONV_QS:
    case REC_CONV_KS:
    case REC_CONV_VS:
        if (r->conv_thirds)
            return qr_recurrent_conv_width(r) / 3;
        return e == REC_CONV_VS ? qr_recurrent_value_width(r) : qr_recurrent_key_width(r);
    case REC_TAPS:
        return r->conv_taps;
    case REC_A_ROWS: /* Mamba-1 has a row per channel, the others one vector */
        return r->kind == QR_RECURRENT_MAMBA1 ? r->n_heads : 0;
    case REC_A_COLS:
        return r->kind == QR_RECURRENT_MAMBA1   ? r->key_dim
               : r->kind == QR_RECURRENT_RG_LRU ? qr_recurrent_value_width(r)
                                                : r->n_heads;
    case REC_VALUE:
        return r->value_dim;
    case REC_STATE:
        return r->key_dim;
    case REC_NORM:
        return r->norm_per_head ? r->norm_dim : qr_recurrent_value_width(r);
    default:
        return r->n_heads;
    }
}

/* Hyper-connections and embeddings of n-grams; zeros in models without. */
static uint64_t stream_extent(const struct qr_model_config *c, const struct qr_layer_config *l,
                              enum qr_role_extent e)
{
    const struct qr_ngram_config *n = &c->ngram;
    switch (e) {
    case HYPER:
        return (uint64_t)c->hyper.n_streams * c->hidden_size;
    case HYPER_RANK:
        return c->hyper.rank;
    case HYPER_STREAMS:
        return c->hyper.n_streams;
    case HYPER_MIX:
        return (2 + (uint64_t)c->hyper.n_streams) * c->hyper.n_streams;
    case HYPER_SCALES:
        return 3;
    case NGRAM_ROWS:
        return l->ngram_rows;
    case NGRAM_HEAD:
        return n->size ? n->dim / ((n->size - 1) * n->heads) : 0;
    case NGRAM_TAPS:
        return n->taps;
    default:
        return n->dim;
    }
}

uint64_t qr_role_extent(const struct qr_model_config *c, const struct qr_layer_config *l, uint8_t e)
{
    const uint64_t q = (uint64_t)l->n_heads * l->head_dim,
                   k = (uint64_t)l->n_kv_heads * l->head_dim;
    /* attention reads two vectors */
    const bool block =
        l->mixer == QR_MIXER_SHARED_BLOCK || (c->mtp.kind == QR_MTP_FEATURES && l == c->layers);
    switch ((enum qr_role_extent)e) {
    case NONE:
        return 0;
    case VOCAB:
        return c->vocab_size;
    case HIDDEN:
        return c->hidden_size;
    case EMBEDDING:
        return qr_embedding_size(c);
    case Q_ROWS:
        return q;
    case K_ROWS:
        return k;
    case V_ROWS:
        return (uint64_t)l->n_kv_heads * (c->differential ? l->head_dim : l->v_head_dim) /
               (c->conv_attention.channel_taps ? 2 : 1);
    case O_COLS:
        if (c->shared_kv.o_groups)
            return (uint64_t)c->shared_kv.o_groups * c->shared_kv.o_rank;
        return (uint64_t)l->n_heads * (c->differential ? l->head_dim : l->v_head_dim);
    case FFN:
        return l->ffn_size;
    case Q_NORM:
        return c->qk_norm == QR_QK_NORM_FULL ? q : l->head_dim;
    case K_NORM:
        return c->qk_norm == QR_QK_NORM_FULL ? k : l->head_dim;
    case HEAD_DIM:
        return l->head_dim;
    case HEADS:
        return l->n_heads;
    case KV_HEADS:
        return l->n_kv_heads;
    case GATES:
        return (uint64_t)l->n_heads * (c->gate_per_head ? 1 : c->v_head_dim);
    case CHANNELS:
        return q + k;
    case CHANNEL_TAPS:
        return (q + k) * c->conv_attention.channel_taps;
    case HEAD_TAPS:
        return (uint64_t)l->head_dim * c->conv_attention.head_taps;
    case EXPERT_IO:
        return qr_expert_width(c);
    case LATENT:
        return c->moe.latent_size;
    case ROUTER_HIDDEN:
        return c->moe.router_hidden;
    case ROUTER_COLS:
        return c->moe.router_hidden ? c->moe.router_hidden : c->hidden_size;
    case POSITIONS:
        return (uint64_t)c->context_length + c->position_offset;
    case TYPES:
        return c->n_token_types;
    case LABELS:
        return c->class_yes_no ? 2 : c->n_labels;
    case PLE:
        return c->ple.dim;
    case PLE_VOCAB:
        return c->ple.vocab_size;
    case PLE_ALL:
        return (uint64_t)c->n_layers * c->ple.dim;
    case STREAMS:
        return c->altup.n_streams;
    case STREAM_PAIRS:
        return (uint64_t)c->altup.n_streams * c->altup.n_streams;
    case LAUREL:
        return c->laurel_rank;
    case DISTANCES:
        return 2 * (uint64_t)c->disentangled.span;
    case BUCKETS:
        return c->relative_buckets;
    case EXPERTS:
        return (uint64_t)c->moe.n_experts + c->moe.n_identity + c->moe.n_zero;
    case EXPERT_FFN:
        return c->moe.ffn_size;
    case ADJUGATE_FFN:
        return c->moe.adjugate_ffn_size;
    case SHARED_FFN:
        return c->moe.shared_ffn_size;
    case Q_COLS:
        if (c->mla.q_lora_rank)
            return c->mla.q_lora_rank;
        return block ? 2 * (uint64_t)c->hidden_size : c->hidden_size;
    case KV_COLS:
        return block ? 2 * (uint64_t)c->hidden_size : c->hidden_size;
    case BLOCK_IN:
        return 2 * (uint64_t)c->hidden_size;
    case MTP_IN:
        return c->mtp.n_features ? qr_mtp_input_size(c) : 2 * qr_mtp_input_size(c);
    case BASE:
        return c->mtp.base_size;
    case CLUSTERS:
        return c->mtp.n_clusters;
    case OUTPUTS:
        return c->mtp.n_outputs ? c->mtp.n_outputs : c->vocab_size;
    case MARKOV:
        return c->mtp.markov_rank;
    case BLOCK_TAPS:
        return 2 * (uint64_t)c->mtp.conv_taps * c->hidden_size;
    case BLOCK_KERNELS:
        return qr_mtp_conv_size(c);
    case CONFIDENCE:
        return qr_mtp_confidence_size(c);
    case LOW_RANK:
        return c->shared_block.rank;
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
    case INDEX_QS:
        return (uint64_t)c->index.n_heads * c->index.head_dim;
    case INDEX_Q_COLS:
        return c->index.low_rank_q ? c->mla.q_lora_rank : c->hidden_size;
    case INDEX_DIM:
        return c->index.head_dim;
    case INDEX_HEADS:
        return c->index.n_heads;
    case INDEX_SERIES:
        return 2 * (uint64_t)c->index.head_dim;
    case INDEX_RATE:
    case COMPRESS_RATE:
        return l->compress_rate;
    case O_GROUP:
        return c->shared_kv.o_groups ? q / c->shared_kv.o_groups : 0;
    case O_RANK:
        return c->shared_kv.o_rank;
    case COMPRESS_SERIES:
        return qr_compress_series(l);
    case EXPERTS_USED:
        return c->moe.top_k;
    case ONE:
        return 1;
    default:
        return e >= HYPER && e <= NGRAM_TAPS ? stream_extent(c, l, (enum qr_role_extent)e)
                                             : recurrent_extent(c, (enum qr_role_extent)e);
    }
}
