/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - opens and reads model files; all file access of the readers goes through it. */
#include "format/file.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *qr_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *qr_path_tail(const char *path)
{
    enum { SHOWN = 140 }; /* leaves room for the reason in an error message */
    const size_t n = strlen(path);
    return n > SHOWN ? path + n - SHOWN : path;
}

char *qr_path_join(const struct quire_allocator *a, const char *dir, const char *name)
{
    const size_t n = strlen(dir), m = strlen(name);
    char *path = qr_alloc(a, n + m + 2, 1);
    if (path) {
        memcpy(path, dir, n);
        path[n] = '/';
        memcpy(path + n + 1, name, m);
        path[n + 1 + m] = 0;
    }
    return path;
}

bool qr_file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

bool qr_path_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

quire_status qr_file_open(struct qr_file *f, const char *path, struct quire_error *err)
{
    *f = (struct qr_file){ 0 };
    /* O_NONBLOCK: open of a FIFO returns, and fails below, instead of waiting for a writer */
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return qr_fail_errno(err, QUIRE_E_IO, errno, "cannot open %s", qr_path_tail(path));
    struct stat st;
    quire_status s = QUIRE_OK;
    if (fstat(fd, &st) != 0)
        s = qr_fail_errno(err, QUIRE_E_IO, errno, "cannot examine %s", qr_path_tail(path));
    else if (!S_ISREG(st.st_mode))
        s = qr_fail(err, QUIRE_E_IO, "%s is not a regular file", qr_path_tail(path));
    /* GCOVR_EXCL_BR_LINE: the conditions above decide. */
    if (s != QUIRE_OK) {
        close(fd);
        return s;
    }
    f->is_open = true;
    f->fd = fd;
    f->size = (uint64_t)st.st_size;
    f->mtime_ns =
        (int64_t)((uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec);
    return QUIRE_OK;
}

void qr_file_from_memory(struct qr_file *f, const void *data, size_t size)
{
    *f = (struct qr_file){ .data = data, .size = size };
}

void qr_file_close(struct qr_file *f)
{
    if (f->is_open)
        close(f->fd);
    *f = (struct qr_file){ 0 };
}

quire_status qr_file_read(const struct qr_file *f, uint64_t offset, void *dst, uint64_t n,
                          struct quire_error *err)
{
    uint64_t end;
    if (!qr_add_u64(offset, n, &end) || end > f->size)
        return qr_fail_at(
            err, QUIRE_E_IO, offset, "file ends at byte %llu, %llu bytes at offset %llu requested",
            (unsigned long long)f->size, (unsigned long long)n, (unsigned long long)offset);
    if (f->data) {
        if (n)
            memcpy(dst, f->data + offset, (size_t)n);
        return QUIRE_OK;
    }
    uint8_t *p = dst;
    while (n > 0) {
        /* Linux transfers at most 2 GiB per call */
        const size_t want = n < (1u << 30) ? (size_t)n : (size_t)1 << 30;
        const ssize_t got = pread(f->fd, p, want, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            const quire_status s = qr_fail_errno(err, QUIRE_E_IO, errno, "read error at byte %llu",
                                                 (unsigned long long)offset);
            if (err && err->struct_size >= sizeof *err)
                err->offset = offset;
            return s;
        }
        if (got == 0)
            return qr_fail_at(err, QUIRE_E_IO, offset,
                              "file was truncated during the read: ends at byte %llu",
                              (unsigned long long)offset);
        p += got;
        n -= (uint64_t)got;
        offset += (uint64_t)got;
    }
    return QUIRE_OK;
}

quire_status qr_file_load(const char *path, size_t max_bytes, const struct quire_allocator *a,
                          char **out, size_t *size, struct quire_error *err)
{
    *out = NULL;
    *size = 0;
    struct qr_file f;
    QR_TRY(qr_file_open(&f, path, err));
    quire_status s = QUIRE_OK;
    char *text = NULL;
    if (f.size > max_bytes)
        s = qr_fail(err, QUIRE_E_LIMIT, "%s has %llu bytes, at most %zu allowed",
                    qr_path_base(path), (unsigned long long)f.size, max_bytes);
    else if (!(text = qr_alloc(a, (size_t)f.size + 1, 1)))
        s = qr_fail(err, QUIRE_E_NOMEM, "no memory for %s (%llu bytes)", qr_path_base(path),
                    (unsigned long long)f.size);
    else
        s = qr_file_read(&f, 0, text, f.size, err);
    if (s == QUIRE_OK) {
        text[f.size] = 0;
        *out = text;
        *size = (size_t)f.size;
    } else if (text) {
        qr_free(a, text, (size_t)f.size + 1, 1);
    }
    qr_file_close(&f);
    return s;
}
