/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - tensor names by weight role. */
#ifndef QR_MODEL_ARCH_NAMES_H
#define QR_MODEL_ARCH_NAMES_H
#include "model/arch/weight_role.h"
#include <stdbool.h>
#include <stdint.h>

/* Which rows of the named tensor form the weight. */
enum qr_slice {
    QR_SLICE_ALL,
    QR_SLICE_Q, /* of fused [q; k; v] */
    QR_SLICE_K,
    QR_SLICE_V,
    QR_SLICE_HEAD_Q, /* of fused qkv, interleaved by KV head: [q heads of the KV head; k; v] each */
    QR_SLICE_HEAD_K,
    QR_SLICE_HEAD_V,
    QR_SLICE_GATE, /* of fused [gate; up] */
    QR_SLICE_UP,
    QR_SLICE_GATE_EVEN, /* of fused gate and up in alternating rows */
    QR_SLICE_UP_ODD,
    QR_SLICE_LATENT_K, /* of fused kv_b, interleaved by head: [W_UK; W_UV] each */
    QR_SLICE_LATENT_V,
    QR_SLICE_HALF_QUERY, /* of fused query and output gate, interleaved by head */
    QR_SLICE_HALF_GATE,
    /* parts of recurrent layers; offsets follow from qr_recurrent_config */
    QR_SLICE_REC_QKV_Q, /* of [q; k; v] */
    QR_SLICE_REC_QKV_K,
    QR_SLICE_REC_QKV_V,
    QR_SLICE_REC_XBC_V, /* of [x; B; C], which are v, k and q */
    QR_SLICE_REC_XBC_K,
    QR_SLICE_REC_XBC_Q,
    QR_SLICE_REC_SSM_Z, /* of [z; x; B; C; dt] */
    QR_SLICE_REC_SSM_V,
    QR_SLICE_REC_SSM_K,
    QR_SLICE_REC_SSM_Q,
    QR_SLICE_REC_SSM_DT,
    QR_SLICE_REC_KEY_Q, /* of fused q, k, v and z, interleaved by key head */
    QR_SLICE_REC_KEY_K,
    QR_SLICE_REC_KEY_V,
    QR_SLICE_REC_KEY_Z,
    QR_SLICE_REC_KEY_BETA, /* of fused beta and dt, interleaved by key head */
    QR_SLICE_REC_KEY_DT,
    QR_SLICE_REC_HEAD_Q, /* of fused q, k and v, interleaved by head */
    QR_SLICE_REC_HEAD_K,
    QR_SLICE_REC_HEAD_V,
    QR_SLICE_REC_GATED_Z, /* of fused z and v, interleaved by head */
    QR_SLICE_REC_GATED_V,
    QR_SLICE_THIRD_0, /* of three blocks of equal size */
    QR_SLICE_THIRD_1,
    QR_SLICE_THIRD_2,
    QR_SLICE_MIX_0, /* of as many blocks as a recurrent layer has shifted inputs, ... */
    QR_SLICE_MIX_5 = QR_SLICE_MIX_0 + 5,
    QR_SLICE_INDEX_Q, /* of [queries; key] of an indexer */
    QR_SLICE_INDEX_K,
    QR_SLICE_TRANSPOSED = 0x100, /* flag: the matrix is stored as [in][out] */
    QR_SLICE_FLAT = 0x200, /* flag: a stack of matrices is stored in two dimensions, their rows
                              one behind the other */
    QR_SLICE_FLAGS = QR_SLICE_TRANSPOSED | QR_SLICE_FLAT,
};

/* Maps a role to a tensor name. In the pattern the first %u stands for the layer, the second for
 * the expert. Where a layer of the file is a pair of layers, %H and %P stand for layer / 2 and
 * layer % 2, and %u for the expert; a pattern with %H alone is of the first layer of the pair.
 * Where a layer is two layers of the file, %N stands for the second, layer + 1, and %u for the
 * expert. The pattern of a stack without a number of experts names one tensor [experts][...]. A
 * list may contain several rules for a role; they are tried in order. */
struct qr_name_rule {
    enum qr_weight_role role;
    unsigned slice; /* enum qr_slice */
    const char *pattern;
};

/* Names shared by most families: Hugging Face names of Llama, and GGUF names. Lists end with a NULL
 * pattern. */
extern const struct qr_name_rule qr_names_hf_llama[], qr_names_gguf[];

/* Names of the low-rank projections of MLA, and of the indexer of DeepSeek sparse attention. */
extern const struct qr_name_rule qr_names_hf_latent[], qr_names_gguf_latent[];

/* Names of the heads of multi-token prediction behind the last layer (DeepSeek V3, GLM), and those
 * with final_layernorm instead of shared_head.norm (Ling, Hy3). */
extern const struct qr_name_rule qr_names_hf_mtp[], qr_names_gguf_mtp[];
extern const struct qr_name_rule qr_names_hf_mtp_final_norm[], qr_names_gguf_mtp_layer_norm[];

/* Those of heads that take turns (mtp_config.h). */
extern const struct qr_name_rule qr_names_gguf_mtp_heads[];

/* Names of the dense layers behind the pooling of embeddings. */
extern const struct qr_name_rule qr_names_hf_dense[], qr_names_gguf_dense[];

/* Names of the classification heads of decoders. */
extern const struct qr_name_rule qr_names_hf_class[], qr_names_gguf_class[];

enum { QR_NAME_MAX = 128 };

/* Writes the tensor name of a rule for a layer and an expert. */
void qr_rule_name(const struct qr_name_rule *rule, uint32_t layer, uint32_t expert,
                  char name[QR_NAME_MAX]);

/* Whether the rule, without %N, names this tensor; gets the numbers in its name, 0 where it has
 * none. */
bool qr_rule_match(const struct qr_name_rule *rule, const char *name, uint32_t *layer,
                   uint32_t *expert);

/* Finds the nth rule (from 0) of a role, first in `own`, then in `common`; either may be NULL.
 * Writes the tensor name (for a stack: of expert 0) and returns the rule, or NULL if there are no
 * more. */
const struct qr_name_rule *qr_arch_name(const struct qr_name_rule *own,
                                        const struct qr_name_rule *common, enum qr_weight_role role,
                                        uint32_t layer, unsigned nth, char name[QR_NAME_MAX]);

#endif
