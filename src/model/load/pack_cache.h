/* SPDX-License-Identifier: Apache-2.0 */
/* pack_cache.h - pack cache: a file with the packed matrices of a model, mapped by later loads
 * instead of packing again. */
#ifndef QR_MODEL_LOAD_PACK_CACHE_H
#define QR_MODEL_LOAD_PACK_CACHE_H
#include "linear/packed.h"
#include "model/load/types.h"
#include <quire/threads.h>

/* File format: header, directory with one entry per matrix, one qr_checksum per matrix, zeros up to
 * data_begin, then the panels of the matrices in directory order, each aligned to
 * PACK_CACHE_ALIGNMENT. Numbers have the byte order of the writing machine. Header and directory
 * follow from the model alone, so they are validated by comparison with the expected bytes: no
 * number in the file is used as an offset or size. The panels are validated by their checksums.
 * Version 2 had no checksums. */
enum { PACK_CACHE_VERSION = 3, PACK_CACHE_ALIGNMENT = 64 /* bytes */ };

struct qr_pack_cache_header {
    char magic[8]; /* "QRPANELS" */
    uint32_t version;
    uint32_t byte_order; /* 0x01020304 */
    uint64_t n_matrices;
    uint64_t alignment;
    uint64_t data_begin;
    uint64_t file_bytes;
    /* of the model's files, see struct qr_source_id; the hash also covers qr_weights_hash of each
     * matrix */
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

/* One matrix of the model. */
struct qr_pack_item {
    const struct qr_weight *source;
    struct qr_packed *target; /* result of qr_packed_describe */
    uint32_t index;           /* in a stack */
};

/* The file that a model requires. */
struct qr_pack_cache {
    const char *path; /* borrowed */
    const struct quire_allocator *allocator;
    uint8_t *expected; /* header and directory */
    size_t expected_bytes;
};

/* Computes the expected header and directory. QUIRE_E_NOMEM, QUIRE_E_LIMIT, or an error of reading
 * the source; free *c only after success. */
quire_status qr_pack_cache_plan(struct qr_pack_cache *c, const char *path,
                                const struct qr_weights *weights, const struct qr_pack_item *items,
                                size_t n, const struct quire_allocator *allocator,
                                struct quire_error *err) QUIRE_MUST_CHECK;
void qr_pack_cache_free(struct qr_pack_cache *c);

/* Maps the file, checks the panels on the threads (NULL: the caller's) and points every item at
 * its own. QUIRE_E_IO: cannot be read; QUIRE_E_FORMAT: not a pack cache; QUIRE_E_MISMATCH: damaged
 * or of another model, with the reason. On failure nothing is mapped and no item changes. */
quire_status qr_pack_cache_map(const struct qr_pack_cache *c, const struct qr_pack_item *items,
                               size_t n, struct quire_threads *threads, struct qr_mapping *out,
                               struct quire_error *err) QUIRE_MUST_CHECK;
void qr_pack_cache_unmap(struct qr_mapping *m); /* an empty mapping is a no-op */

#endif
