/* SPDX-License-Identifier: Apache-2.0 */
/* arch.h - a model family as data: options, defaults of its config.json, tensor names. */
#ifndef QR_MODEL_ARCH_ARCH_H
#define QR_MODEL_ARCH_ARCH_H
#include "model/arch/families.h"
#include "model/arch/model_config.h"
#include "model/arch/names.h"
#include <stddef.h>

/* Which layers have the sliding window whose size the file gives. */
enum qr_window_rule {
    QR_WINDOW_NONE,           /* no layer; the reference implementation ignores the key, too */
    QR_WINDOW_ALL,            /* every layer */
    QR_WINDOW_FROM,           /* with use_sliding_window, layers from max_window_layers on (Qwen) */
    QR_WINDOW_PERIODIC,       /* all but the last layer of every window_period layers (Gemma) */
    QR_WINDOW_PERIODIC_FIRST, /* all but the first layer of every period (ModernBERT) */
    QR_WINDOW_LISTED,         /* those that layer_types lists, which must not be missing */
    QR_WINDOW_LOCAL, /* layers that attention_layers or attention_types call local (GPT-Neo) */
};

/* Default of the family's reference implementation for a key missing in config.json. */
struct qr_hf_default {
    const char *key;
    double value;
};

/* The family's name for a key; "a.b" is key b of object a, "a.b.c" key c of object b in it. */
struct qr_hf_alias {
    const char *key, *name;
};

/* An option that must have this value or be missing; QUIRE_E_UNSUPPORTED otherwise. */
struct qr_hf_fixed_bool {
    const char *key;
    bool value;
};
struct qr_hf_fixed_string {
    const char *key, *text;
};

/* A key that changes no result of a model of the family, for the reason in a comment nearby. value
 * NULL: whatever the value; else the one value of which that is true, "true", an integer or a
 * string. A key with '*' at one end matches any characters there. */
struct qr_ignored_key {
    const char *key, *value;
};

/* A family whose files have the model_type of another one and this text under a key, or as an
 * element of its list. */
struct qr_hf_variant {
    const char *key, *text;
    const struct qr_arch *arch;
};

/* What the files of a family with recurrent layers leave out. */
struct qr_recurrent_arch {
    /* kind and options; sizes come from the file */
    struct qr_recurrent_config config;
    enum qr_mixer mixer; /* of recurrent layers: RECURRENT or BOTH */
    bool all;            /* there are no other layers */
    bool no_ffn;         /* layers with a mixer have no feed-forward sublayer */
    bool grouped_norm;   /* the output norm is over n_heads * value_dim / n_key_heads elements */
    bool head_norm;      /* over value_dim elements, with one weight vector for all heads */
    bool low_rank_gate;  /* the gate and the decays have low-rank projections of rank value_dim */
    bool attention_output_norm; /* attention layers have QR_BLOCK_OUTPUT_NORM */
    bool gguf_tiled_heads;      /* the GGUF converter reorders value heads */
};

/* Lists end with a NULL key or pattern; NULL: no list. A *_key field names a boolean key of
 * config.json; NULL: the family has no such key. */
struct qr_arch {
    const char *name;
    const char *hf_types[5];   /* values of model_type */
    const char *gguf_archs[2]; /* values of general.architecture */

