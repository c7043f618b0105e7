/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - read-only access by offset to a model file or to a file image in memory. */
#ifndef QR_FORMAT_FILE_H
#define QR_FORMAT_FILE_H
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Files are read with pread instead of being mapped: if another program truncates a mapped file,
 * the host process dies of SIGBUS. Immutable after open, so reads may run in parallel. */
struct qr_file {
    bool is_open; /* fd is valid and owned */
    int fd;
    const uint8_t *data; /* image, borrowed; NULL for a file on disk */
    uint64_t size;
    int64_t mtime_ns; /* of a file on disk: last modification, nanoseconds since 1970 */
};

/* Opens a regular file. Anything else is QUIRE_E_IO without blocking, also a FIFO. On failure *f is
 * closed. */
quire_status qr_file_open(struct qr_file *f, const char *path, struct quire_error *err);
void qr_file_from_memory(struct qr_file *f, const void *data, size_t size);
void qr_file_close(struct qr_file *f); /* idempotent; accepts a zeroed struct */

/* Reads exactly n bytes at offset. QUIRE_E_IO: the file is too short or cannot be read. */
quire_status qr_file_read(const struct qr_file *f, uint64_t offset, void *dst, uint64_t n,
                          struct quire_error *err);

/* Reads a whole file of at most max_bytes (larger: QUIRE_E_LIMIT) and appends a NUL, which is not
 * included in *size. Free *out with qr_free(a, *out, *size + 1, 1). */
quire_status qr_file_load(const char *path, size_t max_bytes, const struct quire_allocator *a,
                          char **out, size_t *size, struct quire_error *err);

/* Returns "dir/name", to be freed with qr_strfree; NULL without memory. */
char *qr_path_join(const struct quire_allocator *a, const char *dir, const char *name);
bool qr_file_exists(const char *path);
bool qr_path_is_dir(const char *path);

/* For messages: the part after the last slash, and the last 140 bytes of a path. */
const char *qr_path_base(const char *path);
const char *qr_path_tail(const char *path);

#endif
