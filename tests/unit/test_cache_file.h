/* SPDX-License-Identifier: Apache-2.0 */
/* test_cache_file.h - engines over a tiny model, and their saved prefix caches. */
#ifndef QUIRE_TEST_CACHE_FILE_H
#define QUIRE_TEST_CACHE_FILE_H
#include "engine_requests.h"
#include "test_dir.h"
#include "tiny_model.h"
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { PROMPT = 70 /* tokens */, MAX_CACHE_FILE = 4 << 20 };

static inline const char *in_dir(const char *name)
{
    static _Thread_local char paths[4][256];
    static _Thread_local unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

/* A model of 2 layers; it needs no shared data. */
static inline struct quire_engine_params tiny_params(void)
{
    static struct fuzz_buffer model;
    struct quire_engine_params p;
    if (!model.size)
        tiny_model(&tiny_running, &model);
    quire_engine_params_init(&p, sizeof p);
    p.model_data = model.data;
    p.model_bytes = model.size;
    p.n_threads = 1;
    p.block_size = 16;
    p.context_length = 128;
    p.max_seqs = 2;
    p.cache_tokens = 1536;
    p.kv_bytes = 8 << 20;
    return p;
}

/* Different prompts for different numbers, of the same length. */
static inline struct quire_request_params prompt(int number, int32_t tokens[PROMPT])
{
    struct quire_request_params p;
    quire_request_params_init(&p, sizeof p);
    for (int i = 0; i < PROMPT; i++)
        tokens[i] = 40 + (i * 7 + number * 13 + i * number) % 150;
    p.tokens = tokens;
    p.n_tokens = PROMPT;
    p.max_tokens = 8;
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    p.sampling = &greedy_sampling;
    return p;
}

/* Answers a prompt; returns the number of cached tokens. */
static inline uint32_t answer(struct quire_engine *e, int number, uint64_t salt, struct result *r)
{
    int32_t tokens[PROMPT];
    struct result ignored;
    struct quire_request_params p = prompt(number, tokens);
    p.cache_salt = salt;
    generate(e, &p, r ? r : &ignored);
    return (r ? r : &ignored)->done.usage->cached_tokens;
}

static inline struct quire_cache_file_params cache_file(const char *path)
{
    struct quire_cache_file_params p;
    quire_cache_file_params_init(&p, sizeof p);
    p.path = path;
    return p;
}

static inline struct quire_cache_file_result save_with(struct quire_engine *e,
                                                       const struct quire_cache_file_params *p)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_cache_file_result r = { .struct_size = sizeof r };
    const quire_status s = quire_engine_save_cache(e, p, &r, &err);
    if (s != QUIRE_OK)
        fail_msg("save: %s: %s", quire_status_name(s), err.msg);
    return r;
}

static inline struct quire_cache_file_result save_cache(struct quire_engine *e, const char *path)
{
    const struct quire_cache_file_params p = cache_file(path);
    return save_with(e, &p);
}

static inline struct quire_cache_file_result restore_with(struct quire_engine *e,
                                                          const struct quire_cache_file_params *p)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_cache_file_result r = { .struct_size = sizeof r };
    const quire_status s = quire_engine_restore_cache(e, p, &r, &err);
    if (s != QUIRE_OK)
        fail_msg("restore: %s: %s", quire_status_name(s), err.msg);
    return r;
}

static inline struct quire_cache_file_result restore_cache(struct quire_engine *e, const char *path)
{
    const struct quire_cache_file_params p = cache_file(path);
    return restore_with(e, &p);
}

/* Status of restoring a file; the message goes to `message`, of 488 bytes, if that is not NULL. */
static inline quire_status try_restore(struct quire_engine *e, const char *path, char *message)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct quire_cache_file_params p = cache_file(path);
    const quire_status s = quire_engine_restore_cache(e, &p, NULL, &err);
    assert_true(s == QUIRE_OK || err.msg[0]);
    if (message)
        memcpy(message, err.msg, sizeof err.msg);
    return s;
}

/* Blocks in use, in all groups. */
static inline size_t used_blocks(const struct quire_engine *e)
{
    size_t used = 0;
    for (uint32_t g = 0; g < quire_kv_group_count(e->kv); g++) {
        struct quire_kv_group_config config;
        assert_status(QUIRE_OK, quire_kv_get_group(e->kv, g, &config, NULL));
        used += config.n_blocks - quire_kv_free_block_count(e->kv, g);
    }
    return used;
}

static inline size_t read_all(const char *path, uint8_t *out)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    const size_t n = fread(out, 1, MAX_CACHE_FILE, f);
    assert_true(n < MAX_CACHE_FILE);
    fclose(f);
    return n;
}

static inline void write_all(const char *path, const void *data, size_t n)
{
    (void)unlink(path); /* truncating makes some file systems write at once, which takes long */
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Files in the folder of the tests. */
static inline int n_files(void)
{
    int n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

#endif
