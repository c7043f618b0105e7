/* SPDX-License-Identifier: Apache-2.0 */
/* replace_file.h - writes a new file beside an old one and atomically replaces it. */
#ifndef QR_FORMAT_REPLACE_FILE_H
#define QR_FORMAT_REPLACE_FILE_H
#include <quire/status.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A file under construction: PATH.<16 hexadecimal digits>.tmp, locked for as long as its writer
 * lives. Errors are kept: calls after the first failure do nothing, and commit returns it. */
struct qr_replacement {
    const struct quire_allocator *allocator;
    const char *path; /* borrowed */
    char *name;       /* of the temporary file */
    int fd;
    uint8_t *buffer;
    size_t used;
    uint64_t at; /* file offset after the buffered bytes */
    int error;   /* errno of the first failure */
};

/* Creates the temporary file of a file of `bytes` bytes with these permissions, less the umask. A
 * size above RLIMIT_FSIZE fails before a file is created: the write would send SIGXFSZ, which ends
 * a host without a handler. Always end with qr_replace_end(). */
void qr_replace_begin(struct qr_replacement *r, const char *path, mode_t mode, uint64_t bytes,
                      const struct quire_allocator *allocator);

void qr_replace_put(struct qr_replacement *r, const void *data, uint64_t bytes);
void qr_replace_put_zeros(struct qr_replacement *r, uint64_t bytes);
void qr_replace_seek(struct qr_replacement *r, uint64_t offset); /* the next bytes go there */

/* Stores the file durably under its final name. */
void qr_replace_commit(struct qr_replacement *r);

/* Removes what was not committed and frees everything. QUIRE_E_NOMEM, QUIRE_E_IO: the first
 * failure of all calls; the old file is then as it was. */
quire_status qr_replace_end(struct qr_replacement *r, struct quire_error *err) QUIRE_MUST_CHECK;

/* Removes the temporary files of writers of `path` that no longer live. Failures are ignored. */
void qr_replace_remove_leftovers(const char *path, const struct quire_allocator *allocator);

#endif
