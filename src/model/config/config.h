/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - one description of any transformer as data; made from GGUF metadata or a Hugging Face folder. */
#ifndef QR_MODEL_CONFIG_CONFIG_H
#define QR_MODEL_CONFIG_CONFIG_H
#include "base/alloc.h"
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The forward pass reads nothing but this struct and the weights. Everything is resolved: no field means
 * "take the default", both config.json styles give the same struct, and a GGUF file gives the same struct
 * as its Hugging Face folder except for what the converter changed in the weights (rope kind of permuted
 * q/k rows, norm weights that had 1 added) or drops. Values have passed qr_model_config_validate. */

enum qr_model_kind {
    QR_MODEL_DECODER,         /* causal language model */
    QR_MODEL_ENCODER,         /* BERT and the like */
    QR_MODEL_ENCODER_DECODER, /* T5, BART, Whisper */
};

enum qr_norm_kind {
    QR_NORM_RMS,         /* x / rms(x) * w */
    QR_NORM_RMS_PLUS1,   /* x / rms(x) * (1 + w) */
    QR_NORM_LAYER,       /* (x - mean) / sd * w [+ b] */
    QR_NORM_LAYER_PLUS1, /* (x - mean) / sd * (1 + w) [+ b] */
    QR_NORM_LAYER_PLAIN, /* (x - mean) / sd, no parameters */
};

/* n1, n2: norms of a sublayer's input (roles ATTN_NORM, FFN_NORM); p1, p2: norms of its output
 * (ATTN_POST_NORM, FFN_POST_NORM). Every "+=" is scaled by residual_scale. */
enum qr_block_kind {
    QR_BLOCK_PRE,       /* x += attn(n1(x));      x += ffn(n2(x))       Llama, Qwen, Phi-3, GPT-2 */
    QR_BLOCK_SANDWICH,  /* x += p1(attn(n1(x)));  x += p2(ffn(n2(x)))   Gemma 2 and 3, GLM-4 */
    QR_BLOCK_OUTPUT,    /* x += p1(attn(x));      x += p2(ffn(x))       OLMo 2 */
    QR_BLOCK_POST,      /* x = p1(x + attn(x));   x = p2(x + ffn(x))    BERT, BART */
    QR_BLOCK_PARALLEL1, /* h = n1(x);  x += attn(h) + ffn(h)            Phi, GPT-J, Cohere */
    QR_BLOCK_PARALLEL2, /* x += attn(n1(x)) + ffn(n2(x))                GPT-NeoX, Falcon 40B */
};
/* PRE and POST blocks of a decoder with an encoder have cross attention as a sublayer of the same form between the
 * two, with norms CROSS_NORM and CROSS_POST_NORM. */

enum qr_activation {
    QR_ACT_SILU,
    QR_ACT_GELU_TANH,
    QR_ACT_GELU_ERF,
    QR_ACT_GELU_QUICK, /* x * sigmoid(1.702 x) */
    QR_ACT_RELU,
    QR_ACT_RELU2,      /* relu(x)^2 */
    QR_ACT_SWIGLU_OAI, /* gate * sigmoid(act_alpha * gate) * (up + 1), both clamped to act_limit */
};

enum qr_qk_norm {
    QR_QK_NORM_NONE,
    QR_QK_NORM_HEAD, /* the model's norm over head_dim, one weight vector for all heads */
    QR_QK_NORM_FULL, /* over heads * head_dim at once */
    QR_QK_NORM_L2,   /* x / rms(x) per head without weights, in layers with rope */
};

enum qr_rope_kind {
    QR_ROPE_NONE,
    QR_ROPE_HALF,        /* pairs (i, i + dim/2): Hugging Face files, GGUF "neox" families */
    QR_ROPE_INTERLEAVED, /* pairs (2i, 2i + 1): GGUF of arch llama, GPT-J, Cohere */
};

enum qr_rope_scaling {
    QR_ROPE_SCALING_NONE,
    QR_ROPE_SCALING_LINEAR, /* inv_freq / factor */
    QR_ROPE_SCALING_LLAMA3, /* low frequencies / factor, smooth between the two *_freq_factor */
    QR_ROPE_SCALING_YARN,
    QR_ROPE_SCALING_LONGROPE, /* factors per frequency, one set up to original_context and one beyond */
    QR_ROPE_SCALING_DYNAMIC, /* NTK: theta grows with the sequence beyond original_context */
    QR_ROPE_SCALING_FACTORS, /* inv_freq / factors_short[i] at every length (GGUF rope_freqs.weight) */
};

