/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors.h - strict reader of safetensors files, single or sharded by model.safetensors.index.json. */
#ifndef QR_FORMAT_SAFETENSORS_H
#define QR_FORMAT_SAFETENSORS_H
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Headers are read and checked by open, tensor data only on request. Immutable after open, so reads may
 * run in parallel. Heap: header bytes plus about as much again. */
struct qr_safetensors;

enum qr_dtype {
    QR_DTYPE_BOOL,
    QR_DTYPE_U8,
    QR_DTYPE_I8,
    QR_DTYPE_F8_E5M2,
    QR_DTYPE_F8_E4M3,
    QR_DTYPE_I16,
    QR_DTYPE_U16,
    QR_DTYPE_F16,
    QR_DTYPE_BF16,
    QR_DTYPE_I32,
    QR_DTYPE_U32,
    QR_DTYPE_F32,
    QR_DTYPE_F64,
    QR_DTYPE_I64,
    QR_DTYPE_U64,
    QR_DTYPE_COUNT
};
enum { QR_SAFETENSORS_MAX_DIMS = 8 };

struct qr_safetensor {
    const char *name; /* NUL-terminated UTF-8 */
    uint32_t name_len;
    uint8_t dtype;  /* enum qr_dtype */
    uint8_t n_dims; /* 0: a scalar */
    uint16_t file;
    uint64_t shape[QR_SAFETENSORS_MAX_DIMS]; /* slowest first, as in the file */
    uint64_t offset, bytes;                  /* in its file */
};

/* One file. QUIRE_E_FORMAT: malformed (err->offset is where); _LIMIT: header over 100,000,000 bytes;
 * _UNSUPPORTED: unknown dtype; _IO; _NOMEM. On failure *out is NULL. The allocator must outlive the object. */
quire_status qr_safetensors_open(const char *path, const struct quire_allocator *a,
                                 struct qr_safetensors **out,
                                 struct quire_error *err) QUIRE_MUST_CHECK;

/* A model folder: model.safetensors, or else the files that model.safetensors.index.json names, which must
 * be plain file names in the same folder. Every tensor of the index must be in the file that it names. */
quire_status qr_safetensors_open_dir(const char *dir, const struct quire_allocator *a,
                                     struct qr_safetensors **out,
                                     struct quire_error *err) QUIRE_MUST_CHECK;

void qr_safetensors_close(struct qr_safetensors *s); /* NULL is a no-op */

/* The files with tensors, in order; NULL behind the last. */
struct qr_file;
const struct qr_file *qr_safetensors_file(const struct qr_safetensors *s, size_t i);

size_t qr_safetensors_count(const struct qr_safetensors *s);
const struct qr_safetensor *qr_safetensors_tensor(const struct qr_safetensors *s, size_t i);
bool qr_safetensors_find(const struct qr_safetensors *s, const char *name, size_t *index);

/* Reads bytes [begin, begin + bytes) of a tensor. QUIRE_E_RANGE when they are not all inside it, QUIRE_E_IO. */
quire_status qr_safetensors_read_range(const struct qr_safetensors *s, size_t i, uint64_t begin,
                                       uint64_t bytes, void *dst,
                                       struct quire_error *err) QUIRE_MUST_CHECK;

size_t qr_dtype_bytes(enum qr_dtype t);
const char *qr_dtype_name(enum qr_dtype t);

#endif
