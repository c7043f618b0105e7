/* SPDX-License-Identifier: Apache-2.0 */
/* pack_cache.c - computes the pack cache that a model requires, and maps a file that equals it. */
#include "model/load/pack_cache.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/fnv1a.h"
#include "base/threads.h"
#include "format/file.h"
#include "model/load/source_identity.h"
#include "model/load/weight_roles.h"
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20, PAGE = 4096 /* bytes */, BYTE_ORDER_MARK = 0x01020304 };
static const char magic[8] = { 'Q', 'R', 'P', 'A', 'N', 'E', 'L', 'S' };

_Static_assert(sizeof(struct qr_pack_cache_header) == 72 &&
                   sizeof(struct qr_pack_cache_entry) == 56,
               "structures of the file format must have no padding");

/* ---- Expected contents */

static struct qr_pack_cache_header *header_of(const struct qr_pack_cache *c)
{
    return (struct qr_pack_cache_header *)(void *)c->expected;
}

static struct qr_pack_cache_entry *directory_of(const struct qr_pack_cache *c)
{
    return (struct qr_pack_cache_entry *)(void *)(c->expected +
                                                  sizeof(struct qr_pack_cache_header));
}

/* Reuses the layout of the previous matrix of the same type and provider: qr_packed_layout packs a
 * sample. */
static quire_status fill_entry(struct qr_pack_cache_entry *e, const struct qr_pack_item *item,
                               const struct qr_pack_item *before, struct quire_error *err)
{
    const struct qr_packed *w = item->target;
    uint64_t layout;
    if (before && !w->onednn && !before->target->onednn && w->type == before->target->type)
        layout = e[-1].layout;
    else
        QR_TRY(qr_packed_layout(w, &layout, err));
    *e = (struct qr_pack_cache_entry){ .role = item->source->role,
                                       .layer = item->source->layer,
                                       .index = item->index,
                                       .type = w->type,
                                       .n = w->n,
                                       .k = w->k,
                                       .layout = layout,
                                       .bytes = w->bytes };
    return QUIRE_OK;
}

/* Computes the offsets of the panels, and the header's sizes. */
static quire_status place(struct qr_pack_cache *c, size_t n, struct quire_error *err)
{
    struct qr_pack_cache_entry *e = directory_of(c);
    struct qr_pack_cache_header *h = header_of(c);
    size_t at = 0;
    bool fits = true;
    for (size_t i = 0; i < n && fits; i++) {
        e[i].offset = at;
        /* GCOVR_EXCL_BR_LINE: sizes of weights that are in memory do not overflow */
        fits = qr_add_size(at, (size_t)e[i].bytes, &at) &&
               qr_align_size(at, PACK_CACHE_ALIGNMENT, &at);
    }
    /* the kernel can map huge pages only if the offset in the file is aligned to them */
    size_t begin, end;
    /* GCOVR_EXCL_BR_LINE: sizes of weights that are in memory do not overflow */
    fits = fits && qr_add_size(c->expected_bytes, n * sizeof(uint64_t), &begin) &&
           qr_align_size(begin, at < HUGE_PAGE ? PAGE : HUGE_PAGE, &begin) &&
           qr_add_size(begin, at, &end) && end < PTRDIFF_MAX - HUGE_PAGE;
    if (!fits) /* GCOVR_EXCL_BR_LINE: as above */
        return qr_fail(err, QUIRE_E_LIMIT, "the packed weights are too large for one file");
    for (size_t i = 0; i < n; i++)
        e[i].offset += begin;
    h->data_begin = begin;
    h->file_bytes = end;
    return QUIRE_OK;
}

static quire_status fill(struct qr_pack_cache *c, const struct qr_weights *weights,
                         const struct qr_pack_item *items, size_t n, struct quire_error *err)
{
    struct qr_source_id id;
    qr_weights_identify(weights, &id);
    for (size_t i = 0; i < n; i++) {
        QR_TRY(fill_entry(directory_of(c) + i, &items[i], i ? &items[i - 1] : NULL, err));
        QR_TRY(qr_weights_hash(weights, items[i].source, &id.hash, err));
    }
    struct qr_pack_cache_header *h = header_of(c);
    *h = (struct qr_pack_cache_header){ .version = PACK_CACHE_VERSION,
                                        .byte_order = BYTE_ORDER_MARK,
                                        .n_matrices = n,
                                        .alignment = PACK_CACHE_ALIGNMENT,
                                        .source_bytes = id.bytes,
                                        .source_mtime_ns = id.mtime_ns,
                                        .source_hash = id.hash };
    memcpy(h->magic, magic, sizeof magic);
    return place(c, n, err);
}

