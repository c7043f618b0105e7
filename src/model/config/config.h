/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - the parts of a model configuration that do not depend on the file format. */
#ifndef QR_MODEL_CONFIG_CONFIG_H
#define QR_MODEL_CONFIG_CONFIG_H
#include "model/arch/model_config.h"
#include <quire/status.h>
#include <stddef.h>

struct qr_arch;

/* Layers of encoder and decoder together. */
static inline uint32_t qr_model_total_layers(const struct qr_model_config *cfg)
{
    return cfg->n_layers + cfg->n_encoder_layers;
}

/* Whether a norm follows the last layer. A POST_NORM block ends with a norm of its own, and the
 * mixture of several streams before the output of PLAIN blocks begins with norms. */
static inline bool qr_model_has_final_norm(const struct qr_model_config *cfg)
{
    return cfg->block != QR_BLOCK_POST_NORM && cfg->block != QR_BLOCK_PLAIN;
}

/* Whether a layer has a recurrent state, or keys and values. */
static inline bool qr_layer_recurs(const struct qr_layer_config *l)
{
    return l->mixer == QR_MIXER_RECURRENT || l->mixer == QR_MIXER_BOTH ||
           l->mixer == QR_MIXER_SHARED_BLOCK;
}
static inline bool qr_layer_attends(const struct qr_layer_config *l)
{
    return l->mixer == QR_MIXER_ATTENTION || l->mixer == QR_MIXER_BOTH ||
           l->mixer == QR_MIXER_SHARED_BLOCK;
}

/* Whether the attention of a layer is convolutional, and keeps a state for that; its channels of
 * queries and keys. */
static inline bool qr_layer_convolves(const struct qr_model_config *cfg,
                                      const struct qr_layer_config *l)
{
    /* GCOVR_EXCL_BR_LINE: all layers of the family with such attention attend. */
    return cfg->conv_attention.channel_taps && qr_layer_attends(l);
}
static inline uint64_t qr_conv_attention_width(const struct qr_layer_config *l)
{
    return ((uint64_t)l->n_heads + l->n_kv_heads) * l->head_dim;
}

/* Whether a layer has a dense feed-forward network. */
static inline bool qr_layer_has_dense(const struct qr_model_config *cfg,
                                      const struct qr_layer_config *l)
{
    return !l->no_ffn && (!l->moe || l->shortcut || cfg->moe.beside_dense);
}

/* Gives dense networks beside experts hidden_size elements, in families where they have as many. */
void qr_model_config_set_beside(struct qr_model_config *cfg, const struct qr_arch *arch);

/* Number of adjugate experts of an MoE layer. */
static inline uint32_t qr_adjugate_count(const struct qr_moe_config *m)
{
    return m->adjugate_group ? m->n_experts / m->adjugate_group : 0;
}

/* The block of a layer. */
static inline enum qr_block_kind qr_layer_block(const struct qr_model_config *cfg,
                                                const struct qr_layer_config *l)
{
    return l->output_norm ? QR_BLOCK_OUTPUT_NORM : cfg->block;
}

/* Elements of the projections of a token to a compressed key: one series, or two with overlap,
 * which layers with an indexer have. */
static inline uint32_t qr_compress_series(const struct qr_layer_config *l)
{
    return l->index == QR_INDEX_OWN ? 2 * l->head_dim : l->head_dim;
}

/* Floats of the state of a sequence that hold the projections (kv and gate) of its last tokens to
 * compressed keys of `dim` elements: those of one key, or with overlap of two. */
static inline uint64_t qr_compress_ring_floats(const struct qr_layer_config *l, uint32_t dim)
{
    const uint64_t series = l->index == QR_INDEX_OWN ? 2 : 1;
    return series * l->compress_rate * 2 * series * dim;
}

/* Whether a head of multi-token prediction has files of its own. */
static inline bool qr_mtp_is_separate(const struct qr_model_config *cfg)
{
    return cfg->mtp.kind > QR_MTP_LAYER;
}

