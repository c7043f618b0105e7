/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_folder.h - a temporary folder with a vocabulary, opened as a tokenizer. */
#ifndef QR_TEST_TOKENIZER_FOLDER_H
#define QR_TEST_TOKENIZER_FOLDER_H
#include "test_tokenizer.h"
#include <unistd.h>

static char folder[] = "/tmp/quire-vocab-XXXXXX";

static inline const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static inline void put_file(const char *name, const char *text)
{
    FILE *f = fopen(path_of(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

static inline void put_config(const char *text) { put_file("tokenizer_config.json", text); }

static inline struct quire_tokenizer *open_path(const char *path)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *t;
    if (quire_tokenizer_open(path, NULL, &t, &err) != QUIRE_OK)
        fail_msg("%s", err.msg);
    return t;
}

static inline void expect_error(quire_status status, const char *message)
{
    struct fail_alloc f;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *t = NULL;
    fail_alloc_init(&f, 0, false);
    struct quire_tokenizer_params p = { .struct_size = sizeof p, .allocator = &f.hooks };
    const quire_status s = quire_tokenizer_open(folder, &p, &t, &err);
    if (s != status || !strstr(err.msg, message))
        fail_msg("%s \"%s\", not \"%s\"", quire_status_name(s), err.msg, message);
    assert_null(t);
    assert_int_equal(f.live_count, 0);
}

/* Opens the folder as often as it takes until no allocation fails any more. */
static inline void fail_every_allocation(void)
{
    for (size_t at = 1, done = 0; !done; at++) {
        struct fail_alloc f;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_tokenizer *t = NULL;
        fail_alloc_init(&f, at, false);
        struct quire_tokenizer_params p = { .struct_size = sizeof p, .allocator = &f.hooks };
        const quire_status s = quire_tokenizer_open(folder, &p, &t, &err);
        done = f.calls < at;
        assert_int_equal(s, done ? QUIRE_OK : QUIRE_E_NOMEM);
        quire_tokenizer_close(t);
        assert_int_equal(f.live_count, 0);
    }
}

static inline int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

/* Removes the folder, the vocabulary of that name and the configuration. */
static inline int remove_folder(const char *vocabulary)
{
    unlink(path_of(vocabulary));
    unlink(path_of("tokenizer_config.json"));
    return rmdir(folder);
}

#endif
