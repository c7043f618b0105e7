/* SPDX-License-Identifier: Apache-2.0 */
/* pack_cache_write.c - writes a pack cache atomically. */
#include "model/load/pack_cache_write.h"
#include "base/checksum.h"
#include "format/replace_file.h"
#include <string.h>

static void put_all(struct qr_replacement *r, const struct qr_pack_cache *c,
                    const struct qr_pack_item *items, size_t n)
{
    struct qr_pack_cache_header h;
    struct qr_pack_cache_entry e;
    memcpy(&h, c->expected, sizeof h);
    qr_replace_put(r, c->expected, c->expected_bytes);
    for (size_t i = 0; i < n; i++) {
        memcpy(&e, c->expected + sizeof h + i * sizeof e, sizeof e);
        const uint64_t sum = qr_checksum(items[i].target->data, (size_t)e.bytes);
        qr_replace_put(r, &sum, sizeof sum);
    }
    for (size_t i = 0; i < n && !r->error; i++) {
        memcpy(&e, c->expected + sizeof h + i * sizeof e, sizeof e);
        qr_replace_put_zeros(r, e.offset - r->at);
        qr_replace_put(r, items[i].target->data, e.bytes);
    }
    if (!r->error)
        qr_replace_put_zeros(r, h.file_bytes - r->at);
}

quire_status qr_pack_cache_write(const struct qr_pack_cache *c, const struct qr_pack_item *items,
                                 size_t n, struct quire_error *err)
{
    struct qr_pack_cache_header h;
    struct qr_replacement r;
    memcpy(&h, c->expected, sizeof h);
    qr_replace_begin(&r, c->path, 0666, h.file_bytes, c->allocator);
    if (!r.error)
        put_all(&r, c, items, n);
    qr_replace_commit(&r);
    return qr_replace_end(&r, err);
}
