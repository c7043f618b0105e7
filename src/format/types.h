/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - the structs behind the opaque handles of the GGUF and safetensors readers. */
#ifndef QR_FORMAT_TYPES_H
#define QR_FORMAT_TYPES_H
#include "base/name_index.h"
#include "format/file.h"
#include <quire/status.h>
#include <stddef.h>
#include <stdint.h>

/* ---- GGUF. A header is read in two passes. The scan reads it through a small window and checks
 * every count, length and type number against the file size; the parse then allocates exactly what
 * the scan found and checks names and values. A header with false counts therefore cannot cause a
 * large allocation. */

enum {
    QR_GGUF_MAX_KEY_BYTES = 65535,
    QR_GGUF_MAX_NAME_BYTES = 255,
    QR_GGUF_MAX_ALIGNMENT = 65536,
    QR_GGUF_DEFAULT_ALIGNMENT = 32,
    QR_GGUF_MAX_SHARDS = 512
};
#define QR_GGUF_MAX_HEADER_BYTES ((uint64_t)1 << 30) /* header offsets fit in 32 bits */

/* Result of the scan. */
struct qr_gguf_counts {
    uint32_t version;
    uint64_t n_kv, n_tensors;
    uint64_t n_strings;    /* elements of all string arrays */
    uint64_t names_bytes;  /* tensor names with their terminators */
    uint64_t header_bytes; /* up to the end of the last tensor info */
};

/* One key/value pair of the metadata. Offsets are relative to the header. */
struct qr_gguf_kv {
    uint32_t key_at; /* offset of the key's bytes */
    uint16_t key_len;
    uint8_t type, elem; /* enum qr_gguf_type; elem: of an array's elements */
    uint32_t value_at;  /* offset of the value; of an array: of its first element */
    uint32_t strings;   /* string arrays: index of the first element in string_at */
};

/* Metadata of one file. */
struct qr_gguf_meta {
    const uint8_t *header;
    uint8_t *owned; /* equals header if it was read from a file, else NULL */
    size_t header_bytes;
    size_t kv_end; /* offset behind the last value */
    struct qr_gguf_kv *kv;
    size_t n_kv, kv_cap;
    /* offset of the bytes of each array string; the 8 bytes before it hold the string's length */
    uint32_t *string_at;
    size_t n_strings, string_cap;
    struct qr_name_index index; /* of the keys */
};

struct qr_gguf_shard {
    struct qr_file file;
    char *names; /* tensor names, NUL-terminated */
    size_t names_bytes;
};

struct qr_gguf {
    const struct quire_allocator *allocator;
    struct qr_gguf_shard *shards;
    size_t n_shards, shard_cap;
    struct qr_gguf_meta meta; /* of the first shard */
    struct qr_gguf_tensor *tensors;
    size_t n_tensors, tensor_cap;
    struct qr_name_index tensor_index;
    uint64_t trailing_bytes;
};

/* ---- safetensors */

struct qr_safetensors_shard {
    struct qr_file file;
    char *header; /* the JSON text; tensor names point into it */
    size_t header_bytes;
    char *name; /* file name without directory; NULL for a single file */
};

struct qr_safetensors {
    const struct quire_allocator *allocator;
    struct qr_safetensors_shard *shards;
    size_t n_shards, shard_cap;
    struct qr_safetensor *tensors;
    size_t n_tensors, tensor_cap;
    struct qr_name_index index; /* of the tensor names */
};

#endif
