/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_file.h - reads safetensors files of reference tensors. */
#ifndef QUIRE_BENCH_TENSOR_FILE_H
#define QUIRE_BENCH_TENSOR_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tensor_file;

struct tensor {
    char dtype[8]; /* "F32", "I64", "U8", ... */
    size_t n_dims, dims[4];
    size_t n;         /* elements */
    const void *data; /* borrowed from the file, aligned as its writer aligned it */
};

/* Opens a file. Returns NULL, with a message on stderr, if it is missing or malformed. */
struct tensor_file *tensor_file_open(const char *path);
void tensor_file_close(struct tensor_file *f);

/* Finds a tensor by a printf-style name. Returns false if it is absent or not of `dtype` (NULL:
 * any). */
bool tensor_file_get(const struct tensor_file *f, const char *dtype, struct tensor *out,
                     const char *name_fmt, ...) __attribute__((format(printf, 4, 5)));

/* Element i of a tensor of I64, whatever its alignment. */
int64_t tensor_i64(const struct tensor *t, size_t i);

#endif
