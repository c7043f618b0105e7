/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors.h - strict reader of safetensors files, single or sharded. */
#ifndef QR_FORMAT_SAFETENSORS_H
#define QR_FORMAT_SAFETENSORS_H
#include "format/safetensors_dtype.h"
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Open reads and checks the headers; tensor data is read on request only. Immutable after open, so
 * reads may run in parallel. Heap use: about twice the header bytes. */
struct qr_safetensors;

enum { QR_SAFETENSORS_MAX_DIMS = 8 };

struct qr_safetensor {
    const char *name; /* NUL-terminated UTF-8 */
    uint32_t name_len;
    uint8_t dtype;  /* enum qr_dtype */
    uint8_t n_dims; /* 0: a scalar */
    uint16_t shard;
    uint64_t shape[QR_SAFETENSORS_MAX_DIMS]; /* outermost first, as in the file */
    uint64_t offset, bytes;                  /* of the data, in its file */
};

/* Opens one file. QUIRE_E_FORMAT: malformed (err->offset is the position); _LIMIT: header over
 * 100,000,000 bytes; _UNSUPPORTED: unknown dtype; _IO; _NOMEM. On failure *out is NULL. The
 * allocator must outlive the object. */
quire_status qr_safetensors_open(const char *path, const struct quire_allocator *a,
                                 struct qr_safetensors **out,
                                 struct quire_error *err) QUIRE_MUST_CHECK;

/* Opens a model directory: model.safetensors, or else the shards listed in
 * model.safetensors.index.json, which must be plain file names in the same directory. Every tensor
 * of the index must be in the shard that the index names. */
quire_status qr_safetensors_open_dir(const char *dir, const struct quire_allocator *a,
                                     struct qr_safetensors **out,
                                     struct quire_error *err) QUIRE_MUST_CHECK;

void qr_safetensors_close(struct qr_safetensors *s); /* NULL is a no-op */

/* File of shard i; NULL past the last. */
struct qr_file;
const struct qr_file *qr_safetensors_file(const struct qr_safetensors *s, size_t i);

size_t qr_safetensors_count(const struct qr_safetensors *s);
const struct qr_safetensor *qr_safetensors_tensor(const struct qr_safetensors *s, size_t i);
bool qr_safetensors_find(const struct qr_safetensors *s, const char *name, size_t *index);

/* Reads bytes [begin, begin + bytes) of tensor i. QUIRE_E_RANGE if they exceed the tensor,
 * QUIRE_E_IO. */
quire_status qr_safetensors_read_range(const struct qr_safetensors *s, size_t i, uint64_t begin,
                                       uint64_t bytes, void *dst,
                                       struct quire_error *err) QUIRE_MUST_CHECK;

#endif
