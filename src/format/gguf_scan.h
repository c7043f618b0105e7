/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_scan.h - first pass over a GGUF header. */
#ifndef QR_FORMAT_GGUF_SCAN_H
#define QR_FORMAT_GGUF_SCAN_H
#include "format/types.h"

/* Counts the entries of the header. QUIRE_E_FORMAT: malformed; _UNSUPPORTED: version or byte order;
 * _LIMIT: a count that cannot fit in the file, a header over QR_GGUF_MAX_HEADER_BYTES; _IO. */
quire_status qr_gguf_scan(const struct qr_file *f, struct qr_gguf_counts *counts,
                          struct quire_error *err);

#endif