/* One set of rotary parameters. The rotation uses the first `dim` elements of a head. */
struct qr_rope_config {
    enum qr_rope_kind kind;
    enum qr_rope_scaling scaling;
    uint32_t dim;              /* rotary elements per head, even; < head_dim means partial rotary */
    uint32_t original_context; /* LLAMA3, YARN, LONGROPE, DYNAMIC; 0 otherwise */
    double theta;
    double factor;                            /* 1 when unused */
    double low_freq_factor, high_freq_factor; /* LLAMA3 */
    double beta_fast, beta_slow;              /* YARN */
    bool truncate;       /* YARN: correction range rounded to whole dimensions */
    float cos_sin_scale; /* multiplies cos and sin; 1 unless the scaling rule says otherwise */
    /* [dim / 2] each, owned by the config: LONGROPE both, FACTORS the short ones, otherwise NULL */
    const float *factors_short, *factors_long;
};

enum { QR_ROPE_MAX_SETS = 2, QR_LAYER_NO_ROPE = 255, QR_MAX_EOS = 16 };

/* What may differ from layer to layer. */
struct qr_layer_config {
    uint32_t n_heads, n_kv_heads;
    uint32_t window;   /* keys a query sees, itself included; 0 = all */
    uint32_t ffn_size; /* of the dense feed-forward; MoE layers have their sizes in qr_moe_config */
    uint8_t rope;      /* index into rope[], QR_LAYER_NO_ROPE: no positions in this layer */
    bool chunked; /* window means chunks: a query sees its own chunk of `window` positions only */
    bool moe;
    bool encoder;    /* belongs to the encoder of an encoder-decoder */
    bool bare_input; /* the block's norm before attention is left out */
};

enum qr_moe_gating {
    QR_GATING_SOFTMAX, /* softmax over all experts, then top-k */
    QR_GATING_SIGMOID,
    QR_GATING_SOFTMAX_TOPK, /* top-k of the raw scores, then softmax over the chosen */
};

struct qr_moe_config {
    uint32_t n_experts, n_used, n_shared; /* n_experts == 0: a dense model */
    uint32_t ffn_size;                    /* of one expert */
    uint32_t shared_ffn_size;             /* of all shared experts together */
    uint32_t n_groups, n_groups_used;     /* group-limited routing; 1, 1 when unused */
    enum qr_moe_gating gating;
    bool renormalise;    /* chosen weights are divided by their sum */
    bool correction;     /* a per-expert score bias takes part in the choice only */
    bool group_top2;     /* a group is worth the sum of its two best experts, else its best one */
    bool shared_gate;    /* the shared expert's output is multiplied by a sigmoid gate */
    bool input_weights;  /* an expert's weight multiplies its input, not its output */
    bool router_bias;    /* the router has a bias */
    bool expert_bias;    /* so have the experts' matrices */
    float weights_scale; /* multiplies the chosen weights, after renormalisation */
};

/* Multi-head latent attention (quire/mla.h); kv_lora_rank == 0: not used. Then head_dim = nope + rope, the rotation is of
 * a head's last elements, and every layer has one KV head, whose rows are kv_lora_rank + qk_rope_dim wide. */
struct qr_mla_config {
    uint32_t q_lora_rank; /* 0: plain q projection */
    uint32_t kv_lora_rank, qk_nope_dim, qk_rope_dim;
    /* weights for expanded keys are wanted too; the one field that is the caller's choice */
    bool expand;
};

/* Which projections carry a bias vector. */
struct qr_bias_config {
    bool q, k, v, o;
    bool ffn_in; /* gate and up */
    bool ffn_down;
    bool norm;   /* LayerNorm offsets */
    bool output; /* of the head */
};

/* Defaults that the model's author recommends; a value is meaningful when its has_ flag is set. */
struct qr_sampling_defaults {
    bool has_temperature, has_top_k, has_top_p, has_min_p, has_repetition_penalty;
    bool greedy; /* do_sample is there and false */
    float temperature, top_p, min_p, repetition_penalty;
    uint32_t top_k;
};

struct qr_model_config {
    char arch[32]; /* family name as in src/model/arch, e.g. "llama" */
    char name[96]; /* for display; may be empty */
    enum qr_model_kind kind;
    bool causal; /* of encoder-decoders: the decoder */

    /* sizes */
    uint32_t n_layers, hidden_size, vocab_size, context_length;
    /* of an encoder-decoder's encoder; n_layers are the decoder's then */
    uint32_t n_encoder_layers;
    uint32_t head_dim, v_head_dim;
    uint32_t max_heads, max_kv_heads, max_ffn_size; /* over all layers */

