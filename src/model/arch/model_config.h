/* SPDX-License-Identifier: Apache-2.0 */
/* model_config.h - the configuration of a transformer model, as data. */
#ifndef QR_MODEL_ARCH_MODEL_CONFIG_H
#define QR_MODEL_ARCH_MODEL_CONFIG_H
#include "base/alloc.h"
#include "model/arch/disentangled_config.h"
#include "model/arch/mtp_config.h"
#include "model/arch/output_config.h"
#include "model/arch/recurrent_config.h"
#include "model/arch/rope_config.h"
#include "model/arch/stream_config.h"
#include <stdbool.h>
#include <stdint.h>

/* The forward pass depends on this struct and the weights only. All values are resolved: no field
 * means "use the default". Both styles of config.json yield the same struct. A GGUF file yields the
 * same struct as its Hugging Face folder except for what the converter drops or changes in the
 * weights (RoPE kind of permuted q/k rows, norm weights with 1 added). Values have passed
 * qr_model_config_validate. */

enum qr_model_kind {
    QR_MODEL_DECODER,         /* causal language model */
    QR_MODEL_ENCODER,         /* BERT and similar */
    QR_MODEL_ENCODER_DECODER, /* T5, BART */
};

enum qr_norm_kind {
    QR_NORM_RMS,              /* x / rms(x) * w */
    QR_NORM_RMS_PLUS1,        /* x / rms(x) * (1 + w) */
    QR_NORM_RMS_PLUS1_LAYERS, /* RMS_PLUS1 in layers, RMS behind them */
    QR_NORM_RMS_PLAMO,        /* x / rms(x) * (o + w), where o depends on the norm: norm.c */
    QR_NORM_RMS_PLAIN,        /* x / rms(x), without parameters */
    QR_NORM_LAYER,            /* (x - mean) / sd * w [+ b] */
    QR_NORM_LAYER_PLUS1,      /* (x - mean) / sd * (1 + w) [+ b] */
    QR_NORM_LAYER_PLAIN,      /* (x - mean) / sd, without parameters */
};

/* n1, n2: norms of a sublayer's input (roles ATTN_NORM, FFN_NORM); p1, p2: norms of its output
 * (ATTN_POST_NORM, FFN_POST_NORM). Every "+=" is scaled by residual_scale. In decoder layers of an
 * encoder-decoder, which must be PRE_NORM, SANDWICH_NORM or POST_NORM, cross attention is a
 * sublayer of the same form between the two, with norms CROSS_NORM and CROSS_POST_NORM. */
enum qr_block_kind {
    QR_BLOCK_PRE_NORM,       /* x += attn(n1(x));      x += ffn(n2(x))       Llama, Qwen, GPT-2 */
    QR_BLOCK_SANDWICH_NORM,  /* x += p1(attn(n1(x)));  x += p2(ffn(n2(x)))   Gemma 2, 3, GLM-4 */
    QR_BLOCK_OUTPUT_NORM,    /* x += p1(attn(x));      x += p2(ffn(x))       OLMo 2 */
    QR_BLOCK_POST_NORM,      /* x = p1(x + attn(x));   x = p2(x + ffn(x))    BERT, BART */
    QR_BLOCK_PARALLEL,       /* h = n1(x);  x += attn(h) + ffn(h)            Phi, GPT-J, Cohere */
    QR_BLOCK_PARALLEL_2NORM, /* x += attn(n1(x)) + ffn(n2(x))                NeoX, Falcon 40B */
    QR_BLOCK_SCALED_NORM,    /* x = n1(x);  x = alpha x + beta attn(x);  likewise ffn   MiniMax */
    QR_BLOCK_PLAIN,          /* x += attn(x);          x += ffn(x)           Qwen4-Exp */
};

enum qr_activation {
    QR_ACT_SILU,
    QR_ACT_GELU_TANH,
    QR_ACT_GELU_ERF,
    QR_ACT_GELU_QUICK, /* x * sigmoid(1.702 x) */
    QR_ACT_RELU,
    QR_ACT_RELU2,      /* relu(x)^2 */
    QR_ACT_XIELU,      /* quadratic above 0, expm1 below, with parameters per layer */
    QR_ACT_SWIGLU_OAI, /* gate * sigmoid(act_alpha * gate) * (up + 1), both clamped to act_limit */
};

