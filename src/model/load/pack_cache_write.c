/* SPDX-License-Identifier: Apache-2.0 */
/* pack_cache_write.c - writes packed matrices to a file that appears whole or not at all. */
#include "base/alloc.h"
#include "base/error.h"
#include "format/file.h"
#include "model/load/pack_cache.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In pieces of whole huge pages: so the system keeps the file in huge pages from the start, if it can. */
enum { PIECE = 8 << 20 };

struct writer {
    int fd;
    uint8_t *piece;
    size_t used;
    uint64_t at; /* of the file: what was put so far */
    int error;   /* errno of the first failure */
};

static void flush(struct writer *w)
{
    for (size_t done = 0; done < w->used && !w->error;) {
        const ssize_t n = write(w->fd, w->piece + done, w->used - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            w->error = n ? errno : EIO;
    }
    w->used = 0;
}

/* data NULL: zeros */
static void put(struct writer *w, const uint8_t *data, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes && !w->error;) {
        const size_t left = PIECE - w->used,
                     n = bytes - done < left ? (size_t)(bytes - done) : left;
        if (data)
            memcpy(w->piece + w->used, data + done, n);
        else
            memset(w->piece + w->used, 0, n);
        w->used += n;
        w->at += n;
        done += n;
        if (w->used == PIECE)
            flush(w);
    }
}

static void put_all(struct writer *w, const struct qr_pack_cache *c,
                    const struct qr_pack_item *items, size_t n)
{
    struct qr_pack_cache_entry e;
    put(w, c->begin, c->begin_bytes);
    for (size_t i = 0; i < n; i++) {
        memcpy(&e, c->begin + sizeof(struct qr_pack_cache_head) + i * sizeof e, sizeof e);
        put(w, NULL, e.offset - w->at);
        put(w, items[i].target->data, e.bytes);
    }
    struct qr_pack_cache_head h;
    memcpy(&h, c->begin, sizeof h);
    put(w, NULL, h.file_bytes - w->at);
    flush(w);
}

/* A new file beside the path. Names of writers that were interrupted, or that work at the same time, are passed over. */
static int open_beside(const char *path, char *name, size_t size)
{
    enum { TRIES = 64 };
    int fd = -1;
    for (unsigned i = 0; i < TRIES && fd < 0; i++) {
        (void)snprintf(name, size, "%s.%ld-%u.tmp", path, (long)getpid(), i);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

/* The data must be on the disk before the name is: else a power cut could leave a whole file of zeros. */
static int write_file(const struct qr_pack_cache *c, const struct qr_pack_item *items, size_t n,
                      uint8_t *piece, char *name, size_t name_bytes)
{
    struct writer w = { .fd = open_beside(c->path, name, name_bytes), .piece = piece };
    if (w.fd < 0)
        return errno;
    put_all(&w, c, items, n);
    if (!w.error && fsync(w.fd) != 0)
        w.error = errno;
    if (close(w.fd) != 0 && !w.error)
        w.error = errno;
    if (!w.error && rename(name, c->path) != 0)
        w.error = errno;
    if (w.error)
        (void)unlink(name);
    return w.error;
}

quire_status qr_pack_cache_write(const struct qr_pack_cache *c, const struct qr_pack_item *items,
                                 size_t n, struct quire_error *err)
{
    enum { SUFFIX = 48 };
    const size_t name_bytes = strlen(c->path) + SUFFIX;
    char *name = qr_alloc(c->allocator, name_bytes, 1);
    uint8_t *piece = qr_alloc(c->allocator, PIECE, 1);
    const int error = name && piece ? write_file(c, items, n, piece, name, name_bytes) : ENOMEM;
    qr_free(c->allocator, piece, PIECE, 1);
    qr_free(c->allocator, name, name_bytes, 1);
    if (error)
        return qr_fail_errno(err, error == ENOMEM ? QUIRE_E_NOMEM : QUIRE_E_IO, error,
                             "%s cannot be written", qr_path_tail(c->path));
    return QUIRE_OK;
}
