/* SPDX-License-Identifier: Apache-2.0 */
/* replace_file.c - writes a new file beside an old one and atomically replaces it. */
#include "format/replace_file.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/keyed_hash.h"
#include "base/msan.h"
#include "format/file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
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
enum { RANDOM_DIGITS = 16, SUFFIX_BYTES = 1 + RANDOM_DIGITS + 4 };

/* ---- Writing */

static void flush(struct qr_replacement *r)
{
    for (size_t done = 0; done < r->used && !r->error;) {
        const ssize_t n = write(r->fd, r->buffer + done, r->used - done);
        if (n > 0)
            done += (size_t)n;
        /* GCOVR_EXCL_BR_LINE: write never returns 0 for a regular file. */
        else if (n == 0 || errno != EINTR)
            r->error = n ? errno : EIO;
    }
    r->used = 0;
}

/* data NULL: zeros. */
static void put(struct qr_replacement *r, const uint8_t *data, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes && !r->error;) {
        const size_t left = BUFFER_BYTES - r->used,
                     n = bytes - done < left ? (size_t)(bytes - done) : left;
        if (data)
            memcpy(r->buffer + r->used, data + done, n);
        else
            memset(r->buffer + r->used, 0, n);
        r->used += n;
        r->at += n;
        done += n;
        if (r->used == BUFFER_BYTES)
            flush(r);
    }
}

void qr_replace_put(struct qr_replacement *r, const void *data, uint64_t bytes)
{
    put(r, data, bytes);
}

void qr_replace_put_zeros(struct qr_replacement *r, uint64_t bytes) { put(r, NULL, bytes); }

void qr_replace_seek(struct qr_replacement *r, uint64_t offset)
{
    if (!r->error)
        flush(r);
    if (!r->error && lseek(r->fd, (off_t)offset, SEEK_SET) < 0)
        r->error = errno;
    r->at = offset;
}

/* ---- The temporary file */

static uint64_t random_number(unsigned attempt)
{
    uint64_t x;
    struct timespec t;
    /* GCOVR_EXCL_BR_LINE: only early after boot the kernel has no random bytes. */
    if (getrandom(&x, sizeof x, GRND_NONBLOCK) == (ssize_t)sizeof x)
        return x;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return qr_hash_u64((uint64_t)t.tv_nsec + attempt, (uint64_t)t.tv_sec ^ (uintptr_t)&x);
}

/* Creates and locks a temporary file in the folder of the path; -1 and errno on failure. */
static int open_beside(const char *path, mode_t mode, char *name, size_t size)
{
    enum { TRIES = 8 };
    struct stat st;
    int fd = -1;
    for (unsigned i = 0; i < TRIES; i++) {
        (void)snprintf(name, size, "%s.%016llx.tmp", path, (unsigned long long)random_number(i));
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, mode);
        /* GCOVR_EXCL_BR_LINE: a file of a random name, or a signal, comes by chance. */
        if (fd < 0 && (errno == EEXIST || errno == EINTR))
            continue;
        if (fd < 0)
            return fd;
        /* GCOVR_EXCL_BR_LINE: a race. Until the file is locked, another writer may take it for a
         * leftover: it then holds the lock, or has removed the name. Where locks do not work,
         * nobody removes files. */
        const bool taken = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        /* GCOVR_EXCL_BR_LINE: the same race. */
        if (!taken && fstat(fd, &st) == 0 && st.st_nlink)
            return fd;
        (void)unlink(name);
        close(fd);
    }
    errno = EEXIST;
    return -1;
}

static int check_size_limit(uint64_t bytes)
{
    struct rlimit limit = { .rlim_cur = RLIM_INFINITY }; /* the largest number */
    (void)getrlimit(RLIMIT_FSIZE, &limit);               /* does not fail for this resource */
    return limit.rlim_cur < bytes ? EFBIG : 0;
}

static size_t name_bytes(const struct qr_replacement *r)
{
    return strlen(r->path) + SUFFIX_BYTES + 1;
}

void qr_replace_begin(struct qr_replacement *r, const char *path, mode_t mode, uint64_t bytes,
                      const struct quire_allocator *allocator)
{
    *r = (struct qr_replacement){
        .allocator = allocator, .path = path, .fd = -1, .error = check_size_limit(bytes)
    };
    if (r->error)
        return;
    r->name = qr_alloc(allocator, name_bytes(r), 1);
    r->buffer = qr_alloc(allocator, BUFFER_BYTES, 1);
    if (!r->name || !r->buffer) {
        r->error = ENOMEM;
        return;
    }
    r->fd = open_beside(path, mode, r->name, name_bytes(r));
    if (r->fd < 0)
        r->error = errno;
}

/* Makes the new name durable. Some file systems cannot synchronize folders; the name is then as
 * durable as they make it. */
static void sync_folder(const struct qr_replacement *r)
{
    char *folder = r->name; /* not needed any more */
    folder[qr_path_base(folder) - folder] = 0;
    const int fd = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)fsync(fd);
    close(fd);
}

void qr_replace_commit(struct qr_replacement *r)
{
    if (!r->error)
        flush(r);
    /* before rename: otherwise a power failure could leave a file of zeros under the final name */
    while (!r->error && fsync(r->fd) != 0)
        r->error = errno == EINTR ? 0 : errno;
    if (!r->error && rename(r->name, r->path) != 0)
        r->error = errno;
    if (r->error)
        return;
    (void)close(r->fd);
    r->fd = -1;
    sync_folder(r);
}

quire_status qr_replace_end(struct qr_replacement *r, struct quire_error *err)
{
    if (r->fd >= 0) {
        (void)unlink(r->name); /* while it is locked */
        close(r->fd);
    }
    qr_free(r->allocator, r->buffer, BUFFER_BYTES, 1);
    if (r->name)
        qr_free(r->allocator, r->name, name_bytes(r), 1);
    if (!r->error)
        return QUIRE_OK;
    return qr_fail_errno(err, r->error == ENOMEM ? QUIRE_E_NOMEM : QUIRE_E_IO, r->error,
                         "%s cannot be written", qr_path_tail(r->path));
}

/* ---- Leftovers */

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
    /* GCOVR_EXCL_BR_LINE: fstat of an open file does not fail. */
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)unlinkat(folder, name, 0);
    close(fd);
}

void qr_replace_remove_leftovers(const char *path, const struct quire_allocator *allocator)
{
    const char *base = qr_path_base(path);
    char *folder = qr_strndup(allocator, path, (size_t)(base - path));
    if (!folder)
        return;
    const int fd = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    qr_strfree(allocator, folder);
    if (fd < 0)
        return;
    /* getdents64: opendir() allocates outside the host's hooks */
    _Alignas(struct dirent64) char entries[4096];
    for (ssize_t n; (n = getdents64(fd, entries, sizeof entries)) > 0;) {
        QR_MSAN_WRITTEN(entries, (size_t)n); /* MSan does not intercept getdents64 */
        for (ssize_t at = 0; at < n;) {
            const struct dirent64 *e = (const struct dirent64 *)(const void *)(entries + at);
            if (is_temporary(e->d_name, base))
                remove_unlocked(fd, e->d_name);
            at += e->d_reclen;
        }
    }
    close(fd);
}