enum qr_qk_norm {
    QR_QK_NORM_NONE,
    QR_QK_NORM_HEAD,  /* the model's norm over head_dim, one weight vector for all heads */
    QR_QK_NORM_FULL,  /* over heads * head_dim */
    QR_QK_NORM_L2,    /* x / rms(x) per head without weights, in layers with RoPE */
    QR_QK_NORM_HEADS, /* as HEAD, with a weight vector for each head */
    QR_QK_NORM_UNIT,  /* x / rms(x) per head; keys times a factor of their head */
    QR_QK_NORM_PLAIN, /* x / rms(x) per head without weights, in front of RoPE */
};

enum {
    /* elements of a cached key behind those of the head, with key_bias: the bias, and zeros up to a
     * size that the kernels of every level take */
    QR_KEY_BIAS_WIDTH = 8,
};

enum { QR_ROPE_MAX_SETS = 8, QR_LAYER_NO_ROPE = 255, QR_MAX_EOS = 16 };

#define QR_KV_OF_BASE UINT32_MAX /* kv_source: a layer of the model that a head belongs to */

/* Convolutional attention (CCA, arXiv 2510.04476). Queries and keys, as projected, pass a
 * convolution of each channel and then one over the channels of each head, both causal. The mean of
 * a query head and its key head is added to the query, the mean of these means over the query heads
 * of a key head to the key. The second half of the values is that of the token before; before a
 * sequence its input is zero. */
struct qr_conv_attention_config {
    uint32_t channel_taps; /* 0: unused */
    uint32_t head_taps;
};

/* What mixes the tokens of a layer, in the place of the attention sublayer. */
enum qr_mixer {
    QR_MIXER_ATTENTION,
    QR_MIXER_RECURRENT, /* the model's recurrent layer, qr_recurrent_config */
    QR_MIXER_BOTH,      /* attention and recurrent layer read one norm; their outputs are added */
    QR_MIXER_NONE,      /* the layer is a feed-forward sublayer only */
    /* a recurrent layer, whose input is n1(x + out(block(x, embedding))); the block, attention and
     * a feed-forward network, is shared with other layers: qr_shared_block_config */
    QR_MIXER_SHARED_BLOCK,
};

/* Transformer blocks that several layers share (QR_MIXER_SHARED_BLOCK, Zamba2):
 * out(ffn(n2(attn(nb([x; embedding]))))), nb being the block's norm over both halves and n2 that of
 * role FFN_NORM. The layers that have one use n_blocks different blocks in turns. Projections of a
 * block get a low-rank update of each layer, W + B A; out is each layer's own. */
struct qr_shared_block_config {
    uint32_t n_blocks;       /* 0: none */
    uint32_t rank;           /* of the updates of gate and up */
    bool attention_low_rank; /* q, k and v have updates, too */
};

/* Parameters of xIELU (arXiv 2411.13010): x > 0: alpha_p x^2 + beta x; else
 * alpha_n (expm1(min(x, eps)) - x) + beta x. Files store alphas before their softplus. */
struct qr_xielu {
    float alpha_p, alpha_n, beta, eps;
};

/* Per-layer parameters. */
struct qr_layer_config {
    uint32_t n_heads, n_kv_heads;
    uint32_t window;   /* sliding window: keys visible to a query, itself included; 0 = all */
    uint32_t ffn_size; /* of a dense feed-forward; experts: see qr_moe_config */
    uint32_t head_dim, v_head_dim; /* of a query or key, and of a value */
    /* the layer whose keys and values it reads; its own index: it computes and caches them;
     * QR_KV_OF_BASE: see qr_mtp_config */
    uint32_t kv_source;
    uint8_t rope; /* index into rope[]; QR_LAYER_NO_ROPE: no rotary embedding */
    bool chunked; /* chunked attention: visible keys are those of the own chunk of `window` */
    bool moe;
    bool token_experts; /* a table gives the experts of each token */
    /* the experts are beside a dense network; their output is added behind the next layer */
    bool shortcut;
    bool encoder;        /* encoder layer of an encoder-decoder */
    bool skip_attn_norm; /* the norm before attention is omitted */
    bool sinks;          /* attention sinks: one logit per head */
    uint8_t mixer;       /* enum qr_mixer */
    uint8_t index;       /* enum qr_layer_index */
    bool no_ffn;         /* the layer ends after its mixer */
    bool output_norm;    /* the layer's block is QR_BLOCK_OUTPUT_NORM */
    bool sparse_gate;    /* gates below gate_cutoff are 0 */
    float gate_cutoff;   /* in standard deviations of a token's gates above their mean */
    bool v_is_k;         /* values are the keys before norm and RoPE; there are no weights of V */
    uint32_t ngram;      /* n-gram embeddings: number of the layer among those with, from 1 */
    uint64_t ngram_rows; /* of each part of its table */
    uint32_t compress_rate; /* tokens per compressed key; 0: none; see qr_shared_kv_config */
    struct qr_xielu xielu;  /* as stored, of GGUF files; in others they are tensors */
    /* SILU: act(gate) is at most this, ups between minus this and this, in dense and shared
     * networks and in experts; 0: see act_limit */
    float ffn_limit, expert_limit;
    /* SHARED_BLOCK: the first layer with the same block, whose weights this layer uses, and the
     * number of layers with any block before this one */
    uint32_t block_owner, block_use;
};