quire_status qr_pack_cache_plan(struct qr_pack_cache *c, const char *path,
                                const struct qr_weights *weights, const struct qr_pack_item *items,
                                size_t n, const struct quire_allocator *allocator,
                                struct quire_error *err)
{
    *c = (struct qr_pack_cache){ .path = path, .allocator = allocator };
    /* GCOVR_EXCL_BR_LINE: the items are in memory, and an entry has about their size */
    const bool fits =
        qr_mul_size(n, sizeof(struct qr_pack_cache_entry), &c->expected_bytes) &&
        qr_add_size(c->expected_bytes, sizeof(struct qr_pack_cache_header), &c->expected_bytes);
    c->expected = fits ? qr_calloc(allocator, c->expected_bytes, 1) : NULL;
    if (!c->expected)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the directory of a pack cache");
    const quire_status s = fill(c, weights, items, n, err);
    if (s != QUIRE_OK)
        qr_pack_cache_free(c);
    return s;
}

void qr_pack_cache_free(struct qr_pack_cache *c)
{
    qr_free(c->allocator, c->expected, c->expected_bytes, 1);
    *c = (struct qr_pack_cache){ 0 };
}

/* ---- Validation and mapping */

static quire_status check_header(const struct qr_pack_cache_header *got,
                                 const struct qr_pack_cache_header *want, struct quire_error *err)
{
    if (got->byte_order != want->byte_order)
        return qr_fail(err, QUIRE_E_MISMATCH,
                       "it was written on a machine with another byte order");
    if (got->version != want->version)
        return qr_fail(err, QUIRE_E_MISMATCH, "it has version %u, this library reads %u",
                       got->version, want->version);
    if (got->source_bytes != want->source_bytes || got->source_mtime_ns != want->source_mtime_ns ||
        got->source_hash != want->source_hash)
        return qr_fail(err, QUIRE_E_MISMATCH,
                       "it was made from another model, or the model has changed since");
    if (memcmp(got, want, sizeof *got) != 0)
        return qr_fail(err, QUIRE_E_MISMATCH, "its header does not fit the model");
    return QUIRE_OK;
}

static quire_status check_entry(const struct qr_pack_cache_entry *got,
                                const struct qr_pack_cache_entry *want, struct quire_error *err)
{
    const char *name = qr_weight_role_name((enum qr_weight_role)want->role);
    if (got->layout != want->layout)
        return qr_fail(err, QUIRE_E_MISMATCH,
                       "%s of layer %u has another packed layout than this library", name,
                       want->layer);
    if (memcmp(got, want, sizeof *got) != 0)
        return qr_fail(err, QUIRE_E_MISMATCH, "its entry for %s of layer %u does not fit the model",
                       name, want->layer);
    return QUIRE_OK;
}

static quire_status check(const struct qr_pack_cache *c, const struct qr_file *f, uint8_t *got,
                          struct quire_error *err)
{
    const struct qr_pack_cache_header *want = header_of(c);
    struct qr_pack_cache_header header;
    struct qr_pack_cache_entry entry;
    const size_t some = f->size < sizeof header ? (size_t)f->size : sizeof header;
    QR_TRY(qr_file_read(f, 0, &header, some, err));
    if (memcmp(header.magic, magic, some < sizeof magic ? some : sizeof magic) != 0)
        return qr_fail(err, QUIRE_E_FORMAT, "it is not a pack cache and is not overwritten");
    if (some < sizeof header)
        return qr_fail(err, QUIRE_E_MISMATCH, "it has only %llu bytes",
                       (unsigned long long)f->size);
    QR_TRY(check_header(&header, want, err));
    if (f->size != want->file_bytes)
        return qr_fail(err, QUIRE_E_MISMATCH, "it has %llu bytes, not %llu",
                       (unsigned long long)f->size, (unsigned long long)want->file_bytes);
    QR_TRY(qr_file_read(f, 0, got, c->expected_bytes, err));
    for (uint64_t i = 0; i < want->n_matrices; i++) {
        memcpy(&entry, got + sizeof header + i * sizeof entry, sizeof entry);
        QR_TRY(check_entry(&entry, directory_of(c) + i, err));
    }
    return QUIRE_OK;
}

