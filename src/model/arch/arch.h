/* SPDX-License-Identifier: Apache-2.0 */
/* arch.h - what one model family is, as data: options, defaults of its config.json, names of its tensors. */
#ifndef QR_MODEL_ARCH_ARCH_H
#define QR_MODEL_ARCH_ARCH_H
#include "model/config/config.h"
#include "model/config/weight_role.h"

/* Which rows of the named tensor a role takes. */
enum qr_slice {
    QR_SLICE_ALL,
    QR_SLICE_Q, /* of [q; k; v] */
    QR_SLICE_K,
    QR_SLICE_V,
    QR_SLICE_HEAD_Q, /* of one [q heads of the kv head; k; v] after the other for every kv head */
    QR_SLICE_HEAD_K,
    QR_SLICE_HEAD_V,
    QR_SLICE_GATE, /* of [gate; up] */
    QR_SLICE_UP,
    QR_SLICE_GATE_EVEN, /* of gate and up row by row */
    QR_SLICE_UP_ODD,
    QR_SLICE_LATENT_K, /* of one [W_UK; W_UV] after the other for every head */
    QR_SLICE_LATENT_V,
    QR_SLICE_TRANSPOSED = 0x100, /* flag: the matrix lies as [in][out] */
};

/* A tensor name, the first %u standing for the layer, the second for the expert. A stack whose pattern has no second
 * %u is one tensor [experts][...]. A family's list is tried from the top, so it may name the same role twice: its
 * own form first, the common one later. */
struct qr_name_rule {
    enum qr_weight_role role;
    unsigned slice; /* enum qr_slice */
    const char *pattern;
};

/* Which layers have the sliding window that the file gives. */
enum qr_window_rule {
    QR_WINDOW_NEVER, /* the family has none; a key that says otherwise is ignored, as the reference does */
    QR_WINDOW_ALL,            /* every layer */
    QR_WINDOW_FROM,           /* use_sliding_window, from layer max_window_layers on (Qwen) */
    QR_WINDOW_PERIODIC,       /* all but every window_period-th layer (Gemma) */
    QR_WINDOW_PERIODIC_FIRST, /* the same, but the full layer comes first of each period (ModernBERT) */
    QR_WINDOW_LOCAL, /* those that attention_layers or attention_types call local (GPT-Neo) */
};

/* The value that the family's reference implementation takes for a key that config.json leaves out. */
struct qr_hf_default {
    const char *key;
    double value;
};

/* Another name that the family has for a key; "a.b" is key b of object a. */
struct qr_hf_alias {
    const char *key, *name;
};

/* A switch that must be in one position, also when it is left out; the other one is refused by name. */
struct qr_hf_only {
    const char *key;
    bool value;
};

/* The same of a text: where it is given it must be this one. */
struct qr_hf_only_text {
    const char *key, *text;
};

struct qr_arch {
    const char *name;
    const char *hf_types[4];   /* values of model_type */
    const char *gguf_archs[2]; /* values of general.architecture */

    enum qr_model_kind kind;
    enum qr_block_kind block;
    enum qr_activation activation, gated_activation;
    bool gated;
    enum qr_qk_norm qk_norm;
    bool scaled_embedding;   /* times sqrt(hidden) */
    bool unscaled_attention; /* scores are plain dot products */
    bool learned_positions;
    uint32_t position_offset;
    bool embedding_norm;
    bool bare_first_layer; /* no norm before the first layer's attention */
    bool relative_bias;
    float alibi_max_bias;      /* where the file does not give it; 0: never ALiBi */
    bool alibi_scaled;         /* slopes are multiplied by the attention scale */
    bool chunked_windows;      /* a window is a chunk: keys before its beginning are not seen */
    bool rope_in_windows_only; /* layers without a window have no positions */
    bool divides_logits;       /* logit_scale and logits_scaling divide */
    bool sinks;
    bool latent;              /* multi-head latent attention */
    struct qr_moe_config moe; /* what the files leave to the family */
    bool has_moe;
    float act_alpha, act_limit;
    bool attn_softcap, final_softcap; /* with the hf_defaults where the file has no key */
    uint32_t window_period;           /* QR_WINDOW_PERIODIC, where the file does not give it */