enum qr_moe_gating {
    QR_GATING_SOFTMAX, /* softmax over all experts, then top-k */
    QR_GATING_SIGMOID,
    QR_GATING_SQRT_SOFTPLUS, /* sqrt(softplus(x)) */
    QR_GATING_SOFTMAX_TOPK,  /* top-k of the router logits, then softmax over the selected */
    /* SparseMixer (arXiv 2310.00811): each selected expert's weight is its softmax over the experts
     * left whose logits are within sparsemixer_margin of it, relatively */
    QR_GATING_SPARSEMIXER,
};

/* What the experts beside a dense network read. */
enum qr_beside_input {
    QR_BESIDE_OWN_NORM, /* m2(x), x the residual stream that the dense network's norm reads */
    QR_BESIDE_EARLY,    /* m2 of the residual stream before the mixer */
};

struct qr_moe_config {
    uint32_t n_experts, top_k, n_shared; /* n_experts == 0: a dense model */
    uint32_t n_identity;                 /* further experts, which return their input */
    uint32_t n_zero;                     /* experts behind those, which return zero */
    uint32_t ffn_size;                   /* of one expert */
    uint32_t shared_ffn_size;            /* of all shared experts together */
    uint32_t n_groups, topk_groups;      /* group-limited routing; 1, 1 if unused */
    enum qr_moe_gating gating;
    bool renormalize;     /* divide the selected weights by their sum */
    bool correction;      /* a per-expert score bias applies to the selection only */
    bool group_top2;      /* group score: sum of its two best experts, else its best expert */
    bool shared_gate;     /* the shared expert's output is multiplied by a sigmoid gate */
    bool average_shared;  /* the sum of the experts and the shared one is divided by 2 */
    bool weight_on_input; /* an expert's weight multiplies its input instead of its output */
    bool router_bias;
    bool expert_bias;
    bool sum_bias;       /* a bias is added to the weighted sum of the experts */
    float weights_scale; /* multiplies the selected weights, after renormalization */
    bool expert_scale;   /* each selected weight is multiplied by a factor of its expert */
    /* The router is r = in(x) [+ carry * r of the layer before]; fc2(act(fc1(norm(r)))) with GELU
     * behind both, and then the linear layer; 0: that layer alone */
    uint32_t router_hidden;
    bool router_norm; /* the router reads x / rms(x) * w / sqrt(hidden), x the residual stream */
    bool router_before_mixer; /* the router reads the residual stream before attention */
    /* MoE layers have a dense network, too: ffn = o1(dense(n2(x))) + o2(experts(m2(x))), with norms
     * FFN_DENSE_POST_NORM, EXPERT_POST_NORM, FFN_NORM and EXPERT_NORM */
    bool beside_dense;
    bool beside_plain; /* without o1 and o2 */
    enum qr_beside_input beside_input;
    /* Adjugate experts (arXiv 2508.07785): so many neighbouring experts share one, which runs once
     * for a token if any of them is selected; its weight is the sum of theirs times a scale. 0:
     * none */
    uint32_t adjugate_group;
    uint32_t adjugate_ffn_size;
    float adjugate_scale;
    /* the experts read in(x) with so many elements, and their weighted sum passes out(); the router
     * and the shared experts read x; 0: all read x */
    uint32_t latent_size;
    float logit_softcap; /* soft cap of the router's logits; 0 = off */
    float sparsemixer_margin;
};

/* Multi-head latent attention (quire/mla.h); kv_lora_rank == 0: unused. If used, head_dim is
 * qk_nope_dim + qk_rope_dim, RoPE rotates the last qk_rope_dim elements of a head, and every layer
 * has one KV head whose rows are kv_lora_rank + qk_rope_dim wide. */