/* Maps the first `bytes` of the file at an address aligned to a huge page, as huge mappings
 * require. */
static quire_status map(const struct qr_file *f, size_t bytes, struct qr_mapping *out,
                        uint8_t **data, struct quire_error *err)
{
    const size_t reserved = bytes + HUGE_PAGE;
    uint8_t *base =
        mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return qr_fail(err, QUIRE_E_IO, "there is no address space to map it");
    *data = base + (HUGE_PAGE - (uintptr_t)base % HUGE_PAGE) % HUGE_PAGE;
    if (mmap(*data, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED, f->fd, 0) == MAP_FAILED) {
        munmap(base, reserved);
        return qr_fail(err, QUIRE_E_IO, "it cannot be mapped");
    }
#ifdef MADV_HUGEPAGE
    (void)madvise(*data, bytes, MADV_HUGEPAGE); /* failure only costs speed */
#endif
    *out = (struct qr_mapping){ base, reserved };
    return QUIRE_OK;
}

struct verification {
    const struct qr_pack_cache *cache;
    const uint8_t *data; /* the mapped file */
    size_t n, next;      /* matrices; next is atomic */
    size_t damaged;      /* atomic; some damaged matrix, or n */
};

static void verify_part(void *arg, const struct quire_team *team)
{
    struct verification *v = arg;
    size_t i;
    (void)team;
    while ((i = __atomic_fetch_add(&v->next, 1, __ATOMIC_RELAXED)) < v->n) {
        const struct qr_pack_cache_entry *e = directory_of(v->cache) + i;
        uint64_t want;
        memcpy(&want, v->data + v->cache->expected_bytes + i * sizeof want, sizeof want);
        if (qr_checksum(v->data + e->offset, (size_t)e->bytes) != want)
            __atomic_store_n(&v->damaged, i, __ATOMIC_RELAXED);
    }
}

static quire_status verify(const struct qr_pack_cache *c, const uint8_t *data, size_t n,
                           struct quire_threads *threads, struct quire_error *err)
{
    struct verification v = { .cache = c, .data = data, .n = n, .damaged = n };
    QR_TRY(qr_part_run(threads, verify_part, &v, err));
    if (v.damaged == n)
        return QUIRE_OK;
    const struct qr_pack_cache_entry *e = directory_of(c) + v.damaged;
    return qr_fail_at(err, QUIRE_E_MISMATCH, e->offset,
                      "the panels of %s of layer %u are damaged: their checksum differs",
                      qr_weight_role_name((enum qr_weight_role)e->role), e->layer);
}

static quire_status check_and_map(const struct qr_pack_cache *c, const struct qr_file *f,
                                  struct qr_mapping *out, uint8_t **data, struct quire_error *err)
{
    uint8_t *got = qr_alloc(c->allocator, c->expected_bytes, 1);
    if (!got)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the directory of a pack cache");
    const quire_status s = check(c, f, got, err);
    qr_free(c->allocator, got, c->expected_bytes, 1);
    QR_TRY(s);
    return map(f, (size_t)header_of(c)->file_bytes, out, data, err);
}

quire_status qr_pack_cache_map(const struct qr_pack_cache *c, const struct qr_pack_item *items,
                               size_t n, struct quire_threads *threads, struct qr_mapping *out,
                               struct quire_error *err)
{
    struct qr_file f;
    uint8_t *data = NULL;
    QR_TRY(qr_file_open(&f, c->path, err));
    quire_status s = check_and_map(c, &f, out, &data, err);
    qr_file_close(&f); /* the mapping persists */
    QR_TRY(s);
    s = verify(c, data, n, threads, err);
    if (s != QUIRE_OK) {
        qr_pack_cache_unmap(out);
        return s;
    }
    for (size_t i = 0; i < n; i++)
        qr_packed_borrow(items[i].target, data + directory_of(c)[i].offset);
    return QUIRE_OK;
}

void qr_pack_cache_unmap(struct qr_mapping *m)
{
    if (m->bytes)
        munmap(m->base, m->bytes);
    *m = (struct qr_mapping){ 0 };
}
