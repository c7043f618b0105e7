/* SPDX-License-Identifier: Apache-2.0 */
/* test_raw_folder.h - a folder of the reference data whose tensors tests change in name, dtype,
 * shape and bytes. */
#ifndef QUIRE_TEST_RAW_FOLDER_H
#define QUIRE_TEST_RAW_FOLDER_H
#include "format/safetensors.h"
#include "test_dir.h"
#include "test_gguf.h"

enum { MAX_RAW = 256, MAX_RAW_DIMS = 5, MAX_RAW_CONFIG = 1 << 16 };

struct raw {
    char name[640], dtype[16];
    uint32_t n_dims;
    uint64_t shape[MAX_RAW_DIMS]; /* slowest first */
    uint8_t *data;
    size_t bytes;
};

struct raw_folder {
    struct raw t[MAX_RAW];
    size_t n;
    char config[MAX_RAW_CONFIG];
};

/* The last two arguments of raw_add() and raw_set(). */
#define SHAPE(...)                                                                                 \
    sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), (const uint64_t[]) { __VA_ARGS__ }

static inline struct raw *raw_find(struct raw_folder *f, const char *name)
{
    size_t i = 0;
    while (i < f->n && strcmp(f->t[i].name, name) != 0)
        i++;
    if (i == f->n)
        fail_msg("no tensor %s", name);
    return &f->t[i];
}

/* Gives a tensor another dtype and shape; its bytes are 0. */
static inline void raw_change(struct raw *t, const char *dtype, size_t n_dims,
                              const uint64_t *shape)
{
    enum qr_dtype code;
    assert_true(n_dims <= MAX_RAW_DIMS);
    if (!qr_dtype_from_name(dtype, strlen(dtype), &code))
        fail_msg("no dtype %s", dtype);
    snprintf(t->dtype, sizeof t->dtype, "%s", dtype);
    t->n_dims = (uint32_t)n_dims;
    t->bytes = qr_dtype_bytes(code);
    for (size_t d = 0; d < n_dims; d++)
        t->bytes *= t->shape[d] = shape[d];
    free(t->data);
    t->data = calloc(1, t->bytes);
    assert_non_null(t->data);
}

static inline struct raw *raw_add(struct raw_folder *f, const char *name, const char *dtype,
                                  size_t n_dims, const uint64_t *shape)
{
    struct raw *t = &f->t[f->n++];
    assert_true(f->n <= MAX_RAW && strlen(name) < sizeof t->name);
    *t = (struct raw){ 0 };
    strcpy(t->name, name);
    raw_change(t, dtype, n_dims, shape);
    return t;
}

static inline void raw_set(struct raw_folder *f, const char *name, const char *dtype, size_t n_dims,
                           const uint64_t *shape)
{
    raw_change(raw_find(f, name), dtype, n_dims, shape);
}

static inline void raw_remove(struct raw_folder *f, const char *name)
{
    struct raw *t = raw_find(f, name);
    free(t->data);
    *t = f->t[--f->n];
}

static inline void raw_clear(struct raw_folder *f)
{
    while (f->n > 0)
        free(f->t[--f->n].data);
}

/* Replaces the first `from` of config.json, which must be there. */
static inline void raw_config(struct raw_folder *f, const char *from, const char *to)
{
    char *at = strstr(f->config, from);
    if (!at)
        fail_msg("no %s in config.json", from);
    assert_true(strlen(f->config) + strlen(to) < MAX_RAW_CONFIG);
    memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
    memcpy(at, to, strlen(to));
}

/* Reads the tensors and config.json of a folder of the reference data. */
static inline void raw_read(struct raw_folder *f, const char *name)
{
    char path[4200];
    struct qr_safetensors *s;
    f->n = 0;
    snprintf(path, sizeof path, "%s/goldens/%s", shared_dir(), name);
    assert_status(QUIRE_OK, qr_safetensors_open_dir(path, NULL, &s, NULL));
    for (size_t i = 0; i < qr_safetensors_count(s); i++) {
        const struct qr_safetensor *from = qr_safetensors_tensor(s, i);
        struct raw *t =
            raw_add(f, from->name, qr_dtype_name(from->dtype), from->n_dims, from->shape);
        assert_status(QUIRE_OK, qr_safetensors_read_range(s, i, 0, from->bytes, t->data, NULL));
    }
    qr_safetensors_close(s);
    snprintf(path, sizeof path, "%s/goldens/%s/config.json", shared_dir(), name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    f->config[fread(f->config, 1, MAX_RAW_CONFIG - 1, file)] = 0;
    fclose(file);
}

/* Writes a file of the temporary directory. */
static inline void raw_write_file(const char *name, const void *data, size_t n)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static inline void raw_write_tensors(const struct raw_folder *f, const char *name)
{
    struct image header = { 0 }, body = { 0 }, file = { 0 };
    for (size_t i = 0; i < f->n; i++) {
        const struct raw *t = &f->t[i];
        char line[900], shape[120] = "";
        for (uint32_t d = 0; d < t->n_dims; d++)
            snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%llu", d ? "," : "",
                     (unsigned long long)t->shape[d]);
        snprintf(line, sizeof line,
                 "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                 i ? "," : "{", t->name, t->dtype, shape, body.size, body.size + t->bytes);
        put(&header, line, strlen(line));
        put(&body, t->data, t->bytes);
    }
    put(&header, f->n ? "}" : "{}", f->n ? 1 : 2);
    put_u64(&file, header.size);
    put(&file, header.data, header.size);
    put(&file, body.data, body.size);
    raw_write_file(name, file.data, file.size);
    drop(&header);
    drop(&body);
    drop(&file);
}

/* Writes the folder to the temporary directory. */
static inline void raw_write(const struct raw_folder *f)
{
    raw_write_tensors(f, "model.safetensors");
    raw_write_file("config.json", f->config, strlen(f->config));
}

#endif