/* Hidden size of the model that a head of multi-token prediction belongs to. */
static inline uint32_t qr_mtp_base_size(const struct qr_model_config *cfg)
{
    return cfg->mtp.base_size ? cfg->mtp.base_size : cfg->hidden_size;
}

/* Elements of what a head reads of the model at a position. */
static inline uint64_t qr_mtp_input_size(const struct qr_model_config *cfg)
{
    const uint64_t n = cfg->mtp.n_features;
    return (n ? n : 1) * qr_mtp_base_size(cfg);
}

/* Elements of the state that takes its place for tokens that the head drafted. */
static inline uint32_t qr_mtp_state_size(const struct qr_model_config *cfg)
{
    return cfg->mtp.kind == QR_MTP_SHARED_KV ? cfg->mtp.base_size : cfg->hidden_size;
}

/* Dynamic coefficients of a row of the convolutions around a sublayer of a block drafter. */
static inline uint64_t qr_mtp_conv_size(const struct qr_model_config *cfg)
{
    const struct qr_mtp_config *m = &cfg->mtp;
    return m->conv_group ? 2 * (uint64_t)m->conv_taps * (cfg->hidden_size / m->conv_group) : 0;
}

/* Elements that the confidence in a drafted token is computed from. */
static inline uint64_t qr_mtp_confidence_size(const struct qr_model_config *cfg)
{
    return (uint64_t)cfg->hidden_size + (cfg->mtp.confidence_markov ? cfg->mtp.markov_rank : 0);
}

/* Elements of an embedding. */
static inline uint32_t qr_embedding_size(const struct qr_model_config *cfg)
{
    return cfg->embedding_size ? cfg->embedding_size : cfg->hidden_size;
}

/* Whether ids of tokens cannot be replaced by rows of hidden_size: the model looks up something
 * else by them, or its embeddings have another size or are those of another model. */
static inline bool qr_model_needs_ids(const struct qr_model_config *cfg)
{
    bool table = cfg->ple.dim || cfg->ngram.size || cfg->embedding_size || qr_mtp_is_separate(cfg);
    for (uint32_t i = 0; i < cfg->n_layers; i++)
        table = table || cfg->layers[i].token_experts;
    return table;
}

/* Whether a block has norms of the inputs of its sublayers. */
static inline bool qr_block_norms_input(enum qr_block_kind block)
{
    return block != QR_BLOCK_OUTPUT_NORM && block != QR_BLOCK_POST_NORM && block != QR_BLOCK_PLAIN;
}

/* Channels of q and of k, of v, and of the causal convolution over them (0: none), of a recurrent
 * layer. */
uint64_t qr_recurrent_key_width(const struct qr_recurrent_config *r);
uint64_t qr_recurrent_value_width(const struct qr_recurrent_config *r);
uint64_t qr_recurrent_conv_width(const struct qr_recurrent_config *r);
/* Number of step sizes or decays of a token. */
uint64_t qr_recurrent_dt_width(const struct qr_recurrent_config *r);

/* Whether keys, queries and step sizes are projected from the convolved channels. */
static inline bool qr_recurrent_reads_channels(const struct qr_recurrent_config *r)
{
    return r->kind == QR_RECURRENT_MAMBA1 || r->kind == QR_RECURRENT_MAMBA_MIX;
}

/* MAMBA_MIX: rank of the step sizes, which follows from the hidden size. */
static inline uint32_t qr_recurrent_mix_rank(uint32_t hidden)
{
    return hidden / 16 > 64 ? hidden / 16 : 64;
}

/* Whether sublayers have token shift. */
static inline bool qr_recurrent_shifts(const struct qr_recurrent_config *r)
{
    return r->kind == QR_RECURRENT_WKV || r->kind == QR_RECURRENT_WKV6 ||
           r->kind == QR_RECURRENT_WKV7;
}

