/* SPDX-License-Identifier: Apache-2.0 */
/* pack_cache_write.c - writes a pack cache atomically. */
#include "model/load/pack_cache_write.h"
#include "base/alloc.h"
#include "base/error.h"
#include "format/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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
        put(w, NULL, e.offset - w->at);
        put(w, items[i].target->data, e.bytes);
    }
    struct qr_pack_cache_header h;
    memcpy(&h, c->expected, sizeof h);
    put(w, NULL, h.file_bytes - w->at);
    flush(w);
}

/* Creates a temporary file in the folder of the path. Skips names left by interrupted or concurrent
 * writers. */
static int open_beside(const char *path, char *name, size_t size)
{
    enum { TRIES = 64 };
    int fd = -1;
    for (unsigned i = 0; i < TRIES && fd < 0; i++) {
        (void)snprintf(name, size, "%s.%ld-%u.tmp", path, (long)getpid(), i);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
        if (fd < 0 && errno != EEXIST && errno != EINTR)
            break;
    }
    return fd;
}

/* fsync before rename: otherwise a power failure could leave a file of zeros under the final
 * name. */
static int write_file(const struct qr_pack_cache *c, const struct qr_pack_item *items, size_t n,
                      uint8_t *buffer, char *name, size_t name_bytes)
{
    struct writer w = { .fd = open_beside(c->path, name, name_bytes), .buffer = buffer };
    if (w.fd < 0)
        return errno;
    put_all(&w, c, items, n);
    while (!w.error && fsync(w.fd) != 0)
        w.error = errno == EINTR ? 0 : errno;
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
    uint8_t *buffer = qr_alloc(c->allocator, BUFFER_BYTES, 1);
    const int error = name && buffer ? write_file(c, items, n, buffer, name, name_bytes) : ENOMEM;
    qr_free(c->allocator, buffer, BUFFER_BYTES, 1);
    qr_free(c->allocator, name, name_bytes, 1);
    if (error)
        return qr_fail_errno(err, error == ENOMEM ? QUIRE_E_NOMEM : QUIRE_E_IO, error,
                             "%s cannot be written", qr_path_tail(c->path));
    return QUIRE_OK;
}
