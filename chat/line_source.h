/* SPDX-License-Identifier: Apache-2.0 */
/* line_source.h - lines of standard input, without waiting for them where the caller has something
 * else to do. */
#ifndef QUIRE_CHAT_LINE_SOURCE_H
#define QUIRE_CHAT_LINE_SOURCE_H
#include "text.h"

/* Zeroes = nothing has been read. Nothing else may read standard input. */
struct line_source {
    struct text buffer;
    size_t begin; /* of the bytes that were not returned */
    bool ended;
};

enum line_result {
    LINE_READY,
    LINE_NOT_READY, /* without `wait` only */
    LINE_END,
    LINE_INTERRUPTED, /* Ctrl-C */
    LINE_TOO_LONG,    /* above 16 MiB */
    LINE_FAILED,      /* a read, or no memory */
};

/* Gets the next line without its end, LF or CR LF, which the last one may lack; valid until the
 * next call. */
enum line_result line_source_next(struct line_source *source, bool wait, const char **line,
                                  size_t *size);
void line_source_close(struct line_source *source);

#endif
