/* SPDX-License-Identifier: Apache-2.0 */
/* packed.h - weight matrices in panels: the only copy of a weight in memory. */
#ifndef QR_LINEAR_PACKED_H
#define QR_LINEAR_PACKED_H
#include "base/weight_type.h"
#include <quire/status.h>

struct qr_onednn;

/* One matrix [n outputs][k inputs]; immutable once packed, then safe to share. A stack of expert
 * matrices is simply as many of these. Fields are read-only for users. */
struct qr_packed {
    const struct quire_allocator *allocator; /* borrowed, outlives the weight */
    enum qr_weight_type type;
    size_t n, k;
    size_t panel_rows;  /* 16 or 64 */
    size_t panel_bytes; /* multiple of 64 */
    size_t n_panels;    /* n / panel_rows, rounded up */
    size_t row_bytes;   /* of one source row */
    size_t bytes;       /* n_panels * panel_bytes */
    uint8_t *data;      /* panels, 64-byte aligned; NULL until reserved or borrowed */
    bool borrowed;      /* data is another's, read-only */
    /* not NULL: oneDNN says how a panel lies, and multiplies this weight for every number of rows;
     * NULL: base/kernels_linear.h says it, and our kernels do */
    const struct qr_onednn_product *onednn;
};

/* Exact size of the packed data, before anything is allocated. QUIRE_E_UNSUPPORTED: type, named;
 * QUIRE_E_FORMAT: k is no multiple of the type's block; QUIRE_E_INVALID_ARG: n or k is 0;
 * QUIRE_E_LIMIT: too large. */
quire_status qr_packed_bytes(uint32_t type, uint64_t n, uint64_t k, uint64_t *bytes,
                             struct quire_error *err) QUIRE_MUST_CHECK;

/* Reserves a weight; its contents are undefined until all rows are packed. Errors as above and
 * QUIRE_E_NOMEM; *out is NULL then. */
quire_status qr_packed_create(uint32_t type, uint64_t n, uint64_t k,
                              const struct quire_allocator *allocator, struct qr_packed **out,
                              struct quire_error *err) QUIRE_MUST_CHECK;

/* Same for an f32 or bf16 weight that oneDNN holds; `onednn` outlives it. QUIRE_E_UNSUPPORTED as well
 * for other types, and when oneDNN has no code for it on this CPU. */
quire_status qr_packed_create_onednn(struct qr_onednn *onednn, uint32_t type, uint64_t n,
                                     uint64_t k, const struct quire_allocator *allocator,
                                     struct qr_packed **out,
                                     struct quire_error *err) QUIRE_MUST_CHECK;

/* The same in two steps, for who must know the sizes first: describe makes a weight without data (onednn
 * NULL: quire's panels), then it gets memory of its own, or panels that are packed already. Those are 64-byte
 * aligned, `bytes` long, in the layout that qr_packed_layout tells, and outlive the weight. */
quire_status qr_packed_describe(struct qr_onednn *onednn, uint32_t type, uint64_t n, uint64_t k,
                                const struct quire_allocator *allocator, struct qr_packed **out,
                                struct quire_error *err) QUIRE_MUST_CHECK;
quire_status qr_packed_reserve(struct qr_packed *w, struct quire_error *err) QUIRE_MUST_CHECK;
void qr_packed_borrow(struct qr_packed *w, const uint8_t *panels);

/* A number that tells how values lie in the weight's panels: what packing makes of a sample. Panels may be taken
 * over from another program only where it is the same. QUIRE_E_NOMEM. */
quire_status qr_packed_layout(const struct qr_packed *w, uint64_t *layout,
                              struct quire_error *err) QUIRE_MUST_CHECK;
void qr_packed_destroy(struct qr_packed *w); /* NULL is a no-op */

/* Packs source rows [row0, row0 + n_rows), which lie row_bytes apart at `raw` (any alignment), as
 * the file stores them. Whole panels only: row0 a multiple of panel_rows, and so n_rows unless it
 * reaches the last row (QUIRE_E_INVALID_ARG). Threads may pack disjoint ranges at once. */
quire_status qr_packed_rows(struct qr_packed *w, size_t row0, size_t n_rows, const void *raw,
                            struct quire_error *err) QUIRE_MUST_CHECK;

/* Unpacks row `row` (< n) exactly to f32, out[k]. This is how embeddings are read from a tied
 * head. */
void qr_linear_row(const struct qr_packed *w, size_t row, float *out);

#endif
