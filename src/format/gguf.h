/* SPDX-License-Identifier: Apache-2.0 */
/* gguf.h - strict reader of GGUF files: typed metadata, tensor directory, bounded reads of tensor data. */
#ifndef QR_FORMAT_GGUF_H
#define QR_FORMAT_GGUF_H
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An open GGUF model: one file, all files of a split model, or bytes in memory. Everything but the tensor
 * data is read and checked by open, so no accessor can fail because the file is malformed, and open uses
 * at most 16 MiB + 4 x header bytes of heap. Immutable after open: every function that takes a const
 * pointer may be called from several threads at once. */
struct qr_gguf;

/* A string of the file: explicit length, not NUL-terminated, may hold any byte. Lives as long as the file. */
struct qr_gguf_str {
    const char *data;
    size_t size;
};

/* Value types, numbered as in the file. */
enum qr_gguf_type {
    QR_GGUF_U8,
    QR_GGUF_I8,
    QR_GGUF_U16,
    QR_GGUF_I16,
    QR_GGUF_U32,
    QR_GGUF_I32,
    QR_GGUF_F32,
    QR_GGUF_BOOL,
    QR_GGUF_STRING,
    QR_GGUF_ARRAY,
    QR_GGUF_U64,
    QR_GGUF_I64,
    QR_GGUF_F64,
    QR_GGUF_N_TYPES
};

/* Opens versions 2 and 3, little-endian. If split.count > 1 the path must be one of the files
 * NAME-00001-of-0000N.gguf; all of them are opened from the same directory and metadata comes from the
 * first. The allocator (NULL: the C library's) must outlive the object; the logger (may be NULL) is used
 * during the call only. On failure *out is NULL.
 * QUIRE_E_IO: cannot open or read; _FORMAT: malformed (err->offset is where); _UNSUPPORTED: version, byte
 * order or tensor type; _LIMIT: header over 1 GiB, counts that cannot fit; _NOMEM. */
quire_status qr_gguf_open(const char *path, const struct quire_allocator *a,
                          const struct quire_logger *log, struct qr_gguf **out,
                          struct quire_error *err) QUIRE_MUST_CHECK;

/* The same for a file image in memory, which is borrowed until close and must not change. Any alignment.
 * Split models cannot be opened this way. */
quire_status qr_gguf_open_memory(const void *data, size_t size, const struct quire_allocator *a,
                                 const struct quire_logger *log, struct qr_gguf **out,
                                 struct quire_error *err) QUIRE_MUST_CHECK;

void qr_gguf_close(struct qr_gguf *g); /* NULL is a no-op */

/* The files of the model, in order; NULL behind the last. */
struct qr_file;
const struct qr_file *qr_gguf_file(const struct qr_gguf *g, size_t i);

/* Bytes behind the last tensor of all files, padding not counted. 0 in a clean file; open warns otherwise. */
uint64_t qr_gguf_trailing_bytes(const struct qr_gguf *g);

/* ---- Metadata. One set of rules for all getters:
 *   integer getters take any integer type whose value fits; f32 takes f32 and f64; bool and str only their
 *   own type. Absent key or wrong type: QUIRE_E_FORMAT, the message names the key; *out is untouched.
 *   The _or forms return the default when the key is absent and fail only for a wrong type or range. */
bool qr_gguf_has(const struct qr_gguf *g, const char *key);
quire_status qr_gguf_get_u32(const struct qr_gguf *g, const char *key, uint32_t *out,
                             struct quire_error *err);
quire_status qr_gguf_get_u64(const struct qr_gguf *g, const char *key, uint64_t *out,
                             struct quire_error *err);
quire_status qr_gguf_get_i64(const struct qr_gguf *g, const char *key, int64_t *out,
                             struct quire_error *err);
quire_status qr_gguf_get_f32(const struct qr_gguf *g, const char *key, float *out,
                             struct quire_error *err);
quire_status qr_gguf_get_bool(const struct qr_gguf *g, const char *key, bool *out,
                              struct quire_error *err);
quire_status qr_gguf_get_str(const struct qr_gguf *g, const char *key, struct qr_gguf_str *out,
                             struct quire_error *err);