struct qr_mla_config {
    uint32_t q_lora_rank; /* 0: q is projected directly */
    uint32_t kv_lora_rank, qk_nope_dim, qk_rope_dim;
    float latent_scale; /* multiplies normalized latents of keys and values; 1 = none */
    /* load the weights for expanded keys as well; set by the caller, not read from the file */
    bool expand;
};

/* Attention with one key of head_dim per token, which is its value as well (DeepSeek V4). RoPE
 * rotates the last elements of queries and keys, and rotates those of the output back, as values
 * are rotated. Queries come from mla.q_lora_rank and are divided by their rms per head; the output
 * projection is o(concatenation of o_a applied to each group of heads).
 *
 * Layers with a compress_rate attend to compressed keys, too, besides those of their window: every
 * `rate` tokens have one, norm(sum_j softmax_j(gate_j + bias_j) kv_j) by element, rotated by the
 * position of the first of them. With overlap, a token has two series of kv and gate: the first
 * takes part in the key of the next `rate` tokens, the second in that of its own. Layers with an
 * indexer attend to those of its choice; its own keys are compressed with overlap. */
struct qr_shared_kv_config {
    uint32_t o_groups, o_rank; /* o_groups == 0: unused */
};

/* Which keys the queries of a layer attend to. */
enum qr_layer_index {
    QR_INDEX_NONE,   /* all that the masks leave */
    QR_INDEX_OWN,    /* those that the layer's indexer selects */
    QR_INDEX_SHARED, /* those that the last layer with an indexer selected */
};

/* Indexer of sparse attention; n_heads == 0: unused. It has one key per token, in a KV group of
 * their own, and selects the keys of a token by scores of its queries against them: DeepSeek sparse
 * attention (DSA), the block-sparse attention of MiniMax M3 and of Qwen4-Exp. */
struct qr_index_config {
    uint32_t n_heads, head_dim; /* of index queries; RoPE rotates their first elements */
    uint32_t top_k;             /* keys or blocks that are selected */
    uint32_t block_size;        /* blocks of keys are selected, by their highest score; 1: keys */
    uint32_t local_blocks;      /* blocks up to the query's own that are always selected */
    /* A block has one key, the norm of the mean of its tokens' projections, rotated by the position
     * of its first token, and can be selected once all of them are visible. Tokens behind the last
     * such block are always selected. */
    bool compressed;
    bool unit_weights; /* of `weighted`: w_h is 1 */
    bool pooled;       /* keys are compressed like those of qr_shared_kv_config, with overlap */
    bool rope_last;    /* RoPE rotates the last elements */
    /* one selection for all heads, by sum_h w_h(x) * max(q_h . k, 0); else one for each index head,
     * by q_h . k, which applies to an equal share of the KV heads */
    bool weighted;
    bool low_rank_q;  /* queries are projected from the latent form of those of MLA */
    bool q_norm;      /* the model's norm of each query */
    bool layer_norm;  /* the norm of keys is a LayerNorm with bias, else the model's norm */
    bool interleaved; /* RoPE as QR_ROPE_INTERLEAVED, else as QR_ROPE_NEOX */
};

/* Which projections have a bias vector. */
struct qr_bias_config {
    bool q, k, v, o;
    bool ffn_in; /* gate and up */
    bool ffn_down;
    bool norm;   /* LayerNorm bias */
    bool output; /* LM head */
};

/* Sampling parameters recommended by the model's author; a value is valid if its has_ flag is
 * set. */
struct qr_sampling_defaults {
    bool has_temperature, has_top_k, has_top_p, has_min_p, has_repetition_penalty;
    bool greedy; /* do_sample is present and false */
    float temperature, top_p, min_p, repetition_penalty;
    uint32_t top_k;
    const int32_t *suppressed; /* [n_suppressed] tokens of the vocabulary, never generated */
    uint32_t n_suppressed;
};

/* Quantized weights of a Hugging Face checkpoint. */
enum qr_quantization_method {
    QR_QUANTIZATION_NONE,
    QR_QUANTIZATION_FP8,
    QR_QUANTIZATION_GPTQ,
    QR_QUANTIZATION_AWQ,
    QR_QUANTIZATION_COMPRESSED, /* compressed-tensors */
    QR_QUANTIZATION_MODELOPT,
    QR_QUANTIZATION_MXFP4,
    QR_QUANTIZATION_NF4,      /* bitsandbytes, 4 bits */
    QR_QUANTIZATION_LLM_INT8, /* bitsandbytes, 8 bits */
};