    /* Hugging Face files */
    enum qr_window_rule hf_window;
    enum qr_norm_kind hf_norm;
    enum qr_rope_kind hf_rope;
    struct qr_bias_config hf_bias; /* biases that are always there */
    const char *hf_bias_key;       /* decides on the biases of all matrices but the head's */
    const char *hf_qkv_bias_key;   /* decides on those of q, k and v */
    bool hf_attention_bias;        /* attention_bias decides on q, k, v and o */
    bool hf_mlp_bias;              /* mlp_bias decides on the feed-forward */
    bool hf_multipliers; /* embedding, attention and residual multipliers, logits_scaling */
    bool hf_logit_scale; /* logit_scale multiplies the logits */
    bool hf_clip_qkv;
    bool hf_multi_query;   /* multi_query, true where left out: one kv head */
    bool hf_falcon;        /* new_decoder_architecture and its relations choose the form */
    uint32_t hf_ffn_times; /* feed-forward size over hidden size, where the file does not give it */
    const char *hf_alibi_key; /* decides between ALiBi and rope; NULL: alibi_max_bias does */
    /* Transformers from this major version on adds the ALiBi biases twice in its eager attention: as scores and by way
     * of the mask. A file that it wrote is computed so; older ones, and so all checkpoints of RW, add them once. 0: never */
    uint32_t hf_alibi_twice_from;
    bool hf_temperature;          /* attn_temperature_tuning, attn_scale, floor_scale */
    const char *hf_qk_norm_key;   /* switches qk_norm off */
    const char *hf_norm_bias_key; /* decides on the offsets of norms */
    /* decides whether embeddings are multiplied by sqrt(hidden) */
    const char *hf_embedding_scale_key;
    bool hf_positions_after_pad; /* learned positions begin behind the row of the padding token */
    /* the activation's name says "gated-" where the feed-forward has a gate; GGUF files have a
     * gate and gated_activation, or neither */
    bool hf_gate_in_name;
    bool scaled_tied_head;       /* logits of a tied head are divided by sqrt(hidden) */
    const char *hf_parallel_key; /* decides between block and hf_parallel_block */
    enum qr_block_kind hf_parallel_block;
    const struct qr_hf_alias *hf_aliases;        /* ends with a NULL key */
    const struct qr_hf_only *hf_only;            /* ends with a NULL key */
    const struct qr_hf_only_text *hf_only_texts; /* ends with a NULL key */
    const char *hf_interleave_key;               /* false: rope is of the HALF kind after all */
    bool hf_query_scalar;     /* attention scale = query_pre_attn_scalar ^ -1/2 */
    bool hf_gelu_is_tanh;     /* the name "gelu" means the tanh form in this family's files */
    bool hf_local_rope;       /* windowed layers have their own rope parameters */
    bool hf_yarn_is_longrope; /* early files of the family used that name */
    const struct qr_hf_default *hf_defaults; /* ends with a NULL key */
    /* each list ends with a NULL pattern; the second is tried after the first and may be NULL */
    const struct qr_name_rule *hf_names, *hf_common_names;
    const struct qr_name_rule *hf_encoder_names; /* of the layers of an encoder-decoder's encoder */

    /* GGUF files */
    enum qr_window_rule gguf_window; /* when the file has no sliding_window_pattern */
    enum qr_norm_kind gguf_norm;
    enum qr_rope_kind gguf_rope;
    /* a model of so many layers takes (hidden / heads) ^ -1/2 for the attention scale; 0: none does */
    uint32_t gguf_scale_by_width;
    bool gguf_yarn_exact; /* the correction range is not rounded to whole dimensions */
    bool gguf_local_rope; /* windowed layers: freq_base_swa, no scaling */
    const struct qr_name_rule *gguf_names, *gguf_common_names;
    const struct qr_name_rule *gguf_encoder_names;
};

extern const struct qr_arch qr_arch_llama, qr_arch_mistral, qr_arch_qwen2, qr_arch_qwen3,
    qr_arch_gemma, qr_arch_gemma2, qr_arch_gemma3, qr_arch_phi3, qr_arch_granite,
    qr_arch_granitemoe, qr_arch_gpt2, qr_arch_gpt_bigcode, qr_arch_gpt_neo, qr_arch_gptj,
    qr_arch_gpt_neox, qr_arch_bloom, qr_arch_falcon, qr_arch_mpt, qr_arch_cohere2, qr_arch_olmo,
    qr_arch_olmo2, qr_arch_olmo3, qr_arch_nemotron, qr_arch_stablelm, qr_arch_starcoder2,
    qr_arch_phi, qr_arch_ernie4_5, qr_arch_glm4, qr_arch_opt, qr_arch_mixtral, qr_arch_qwen2_moe,
    qr_arch_qwen3_moe, qr_arch_olmoe, qr_arch_gpt_oss, qr_arch_llama4, qr_arch_bert,
    qr_arch_roberta, qr_arch_modernbert, qr_arch_t5, qr_arch_bart, qr_arch_deepseek_v2,
    qr_arch_deepseek_v3;

/* NULL when no family has that model_type or general.architecture. */
const struct qr_arch *qr_arch_by_hf_type(const char *model_type);
const struct qr_arch *qr_arch_by_gguf(const char *architecture, size_t len);
const struct qr_arch *qr_arch_by_name(const char *name);

/* Names that most families share. */
extern const struct qr_name_rule qr_names_hf_llama[], qr_names_gguf[];

enum { QR_NAME_MAX = 128 };
/* Writes the name that a rule gives for a layer and an expert. */
void qr_rule_name(const struct qr_name_rule *rule, uint32_t layer, uint32_t expert,
                  char name[QR_NAME_MAX]);

/* The name of a role's tensor in the family's files: rule number `nth` (from 0) that fits the role. Writes the
 * name (of a stack: of expert 0) and returns the rule; NULL when there is none further. */
const struct qr_name_rule *qr_arch_name(const struct qr_name_rule *own,
                                        const struct qr_name_rule *common, enum qr_weight_role role,
                                        uint32_t layer, unsigned nth, char name[QR_NAME_MAX]);

#endif