    /* the files contain a head of multi-token prediction for models of the families of these names,
     * "*": of any, and no model; NULL: a model */
    const char *head_of[2];
    enum qr_mtp_kind head_kind; /* of such a family */
    enum qr_model_kind kind;
    enum qr_block_kind block;
    enum qr_activation activation, gated_activation; /* gated_activation: see hf_gate_in_name */
    bool gated;                                      /* feed-forward with a gate */
    bool half_ffn; /* the feed-forward size of files counts gate and up */
    enum qr_qk_norm qk_norm;
    bool qk_norm_after_rope, v_norm;
    bool layer_scale, gains; /* see qr_model_config */
    /* tensors of the file decide about QR_QK_NORM_FULL, with biases, and second_post_norm */
    bool norms_by_tensors;
    bool loops;              /* the layers run several times, if the file says so */
    bool one_layer;          /* all layers have the weights of the first (ALBERT) */
    bool optional_sublayers; /* layers may lack attention, the feed-forward network, or both */
    bool shared_kv;          /* the last layers may read keys and values of earlier ones */
    bool per_layer_embeddings;
    bool altup;                /* several residual streams, LAuReL and sparse gates (Gemma 3n) */
    enum qr_hyper_kind hyper;  /* hyper-connections */
    bool ngrams;               /* embeddings of n-grams */
    bool global_heads;         /* layers without a window have heads of another size and number */
    bool sub_norms;            /* see qr_model_config */
    bool scaled_embedding;     /* embeddings are multiplied by sqrt(hidden) */
    bool bf16_embedding_scale; /* that factor is rounded to bf16 */
    bool encoder_embedding;    /* the encoder has token embeddings of its own */
    bool unscaled_attention;   /* scores are plain dot products */
    /* Jais: scores are divided by the head dimension; in folders, if scale_qk_dot_by_d is true */
    bool scaled_by_dim;
    bool learned_positions;
    uint32_t position_offset;
    bool embedding_norm, embedding_norm_plain;
    float post_norm_eps;       /* see qr_model_config; folders may have the key */
    bool embedding_projection; /* embedding_size may be less than hidden_size */
    bool skip_first_attn_norm; /* no norm before the first layer's attention */
    bool head_dense;           /* see qr_model_config */
    bool relative_bias;        /* T5 relative position bias */
    bool disentangled;         /* disentangled attention, see qr_disentangled_config */
    float alibi_max_bias;      /* default; 0: no ALiBi */
    bool alibi_scaled;         /* slopes are multiplied by the attention scale */
    uint32_t alibi_layers;     /* models with this many layers have ALiBi, others RoPE; 0: all */
    bool chunked_windows;      /* the window is the chunk of chunked attention */
    bool rope_without_windows; /* with rope_in_windows_only: unless no layer has a window */
    bool rope_in_windows_only; /* layers without a window have no RoPE */
    bool rope_in_dense_lead;   /* but for the dense layers before the first one with experts */
    bool divides_logits;       /* logit_scale and logits_scaling are divisors */
    bool sinks;
    bool sinks_in_windows; /* layers with a window have sinks, unless the file says otherwise */
    bool attention_gate;   /* attention outputs are multiplied by sigmoid(gate(x)) */
    bool gate_softplus;    /* by softplus(gate(x)) instead */
    bool differential, key_bias, residual_weights; /* see qr_model_config */
    bool residual_affine, embedding_affine;
    bool conv_attention;                       /* the file has its taps (ZAYA) */
    const struct qr_recurrent_arch *recurrent; /* NULL: no recurrent layers */
    bool mla;                                  /* multi-head latent attention */
    bool shared_key_value;                     /* see qr_shared_kv_config */
    bool has_index;                            /* an indexer selects keys; its options are: */
    struct qr_index_config index;
    struct qr_moe_config moe; /* what the files do not contain */
    bool has_moe;
    bool beside_hidden;  /* dense networks beside experts have hidden_size elements */
    bool latent_experts; /* moe_latent_size, see qr_moe_config */
    float act_alpha, act_limit;
    bool layer_limits; /* layers have limits of activations, ffn_limit and expert_limit */
    bool attn_softcap, final_softcap; /* in use; hf_defaults hold the caps */
    /* RMS epsilon, if the file has one: the norm is QR_NORM_RMS, else the family's */
    bool norm_by_eps;
    uint32_t window_period;             /* default for the periodic window rules */
    bool scaled_tied_head;              /* logits of a tied LM head are divided by sqrt(hidden) */
    const char *const *ignored_tensors; /* that change no result; '*' as in qr_ignored_key */

