/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_file.c - reads safetensors files of reference tensors. */
#include "tensor_file.h"
#include "eval.h"
#include "json/parse.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tensor_file {
    char *bytes; /* data of the tensors, without the header: aligned as by malloc */
    size_t size;
    struct qr_json *header;
};

struct tensor_file *tensor_file_open(const char *path)
{
    struct tensor_file *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->bytes = eval_read_file(path, &f->size);
    uint64_t header = 0;
    struct qr_json_error error;
    if (f->bytes && f->size > 8)
        memcpy(&header, f->bytes, 8);
    if (header && header <= f->size - 8)
        f->header = qr_json_parse(f->bytes + 8, (size_t)header, 0, NULL, &error);
    if (!f->bytes || !f->header) {
        fprintf(stderr, "quire-eval: %s is not a readable safetensors file\n", path);
        tensor_file_close(f);
        return NULL;
    }
    f->size -= 8 + (size_t)header;
    memmove(f->bytes, f->bytes + 8 + header, f->size);
    return f;
}

void tensor_file_close(struct tensor_file *f)
{
    if (!f)
        return;
    qr_json_free(f->header);
    free(f->bytes);
    free(f);
}

bool tensor_file_get(const struct tensor_file *f, const char *dtype, struct tensor *out,
                     const char *name_fmt, ...)
{
    char name[256];
    va_list ap;
    va_start(ap, name_fmt);
    vsnprintf(name, sizeof name, name_fmt, ap);
    va_end(ap);
    const struct qr_json *t = qr_json_get(f->header, name);
    const struct qr_json *shape = qr_json_get(t, "shape"),
                         *offsets = qr_json_get(t, "data_offsets");
    const char *type = qr_json_string(qr_json_get(t, "dtype"));
    if (!type || (dtype && strcmp(type, dtype) != 0) || qr_json_size(shape) > 4 ||
        qr_json_size(offsets) != 2)
        return false;
    const size_t begin = (size_t)qr_json_integer(qr_json_at(offsets, 0));
    const size_t end = (size_t)qr_json_integer(qr_json_at(offsets, 1));
    if (begin > end || end > f->size)
        return false;
    *out = (struct tensor){ .n_dims = qr_json_size(shape), .n = 1, .data = f->bytes + begin };
    snprintf(out->dtype, sizeof out->dtype, "%s", type);
    for (size_t i = 0; i < out->n_dims; i++) {
        out->dims[i] = (size_t)qr_json_integer(qr_json_at(shape, i));
        out->n *= out->dims[i];
    }
    return true;
}

int64_t tensor_i64(const struct tensor *t, size_t i)
{
    int64_t value;
    memcpy(&value, (const char *)t->data + i * sizeof value, sizeof value);
    return value;
}
