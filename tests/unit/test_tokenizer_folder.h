/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_folder.h - a temporary folder with a vocabulary, opened as a tokenizer. */
#ifndef QR_TEST_TOKENIZER_FOLDER_H
#define QR_TEST_TOKENIZER_FOLDER_H
#include "test_tokenizer.h"
#include <unistd.h>

static char folder[] = "/tmp/quire-vocab-XXXXXX";

/* That a test may write: vocabularies, then files that belong to one. */
static const char *const folder_files[] = {
    "tokenizer.json",           "tokenizer.model",     "tokenizer.jsonl",
    "rwkv_vocab_v20230424.txt", "chat_template.jinja", "tokenizer_config.json",
    "generation_config.json",
};
enum { N_FOLDER_FILES = sizeof folder_files / sizeof *folder_files, N_VOCABULARIES = 4 };

static inline const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static inline void put_bytes(const char *name, const char *data, size_t size)
{
    FILE *f = fopen(path_of(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static inline void put_file(const char *name, const char *text)
{
    put_bytes(name, text, strlen(text));
}

static inline void put_config(const char *text) { put_file("tokenizer_config.json", text); }

/* Opens the folder or a file of it. */
static inline struct quire_tokenizer *open_path(const char *path)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer *t;
    if (quire_tokenizer_open(path, NULL, &t, &err) != QUIRE_OK)
        fail_msg("%s", err.msg);
    return t;
}

/* Opens the folder, which fails and leaves no memory. */
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

/* Opens the folder until no allocation fails any more; what is the result then. */
static inline void fail_every_allocation(quire_status last)
{
    for (size_t at = 1, done = 0; !done; at++) {
        struct fail_alloc f;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_tokenizer *t = NULL;
        fail_alloc_init(&f, at, false);
        struct quire_tokenizer_params p = { .struct_size = sizeof p, .allocator = &f.hooks };
        const quire_status s = quire_tokenizer_open(folder, &p, &t, &err);
        done = f.calls < at;
        assert_int_equal(s, done ? last : QUIRE_E_NOMEM);
        assert_true((s == QUIRE_OK) == (t != NULL));
        assert_true(s != QUIRE_E_NOMEM || strstr(err.msg, "memory"));
        quire_tokenizer_close(t);
        assert_int_equal(f.live_count, 0);
    }
}

static inline int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static inline int clear_folder(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FOLDER_FILES; i++)
        unlink(path_of(folder_files[i]));
    return 0;
}

static inline int remove_folder(void **state)
{
    clear_folder(state);
    return rmdir(folder);
}

#endif