/* Whether those of feed-forward networks have it, too. */
static inline bool qr_recurrent_shifts_ffn(const struct qr_recurrent_config *r)
{
    return qr_recurrent_shifts(r) && !r->plain_ffn;
}

/* WKV6, WKV7: number of shifted inputs of a recurrent sublayer; that of the gate is the last. */
static inline uint32_t qr_recurrent_shifted_inputs(const struct qr_recurrent_config *r)
{
    return 4u + (r->kind == QR_RECURRENT_WKV7) + (r->output != QR_RECURRENT_OUT_PLAIN);
}

/* WKV6: what the output matrices of a layer were divided by, a power of two. */
static inline float qr_recurrent_rescale(const struct qr_recurrent_config *r, uint32_t layer)
{
    return r->rescale_every ? (float)((uint64_t)1 << layer / r->rescale_every) : 1;
}

/* Whether any layer is a mixture of experts. */
bool qr_model_has_experts(const struct qr_model_config *cfg);

/* Whether any layer has sparse gates. */
bool qr_model_has_sparse_gates(const struct qr_model_config *cfg);
/* Whether any layer has experts beside a dense network. */
bool qr_model_has_shortcuts(const struct qr_model_config *cfg);

void qr_model_config_free(struct qr_model_config *cfg); /* idempotent; accepts a zeroed struct */

/* ---- For the readers of the two file formats */

/* Sets what the family defines, and neutral values elsewhere. */
void qr_model_config_init(struct qr_model_config *cfg, const struct qr_arch *arch);

/* Sets the display name: truncated at a UTF-8 character boundary, control characters replaced by
 * spaces. */
void qr_model_config_set_name(struct qr_model_config *cfg, const char *name, size_t len);

/* Allocates the layers, all equal. Checks n_layers and n_encoder_layers first: QUIRE_E_FORMAT. */
quire_status qr_model_config_add_layers(struct qr_model_config *cfg, uint32_t heads,
                                        uint32_t kv_heads, uint32_t ffn, struct quire_error *err);

/* Sets the head sizes of multi-head latent attention and what follows from them. Requires
 * kv_lora_rank, v_head_dim and the layers. */
quire_status qr_model_config_set_mla(struct qr_model_config *cfg, uint32_t nope, uint32_t rope,
                                     struct quire_error *err);

/* Checks that dense layer i behind the pooling fits behind those before it. QUIRE_E_FORMAT. */
quire_status qr_model_config_check_dense(const struct qr_model_config *cfg, uint32_t i,
                                         struct quire_error *err);

/* Makes all layers read keys and values of the model that they are a head of (qr_mtp_config). */
void qr_model_config_use_kv_of_base(struct qr_model_config *cfg);

/* Makes the last n decoder layers read keys and values of the last layer before them with the same
 * window. Requires the windows. QUIRE_E_FORMAT if there is none. */
quire_status qr_model_config_share_kv(struct qr_model_config *cfg, uint32_t n,
                                      struct quire_error *err);

/* The layer whose weights a decoder layer uses. */
static inline uint32_t qr_loop_layer(const struct qr_model_config *cfg, uint32_t layer)
{
    return cfg->loop_layers ? layer % cfg->loop_layers : layer;
}

/* Elements of an expert's input and output. */
static inline uint32_t qr_expert_width(const struct qr_model_config *cfg)
{
    return cfg->moe.latent_size ? cfg->moe.latent_size : cfg->hidden_size;
}

/* Gives the dense layers before the first one with experts RoPE. */
void qr_model_config_rope_dense_lead(struct qr_model_config *cfg);

/* Sets qr_layer_config.rope of the decoder layers by their windows. has_window: the file gives a
 * window, whether or not any layer has it. */
void qr_model_config_set_ropes(struct qr_model_config *cfg, const struct qr_arch *arch,
                               bool has_window);

/* Sets the fields that follow from others: maxima over the layers, the embedding scale. */
void qr_model_config_finish(struct qr_model_config *cfg, const struct qr_arch *arch);

#endif
