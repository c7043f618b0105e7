/* SPDX-License-Identifier: Apache-2.0 */
/* inject.c - failing system functions: malloc is replaced for the whole process, the others are
 * wrapped by the linker (-Wl,--wrap) in the library's static archive. */
#include "inject.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const fault_kind_names[N_FAULT_KINDS] = {
#define X(name, error) #name,
    FAULT_KINDS(X)
#undef X
};
const char *const fault_mode_names[N_FAULT_MODES] = { "once", "for-ever", "interrupt", "short" };

static const int errors[N_FAULT_KINDS] = {
#define X(name, error) error,
    FAULT_KINDS(X)
#undef X
};

static struct {
    bool on; /* atomic */
    enum fault_kind kind;
    enum fault_mode mode;
    uint64_t at;
    uint64_t counts[N_FAULT_KINDS]; /* atomic */
} plan;
static int64_t live; /* atomic */

void inject_begin(enum fault_kind kind, enum fault_mode mode, uint64_t at)
{
    plan.kind = kind;
    plan.mode = mode;
    plan.at = at;
    memset(plan.counts, 0, sizeof plan.counts);
    __atomic_store_n(&plan.on, true, __ATOMIC_SEQ_CST);
}

void inject_end(uint64_t counts[N_FAULT_KINDS])
{
    __atomic_store_n(&plan.on, false, __ATOMIC_SEQ_CST);
    memcpy(counts, plan.counts, sizeof plan.counts);
}

int64_t inject_live(void) { return __atomic_load_n(&live, __ATOMIC_RELAXED); }

/* Counts a call; whether the plan applies to it. */
static bool chosen(enum fault_kind kind)
{
    if (!__atomic_load_n(&plan.on, __ATOMIC_RELAXED))
        return false;
    const uint64_t call = __atomic_add_fetch(&plan.counts[kind], 1, __ATOMIC_RELAXED);
    if (kind != plan.kind || !plan.at)
        return false;
    return call == plan.at || (plan.mode == FAULT_FOR_EVER && call > plan.at);
}

/* Whether the call fails, with errno set. */
static bool fails(enum fault_kind kind)
{
    if (!chosen(kind) || plan.mode == FAULT_SHORT)
        return false;
    errno = plan.mode == FAULT_INTERRUPT ? EINTR : errors[kind];
    return true;
}

/* ---- allocations */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED
static void *hook_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    void *p = NULL;
    if (fails(FAULT_alloc) ||
        posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, size))
        return NULL;
    __atomic_fetch_add(&live, 1, __ATOMIC_RELAXED);
    return p;
}

static void hook_free(void *user, void *p, size_t size)
{
    (void)user;
    (void)size;
    __atomic_fetch_sub(&live, 1, __ATOMIC_RELAXED);
    free(p);
}

const struct quire_allocator *inject_allocator(void)
{
    static const struct quire_allocator hooks = { NULL, hook_alloc, hook_free };
    return &hooks;
}
#else
/* glibc's names of the functions that a program may replace */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

const struct quire_allocator *inject_allocator(void) { return NULL; }

/* exported, so that the shared libraries use these functions too */
#pragma GCC visibility push(default)

static void *counted(void *p)
{
    if (p)
        __atomic_fetch_add(&live, 1, __ATOMIC_RELAXED);
    return p;
}

void *malloc(size_t size) { return fails(FAULT_alloc) ? NULL : counted(__libc_malloc(size)); }

void *calloc(size_t n, size_t size)
{
    return fails(FAULT_alloc) ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *p, size_t size)
{
    if (!p)
        return malloc(size);
    return fails(FAULT_alloc) ? NULL : __libc_realloc(p, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    return fails(FAULT_alloc) ? NULL : counted(__libc_memalign(align, size));
}

int posix_memalign(void **out, size_t align, size_t size)
{
    void *p = fails(FAULT_alloc) ? NULL : counted(__libc_memalign(align, size));
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}

void free(void *p)
{
    if (p)
        __atomic_fetch_sub(&live, 1, __ATOMIC_RELAXED);
    __libc_free(p);
}
#pragma GCC visibility pop
#endif

/* ---- files and threads */

#define WRAP(type, name, parameters, arguments, failure)                                           \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        return fails(FAULT_##name) ? (failure) : __real_##name arguments;                          \
    }

WRAP(int, stat, (const char *path, struct stat *out), (path, out), -1)
WRAP(int, fstat, (int fd, struct stat *out), (fd, out), -1)
WRAP(int, fsync, (int fd), (fd), -1)
WRAP(int, rename, (const char *from, const char *to), (from, to), -1)
WRAP(void *, mmap, (void *at, size_t n, int prot, int flags, int fd, off_t offset),
     (at, n, prot, flags, fd, offset), MAP_FAILED)
WRAP(int, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg),
     (thread, attr, start, arg), errno)

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    const unsigned mode = flags & O_CREAT ? va_arg(ap, unsigned) : 0;
    va_end(ap);
    return fails(FAULT_open) ? -1 : __real_open(path, flags, mode);
}

/* Transfers: failing, interrupted or of one byte. */
#define WRAP_TRANSFER(name, buffer, parameters, arguments, one)                                    \
    ssize_t __real_##name parameters;                                                              \
    ssize_t __wrap_##name parameters;                                                              \
    ssize_t __wrap_##name parameters                                                               \
    {                                                                                              \
        if (!chosen(FAULT_##name))                                                                 \
            return __real_##name arguments;                                                        \
        if (plan.mode == FAULT_SHORT)                                                              \
            return __real_##name one;                                                              \
        errno = plan.mode == FAULT_INTERRUPT ? EINTR : errors[FAULT_##name];                       \
        return -1;                                                                                 \
    }

WRAP_TRANSFER(read, void *, (int fd, void *p, size_t n), (fd, p, n), (fd, p, n ? 1 : 0))
WRAP_TRANSFER(pread, void *, (int fd, void *p, size_t n, off_t at), (fd, p, n, at),
              (fd, p, n ? 1 : 0, at))
WRAP_TRANSFER(write, const void *, (int fd, const void *p, size_t n), (fd, p, n),
              (fd, p, n ? 1 : 0))