quire_status qr_gguf_get_u32_or(const struct qr_gguf *g, const char *key, uint32_t dflt,
                                uint32_t *out, struct quire_error *err);
quire_status qr_gguf_get_f32_or(const struct qr_gguf *g, const char *key, float dflt, float *out,
                                struct quire_error *err);
quire_status qr_gguf_get_bool_or(const struct qr_gguf *g, const char *key, bool dflt, bool *out,
                                 struct quire_error *err);
/* dflt may be NULL: then an absent key gives { NULL, 0 } */
quire_status qr_gguf_get_str_or(const struct qr_gguf *g, const char *key, const char *dflt,
                                struct qr_gguf_str *out, struct quire_error *err);

/* ---- Arrays. The view is valid until close; fields other than type and count are the reader's own. */
struct qr_gguf_array {
    enum qr_gguf_type type; /* of the elements; never ARRAY */
    size_t count;
    const uint8_t *data;       /* the elements as they lie in the file */
    const uint8_t *base;       /* of string_at */
    const uint32_t *string_at; /* for strings: where each one's bytes begin */
};
/* Absent key or not an array: QUIRE_E_FORMAT naming the key. */
quire_status qr_gguf_get_array(const struct qr_gguf *g, const char *key, struct qr_gguf_array *out,
                               struct quire_error *err);
/* Element i in constant time. False when i >= count, the element type is another one (integers: any width
 * counts as i64; f32: f32 or f64), or the value does not fit; then *out is untouched. */
bool qr_gguf_array_str(const struct qr_gguf_array *arr, size_t i, struct qr_gguf_str *out);
bool qr_gguf_array_i64(const struct qr_gguf_array *arr, size_t i, int64_t *out);
bool qr_gguf_array_f32(const struct qr_gguf_array *arr, size_t i, float *out);
bool qr_gguf_array_bool(const struct qr_gguf_array *arr, size_t i, bool *out);

/* Value type of a key; false when it is absent. For callers that accept several types (scalar or array). */
bool qr_gguf_value_type(const struct qr_gguf *g, const char *key, enum qr_gguf_type *out);

/* Key number i (0 .. count-1) in file order, for listings. */
size_t qr_gguf_key_count(const struct qr_gguf *g);
struct qr_gguf_str qr_gguf_key(const struct qr_gguf *g, size_t i);

/* ---- Tensors, numbered in file order through all files of a split model. */
struct qr_gguf_tensor {
    const char *name; /* NUL-terminated; no control bytes inside */
    uint32_t name_len;
    uint32_t type; /* enum qr_weight_type = GGML's number; always one of the format's known types */
    uint32_t n_dims; /* 1..4 */
    uint32_t file;   /* which file of a split model, from 0 */
    uint64_t dims
        [4]; /* elements, fastest first; 1 beyond n_dims. dims[0] is a multiple of the type's block */
    uint64_t offset; /* of the data, from the start of its file */
    uint64_t bytes;  /* of the data, without padding; offset + bytes <= file size */
};
size_t qr_gguf_tensor_count(const struct qr_gguf *g);
const struct qr_gguf_tensor *qr_gguf_tensor(const struct qr_gguf *g,
                                            size_t i); /* NULL if i >= count */
bool qr_gguf_find_tensor(const struct qr_gguf *g, const char *name,
                         size_t *index); /* constant time */

/* Reads the whole tensor; `bytes` must be the tensor's (else QUIRE_E_INVALID_ARG). Short file or read error:
 * QUIRE_E_IO, dst then holds anything. Safe from several threads. */
quire_status qr_gguf_read_tensor(const struct qr_gguf *g, size_t i, void *dst, uint64_t bytes,
                                 struct quire_error *err) QUIRE_MUST_CHECK;
/* Reads bytes [begin, begin + bytes) of tensor i; QUIRE_E_RANGE when they are not all inside it. */
quire_status qr_gguf_read_range(const struct qr_gguf *g, size_t i, uint64_t begin, uint64_t bytes,
                                void *dst, struct quire_error *err) QUIRE_MUST_CHECK;
/* The tensor's bytes when the model was opened from memory, else NULL. */
const void *qr_gguf_tensor_data(const struct qr_gguf *g, size_t i);

#endif
