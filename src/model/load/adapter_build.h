/* SPDX-License-Identifier: Apache-2.0 */
/* adapter_build.h - builds an adapter from pairs of tensors of its file, checked against the
 * model. */
#ifndef QR_MODEL_LOAD_ADAPTER_BUILD_H
#define QR_MODEL_LOAD_ADAPTER_BUILD_H
#include "model/arch/names.h"
#include "model/load/adapter.h"

/* An adapter that is being read. */
struct qr_adapter_build {
    struct quire_adapter *adapter;
    const struct quire_logger *logger;
    struct qr_weights file; /* only its source (weights_source.h) is used */
    bool permute;           /* rows of q and k are in the order of the other kind of RoPE */
    bool retile; /* value heads of recurrent layers are in the order of the other format */
    uint64_t hash;
};

/* The matrices A and B of one module, or of all experts of a stack, as f32. Value (r, i) of A of
 * expert e is a[e * a_expert + r * a_row + i * a_col]; (o, r) of B is b[e * b_expert + o * b_row +
 * r * b_col]. */
struct qr_lora_pair {
    const char *name; /* of the tensor that holds A, for messages */
    float *a, *b;
    size_t a_count, b_count;
    uint32_t rank;
    uint64_t in, out;
    size_t a_expert, a_row, a_col, b_expert, b_row, b_col;
    float scale;
};

/* What a pair updates: the rows of `slice` in its output go to the role. */
struct qr_lora_target {
    enum qr_weight_role role;
    uint32_t layer, expert; /* expert: of a stack */
    unsigned slice;
};

/* Finds target number nth (from 0) of a module by the name of its weight; a fused module has
 * several. *layer_missing is set if a rule fits, but not the number of its layer or expert. */
bool qr_adapter_target(const struct qr_adapter_build *b, const char *name, bool gguf, unsigned nth,
                       struct qr_lora_target *target, bool *layer_missing);

/* Reads a tensor as f32 and checks that all values are finite; *count values, freed with
 * qr_free(allocator, *out, *count, sizeof(float)). */
quire_status qr_adapter_read(const struct qr_adapter_build *b, size_t tensor, float **out,
                             size_t *count, struct quire_error *err);

/* QUIRE_E_FORMAT unless the rank is in 1..QUIRE_ADAPTER_MAX_RANK. */
quire_status qr_adapter_check_rank(const char *name, uint64_t rank, struct quire_error *err);

/* QUIRE_E_FORMAT unless the scale is finite as an f32. */
quire_status qr_adapter_check_scale(const char *name, double scale, struct quire_error *err);

/* Whether the GGUF files of a family have other weights than its folders. */
bool qr_adapter_scales_differ(const struct qr_arch *arch);

/* The error of an adapter of another format than the model's, where both have other weights. */
quire_status qr_adapter_refuse_scaled(const char *family, struct quire_error *err);

/* Adds the update of one matrix. QUIRE_E_MISMATCH shapes other than the model's;
 * QUIRE_E_UNSUPPORTED a role that cannot be adapted; QUIRE_E_FORMAT a second update;
 * QUIRE_E_NOMEM. */
quire_status qr_adapter_add_target(struct qr_adapter_build *b, const struct qr_lora_pair *pair,
                                   const struct qr_lora_target *target, struct quire_error *err);

#endif