    /* Hugging Face files */
    struct qr_hf_variant hf_variant; /* takes the family's place */
    /* encoder and decoder are objects of config.json with the keys of a whole model (T5Gemma) */
    bool hf_stacks;
    /* Up to the major version of Transformers before this one, tokens of an encoder see those fewer
     * than sliding_window away; from this one on, also those just that far. quire computes files as
     * the version that wrote them does; 0: no such change */
    uint32_t hf_wider_encoder_since;
    enum qr_window_rule hf_window;
    /* sliding_window counts the keys before the query's own; full_attention_idx lists the layers
     * without (PLaMo 2) */
    bool hf_window_before;
    /* the window is half of local_attention; sliding_window repeats it (ModernBERT decoder) */
    bool hf_half_window;
    bool hf_windows_from_last; /* window_period counts from the last layer, which has none */
    enum qr_norm_kind hf_norm;
    enum qr_rope_kind hf_rope;
    struct qr_bias_config hf_bias;  /* biases of every model of the family */
    const char *hf_bias_key;        /* biases of all matrices except the LM head */
    const char *hf_qkv_bias_key;    /* biases of q, k and v */
    bool hf_attention_bias;         /* attention_bias: biases of q, k, v and o */
    bool hf_mlp_bias;               /* mlp_bias: biases of the feed-forward */
    const char *hf_norm_bias_key;   /* biases of norms */
    const char *hf_output_bias_key; /* bias of the LM head */
    bool hf_size_lists; /* num_query_heads, num_kv_heads and ffn_multipliers list sizes (OpenELM) */
    bool hf_auto_ffn;   /* block_auto_adjust_ff_dim and related keys (LFM2, NeoBERT) */
    bool hf_shared_is_dense; /* without experts, the shared expert is the feed-forward network */
    bool hf_position_type;   /* position_embedding_type other than "rope": no RoPE */
    const char *hf_rope_key; /* false, the default: no RoPE */
    bool hf_shared_blocks;   /* transformer blocks that layers share (Zamba2) */
    bool hf_falcon_h1;       /* multipliers of Falcon-H1 */
    bool hf_minimax;         /* alpha and beta factors of MiniMax */
    bool hf_multipliers;     /* embedding, attention and residual multipliers, logits_scaling */
    bool hf_logit_scale;     /* logit_scale multiplies the logits */
    bool hf_clip_qkv;
    uint32_t hf_unit_head_vocab; /* models with this many tokens: unit_head; 0: none */
    bool hf_output_gate;         /* output_gate_type of recurrent layers; default hidden_act */
    bool hf_multi_query;         /* multi_query, default true: one KV head */
    /* n_shared_head heads have one KV head, see tiled_heads of qr_model_config; the GGUF converter
     * brings those of a KV head together (PLaMo) */
    bool hf_tiled_heads;
    bool hf_falcon;             /* new_decoder_architecture and related keys select the variant */
    uint32_t hf_ffn_multiplier; /* default feed-forward size / hidden size; 0: no default */
    const char *hf_alibi_key;   /* ALiBi or RoPE; NULL: ALiBi if alibi_max_bias > 0 */
    /* From this major version on, eager attention of Transformers adds the ALiBi biases twice: to
     * the scores and through the mask. quire does the same for files written by those versions.
     * Older files, which include all checkpoints of Falcon RW, add them once. 0: never twice */
    uint32_t hf_alibi_twice_since;
    /* llama_4_scaling_beta of the RoPE parameters and attention.temperature_scale: temperature
     * tuning of all layers over the context before YaRN */
    bool yarn_temperature;
    bool hf_temperature;                /* attn_temperature_tuning, attn_scale, floor_scale */
    const char *hf_qk_norm_key;         /* enables qk_norm; default true */
    const char *hf_embedding_scale_key; /* embeddings are multiplied by sqrt(hidden) */
    bool hf_positions_after_pad;        /* learned positions start after the padding token's row */
    /* the name of the activation begins with "gated-" if the feed-forward has a gate; a GGUF file
     * with gate tensors implies gated_activation */
    bool hf_gate_in_name;
    const char *hf_parallel_key; /* selects hf_parallel_block instead of block */
    enum qr_block_kind hf_parallel_block;
    const char *hf_interleave_key; /* false: RoPE is QR_ROPE_NEOX after all */
    bool hf_query_scalar;          /* attention scale = query_pre_attn_scalar ^ -1/2; 0: head_dim */
    bool hf_gelu_is_tanh;          /* "gelu" means the tanh approximation in files of the family */
    bool hf_clockwise_rope;        /* rotates by the negative angles */
    bool hf_layer_rope_theta;      /* layer_rope_theta: a RoPE base per layer, 0: no RoPE */
    bool hf_no_rope_layers;        /* no_rope_layers or no_rope_layer_interval (SmolLM3) */
    bool hf_longrope_mscale;       /* short_mscale and long_mscale multiply cos and sin */
    bool hf_rope_alpha;            /* dynamic scaling with alpha changes the base (HunYuan) */
    const char *hf_moe_key;        /* enables experts; default false */
    const char *hf_beside_key;     /* moe.beside_dense; default false */
    /* a layer of the file is a pair of layers, with experts beside the first feed-forward network
     * whose output joins behind the second (LongCat) */
    bool hf_layer_pairs;
    bool hf_scaled_latents;        /* latents of MLA have factors sqrt(hidden / rank) (LongCat) */
    bool hf_keep_window;           /* keep_window_size: keys that a query may see (Doge) */
    bool hf_value_scale;           /* attention_value_scale multiplies the values */
    bool hf_window_heads;          /* swa_*: heads of layers with a window, and sinks */
    bool hf_window_flags;          /* layer_types lists 1 for layers with a window, else 0 */
    bool hf_layer_heads;           /* num_attention_heads_per_layer, gating */
    bool hf_router_softcap;        /* moe_router_logit_softcapping */
    const char *hf_correction_key; /* moe.correction, which implies sigmoid scores */
    const char *hf_p_norm_key;     /* selected weights are divided by their p-norm: p, null: no */
    const char *hf_softmax_key;    /* true: softmax over the selected experts */
    bool hf_minicpm;               /* scale_emb, scale_depth, dim_model_base */
    /* without RoPE parameters, this part of heads without a window rotates; 0: all */
    float hf_global_partial;
    bool hf_local_rope; /* windowed layers have a RoPE set of their own */
    /* Versions of Transformers before this one rotate them as the others, unless each kind of layer
     * has an object of its own; quire computes the files of those versions so. 0: no such change */
    uint32_t hf_local_rope_since;
    /* rope_scaling_factor and initial_context_length: YaRN of layers without a window (PLaMo 3) */
    bool hf_rope_factor;
    bool hf_ntk_rope;   /* RoPE of type "ntk": NTK-aware scaling by a constant factor */
    bool hf_rope_lists; /* rope_theta and partial_rotary_factors list the values of the layers */
    bool hf_mtp_lists;  /* lists with an entry per layer go on with the layers of heads of MTP */
    /* names of layers without and with a window in layer_types and RoPE parameters; NULL:
     * full_attention, sliding_attention */
    const char *hf_full_type, *hf_window_type;
    enum qr_class_head hf_class_head; /* of ...ForSequenceClassification */
    bool hf_pooling;                  /* the key "pooling" names the pooling of embeddings */
    bool hf_yarn_unscaled;    /* cos and sin have no factor by default; in GGUF files, too */
    bool hf_yarn_is_longrope; /* early files of the family use that name */
    const struct qr_hf_default *hf_defaults;
    const struct qr_hf_alias *hf_aliases;
    const struct qr_hf_fixed_bool *hf_fixed_bools;
    const struct qr_hf_fixed_string *hf_fixed_strings;
    const struct qr_ignored_key *hf_ignored_keys;          /* besides those of hf_unknown.c */
    const struct qr_name_rule *hf_names, *hf_common_names; /* tried in this order */
    const struct qr_name_rule *hf_encoder_names; /* encoder layers of an encoder-decoder */
    /* Heads of multi-token prediction: names of their input and final norm, tried first; NULL:
     * quire knows none. hf_mtp_layers takes the place of "model.layers." in the names of their
     * layers, which count from 0 then; NULL: they follow the model's layers */
    const struct qr_name_rule *hf_mtp_names;
    const char *hf_mtp_layers;
    bool mtp_hidden_first; /* see qr_mtp_config */
    bool mtp_full_rope;    /* layers of the heads have RoPE and no window */
    /* a head is two layers of the file, attention and feed-forward network; hf_mtp_names has all
     * its names */
    bool mtp_layer_pairs;
    enum qr_mtp_heads mtp_heads;
    bool mtp_window; /* layers of the heads have a window, and a dense network without limits */

