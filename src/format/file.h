/* SPDX-License-Identifier: Apache-2.0 */
/* file.h - read-only access by offset to a model file, or to its image in memory. */
#ifndef QR_FORMAT_FILE_H
#define QR_FORMAT_FILE_H
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Files are read with pread into memory of our own rather than mapped: a mapped file that another program
 * truncates kills the host process with SIGBUS. Immutable after open, so reads may run in parallel. */
struct qr_file {
    bool is_open; /* fd is ours to close */
    int fd;
    const uint8_t *data; /* the image, borrowed; NULL for a real file */
    uint64_t size;
    int64_t mtime_ns; /* of a real file: last change, nanoseconds since 1970 */
};

/* Opens a regular file (anything else: QUIRE_E_IO, at once, even for a FIFO). On failure *f is closed. */
quire_status qr_file_open(struct qr_file *f, const char *path, struct quire_error *err);
void qr_file_from_memory(struct qr_file *f, const void *data, size_t size);
void qr_file_close(struct qr_file *f); /* safe to call twice, and on a zero-filled struct */

/* Reads exactly n bytes at offset; QUIRE_E_IO when the file is shorter than that or cannot be read. */
quire_status qr_file_read(const struct qr_file *f, uint64_t offset, void *dst, uint64_t n,
                          struct quire_error *err);

/* Reads a whole file of at most max_bytes (larger: QUIRE_E_LIMIT) and appends a NUL that is not counted.
 * Free *out with qr_free(a, *out, *size + 1, 1). */
quire_status qr_file_load(const char *path, size_t max_bytes, const struct quire_allocator *a,
                          char **out, size_t *size, struct quire_error *err);

/* dir/name, to be freed with qr_strfree; NULL without memory. */
char *qr_path_join(const struct quire_allocator *a, const char *dir, const char *name);
bool qr_file_exists(const char *path);
bool qr_path_is_dir(const char *path);

/* For messages: the part behind the last slash; the end of a path, short enough to leave room for a reason. */
const char *qr_path_base(const char *path);
const char *qr_path_tail(const char *path);

#endif
