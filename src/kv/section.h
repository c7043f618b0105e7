/* SPDX-License-Identifier: Apache-2.0 */
/* section.h - copies rows between blocks and sections, their form in files. */
#ifndef QR_KV_SECTION_H
#define QR_KV_SECTION_H
#include "kv/types.h"

/* A section holds the codes of n_rows tokens of one layer, whatever the layout of the pool. For
 * each KV head: keys [n_rows][head_size], for int8 their scales [n_rows] as f32, values
 * [n_rows][v_head_size], for int8 their scales; latent groups have no values. Nothing is aligned.
 *
 * Bytes of a section; false on overflow. */
bool qr_kv_section_bytes(const struct quire_kv_cache *kv, uint32_t group, uint32_t n_rows,
                         size_t *bytes);

/* Rows [first, first + n) of a section and their place in a block: from token `token` on. The
 * caller guarantees that both exist. */
struct qr_kv_section_rows {
    uint32_t group, layer;
    uint32_t n_rows; /* of the section */
    uint32_t first, n;
    int32_t block;
    uint32_t token;
};

/* Copy rows out of a section into a block, or the other way. Concurrent calls may fill different
 * rows of a block. */
void qr_kv_put_section(struct quire_kv_cache *kv, const struct qr_kv_section_rows *rows,
                       const uint8_t *section);
void qr_kv_get_section(const struct quire_kv_cache *kv, const struct qr_kv_section_rows *rows,
                       uint8_t *section);

#endif
