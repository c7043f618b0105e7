/* SPDX-License-Identifier: Apache-2.0 */
/* bench_gguf.h - streaming writer of GGUF files, version 3: metadata, tensor directory, tensors. */
#ifndef QUIRE_BENCH_BENCH_GGUF_H
#define QUIRE_BENCH_BENCH_GGUF_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    GGUF_UINT32 = 4,
    GGUF_INT32 = 5,
    GGUF_FLOAT32 = 6,
    GGUF_BOOL = 7,
    GGUF_STRING = 8,
    GGUF_ARRAY = 9
};

/* Metadata and directory are buffered in memory because the file header holds their counts;
 * tensor data is streamed. Errors are sticky and reported by gguf_finish(). */
struct gguf_writer {
    FILE *file, *meta, *directory;
    char *meta_text, *directory_text;
    size_t meta_size, directory_size;
    uint64_t n_keys, n_tensors, data_bytes, written;
    bool failed;
};

/* path is a regular file or does not exist. */
bool gguf_open(struct gguf_writer *w, const char *path);
/* Writes the low `bytes` bytes of value, little-endian. */
void gguf_put(FILE *f, uint64_t value, size_t bytes);
void gguf_put_string(FILE *f, const char *text);
void gguf_text(struct gguf_writer *w, const char *key, const char *value);
void gguf_u32(struct gguf_writer *w, const char *key, uint32_t value);
void gguf_f32(struct gguf_writer *w, const char *key, float value);
void gguf_bool(struct gguf_writer *w, const char *key, bool value);
/* Begins an array. The caller writes its n elements to w->meta with gguf_put() or
 * gguf_put_string(). */
void gguf_array(struct gguf_writer *w, const char *key, uint32_t type, uint64_t n);

/* Adds a tensor [rows][columns] (rows = 0: a vector) to the directory, in the order of the data. */
void gguf_tensor(struct gguf_writer *w, const char *name, uint32_t type, uint64_t rows,
                 uint64_t columns, uint64_t bytes);
/* The same with n_dims sizes, innermost first. */
void gguf_tensor_dims(struct gguf_writer *w, const char *name, uint32_t type, const uint64_t *dims,
                      uint32_t n_dims, uint64_t bytes);
/* Ends the directory. The data of all tensors follows, each completed by gguf_pad(). */
void gguf_begin_data(struct gguf_writer *w);
void gguf_data(struct gguf_writer *w, const void *data, size_t bytes);
void gguf_pad(struct gguf_writer *w);
/* Closes the file. Returns false if any write failed. */
bool gguf_finish(struct gguf_writer *w);

#endif
