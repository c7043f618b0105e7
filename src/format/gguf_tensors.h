/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_tensors.h - the tensor directory of a GGUF file. */
#ifndef QR_FORMAT_GGUF_TENSORS_H
#define QR_FORMAT_GGUF_TENSORS_H
#include "format/types.h"

/* Appends the tensor infos of g's last shard, whose metadata is *meta. After a failure g can only
 * be closed. */
quire_status qr_gguf_parse_tensors(struct qr_gguf *g, const struct qr_gguf_meta *meta,
                                   const struct qr_gguf_counts *counts, size_t tensors_at,
                                   struct quire_error *err);

#endif
