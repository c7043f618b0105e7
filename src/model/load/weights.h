/* SPDX-License-Identifier: Apache-2.0 */
/* weights.h - where every weight of a model lies, by role, whatever the file format; reads in rows. */
#ifndef QR_MODEL_LOAD_WEIGHTS_H
#define QR_MODEL_LOAD_WEIGHTS_H
#include "model/config/types.h"
#include "model/config/weight_role.h"
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One weight as the forward pass sees it. Vectors have n_rows == 1. Of a stack this is the first expert's (or head's);
 * the others' come from qr_weights_expert. */
struct qr_weight {
    enum qr_weight_role role;
    uint32_t layer;
    uint32_t type; /* enum qr_weight_type, GGML's numbers; F32, F16 or BF16 in safetensors files */
    /* the same, but for quantised matrices that are read transposed: they become F32 */
    uint32_t stored_type;
    uint64_t n_rows;
    uint64_t n_cols;    /* elements in a row; a multiple of the type's block */
    size_t row_bytes;   /* of one row in `type` */
    uint32_t n_experts; /* matrices or vectors of a stack; 0: not a stack */
    /* for weights_read.c: where element (row, column) lies in the source tensor. Units are rows, or in vectors and
     * transposed matrices elements; unit u of the weight is unit
     * (u / group) * stride + u % group of the tensor, counted from first_byte on. */
    size_t tensor;
    uint64_t first_byte;
    uint64_t unit_bytes;
    uint64_t group, stride;
    /* transposed: from one column to the next; 0: columns lie side by side */
    uint64_t column_bytes;
    uint64_t expert_bytes;        /* from one expert to the next, when all are in one tensor */
    const size_t *expert_tensors; /* [n_experts] when each has its own */
};

struct qr_weights_params {
    const char *path;   /* a .gguf file or a Hugging Face folder; NULL: the memory below */
    const void *memory; /* a GGUF image, borrowed until close */
    size_t memory_size;
    const struct quire_allocator *allocator; /* may be NULL; must outlive the object */
    const struct quire_logger *logger;       /* may be NULL; must outlive the object */
    quire_progress_fn progress; /* may be NULL; one call at a time, from any reading thread */
    void *progress_user;
    bool expand_latent; /* models with latent attention: W_UK in both forms */
    bool strict;        /* unused tensors and trailing bytes are errors, not warnings */
};

struct qr_weights;
struct qr_gguf;

/* Opens a model: reads headers, builds and validates the config, finds every tensor that the config
 * implies and checks its shape. QUIRE_E_FORMAT names the tensor that is missing or has another shape;
 * tensors that nothing uses are logged as warnings. No tensor data is read. */
quire_status qr_weights_open(const struct qr_weights_params *params, struct qr_weights **out,
                             struct quire_error *err) QUIRE_MUST_CHECK;
void qr_weights_close(struct qr_weights *w); /* NULL is a no-op */

/* Closes the files once everything has been read; qr_weights_gguf gives NULL and reads fail afterwards. */
void qr_weights_release_source(struct qr_weights *w);

const struct qr_model_config *qr_weights_config(const struct qr_weights *w);
const struct qr_gguf *qr_weights_gguf(const struct qr_weights *w); /* NULL for a folder */
const char *qr_weights_dir(const struct qr_weights *w);            /* the folder; NULL for GGUF */
uint64_t qr_weights_total_bytes(const struct qr_weights *w); /* of all weights in use, as stored */

/* False when the model has no such weight (which the config allows, or open would have failed). */
bool qr_weights_find(const struct qr_weights *w, enum qr_weight_role role, uint32_t layer,
                     struct qr_weight *out);

/* Weight number `expert` (< n_experts) of a stack. */
struct qr_weight qr_weights_expert(const struct qr_weight *stack, uint32_t expert);

/* Reads rows [row0, row0 + n_rows) in the stored type, packed row after row, into
 * dst[n_rows * weight->row_bytes]. Safe from several threads. QUIRE_E_RANGE beyond the rows, QUIRE_E_IO,
 * QUIRE_E_CANCELLED from the progress hook, which sees the bytes read so far of qr_weights_total_bytes. */
quire_status qr_weights_read_rows(struct qr_weights *w, const struct qr_weight *weight,
                                  uint64_t row0, uint64_t n_rows, void *dst,
                                  struct quire_error *err) QUIRE_MUST_CHECK;

/* Reads a vector (or a small matrix) of type F32, F16 or BF16 as f32; n = n_rows * n_cols. */
quire_status qr_weights_read_f32(struct qr_weights *w, const struct qr_weight *weight, float *dst,
                                 uint64_t n, struct quire_error *err) QUIRE_MUST_CHECK;

/* Does each expert, or each head, have one of its own? And how many are there in this layer; 0: not a stack. */
bool qr_role_is_stack(enum qr_weight_role role);
uint32_t qr_role_stack_size(const struct qr_model_config *cfg, enum qr_weight_role role,
                            uint32_t layer);

/* What tells this source from others: which matrices come from where in it is not included. */
struct qr_source_id {
    uint64_t bytes;   /* of all files */
    int64_t mtime_ns; /* of the file that was changed last */
    /* of every file's size and date, and of names, types and shapes of all tensors */
    uint64_t hash;
};
void qr_weights_identify(const struct qr_weights *w, struct qr_source_id *id);

/* Continues hash h over where a weight lies in its source, and over the first bytes of its data. For sources whose
 * dates were all set to the same. */
quire_status qr_weights_hash(const struct qr_weights *w, const struct qr_weight *weight,
                             uint64_t *h, struct quire_error *err) QUIRE_MUST_CHECK;

/* Tells the progress hook of bytes that need not be read. QUIRE_E_CANCELLED. */
quire_status qr_weights_skip(struct qr_weights *w, uint64_t bytes,
                             struct quire_error *err) QUIRE_MUST_CHECK;

/* "attn_q", "ffn_norm" and the like, for messages and listings; static text. */
const char *qr_weight_role_name(enum qr_weight_role role);

#endif
