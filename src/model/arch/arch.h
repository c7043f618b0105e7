/* SPDX-License-Identifier: Apache-2.0 */
/* arch.h - what one model family is, as data: options, defaults of its config.json, names of its tensors. */
#ifndef QUIRE_MODEL_ARCH_H
#define QUIRE_MODEL_ARCH_H
#include "model/config.h"
#include "model/weights.h"

/* Which rows of the named tensor a role takes. Fused tensors hold their parts one after the other. */
enum qr_slice {
    QR_SLICE_ALL,
    QR_SLICE_Q, /* of [q; k; v] */
    QR_SLICE_K,
    QR_SLICE_V,
    QR_SLICE_GATE, /* of [gate; up] */
    QR_SLICE_UP,
};

/* A tensor name, %u standing for the layer. A family's list is tried from the top, so it may name the same
 * role twice: its own form first, the common one later. */
struct qr_name_rule {
    enum qr_weight_role role;
    enum qr_slice slice;
    const char *pattern;
};

/* Which layers have the sliding window that the file gives. */
enum qr_window_rule {
    QR_WINDOW_NEVER, /* the family has none; a key that says otherwise is ignored, as the reference does */
    QR_WINDOW_ALL,      /* every layer */
    QR_WINDOW_FROM,     /* use_sliding_window, from layer max_window_layers on (Qwen) */
    QR_WINDOW_PERIODIC, /* all but every window_period-th layer (Gemma) */
};

/* The value that the family's reference implementation takes for a key that config.json leaves out. */
struct qr_hf_default {
    const char *key;
    double value;
};

struct qr_arch {
    const char *name;
    const char *hf_types[4];   /* values of model_type */
    const char *gguf_archs[2]; /* values of general.architecture */

    enum qr_block_kind block;
    enum qr_activation activation;
    bool gated;
    enum qr_qk_norm qk_norm;
    bool scaled_embedding;            /* times sqrt(hidden) */
    bool attn_softcap, final_softcap; /* with the hf_defaults where the file has no key */
    uint32_t window_period;           /* QR_WINDOW_PERIODIC, where the file does not give it */

    /* Hugging Face files */
    enum qr_window_rule hf_window;
    enum qr_norm_kind hf_norm;
    enum qr_rope_kind hf_rope;
    bool hf_qkv_bias;         /* q, k and v always have biases */
    bool hf_attention_bias;   /* attention_bias decides on q, k, v and o */
    bool hf_mlp_bias;         /* mlp_bias decides on the feed-forward */
    bool hf_query_scalar;     /* attention scale = query_pre_attn_scalar ^ -1/2 */
    bool hf_gelu_is_tanh;     /* the name "gelu" means the tanh form in this family's files */
    bool hf_local_rope;       /* windowed layers have their own rope parameters */
    bool hf_yarn_is_longrope; /* early files of the family used that name */
    const struct qr_hf_default *hf_defaults; /* ends with a NULL key */
    /* each list ends with a NULL pattern; the second is tried after the first and may be NULL */
    const struct qr_name_rule *hf_names, *hf_common_names;

    /* GGUF files */
    enum qr_window_rule gguf_window; /* when the file has no sliding_window_pattern */
    enum qr_norm_kind gguf_norm;
    enum qr_rope_kind gguf_rope;
    /* a model of so many layers takes (hidden / heads) ^ -1/2 for the attention scale; 0: none does */
    uint32_t gguf_scale_by_width;
    bool gguf_local_rope; /* windowed layers: freq_base_swa, no scaling */
    const struct qr_name_rule *gguf_names, *gguf_common_names;
};

extern const struct qr_arch qr_arch_llama, qr_arch_mistral, qr_arch_qwen2, qr_arch_qwen3,
    qr_arch_gemma, qr_arch_gemma2, qr_arch_gemma3, qr_arch_phi3;

/* NULL when no family has that model_type or general.architecture. */
const struct qr_arch *qr_arch_by_hf_type(const char *model_type);
const struct qr_arch *qr_arch_by_gguf(const char *architecture, size_t len);
const struct qr_arch *qr_arch_by_name(const char *name);

/* Names that most families share. */
extern const struct qr_name_rule qr_names_hf_llama[], qr_names_gguf[];

/* The name of a role's tensor in the family's files: rule number `nth` (from 0) that fits the role. Writes the
 * name and returns the rule; NULL when there is none further. */
enum { QR_NAME_MAX = 128 };
const struct qr_name_rule *qr_arch_name(const struct qr_name_rule *own,
                                        const struct qr_name_rule *common, enum qr_weight_role role,
                                        uint32_t layer, unsigned nth, char name[QR_NAME_MAX]);

#endif
