/* SPDX-License-Identifier: Apache-2.0 */
/* gguf.h - strict reader of GGUF files: opening, tensor directory, bounded reads of tensor data. */
#ifndef QR_FORMAT_GGUF_H
#define QR_FORMAT_GGUF_H
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An open GGUF model: a single file, all shards of a split model, or an image in memory. Open reads
 * and checks everything except tensor data, so accessors cannot fail on malformed files; it uses
 * at most 16 MiB + 4 x header bytes of heap. Immutable after open: functions that take a const
 * pointer may be called from several threads at once. Metadata: format/gguf_meta.h. */
struct qr_gguf;

/* Opens a file of version 2 or 3, little-endian. If split.count > 1 the path must name one of the
 * shards NAME-00001-of-0000N.gguf; all shards are opened from the same directory, and the metadata
 * is that of the first. The allocator (NULL: the C library's) must outlive the object; the logger
 * (may be NULL) is used during the call only. On failure *out is NULL.
 * QUIRE_E_IO: cannot open or read; _FORMAT: malformed (err->offset is the position);
 * _UNSUPPORTED: version, byte order or tensor type; _LIMIT: header over 1 GiB or counts that cannot
 * fit in the file; _NOMEM. */
quire_status qr_gguf_open(const char *path, const struct quire_allocator *a,
                          const struct quire_logger *log, struct qr_gguf **out,
                          struct quire_error *err) QUIRE_MUST_CHECK;

/* Same for a file image in memory of any alignment, which is borrowed until close and must not
 * change. A split model cannot be opened this way (QUIRE_E_UNSUPPORTED). */
quire_status qr_gguf_open_memory(const void *data, size_t size, const struct quire_allocator *a,
                                 const struct quire_logger *log, struct qr_gguf **out,
                                 struct quire_error *err) QUIRE_MUST_CHECK;

void qr_gguf_close(struct qr_gguf *g); /* NULL is a no-op */

/* File of shard i; NULL past the last. */
struct qr_file;
const struct qr_file *qr_gguf_file(const struct qr_gguf *g, size_t i);

/* Bytes after the last tensor of all shards, without padding. Open logs a warning if there are
 * any. */
uint64_t qr_gguf_trailing_bytes(const struct qr_gguf *g);

/* ---- Tensors, numbered in file order across all shards. */
struct qr_gguf_tensor {
    const char *name; /* NUL-terminated, without control characters */
    uint32_t name_len;
    uint32_t type;    /* enum qr_weight_type or another number that qr_weight_type_info accepts */
    uint32_t n_dims;  /* 1..4 */
    uint32_t shard;   /* from 0 */
    uint64_t dims[4]; /* elements, innermost first, 1 beyond n_dims; dims[0] is a multiple of the
                       * type's block size */
    uint64_t offset;  /* of the data, from the start of its file */
    uint64_t bytes;   /* of the data, without padding; offset + bytes <= file size */
};
size_t qr_gguf_tensor_count(const struct qr_gguf *g);
const struct qr_gguf_tensor *qr_gguf_tensor(const struct qr_gguf *g,
                                            size_t i); /* NULL if i >= count */
bool qr_gguf_find_tensor(const struct qr_gguf *g, const char *name,
                         size_t *index); /* constant time */

/* Reads a whole tensor; `bytes` must equal the tensor's (else QUIRE_E_INVALID_ARG). Truncated file
 * or read error: QUIRE_E_IO, dst is then undefined. */
quire_status qr_gguf_read_tensor(const struct qr_gguf *g, size_t i, void *dst, uint64_t bytes,
                                 struct quire_error *err) QUIRE_MUST_CHECK;
/* Reads bytes [begin, begin + bytes) of tensor i; QUIRE_E_RANGE if they exceed the tensor. */
quire_status qr_gguf_read_range(const struct qr_gguf *g, size_t i, uint64_t begin, uint64_t bytes,
                                void *dst, struct quire_error *err) QUIRE_MUST_CHECK;

#endif