/* What the tensors do not say themselves. */
struct qr_quantization_config {
    enum qr_quantization_method method;
    uint32_t bits;  /* GPTQ, AWQ: of a code, 4 or 8 */
    uint32_t group; /* GPTQ, AWQ: columns per scale, a multiple of 32; 0: a whole row */
    bool mixed;     /* GPTQ, AWQ: the shapes of each matrix tell both */
    uint32_t block_rows, block_columns; /* of a block with one scale; 0: no blocks */
    bool zero_minus_one;                /* GPTQ: zero points are stored minus 1 */
    /* modules that are not quantized, owned by the config: names or parts of names between dots, or
     * "re:" and a pattern */
    const char *const *plain;
    size_t n_plain;
};

struct qr_model_config {
    char arch[32]; /* name of the family in src/model/arch, e.g. "llama" */
    char name[96]; /* display name; may be empty */
    enum qr_model_kind kind;
    bool causal; /* of an encoder-decoder: the decoder */

    /* sizes */
    uint32_t n_layers, hidden_size, vocab_size, context_length;
    uint32_t n_encoder_layers; /* of an encoder-decoder, whose n_layers counts decoder layers */
    /* Looped transformers: layer i has the weights of layer i % loop_layers, and keys and values of
     * its own; 0: no loops. With loop_norm, the final norm is applied between two loops, too. */
    uint32_t loop_layers;
    bool loop_norm;
    uint32_t n_mtp_layers; /* behind the last layer; the files may contain them: heads of MTP */
    uint32_t head_dim, v_head_dim;                  /* of the largest heads of any layer */
    uint32_t max_heads, max_kv_heads, max_ffn_size; /* over all layers */

    /* embedding and LM head */
    float embedding_scale; /* multiplies token embeddings; 1 = none */
    bool learned_positions;
    uint32_t position_offset;                  /* row of the position table = position + this */
    bool embedding_norm, embedding_norm_plain; /* plain: without weights */
    /* elements of an embedding, which EMBD_PROJ brings to hidden_size behind the norm; less than
     * hidden_size, or 0: they have hidden_size elements and there is no projection */
    uint32_t embedding_size;
    bool embedding_affine;  /* token embeddings are (e + shift) * scale, both vectors */
    bool encoder_embedding; /* the encoder has token embeddings of its own */
    uint32_t n_token_types;
    bool tied_embeddings; /* the LM head is the token embedding */
    bool no_lm_head;      /* an encoder without LM head: it computes no logits */
    /* of a decoder: the LM head reads norm(act(dense(x))); encoders have that layer or not */
    bool head_dense;
    bool output_gain; /* a tensor has a factor of the logits */
    uint8_t pooling;  /* enum quire_pooling, recommended by the author */
    /* what the author's embeddings need besides `pooling` and normalization, such as a dense layer
     * behind it, for messages; "" = nothing */
    char embedding_module[96];
    uint32_t n_dense; /* dense layers behind the pooling */
    struct qr_dense_config dense[QR_MAX_DENSE];
    enum qr_class_head class_head;
    uint32_t n_labels;   /* of the classification head; 0 without */
    bool class_mean;     /* its input is the mean of the hidden states */
    bool class_yes_no;   /* its matrix has a row for yes and one for no: their difference counts */
    bool sigmoid_scores; /* its outputs are meant for the logistic function */
    bool unit_head;      /* rows of the LM head are divided by their Euclidean lengths */
    float logit_scale;   /* multiplies logits before final_softcap; 1 = none */
    float final_softcap; /* logit soft cap: cap * tanh(logit / cap); 0 = off */

