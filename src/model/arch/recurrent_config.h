/* SPDX-License-Identifier: Apache-2.0 */
/* recurrent_config.h - configuration of recurrent layers. */
#ifndef QR_MODEL_ARCH_RECURRENT_CONFIG_H
#define QR_MODEL_ARCH_RECURRENT_CONFIG_H
#include <stdbool.h>
#include <stdint.h>

/* Recurrences, docs/numerics.md. S is the state of a head, [key][value]. */
enum qr_recurrent_kind {
    QR_RECURRENT_NONE,
    QR_RECURRENT_SHORT_CONV, /* o = q * conv(k * v), no other state: LFM2 */
    QR_RECURRENT_MAMBA1,     /* one decay per channel and state element; B, C from the channels */
    QR_RECURRENT_MAMBA2,     /* S = a S + k (dt v); o = S q + D v: q is C, k is B, v is x */
    QR_RECURRENT_MAMBA_MIX,  /* the same; B, C and dt come from the channels: PLaMo 2 */
    QR_RECURRENT_DELTA,      /* S = a S; S += k beta (v - S k); o = S q: gated delta net, KDA */
    QR_RECURRENT_LIGHTNING,  /* S = a S + k v; o = S q, a constant per head: MiniMax */
    /* o: mean of the values, weighted by exp(k), which decays; token shift in all sublayers, whose
     * feed-forward networks have a gate of the output: RWKV-4 */
    QR_RECURRENT_WKV,
    QR_RECURRENT_WKV6, /* o = S q; S = w S + k v; token shift as well: RWKV-6 */
    QR_RECURRENT_WKV7, /* p = S a; S = w S + b p + k v; o = S q; token shift as well: RWKV-7 */
    /* per channel: s = a s + sqrt(1 - a^2) i u, but s = i u at the first token; u: the convolved
     * input, i and a from gates by head: RG-LRU (arXiv 2402.19427) */
    QR_RECURRENT_RG_LRU,
};

/* How the output of the recurrence and the gate z are combined. */
enum qr_recurrent_output {
    QR_RECURRENT_OUT_PLAIN,     /* o: no gate */
    QR_RECURRENT_OUT_GATED,     /* o * act(z) */
    QR_RECURRENT_OUT_NORM_GATE, /* norm(o) * w * act(z) */
    QR_RECURRENT_OUT_GATE_NORM, /* norm(o * act(z)) * w */
};

/* Recurrent layers; all of a model have the same shape. Value heads share the heads of q and k like
 * query heads share key-value heads. Mamba-1: n_heads channels with value_dim 1 and key_dim states
 * each. Short convolution and WKV: n_heads channels, key_dim and value_dim 1. */
struct qr_recurrent_config {
    enum qr_recurrent_kind kind;
    uint32_t n_heads, n_key_heads;  /* n_key_heads: groups of Mamba-2 */
    uint32_t key_dim, value_dim;    /* of a head; key_dim: state size of Mamba */
    uint32_t conv_taps;             /* of the causal convolution; 0 = none */
    uint32_t dt_rank;               /* of low-rank step sizes (Mamba-1) or decays; 0 = direct */
    uint32_t gate_rank;             /* of a low-rank gate; 0 = z is projected directly */
    uint32_t rate_rank, value_rank; /* WKV7: of rates of removal, shares of the first values */
    uint32_t mix_rank;              /* WKV6: of the corrections of mixes */
    /* WKV6: the file has the output matrices of layer i divided by 2^(i / rescale_every); 0: not */
    uint32_t rescale_every;
    uint32_t n_kv_heads; /* WKV6: of k and v, which heads of q share; 0: as many */
    /* WKV6: gated linear attention: keys times 1 - w; S = w S + k v; o = S q / sqrt(key_dim) */
    bool gated_linear;
    bool plain_ffn;    /* WKV6, WKV7: without token shift in the feed-forward networks */
    bool no_norm;      /* WKV6, WKV7: heads are not normalized */
    bool qkv_bias;     /* WKV6: projections of q, k and v have biases */
    uint32_t norm_dim; /* elements of one output norm */
    enum qr_recurrent_output output;
    bool norm_per_head;           /* one weight vector of norm_dim for all output norms */
    bool sigmoid_gate, gelu_gate; /* act(z) is sigmoid, or tanh GELU, else silu */
    bool bias;                    /* projections of v, z and the output have biases */
    bool conv_bias;               /* a bias per channel of the convolution */
    bool conv_thirds;  /* the tensors of q, k and v hold thirds of all channels, in this order */
    bool log_decay;    /* the file holds A_log, else -exp(A_log) */
    bool vector_decay; /* delta: a decay per key element (KDA) */
    /* KDA: log decays are this times sigmoid(exp(A_log) (dt + bias)), the file holds A_log or
     * exp(A_log); 0: they are -exp(A_log) softplus(dt + bias) */
    float decay_bound;
    bool tiled_heads; /* value head h uses key head h % n_key_heads, else h / (heads per key) */
    bool dt_norms, norm_weights; /* dt, B and C from channels are normalized, with weights */
    float dt_norm_eps, norm_eps;
    float beta_scale;     /* delta: multiplies sigmoid(b); 1 or 2 */
    float part_scales[5]; /* multiply z, x, B, C and dt of Mamba-2; 1 = none */
    float out_scale;      /* multiplies the layer's output; 1 = none */
};

#endif
