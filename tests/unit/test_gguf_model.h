/* SPDX-License-Identifier: Apache-2.0 */
/* test_gguf_model.h - configurations of small models from GGUF files in memory. */
#ifndef QUIRE_TEST_GGUF_MODEL_H
#define QUIRE_TEST_GGUF_MODEL_H
#include "model/config/config.h"
#include "model/config/gguf.h"
#include "test_gguf.h"

struct entry {
    const char *key;
    uint32_t type; /* U32, F32, BOOL, STRING, ARRAY (of U32), NO_KEY, or one of those below */
    double value;
    const char *text; /* arrays: one digit per element; TEXT_ARRAY: "first,second" */
};
enum { BOOL_ARRAY = 100, F32_ARRAY, TEXT_ARRAY, NO_KEY = 255 };

static inline void put_texts(struct image *m, const struct entry *e)
{
    char texts[64];
    const size_t first = strcspn(e->text, ",");
    assert_true(e->text[first] && first < sizeof texts);
    snprintf(texts, sizeof texts, "%.*s", (int)first, e->text);
    put_kv_array(m, e->key, QR_GGUF_STRING, 2);
    put_str(m, texts);
    put_str(m, e->text + first + 1);
}

static inline void put_entry(struct image *m, const struct entry *e)
{
    if (e->type == QR_GGUF_U32)
        put_kv_u32(m, e->key, (uint32_t)e->value);
    else if (e->type == QR_GGUF_F32)
        put_kv_f32(m, e->key, (float)e->value);
    else if (e->type == QR_GGUF_STRING)
        put_kv_str(m, e->key, e->text);
    else if (e->type == QR_GGUF_BOOL) {
        put_key(m, e->key, QR_GGUF_BOOL);
        put_u8(m, e->value != 0);
    } else if (e->type == TEXT_ARRAY) {
        put_texts(m, e);
    } else {
        const bool bools = e->type == BOOL_ARRAY, floats = e->type == F32_ARRAY;
        put_kv_array(m, e->key,
                     bools    ? QR_GGUF_BOOL
                     : floats ? QR_GGUF_F32
                              : QR_GGUF_U32,
                     strlen(e->text));
        for (const char *p = e->text; *p; p++) {
            const float f = (float)(*p - '0');
            if (floats)
                put(m, &f, sizeof f);
            else
                bools ? put_u8(m, (uint8_t)(*p - '0')) : put_u32(m, (uint32_t)(*p - '0'));
        }
    }
}

/* Tensor of f32 values that are all `value`: n of them, or a matrix [rows][n]. */
struct entry_tensor {
    const char *name;
    uint64_t n;
    float value;
    uint64_t rows; /* 0: a vector */
};

static inline void put_tensors(struct image *m, const struct entry_tensor *tensors,
                               size_t n_tensors)
{
    uint64_t offset = 0;
    for (size_t i = 0; i < n_tensors; i++) {
        const uint64_t dims[] = { tensors[i].n, tensors[i].rows };
        put_tensor(m, tensors[i].name, 0, tensors[i].rows ? 2 : 1, dims, offset);
        offset +=
            (tensors[i].n * (tensors[i].rows + !tensors[i].rows) * sizeof(float) + 31) / 32 * 32;
    }
    for (size_t i = 0; i < n_tensors; i++) {
        pad_to(m, 32);
        for (uint64_t k = 0; k < tensors[i].n * (tensors[i].rows + !tensors[i].rows); k++)
            put(m, &tensors[i].value, sizeof(float));
    }
    pad_to(m, 32);
}

/* The file of a model of 4 layers of the given family. Entries of `extra` replace or add keys;
 * NO_KEY removes one. */
static inline void put_model(struct image *m, const char *arch, const struct entry *extra,
                             size_t n_extra, const struct entry_tensor *tensors, size_t n_tensors)
{
    char keys[8][128];
    static const struct {
        const char *key;
        double value;
    } base[] = { { "block_count", 4 },      { "embedding_length", 64 },
                 { "context_length", 512 }, { "feed_forward_length", 160 },
                 { "vocab_size", 320 },     { "attention.head_count", 4 } };
    enum { N_BASE = sizeof base / sizeof *base };
    struct entry all[N_BASE + 2 + 16];
    size_t n = 0;
    all[n++] = (struct entry){ "general.architecture", QR_GGUF_STRING, 0, arch };
    for (size_t i = 0; i < N_BASE; i++) {
        snprintf(keys[i], sizeof keys[i], "%s.%s", arch, base[i].key);
        all[n++] = (struct entry){ keys[i], QR_GGUF_U32, base[i].value, NULL };
    }
    snprintf(keys[N_BASE], sizeof keys[0], "%s.attention.layer_norm_rms_epsilon", arch);
    all[n++] = (struct entry){ keys[N_BASE], QR_GGUF_F32, 1e-5, NULL };
    for (size_t i = 0; i < n_extra; i++) {
        size_t at = 0;
        while (at < n && strcmp(all[at].key, extra[i].key) != 0)
            at++;
        all[at] = extra[i];
        n = at == n ? n + 1 : n;
    }
    uint64_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += all[i].type != NO_KEY;
    put_head(m, 3, n_tensors, count);
    for (size_t i = 0; i < n; i++)
        if (all[i].type != NO_KEY)
            put_entry(m, &all[i]);
    put_tensors(m, tensors, n_tensors);
}

static inline quire_status make_with_tensors(const char *arch, const struct entry *extra,
                                             size_t n_extra, const struct entry_tensor *tensors,
                                             size_t n_tensors, struct qr_model_config *cfg,
                                             struct quire_error *err)
{
    struct image m;
    struct qr_gguf *g;
    struct fail_alloc f;
    put_model(&m, arch, extra, n_extra, tensors, n_tensors);
    fail_alloc_init(&f, 0, false);
    assert_status(QUIRE_OK, qr_gguf_open_memory(m.data, m.size, NULL, NULL, &g, err));
    quire_status s = qr_model_config_from_gguf(g, NULL, &f.hooks, cfg, err);
    qr_model_config_free(cfg);
    assert_int_equal(f.live_count, 0);
    if (s == QUIRE_OK)
        s = qr_model_config_from_gguf(g, NULL, NULL, cfg, err);
    qr_gguf_close(g);
    drop(&m);
    return s;
}

static inline quire_status make(const char *arch, const struct entry *extra, size_t n_extra,
                                struct qr_model_config *cfg, struct quire_error *err)
{
    return make_with_tensors(arch, extra, n_extra, NULL, 0, cfg, err);
}

static inline void bad(const char *arch, struct entry e, quire_status status, const char *text)
{
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = make(arch, &e, 1, &c, &err);
    if (s != status || !strstr(err.msg, text))
        print_error("%s: got %s \"%s\", expected %s \"%s\"\n", e.key, quire_status_name(s), err.msg,
                    quire_status_name(status), text);
    assert_int_equal(s, status);
    assert_non_null(strstr(err.msg, text));
}

static inline struct qr_model_config good(const char *arch, const struct entry *extra, size_t n)
{
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = make(arch, extra, n, &c, &err);
    if (s != QUIRE_OK)
        print_error("%s\n", err.msg);
    assert_int_equal(s, QUIRE_OK);
    return c;
}

#endif
