/* SPDX-License-Identifier: Apache-2.0 */
/* test_folder.h - a folder of the reference data in memory, which tests modify and write. */
#ifndef QUIRE_TEST_FOLDER_H
#define QUIRE_TEST_FOLDER_H
#include "format/safetensors.h"
#include "test_dir.h"
#include "test_gguf.h"

struct tensor {
    char name[160];
    uint32_t n_dims;
    uint64_t shape[3]; /* slowest first */
    float *data;
    size_t n;
};

struct folder {
    struct tensor t[400];
    size_t n;
    char *config;
};

static inline void read_folder(struct folder *f, const char *name)
{
    char path[4200];
    struct qr_safetensors *s;
    struct quire_error err = QUIRE_ERROR_INIT;
    memset(f, 0, sizeof *f);
    snprintf(path, sizeof path, "%s/goldens/%s", shared_dir(), name);
    assert_status(QUIRE_OK, qr_safetensors_open_dir(path, NULL, &s, &err));
    f->n = qr_safetensors_count(s);
    assert_true(f->n < 390); /* tests add some */
    for (size_t i = 0; i < f->n; i++) {
        const struct qr_safetensor *from = qr_safetensors_tensor(s, i);
        struct tensor *t = &f->t[i];
        assert_true(from->dtype == QR_DTYPE_F32 && from->n_dims <= 3);
        snprintf(t->name, sizeof t->name, "%s", from->name);
        t->n_dims = from->n_dims;
        t->n = from->bytes / sizeof(float);
        t->data = malloc(from->bytes);
        memcpy(t->shape, from->shape, sizeof t->shape);
        assert_status(QUIRE_OK, qr_safetensors_read_range(s, i, 0, from->bytes, t->data, &err));
    }
    qr_safetensors_close(s);
    snprintf(path, sizeof path, "%s/goldens/%s/config.json", shared_dir(), name);
    FILE *file = fopen(path, "rb");
    f->config = calloc(1, 1 << 16);
    assert_true(file && fread(f->config, 1, (1 << 16) - 1, file) > 0);
    fclose(file);
}

static inline void free_folder(struct folder *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->t[i].data);
    free(f->config);
}

static inline struct tensor *find(struct folder *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->t[i].name, name) == 0)
            return &f->t[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

/* Adds a tensor of rows x cols, or a vector of cols. */
static inline struct tensor *add(struct folder *f, const char *name, uint64_t rows, uint64_t cols)
{
    struct tensor *t = &f->t[f->n++];
    snprintf(t->name, sizeof t->name, "%s", name);
    t->n_dims = rows ? 2 : 1;
    t->shape[0] = rows ? rows : cols;
    t->shape[1] = cols;
    t->n = (rows ? rows : 1) * cols;
    t->data = calloc(t->n, sizeof(float));
    return t;
}

/* Replaces the first `from`, if there is one, with `to` in a text of `size` bytes. */
static inline void replace(char *s, size_t size, const char *from, const char *to)
{
    char *at = strstr(s, from);
    if (!at)
        return;
    assert_true(strlen(s) - strlen(from) + strlen(to) < size);
    memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
    memcpy(at, to, strlen(to));
}

static inline void rename_all(struct folder *f, const char *from, const char *to)
{
    for (size_t i = 0; i < f->n; i++)
        replace(f->t[i].name, sizeof f->t[i].name, from, to);
}

static inline void write_file(const char *name, const void *data, size_t n)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "wb");
    assert_true(file && fwrite(data, 1, n, file) == n);
    fclose(file);
}

/* Writes the folder to `dir`, without tensor number `skip`, and with number `grow` one row
 * longer. */
static inline void write_folder(const struct folder *f, size_t skip, size_t grow)
{
    struct image header = { 0 }, body = { 0 };
    char text[400];
    put(&header, "{", 1);
    for (size_t i = 0; i < f->n; i++) {
        const struct tensor *t = &f->t[i];
        const uint64_t rows = t->shape[0] + (i == grow), begin = body.size;
        if (i == skip)
            continue;
        put(&body, t->data, t->n * sizeof(float));
        if (i == grow)
            put(&body, t->data, t->n / t->shape[0] * sizeof(float));
        snprintf(text, sizeof text,
                 t->n_dims == 3   ? "[%llu,%llu,%llu]"
                 : t->n_dims == 2 ? "[%llu,%llu]"
                                  : "[%llu]",
                 (unsigned long long)rows, (unsigned long long)t->shape[1],
                 (unsigned long long)t->shape[2]);
        char line[700];
        snprintf(line, sizeof line,
                 "%s\"%s\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":[%llu,%llu]}",
                 header.size > 1 ? "," : "", t->name, text, (unsigned long long)begin,
                 (unsigned long long)body.size);
        put(&header, line, strlen(line));
    }
    put(&header, "}", 1);
    struct image file = { 0 };
    put_u64(&file, header.size);
    put(&file, header.data, header.size);
    put(&file, body.data, body.size);
    write_file("model.safetensors", file.data, file.size);
    write_file("config.json", f->config, strlen(f->config));
    drop(&header);
    drop(&body);
    drop(&file);
}

/* For write_folder(): no tensor is left out or changed. */
static const size_t none = SIZE_MAX;

#endif