    /* embedding and head */
    float embedding_scale; /* multiplies token embeddings; 1 = none */
    bool learned_positions;
    uint32_t position_offset; /* learned position = position + this */
    bool embedding_norm;
    uint32_t n_token_types;
    bool tied_output;    /* no head of its own: logits = x . token_embd */
    bool no_output;      /* an encoder without a head: there are no logits */
    uint8_t pooling;     /* enum quire_pooling that the author recommends */
    float logit_scale;   /* multiplies logits before final_softcap; 1 = none */
    float final_softcap; /* cap * tanh(logit / cap); 0 = off */

    /* block */
    enum qr_norm_kind norm;
    float norm_eps;
    enum qr_block_kind block;
    float residual_scale; /* 1 = none */
    enum qr_activation activation;
    bool ffn_gated;             /* act(gate(x)) * up(x); else act(up(x)) */
    float act_alpha, act_limit; /* SWIGLU_OAI */
    struct qr_bias_config bias;

    /* attention */
    float attention_scale;   /* multiplies q.k */
    float attention_softcap; /* 0 = off */
    float clip_qkv;          /* q, k, v clamped to [-c, c]; 0 = off */
    float alibi_max_bias;    /* slopes from 2^(-max_bias/heads); 0 = no ALiBi */
    float alibi_scale;       /* multiplies the slopes; 1 = none */
    bool sinks;
    /* relative position bias by buckets, one table for all layers of a stack; 0 = none */
    uint32_t relative_buckets, relative_distance;
    enum qr_qk_norm qk_norm;
    bool qk_norm_after_rope;
    /* layers without rope: q *= log1p(floor((pos + 1) / temperature_floor)) * temperature_scale + 1 */
    float temperature_floor, temperature_scale; /* 0 = off */
    uint32_t n_rope;
    struct qr_rope_config rope[QR_ROPE_MAX_SETS];
    struct qr_mla_config mla;
    struct qr_moe_config moe;
    struct qr_layer_config *layers; /* [n_layers], then the encoder's [n_encoder_layers] */

    /* tokens */
    int32_t bos_id, pad_id;   /* -1: none */
    int32_t decoder_start_id; /* begins the decoder's sequence; -1: none */
    uint32_t n_eos;
    int32_t eos_ids[QR_MAX_EOS];
    struct qr_sampling_defaults sampling;

    struct qr_arena memory; /* owns layers and factor arrays */
};

struct qr_gguf;

/* Builds the description from an open GGUF file. QUIRE_E_UNSUPPORTED names an unknown architecture,
 * QUIRE_E_FORMAT the offending key. On failure *cfg holds nothing that needs freeing. */
quire_status qr_model_config_from_gguf(const struct qr_gguf *g, const struct quire_allocator *a,
                                       struct qr_model_config *cfg, struct quire_error *err);

/* Builds it from the text of config.json (either style). generation_json may be NULL. */
quire_status qr_model_config_from_hf(const char *config_json, size_t config_size,
                                     const char *generation_json, size_t generation_size,
                                     const struct quire_allocator *a, struct qr_model_config *cfg,
                                     struct quire_error *err);

/* Layers of all stacks. */
static inline uint32_t qr_model_all_layers(const struct qr_model_config *cfg)
{
    return cfg->n_layers + cfg->n_encoder_layers;
}

/* Is there a norm behind the last layer? POST blocks end with one of their own. */
static inline bool qr_model_final_norm(const struct qr_model_config *cfg)
{
    return cfg->block != QR_BLOCK_POST;
}

/* Has any layer a mixture of experts? */
bool qr_model_has_experts(const struct qr_model_config *cfg);

/* Takes over how embeddings are pooled from the text of 1_Pooling/config.json. Ways that quire does not know are ignored:
 * a program chooses for itself. */
quire_status qr_model_config_read_pooling(struct qr_model_config *cfg, const char *json,
                                          size_t size, struct quire_error *err);

/* The semantic validator, called by both of the above: limits, divisibility, finite numbers. */
quire_status qr_model_config_validate(const struct qr_model_config *cfg, struct quire_error *err);

void qr_model_config_free(struct qr_model_config *cfg); /* safe on a zeroed struct and twice */

/* inv_freq[dim / 2] of a rope set for a sequence of seq_len tokens (only LONGROPE and DYNAMIC depend on
 * it), rounded to f32 where the reference implementation rounds. The caller multiplies cos and sin by
 * cos_sin_scale. */
void qr_rope_inv_freq(const struct qr_rope_config *rope, uint64_t seq_len, float *inv_freq);

#endif
