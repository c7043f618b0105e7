/* SPDX-License-Identifier: Apache-2.0 */
/* test_quantized.h - safetensors files with quantized matrices, written from memory and opened as a
 * table of tensors. */
#ifndef QUIRE_TEST_QUANTIZED_H
#define QUIRE_TEST_QUANTIZED_H
#include "base/half.h"
#include "base/weight_type.h"
#include "format/safetensors.h"
#include "linear/dequantize.h"
#include "model/load/quantized.h"
#include "model/load/weights_source.h"
#include "test_dir.h"
#include "test_gguf.h"
#include <math.h>

struct stored {
    const char *name, *dtype;
    unsigned n_dims;
    uint64_t shape[4];
    void *data;
    size_t bytes;
};

static struct stored stored[16];
static size_t n_stored;
static uint32_t rng = 1;

static inline uint32_t draw(uint32_t below)
{
    rng = rng * 1664525u + 1013904223u;
    return (rng >> 8) % below;
}

static inline size_t dtype_bytes(const char *name)
{
    enum qr_dtype t;
    assert_true(qr_dtype_from_name(name, strlen(name), &t));
    return qr_dtype_bytes(t);
}

/* Adds a zeroed tensor; later dimensions of 0 do not exist. Returns its data. */
static inline void *store(const char *name, const char *dtype, uint64_t a, uint64_t b, uint64_t c,
                          uint64_t d)
{
    struct stored *t = &stored[n_stored++];
    assert_true(n_stored <= 16);
    *t = (struct stored){ .name = name, .dtype = dtype, .shape = { a, b, c, d } };
    t->bytes = dtype_bytes(dtype);
    while (t->n_dims < 4 && t->shape[t->n_dims])
        t->bytes *= t->shape[t->n_dims++];
    t->data = calloc(t->bytes, 1);
    return t->data;
}

static inline struct stored *stored_named(const char *name)
{
    for (size_t i = 0; i < n_stored; i++)
        if (strcmp(stored[i].name, name) == 0)
            return &stored[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

/* Changes the shape; the data become zeros if their size changes. */
static inline void reshape(const char *name, uint64_t a, uint64_t b)
{
    struct stored *t = stored_named(name);
    const size_t bytes = dtype_bytes(t->dtype) * (size_t)a * (b ? (size_t)b : 1);
    t->n_dims = b ? 2 : 1;
    t->shape[0] = a;
    t->shape[1] = b;
    if (bytes != t->bytes) {
        free(t->data);
        t->data = calloc(bytes, 1);
        t->bytes = bytes;
    }
}

static inline void forget_stored(void)
{
    while (n_stored > 0)
        free(stored[--n_stored].data);
}

static inline void write_stored(void)
{
    struct image header = { 0 }, body = { 0 }, file = { 0 };
    for (size_t i = 0; i < n_stored; i++) {
        const struct stored *t = &stored[i];
        char line[900], shape[100] = "";
        for (unsigned d = 0; d < t->n_dims; d++)
            snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%llu", d ? "," : "",
                     (unsigned long long)t->shape[d]);
        snprintf(line, sizeof line,
                 "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                 i ? "," : "{", t->name, t->dtype, shape, body.size, body.size + t->bytes);
        put(&header, line, strlen(line));
        put(&body, t->data, t->bytes);
    }
    put(&header, "}", 1);
    put_u64(&file, header.size);
    put(&file, header.data, header.size);
    put(&file, body.data, body.size);
    char path[128];
    snprintf(path, sizeof path, "%s/model.safetensors", dir);
    FILE *f = fopen(path, "wb");
    assert_true(f && fwrite(file.data, 1, file.size, f) == file.size);
    fclose(f);
    drop(&header);
    drop(&body);
    drop(&file);
}

/* Writes the tensors and opens them. */
static inline quire_status open_stored(const struct qr_quantization_config *config,
                                       struct qr_weights *w, struct quire_error *err)
{
    write_stored();
    *w = (struct qr_weights){ .config.quantization = *config };
    qr_arena_init(&w->lists, NULL, 0);
    assert_status(QUIRE_OK, qr_safetensors_open_dir(dir, NULL, &w->safetensors, err));
    return qr_quantized_open(w, err);
}

static inline void close_stored(struct qr_weights *w)
{
    qr_quantized_close(w);
    qr_safetensors_close(w->safetensors);
    qr_arena_free(&w->lists);
}

#endif
