/* SPDX-License-Identifier: Apache-2.0 */
/* test_pack_cache.h - opens models with a pack cache in the temporary directory. */
#ifndef QUIRE_TEST_PACK_CACHE_H
#define QUIRE_TEST_PACK_CACHE_H
#include "test_dir.h"
#include <dirent.h>
#include <quire/model.h>

enum { MAX_FILE = 1 << 20 };

static struct {
    char text[512];
    unsigned warnings;
} last_log;

static inline void on_log(void *user, enum quire_log_level level, quire_status status,
                          const char *message)
{
    (void)user;
    (void)status;
    if (!strstr(message, "pack"))
        return;
    snprintf(last_log.text, sizeof last_log.text, "%s", message);
    last_log.warnings += level <= QUIRE_LOG_WARN;
}
static const struct quire_logger logger = { NULL, on_log };

static inline const char *in_dir(const char *name)
{
    static char paths[4][256];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static inline const char *golden(const char *name)
{
    static char path[8192];
    snprintf(path, sizeof path, "%s/goldens/%s", shared_dir(), name);
    return path;
}

static inline struct quire_model_params params_for(const char *model, const char *cache)
{
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = model;
    mp.pack_cache = cache;
    mp.logger = &logger;
    last_log.text[0] = 0;
    last_log.warnings = 0;
    return mp;
}

/* Opens and closes the model; true if the pack cache was mapped. */
static inline bool opens_cached(const char *model, const char *cache)
{
    const struct quire_model_params mp = params_for(model, cache);
    struct quire_model_info info = { .struct_size = sizeof info };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model *m;
    const quire_status s = quire_model_open(&mp, &m, &err);
    if (s != QUIRE_OK)
        print_error("%s\n", err.msg);
    assert_int_equal(s, QUIRE_OK);
    assert_status(QUIRE_OK, quire_model_get_info(m, &info));
    assert_status(QUIRE_OK, quire_model_close(m));
    return info.pack_cached;
}

static inline size_t read_all(const char *path, uint8_t *data)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    const size_t n = fread(data, 1, MAX_FILE, f);
    fclose(f);
    return n;
}

static inline void write_all(const char *path, const void *data, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

static inline unsigned n_files(void)
{
    unsigned n = 0;
    DIR *d = opendir(dir);
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static inline void empty_dir(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'/*", dir);
    assert_int_equal(system(command), 0);
}

/* Asserts that the present file is rejected with a warning and replaced by a valid one. */
static inline void rejected(const char *model, const uint8_t *good, size_t n, const char *what)
{
    static uint8_t now[MAX_FILE];
    if (opens_cached(model, in_dir("cache")) || last_log.warnings != 1) {
        print_error("%s: used, or %u warnings: %s\n", what, last_log.warnings, last_log.text);
        fail();
    }
    assert_int_equal(read_all(in_dir("cache"), now), n);
    assert_memory_equal(now, good, n);
    assert_int_equal(n_files(), 1);
}

#endif
