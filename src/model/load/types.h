/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - weights, their source tensors, and the weight source of a model. */
#ifndef QR_MODEL_LOAD_TYPES_H
#define QR_MODEL_LOAD_TYPES_H
#include "base/alloc.h"
#include "model/arch/weight_role.h"
#include "model/config/config.h"
#include <pthread.h>
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct qr_arch;
struct qr_gguf;
struct qr_quantized;
struct qr_safetensors;

/* Location of one weight, as the forward pass needs it. n_rows of a vector is 1. For a stack this
 * is the first expert (or head); qr_weights_expert returns the others. */
struct qr_weight {
    enum qr_weight_role role;
    uint32_t layer;
    uint32_t type; /* enum qr_weight_type, GGML's numbers; F32, F16 or BF16 in safetensors files */
    /* type of the source; differs from `type` for quantized matrices that are read transposed,
     * which are dequantized to F32 */
    uint32_t stored_type;
    uint64_t n_rows;
    uint64_t n_cols;    /* elements in a row; a multiple of the type's block */
    size_t row_bytes;   /* of one row in `type` */
    uint32_t n_experts; /* matrices or vectors of a stack; 0: not a stack */
    uint32_t expert;    /* number of this one in the stack it was taken from */
    /* For weights_read.c: location of element (row, column) in the source tensor. A unit is a row,
     * or an element of vectors and transposed matrices. Unit u of the weight is unit (u / group) *
     * stride + u % group of the tensor, counted from first_byte. */
    size_t tensor;
    uint64_t first_byte;
    uint64_t unit_bytes;
    uint64_t group, stride;
    uint64_t column_bytes;        /* transposed: distance of columns; 0: columns are contiguous */
    uint64_t expert_bytes;        /* distance of experts that share a tensor */
    const size_t *expert_tensors; /* [n_experts] if each expert has a tensor, else NULL */
    bool many_rows; /* reads of many rows at once are much faster: the tensor stores columns */
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
    bool allow_unknown; /* unknown keys and tensors are warnings instead of errors */
    bool strict;        /* trailing bytes are errors, not warnings */
    bool mtp;           /* the first head of multi-token prediction instead of the model */
};

/* Scales of a tensor. */
struct qr_tensor_scales {
    const float *values; /* NULL: none */
    uint64_t n;
};

/* The weight source: files, configuration and tensor map of a model. */
struct qr_weights {
    const struct quire_allocator *allocator;
    const struct quire_logger *logger;
    quire_progress_fn progress;
    void *progress_user;
    struct qr_model_config config;
    const struct qr_arch *arch;
    struct qr_gguf *gguf; /* one of these two; both NULL once the source is released */
    struct qr_safetensors *safetensors;
    struct qr_quantized *quantized; /* NULL: the folder's weights are plain */
    /* [tensors of gguf] their scales, see struct qr_source_tensor; NULL: no tensor has one */
    struct qr_tensor_scales *gguf_scales;
    /* dense layers of a folder; their tensors follow those of the model, and their names begin with
     * "dense.N." */
    struct qr_safetensors *dense[QR_MAX_DENSE];
    char *dir;                             /* NULL for GGUF */
    const char *strip, *add;               /* prefix of the checkpoint's names; see tensor_map.c */
    const struct qr_name_rule *gguf_names; /* in place of the family's; NULL: those */
    struct qr_weight *tensor_map;          /* by role and layer; n_cols == 0: absent */
    size_t tensor_map_size;
    struct qr_arena lists; /* expert_tensors of the tensor map, `quantized` */
    uint64_t total_bytes;  /* of all weights in use, as stored */
    pthread_mutex_t progress_lock;
    uint64_t done_bytes; /* under the lock */
};

/* A tensor of either format, dimensions fastest first. */
struct qr_source_tensor {
    const char *name;
    uint32_t type; /* enum qr_weight_type; UINT32_MAX: a dtype of safetensors that GGUF lacks */
    const char *type_name;
    uint32_t n_dims; /* more than 4 are reported as 5 */
    uint64_t dims[4];
    uint64_t bytes;
    bool many_rows; /* see struct qr_weight */
    /* [dims[0]] the column of each k of the rows that are read (act-order); NULL: ascending. Valid
     * as long as the weight source */
    const uint32_t *order;
    /* [n_scales] scales that multiply the matrix or, in a stack, its matrices; NULL: none. A scale
     * is one for all, or there is one per matrix. Valid as long as the weight source */
    const float *scales;
    uint64_t n_scales;
};

/* A memory mapping of a file; bytes == 0: none. */
struct qr_mapping {
    void *base;
    size_t bytes;
};

/* Index of a role in the tensor map; global roles ignore the layer. */
static inline size_t qr_tensor_map_index(enum qr_weight_role role, uint32_t layer)
{
    if (role < QR_W_FIRST_LAYER_ROLE)
        return role;
    return QR_W_FIRST_LAYER_ROLE + (size_t)layer * (QR_W_N_ROLES - QR_W_FIRST_LAYER_ROLE) +
           (role - QR_W_FIRST_LAYER_ROLE);
}

#endif
