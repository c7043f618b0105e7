/* SPDX-License-Identifier: Apache-2.0 */
/* packed.h - weight matrices packed in panels: the only copy of a weight in memory. */
#ifndef QR_LINEAR_PACKED_H
#define QR_LINEAR_PACKED_H
#include "base/weight_type.h"
#include <quire/status.h>

struct qr_onednn;

/* One matrix [n outputs][k inputs]. Immutable once packed, then safe to share between threads.
 * Expert matrices are one qr_packed each. The fields are read-only for users. */
struct qr_packed {
    const struct quire_allocator *allocator; /* borrowed, outlives the weight */
    enum qr_weight_type type;
    size_t n, k;
    size_t panel_rows;  /* 16 or 64 */
    size_t panel_bytes; /* multiple of 64 */
    size_t n_panels;    /* n / panel_rows, rounded up */
    size_t row_bytes;   /* of one source row */
    size_t bytes;       /* n_panels * panel_bytes */
    /* [k] the input that each k of the panels multiplies; NULL: ascending. Borrowed */
    const uint32_t *order;
    float scale;   /* multiplies every value (NVFP4); 1: none */
    uint8_t *data; /* panels, 64-byte aligned; NULL until reserved or borrowed */
    bool borrowed; /* data is read-only and belongs to another owner */
    /* Not NULL: oneDNN defines the panel layout and multiplies this weight for every number of
     * rows. NULL: quire's kernels do, with the layout of kernels/kernels_linear.h. */
    const struct qr_onednn_matmul *onednn;
};

/* Computes the exact size of the packed data without allocating. QUIRE_E_UNSUPPORTED: the type,
 * with its name; QUIRE_E_FORMAT: k is not a multiple of the type's block; QUIRE_E_INVALID_ARG: n
 * or k is 0; QUIRE_E_LIMIT: too large. */
quire_status qr_packed_bytes(uint32_t type, uint64_t n, uint64_t k, uint64_t *bytes,
                             struct quire_error *err) QUIRE_MUST_CHECK;

/* Allocates a weight; its contents are undefined until all rows are packed. Errors as above and
 * QUIRE_E_NOMEM; *out is NULL then. */
quire_status qr_packed_create(uint32_t type, uint64_t n, uint64_t k,
                              const struct quire_allocator *allocator, struct qr_packed **out,
                              struct quire_error *err) QUIRE_MUST_CHECK;

/* The same for an f32 or bf16 weight held by oneDNN; `onednn` outlives it. QUIRE_E_UNSUPPORTED also
 * for other types, and when oneDNN has no code for it on this CPU. */
quire_status qr_packed_create_onednn(struct qr_onednn *onednn, uint32_t type, uint64_t n,
                                     uint64_t k, const struct quire_allocator *allocator,
                                     struct qr_packed **out,
                                     struct quire_error *err) QUIRE_MUST_CHECK;

/* The same in two steps, for callers that need the sizes first. _describe creates a weight
 * without data (onednn NULL: quire's panels). Then _reserve allocates its data, or _borrow sets
 * it to panels that are packed already: 64-byte aligned, `bytes` long, in the layout
 * qr_packed_layout returns. Borrowed panels outlive the weight. */
quire_status qr_packed_describe(struct qr_onednn *onednn, uint32_t type, uint64_t n, uint64_t k,
                                const struct quire_allocator *allocator, struct qr_packed **out,
                                struct quire_error *err) QUIRE_MUST_CHECK;
quire_status qr_packed_reserve(struct qr_packed *w, struct quire_error *err) QUIRE_MUST_CHECK;
void qr_packed_borrow(struct qr_packed *w, const uint8_t *panels);

/* Sets the order of the inputs (NULL: ascending), a permutation of [0, k) that outlives the weight.
 * Rows are packed in that order. Only for INT4 and INT8 types, whose f32 kernels read activations
 * by it; such weights take f32 activations in every compute mode. */
void qr_packed_set_order(struct qr_packed *w, const uint32_t *order);

/* Sets the scale of the matrix, 1 by default. The panels do not contain it: products are multiplied
 * by it before the bias is added, and unpacked values, each rounded once. */
void qr_packed_set_scale(struct qr_packed *w, float scale);

/* Computes a hash of the panel layout, from the packed form of a sample. Panels of another process
 * can be borrowed only if their layout hash is equal. QUIRE_E_NOMEM. */
quire_status qr_packed_layout(const struct qr_packed *w, uint64_t *layout,
                              struct quire_error *err) QUIRE_MUST_CHECK;
void qr_packed_destroy(struct qr_packed *w); /* NULL is a no-op */

/* Packs source rows [row0, row0 + n_rows) in the file's format, row_bytes apart at `raw` (any
 * alignment). Whole panels only: row0 is a multiple of panel_rows, and so is n_rows unless it
 * reaches the last row (QUIRE_E_INVALID_ARG). Threads may pack disjoint ranges concurrently. */
quire_status qr_packed_pack_rows(struct qr_packed *w, size_t row0, size_t n_rows, const void *raw,
                                 struct quire_error *err) QUIRE_MUST_CHECK;

/* Unpacks row `row` (< n) to f32, out[k]: exactly, or rounded once with a scale. Embeddings tied to
 * the output matrix are read this way. */
void qr_packed_unpack_row(const struct qr_packed *w, size_t row, float *out);

#endif
