/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_parse.h - second pass over a GGUF header: key/value pairs. */
#ifndef QR_FORMAT_GGUF_PARSE_H
#define QR_FORMAT_GGUF_PARSE_H
#include "format/types.h"

/* Reads the scanned header and fills *meta, which stays empty on failure. *tensors_at is the header
 * offset of the first tensor info. */
quire_status qr_gguf_parse_meta(const struct qr_file *f, const struct qr_gguf_counts *counts,
                                const struct quire_allocator *a, struct qr_gguf_meta *meta,
                                size_t *tensors_at, struct quire_error *err);
void qr_gguf_meta_free(struct qr_gguf_meta *meta, const struct quire_allocator *a);

#endif
