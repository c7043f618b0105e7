/* SPDX-License-Identifier: Apache-2.0 */
/* pack_cache_write.c - writes a pack cache atomically. */
#include "model/load/pack_cache_write.h"
#include "base/alloc.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/keyed_hash.h"
#include "format/file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Bytes per write(); whole huge pages, so that the kernel can allocate the page cache in huge
 * pages. */
enum { BUFFER_BYTES = 8 << 20 };

struct writer {
    int fd;
    uint8_t *buffer;
    size_t used;
    uint64_t at; /* file offset after the buffered bytes */
    int error;   /* errno of the first failure */
};

static void flush(struct writer *w)
{
    for (size_t done = 0; done < w->used && !w->error;) {
        const ssize_t n = write(w->fd, w->buffer + done, w->used - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            w->error = n ? errno : EIO;
    }
    w->used = 0;
}

/* data NULL: writes zeros. */
static void put(struct writer *w, const uint8_t *data, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes && !w->error;) {
        const size_t left = BUFFER_BYTES - w->used,
                     n = bytes - done < left ? (size_t)(bytes - done) : left;
        if (data)
            memcpy(w->buffer + w->used, data + done, n);
        else
            memset(w->buffer + w->used, 0, n);
        w->used += n;
        w->at += n;
        done += n;
        if (w->used == BUFFER_BYTES)
            flush(w);
    }
}

static void put_all(struct writer *w, const struct qr_pack_cache *c,
                    const struct qr_pack_item *items, size_t n)
{
    struct qr_pack_cache_entry e;
    put(w, c->expected, c->expected_bytes);
    for (size_t i = 0; i < n; i++) {
        memcpy(&e, c->expected + sizeof(struct qr_pack_cache_header) + i * sizeof e, sizeof e);
        const uint64_t sum = qr_checksum(items[i].target->data, (size_t)e.bytes);
        put(w, (const uint8_t *)&sum, sizeof sum);
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(&e, c->expected + sizeof(struct qr_pack_cache_header) + i * sizeof e, sizeof e);
        put(w, NULL, e.offset - w->at);
        put(w, items[i].target->data, e.bytes);
    }
    struct qr_pack_cache_header h;
    memcpy(&h, c->expected, sizeof h);
    put(w, NULL, h.file_bytes - w->at);
    flush(w);
}

/* ---- Temporary files: PATH.<16 hexadecimal digits>.tmp */

enum { RANDOM_DIGITS = 16, SUFFIX_BYTES = 1 + RANDOM_DIGITS + 4 };

/* Whether `name` is a temporary file of `base`. Earlier releases named them
 * PATH.<process>-<number>.tmp. */
static bool is_temporary(const char *name, const char *base)
{
    static const char decimal[] = "0123456789";
    const size_t n = strlen(base);
    if (strncmp(name, base, n) != 0 || name[n] != '.')
        return false;
    name += n + 1;
    size_t digits = strspn(name, "0123456789abcdef");
    if (digits != RANDOM_DIGITS) {
        const size_t process = strspn(name, decimal);
        if (!process || name[process] != '-')
            return false;
        digits = process + 1 + strspn(name + process + 1, decimal);
    }
    return strcmp(name + digits, ".tmp") == 0;
}

/* A writer holds a lock on its file for as long as it lives: process ids repeat in containers. */
static void remove_unlocked(int folder, const char *name)
{
    struct stat st;
    const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)unlinkat(folder, name, 0);
    close(fd);
}

void qr_pack_cache_remove_leftovers(const struct qr_pack_cache *c)
{
    const char *base = qr_path_base(c->path);
    char *folder = qr_strndup(c->allocator, c->path, (size_t)(base - c->path));
    if (!folder)
        return;
    const int fd = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    qr_strfree(c->allocator, folder);
    if (fd < 0)
        return;
    /* getdents64: opendir() allocates outside the host's hooks */
    _Alignas(struct dirent64) char entries[4096];
    for (ssize_t n; (n = getdents64(fd, entries, sizeof entries)) > 0;)
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *e = (const struct dirent64 *)(const void *)(entries + at);
            if (is_temporary(e->d_name, base))
                remove_unlocked(fd, e->d_name);
            at += e->d_reclen;
        }
    close(fd);
}

static uint64_t random_number(unsigned attempt)
{
    uint64_t x;
    struct timespec t;
    if (getrandom(&x, sizeof x, GRND_NONBLOCK) == (ssize_t)sizeof x)
        return x;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return qr_hash_u64((uint64_t)t.tv_nsec + attempt, (uint64_t)t.tv_sec ^ (uintptr_t)&x);
}

/* Creates and locks a temporary file in the folder of the path. */
static int open_beside(const char *path, char *name, size_t size)
{
    enum { TRIES = 8 };
    struct stat st;
    int fd = -1;
    for (unsigned i = 0; i < TRIES; i++) {
        (void)snprintf(name, size, "%s.%016llx.tmp", path, (unsigned long long)random_number(i));
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0666);
        if (fd < 0 && (errno == EEXIST || errno == EINTR))
            continue;
        if (fd < 0)
            return fd;
        (void)flock(fd, LOCK_EX | LOCK_NB); /* without locks, nobody removes the file either */
        if (fstat(fd, &st) == 0 && st.st_nlink)
            return fd;
        (void)unlink(name); /* another process may have removed it before the lock */
        close(fd);
    }
    errno = EEXIST;
    return -1;
}

/* A write beyond the limit would send SIGXFSZ, which ends a host without a handler. */
static int check_size_limit(const struct qr_pack_cache *c)
{
    struct qr_pack_cache_header h;
    struct rlimit limit;
    memcpy(&h, c->expected, sizeof h);
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
                   limit.rlim_cur < h.file_bytes
               ? EFBIG
               : 0;
}

/* fsync before rename: otherwise a power failure could leave a file of zeros under the final
 * name. */
static int write_file(const struct qr_pack_cache *c, const struct qr_pack_item *items, size_t n,
                      uint8_t *buffer, char *name, size_t name_bytes)
{
    struct writer w = { .error = check_size_limit(c), .buffer = buffer };
    if (w.error)
        return w.error;
    w.fd = open_beside(c->path, name, name_bytes);
    if (w.fd < 0)
        return errno;
    put_all(&w, c, items, n);
    while (!w.error && fsync(w.fd) != 0)
        w.error = errno == EINTR ? 0 : errno;
    if (!w.error && rename(name, c->path) != 0)
        w.error = errno;
    if (w.error)
        (void)unlink(name); /* while it is locked */
    if (close(w.fd) != 0 && !w.error)
        w.error = errno;
    return w.error;
}

quire_status qr_pack_cache_write(const struct qr_pack_cache *c, const struct qr_pack_item *items,
                                 size_t n, struct quire_error *err)
{
    const size_t name_bytes = strlen(c->path) + SUFFIX_BYTES + 1;
    char *name = qr_alloc(c->allocator, name_bytes, 1);
    uint8_t *buffer = qr_alloc(c->allocator, BUFFER_BYTES, 1);
    const int error = name && buffer ? write_file(c, items, n, buffer, name, name_bytes) : ENOMEM;
    qr_free(c->allocator, buffer, BUFFER_BYTES, 1);
    qr_free(c->allocator, name, name_bytes, 1);
    if (error)
        return qr_fail_errno(err, error == ENOMEM ? QUIRE_E_NOMEM : QUIRE_E_IO, error,
                             "%s cannot be written", qr_path_tail(c->path));
    return QUIRE_OK;
}
