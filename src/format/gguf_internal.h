/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_internal.h - what the parts of the GGUF reader share. */
#ifndef QR_FORMAT_GGUF_INTERNAL_H
#define QR_FORMAT_GGUF_INTERNAL_H
#include "base/alloc.h"
#include "format/file.h"
#include "format/gguf.h"
#include "format/name_index.h"

/* Reading a file goes in two passes. The scan walks the header through a small window and checks every
 * count, length and type number against the file's size, so that the second pass allocates exactly what is
 * there: that is how a lying header cannot cost memory. The parse then checks names and values. */

enum {
    GGUF_MAX_KEY = 65535,
    GGUF_MAX_NAME = 255,
    GGUF_MAX_ALIGNMENT = 65536,
    GGUF_DEFAULT_ALIGNMENT = 32,
    GGUF_MAX_FILES = 512
};
#define GGUF_MAX_HEADER ((uint64_t)1 << 30) /* positions in the header fit 32 bits */

/* What the scan found. */
struct gguf_shape {
    uint32_t version;
    uint64_t n_kv, n_tensors;
    uint64_t n_strings;    /* in arrays, all together */
    uint64_t names_bytes;  /* of tensor names with their terminators */
    uint64_t header_bytes; /* up to the end of the last tensor info */
};

struct gguf_kv {
    uint32_t key_at; /* position of the key's bytes in the header */
    uint16_t key_len;
    uint8_t type, elem; /* enum qr_gguf_type; elem: of an array */
    uint32_t value_at;  /* of the value; for an array, of its first element */
    uint32_t strings;   /* string arrays: first entry in string_at */
};

/* Metadata of one file. */
struct gguf_meta {
    const uint8_t *head;
    uint8_t *owned; /* head when it was read from a file */
    size_t head_bytes;
    struct gguf_kv *kv;
    size_t n_kv, kv_cap;
    /* where each string of an array begins; its length stands 8 bytes before */
    uint32_t *string_at;
    size_t n_strings, string_cap;
    struct qr_name_index index;
};

struct gguf_part {
    struct qr_file file;
    char *names;
    size_t names_bytes;
};

struct qr_gguf {
    const struct quire_allocator *allocator;
    struct gguf_part *parts;
    size_t n_parts, part_cap;
    struct gguf_meta meta; /* of the first file */
    struct qr_gguf_tensor *tensors;
    size_t n_tensors, tensor_cap;
    struct qr_name_index tensor_index;
    uint64_t trailing;
};

quire_status qr_gguf_scan(const struct qr_file *f, struct gguf_shape *shape,
                          struct quire_error *err);

/* Loads the header that was scanned and fills *meta, which stays empty on failure. */
quire_status qr_gguf_parse_meta(const struct qr_file *f, const struct gguf_shape *shape,
                                const struct quire_allocator *a, struct gguf_meta *meta,
                                size_t *tensors_at, struct quire_error *err);
void qr_gguf_meta_free(struct gguf_meta *meta, const struct quire_allocator *a);

/* Appends the tensor infos of the last part of g, whose metadata is given. After a failure g can only be
 * closed. */
quire_status qr_gguf_parse_tensors(struct qr_gguf *g, const struct gguf_meta *meta,
                                   const struct gguf_shape *shape, size_t tensors_at,
                                   struct quire_error *err);

/* Fills tensor_index; a name that appears twice, also in two files, is QUIRE_E_FORMAT. */
quire_status qr_gguf_index_tensors(struct qr_gguf *g, struct quire_error *err);

/* Key number i; a qr_name_fn over struct gguf_meta. */
const char *qr_gguf_key_name(const void *meta, uint32_t i, size_t *len);

/* The getters on one file's metadata. */
const struct gguf_kv *qr_gguf_meta_find(const struct gguf_meta *meta, const char *key);
quire_status qr_gguf_meta_u32_or(const struct gguf_meta *meta, const char *key, uint32_t dflt,
                                 uint32_t *out, struct quire_error *err);

/* Bytes of one fixed-size value; 0 for strings, arrays and unknown numbers. */
size_t qr_gguf_value_bytes(uint32_t type);
const char *qr_gguf_value_name(uint32_t type);

#endif
