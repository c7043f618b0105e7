/* SPDX-License-Identifier: Apache-2.0 */
/* test_gguf.h - writes GGUF images byte by byte, well-formed or malformed. */
#ifndef QUIRE_TEST_GGUF_H
#define QUIRE_TEST_GGUF_H
#include "format/gguf.h"
#include "format/gguf_meta.h"
#include "quire_cmocka.h"
#include <unistd.h>

struct image {
    uint8_t *data;
    size_t size, cap;
};

static inline void put(struct image *m, const void *p, size_t n)
{
    if (m->size + n > m->cap) {
        m->cap = 2 * (m->size + n);
        m->data = realloc(m->data, m->cap);
        assert_non_null(m->data);
    }
    if (n)
        memcpy(m->data + m->size, p, n);
    m->size += n;
}

static inline void put_u8(struct image *m, uint8_t v) { put(m, &v, sizeof v); }
static inline void put_u32(struct image *m, uint32_t v) { put(m, &v, sizeof v); }
static inline void put_u64(struct image *m, uint64_t v) { put(m, &v, sizeof v); }

static inline void put_str(struct image *m, const char *s)
{
    put_u64(m, strlen(s));
    put(m, s, strlen(s));
}

static inline void put_head(struct image *m, uint32_t version, uint64_t n_tensors, uint64_t n_kv)
{
    *m = (struct image){ 0 };
    put(m, "GGUF", 4);
    put_u32(m, version);
    put_u64(m, n_tensors);
    put_u64(m, n_kv);
}

static inline void put_key(struct image *m, const char *key, uint32_t type)
{
    put_str(m, key);
    put_u32(m, type);
}

static inline void put_kv_u32(struct image *m, const char *key, uint32_t v)
{
    put_key(m, key, QR_GGUF_U32);
    put_u32(m, v);
}

static inline void put_kv_f32(struct image *m, const char *key, float v)
{
    put_key(m, key, QR_GGUF_F32);
    put(m, &v, sizeof v);
}

static inline void put_kv_str(struct image *m, const char *key, const char *v)
{
    put_key(m, key, QR_GGUF_STRING);
    put_str(m, v);
}

static inline void put_kv_array(struct image *m, const char *key, uint32_t elem, uint64_t count)
{
    put_key(m, key, QR_GGUF_ARRAY);
    put_u32(m, elem);
    put_u64(m, count);
}

static inline void put_tensor(struct image *m, const char *name, uint32_t type, uint32_t n_dims,
                              const uint64_t *dims, uint64_t offset)
{
    put_str(m, name);
    put_u32(m, n_dims);
    for (uint32_t i = 0; i < n_dims; i++)
        put_u64(m, dims[i]);
    put_u32(m, type);
    put_u64(m, offset);
}

static inline void pad_to(struct image *m, size_t align)
{
    while (m->size % align)
        put_u8(m, 0);
}

static inline void drop(struct image *m)
{
    free(m->data);
    *m = (struct image){ 0 };
}

/* Writes the image to a temporary file. The caller unlinks the path and frees it. */
static inline char *to_file(const struct image *m)
{
    char *path = strdup("/tmp/quire-gguf-XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, m->data, m->size), (ssize_t)m->size);
    close(fd);
    return path;
}

/* Opens the image from memory and as a file. Both must return `status` with `text` in the message,
 * and leak nothing. */
static inline void expect_open(const struct image *m, quire_status status, const char *text)
{
    /* an exact copy, so that a sanitizer detects reads past its end */
    uint8_t *copy = malloc(m->size ? m->size : 1);
    if (m->size)
        memcpy(copy, m->data, m->size);
    char *path = to_file(m);
    for (int as_file = 0; as_file < 2; as_file++) {
        struct fail_alloc f;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct qr_gguf *g = (struct qr_gguf *)&f; /* open must overwrite it */
        fail_alloc_init(&f, 0, false);
        const quire_status got = as_file
                                     ? qr_gguf_open(path, &f.hooks, NULL, &g, &err)
                                     : qr_gguf_open_memory(copy, m->size, &f.hooks, NULL, &g, &err);
        if (got != status || (text && !strstr(err.msg, text)))
            print_error("got %s \"%s\", expected %s \"%s\"\n", quire_status_name(got), err.msg,
                        quire_status_name(status), text ? text : "");
        assert_int_equal(got, status);
        assert_true((status == QUIRE_OK) == (g != NULL));
        if (text)
            assert_non_null(strstr(err.msg, text));
        qr_gguf_close(g);
        assert_int_equal(f.live_count, 0);
        assert_int_equal(f.live_bytes, 0);
    }
    unlink(path);
    free(path);
    free(copy);
}

/* Same, and frees the image. */
static inline void expect(struct image *m, quire_status status, const char *text)
{
    expect_open(m, status, text);
    drop(m);
}

#endif
