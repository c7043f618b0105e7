/* SPDX-License-Identifier: Apache-2.0 */
/* pack_cache.h - a model's packed matrices in one file, which later starts map instead of packing again. */
#ifndef QR_MODEL_LOAD_PACK_CACHE_H
#define QR_MODEL_LOAD_PACK_CACHE_H
#include "linear/packed.h"
#include "model/load/weights.h"

/* The file: a head, a directory with one entry for each matrix, zeros up to data_begin, then the panels of the
 * matrices in the order of the directory, each on a multiple of PACK_CACHE_ALIGNMENT. All numbers have the byte order of
 * the machine that wrote it. What a model's file must hold up to data_begin follows from the model alone, so a
 * file is checked by comparing: nothing in it is ever used as an offset or a size. The panels are not checked, as
 * the numbers in a model file are not. */
enum { PACK_CACHE_VERSION = 2, PACK_CACHE_ALIGNMENT = 64 };

struct qr_pack_cache_head {
    char magic[8]; /* "QRPANELS" */
    uint32_t version;
    uint32_t byte_order; /* 0x01020304 */
    uint64_t n_matrices;
    uint64_t alignment;
    uint64_t data_begin;
    uint64_t file_bytes;
    /* the model's files, see struct qr_source_id; the hash goes on over the matrices' places and first bytes */
    uint64_t source_bytes;
    int64_t source_mtime_ns;
    uint64_t source_hash;
};

struct qr_pack_cache_entry {
    uint32_t role, layer, index; /* index: in a stack */
    uint32_t type;
    uint64_t n, k;
    uint64_t layout; /* qr_packed_layout */
    uint64_t offset, bytes;
};

/* One matrix of the model: where it comes from, and where to. */
struct qr_pack_item {
    const struct qr_weight *source;
    struct qr_packed *target; /* described */
    uint32_t index;
};

/* The beginning that a model's file must have. */
struct qr_pack_cache {
    const char *path; /* borrowed */
    const struct quire_allocator *allocator;
    uint8_t *begin; /* head and directory */
    size_t begin_bytes;
};

/* A mapped file; bytes == 0: none. */
struct qr_mapping {
    void *base;
    size_t bytes;
};

/* QUIRE_E_NOMEM, QUIRE_E_LIMIT, or what reading the source gives; c is to be freed only after success. */
quire_status qr_pack_cache_plan(struct qr_pack_cache *c, const char *path,
                                const struct qr_weights *weights, const struct qr_pack_item *items,
                                size_t n, const struct quire_allocator *allocator,
                                struct quire_error *err) QUIRE_MUST_CHECK;
void qr_pack_cache_free(struct qr_pack_cache *c);

/* Maps the file and gives every item its panels. QUIRE_E_IO: cannot be read; QUIRE_E_FORMAT: no pack cache;
 * QUIRE_E_MISMATCH: one, but not this model's, or a damaged one, with the reason. Then nothing is mapped and no item
 * touched. */
quire_status qr_pack_cache_map(const struct qr_pack_cache *c, const struct qr_pack_item *items,
                               size_t n, struct qr_mapping *out,
                               struct quire_error *err) QUIRE_MUST_CHECK;
void qr_pack_cache_unmap(struct qr_mapping *m); /* an empty one is a no-op */

/* Writes the items' panels to a file of another name beside the path, which then replaces what was there.
 * QUIRE_E_IO, QUIRE_E_NOMEM: nothing is left behind. */
quire_status qr_pack_cache_write(const struct qr_pack_cache *c, const struct qr_pack_item *items,
                                 size_t n, struct quire_error *err) QUIRE_MUST_CHECK;

#endif