    /* block */
    enum qr_norm_kind norm;
    float norm_eps;
    float post_norm_eps; /* of the output norms of sublayers; 0: norm_eps */
    enum qr_block_kind block;
    float residual_scale; /* 1 = none */
    /* SCALED_NORM: alpha and beta of attention, recurrent and feed-forward sublayers */
    float norm_alpha[3], norm_beta[3];
    float ffn_gate_scale, ffn_out_scale; /* multiply gate(x), and the output of a dense layer */
    enum qr_activation activation;
    bool ffn_gated;  /* act(gate(x)) * up(x); else act(up(x)) */
    float act_alpha; /* SWIGLU_OAI */
    /* SWIGLU_OAI, SILU: gates are at most this, ups between minus this and this; 0 = off */
    float act_limit;
    bool xielu_in_layers; /* XIELU: the parameters are in qr_layer_config, not tensors */
    bool sub_norms;       /* norms of the inputs of the attention output and FFN down projections */
    bool layer_scale;     /* the residual stream behind a layer is multiplied by a factor of it */
    /* the queries of a head have a factor, the outputs of sublayers another, and behind a layer the
     * embedding is added, with the third (Talkie) */
    bool gains;
    struct qr_bias_config bias;

    /* attention */
    float attention_scale; /* multiplies q.k */
    struct qr_disentangled_config disentangled;
    float attention_softcap; /* soft cap of attention scores; 0 = off */
    float clip_qkv;          /* clamps q, k, v to [-c, c]; 0 = off */
    float alibi_max_bias;    /* slopes from 2^(-max_bias/heads); 0 = no ALiBi */
    float alibi_scale;       /* multiplies the slopes; 1 = none */
    bool attention_gate;     /* the attention output is multiplied by sigmoid(gate(x)) */
    bool gate_softplus;      /* by softplus(gate(x)) instead */
    bool gate_per_head;      /* one gate for all elements of a head */
    /* Differential attention (arXiv 2410.05258): the value of KV head h is [v_g; v_(g + n/2)], g is
     * h modulo n/2 of the n heads in the file, v_head_dim long; heads h and h + n/2 are combined to
     * norm(att_h - lambda att_(h + n/2)) * (1 - initial lambda of the layer) */
    bool differential;
    /* Scores of a key have the term exp(A softplus(dt(v))) of its KV head, v its values of all
     * heads (Doge). It is one more element of the cached key. */
    bool key_bias;
    bool residual_weights; /* x is multiplied by a vector before a sublayer's output is added */
    /* x = (x + shift) * residual + (sublayer + out shift) * out scale, with vectors; PRE_NORM */
    bool residual_affine;
    struct qr_conv_attention_config conv_attention;
    float attention_out_scale; /* multiplies the output of the sublayer; 1 = none */
    /* T5 relative position bias, one table for all layers of a stack; 0 = none */
    uint32_t relative_buckets, relative_distance;
    /* query head h attends to KV head h % n_kv_heads; else to h / (n_heads / n_kv_heads) */
    bool tiled_heads;
    enum qr_qk_norm qk_norm;
    bool qk_norm_after_rope;
    bool qk_norm_bias;     /* the norms of q and k have biases */
    bool second_post_norm; /* block POST_NORM: x = n2(x + n1(x + attn(x))) */
    bool v_norm;           /* values are divided by their rms, per head */
    /* attention temperature tuning of layers without RoPE:
     * q *= log1p(floor((pos + 1) / temperature_floor)) * temperature_scale + 1;
     * with temperature_everywhere of all layers, with pos instead of pos + 1 */
    float temperature_floor, temperature_scale; /* 0 = off */
    bool temperature_everywhere;
    uint32_t n_rope;
    struct qr_rope_config rope[QR_ROPE_MAX_SETS];
    struct qr_mla_config mla;
    struct qr_shared_kv_config shared_kv;
    struct qr_index_config index;
    struct qr_moe_config moe;
    struct qr_ple_config ple;
    struct qr_altup_config altup;
    struct qr_hyper_config hyper;
    struct qr_ngram_config ngram;
    /* LAuReL (arXiv 2411.07501): x = (x + p1(attn(h)) + h + norm(right(left(h)))) / sqrt(2), h the
     * normed input of attention; 0 = none */
    uint32_t laurel_rank;
    struct qr_recurrent_config recurrent; /* kind NONE: no recurrent layers */
    struct qr_shared_block_config shared_block;
    struct qr_mtp_config mtp;
    struct qr_layer_config *layers; /* [n_layers], then the encoder's [n_encoder_layers] */

    /* tokens */
    int32_t bos_id, pad_id;   /* -1: none */
    int32_t decoder_start_id; /* first token of the decoder's sequence; -1: none */
    uint32_t n_eos;
    int32_t eos_ids[QR_MAX_EOS];
    struct qr_sampling_defaults sampling;

    struct qr_quantization_config quantization;
    struct qr_arena memory; /* owns layers, RoPE factors and lists of names */
};

#endif
