/* SPDX-License-Identifier: Apache-2.0 */
/* quire_cmocka.h - cmocka with the headers it requires, and helpers of all unit tests. */
#ifndef QUIRE_CMOCKA_H
#define QUIRE_CMOCKA_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h requires the headers above */
#include <cmocka.h>
#include <quire/status.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Folder with reference data of other implementations, or NULL if it does not exist. */
static inline const char *shared_dir(void)
{
    static char path[4096];
    const char *env = getenv("QUIRE_SHARED");
    struct stat st;
    snprintf(path, sizeof path, "%s", env && *env ? env : QUIRE_SOURCE_DIR "/../shared");
    return stat(path, &st) == 0 ? path : NULL;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

/* MemorySanitizer runs the generic kernels only, up to 50 times slower than the usual build. */
#define MEMORY_SANITIZED 0
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#undef MEMORY_SANITIZED
#define MEMORY_SANITIZED 1
#endif
#endif

/* Whether the longest tests take a sample of their cases: with MemorySanitizer, and with
 * QUIRE_TEST_SAMPLE in the environment, which script/test --ci sets for the other sanitizers. The
 * usual build runs all cases, and so does script/test --full. */
static inline bool takes_sample(void)
{
    return MEMORY_SANITIZED || getenv("QUIRE_TEST_SAMPLE") != NULL;
}

/* False, after printing the reason, without reference data: if (!need_shared()) skip(); */
static inline bool need_shared(void)
{
    if (shared_dir())
        return true;
    printf("skipped: reference data not found next to the source tree (set QUIRE_SHARED)\n");
    return false;
}

/* Name m of a list that ends with NULL, in which QUIRE_TEST_MODEL takes the place of all. */
static inline const char *nth_model(const char *const *list, size_t m)
{
    const char *only = getenv("QUIRE_TEST_MODEL");
    return !only ? list[m] : m == 0 ? only : NULL;
}

#define assert_status(expected, call)                                                              \
    do {                                                                                           \
        const quire_status got_ = (call);                                                          \
        if (got_ != (expected))                                                                    \
            print_error("%s: got %s\n", #call, quire_status_name(got_));                           \
        assert_int_equal(got_, expected);                                                          \
    } while (0)

/* Thread-safe allocator that counts live bytes and fails allocation number fail_at (1 = the first,
 * 0 = none). With `forever` all later allocations fail too. */
struct fail_alloc {
    struct quire_allocator hooks;
    size_t live_bytes, live_count, calls, fail_at;
    bool forever;
};

static inline void *fail_alloc_get(void *user, size_t size, size_t align)
{
    struct fail_alloc *f = user;
    const size_t call = __atomic_add_fetch(&f->calls, 1, __ATOMIC_RELAXED);
    if (f->fail_at && (call == f->fail_at || (f->forever && call > f->fail_at)))
        return NULL;
    void *p = NULL;
    if (posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, size))
        return NULL;
    memset(p, 0xcd, size < 65536 ? size : 65536);
    __atomic_fetch_add(&f->live_bytes, size, __ATOMIC_RELAXED);
    __atomic_fetch_add(&f->live_count, 1, __ATOMIC_RELAXED);
    return p;
}

static inline void fail_alloc_put(void *user, void *ptr, size_t size)
{
    struct fail_alloc *f = user;
    __atomic_fetch_sub(&f->live_bytes, size, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&f->live_count, 1, __ATOMIC_RELAXED);
    free(ptr);
}

static inline void fail_alloc_init(struct fail_alloc *f, size_t fail_at, bool forever)
{
    *f = (struct fail_alloc){ .fail_at = fail_at, .forever = forever };
    f->hooks = (struct quire_allocator){ f, fail_alloc_get, fail_alloc_put };
}
#endif