    /* GGUF files */
    enum qr_window_rule gguf_window; /* if the file has no sliding_window_pattern */
    enum qr_norm_kind gguf_norm;
    enum qr_qk_norm gguf_qk_norm; /* takes the place of qk_norm; QR_QK_NORM_NONE: no change */
    enum qr_rope_kind gguf_rope;
    /* models with this many layers use the attention scale (hidden / heads) ^ -1/2; 0: none */
    uint32_t gguf_hidden_scale_layers;
    bool gguf_mtp; /* block_count includes nextn_predict_layers */
    /* every n-th layer has no RoPE, with rope_in_windows_only if there are windows; 0: all have */
    uint32_t gguf_no_rope_interval;
    bool gguf_rope_in_windows;   /* if layers have windows, the others have no RoPE */
    bool gguf_silu;              /* the activation is SiLU without hidden_activation */
    bool gguf_minicpm;           /* factors of MiniCPM where the file has none */
    bool gguf_scaled_embedding;  /* as scaled_embedding */
    bool gguf_parallel_by_norms; /* the block is hf_parallel_block where ffn_norm is missing */
    bool gguf_rope_if_finetuned; /* RoPE only if rope.scaling.finetuned is true */
    bool gguf_yarn_no_truncate;  /* YaRN's correction range is not rounded */
    /* The converter interleaves the halves of whole heads, even if only a part of them rotates */
    bool gguf_interleaved_heads;
    /* interleave_moe_layer_step says which layers have experts; their size has no default */
    bool gguf_moe_step;
    bool gguf_moe_every; /* moe_every_n_layers says which layers have experts */
    /* models with this many experts have no norm of queries and keys; 0: none */
    uint32_t gguf_no_qk_norm_experts;
    bool gguf_local_rope;       /* windowed layers have no RoPE scaling */
    bool gguf_half_rope;        /* layers without a window rotate half of what the file says */
    bool gguf_whole_head_rope;  /* rope.dimension_count 0 is all of a head; others are refused */
    float gguf_local_theta;     /* their freq_base_swa by default; 0: freq_base */
    float gguf_altup_coef_clip; /* see qr_altup_config; the files have no key for it */
    bool gguf_attn_factor_is_total; /* attn_factor contains the factor of YaRN's rule */
    const struct qr_name_rule *gguf_names, *gguf_common_names;
    /* With norms_by_tensors, where the gate is a half of ffn_up: [0] in front, [1] behind, which
     * files with second_post_norm have */
    const struct qr_name_rule *gguf_fused_names[2];
    const struct qr_name_rule *gguf_encoder_names;
    const struct qr_name_rule *gguf_mtp_names; /* as hf_mtp_names */
};

#define QR_DECLARE_FAMILY(name) extern const struct qr_arch qr_arch_##name;
QR_FAMILIES(QR_DECLARE_FAMILY)
#undef QR_DECLARE_FAMILY

/* NULL if no family has that model_type, general.architecture or name. */
const struct qr_arch *qr_arch_by_hf_type(const char *model_type);
const struct qr_arch *qr_arch_by_gguf(const char *architecture, size_t len);
const struct qr_arch *qr_arch_by_name(const char *name);

#endif
