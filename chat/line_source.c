/* SPDX-License-Identifier: Apache-2.0 */
/* line_source.c - lines of standard input, without waiting for them where the caller has something
 * else to do. */
#include "line_source.h"
#include "interrupt.h"
#include "line_buffer.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static void ignore(void *user) { (void)user; }

/* Takes the line up to `end` out of the buffer. */
static enum line_result take(struct line_source *source, size_t end, const char **line,
                             size_t *size)
{
    *line = source->buffer.data + source->begin;
    *size = end - source->begin;
    source->begin = end < source->buffer.size ? end + 1 : end;
    if (*size && (*line)[*size - 1] == '\r')
        (*size)--;
    return *size > MAX_TURN ? LINE_TOO_LONG : LINE_READY;
}

/* Appends what can be read. */
static enum line_result fill(struct line_source *source, bool wait)
{
    char chunk[65536];
    struct pollfd input = { .fd = 0, .events = POLLIN };
    if (!wait && poll(&input, 1, 0) == 0)
        return LINE_NOT_READY;
    if (wait && !wait_readable(0, ignore, NULL))
        return LINE_INTERRUPTED;
    const ssize_t n = read(0, chunk, sizeof chunk);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN ? LINE_READY : LINE_FAILED;
    source->ended = n == 0;
    if (source->begin) { /* lines that were returned */
        struct text *b = &source->buffer;
        memmove(b->data, b->data + source->begin, b->size - source->begin);
        b->size -= source->begin;
        source->begin = 0;
    }
    text_add(&source->buffer, chunk, (size_t)n);
    return source->buffer.failed ? LINE_FAILED : LINE_READY;
}

enum line_result line_source_next(struct line_source *source, bool wait, const char **line,
                                  size_t *size)
{
    const struct text *b = &source->buffer;
    for (size_t searched = 0;;) { /* bytes of the line that are no end */
        const size_t from = source->begin + searched;
        const char *end = b->size > from ? memchr(b->data + from, '\n', b->size - from) : NULL;
        if (end)
            return take(source, (size_t)(end - b->data), line, size);
        if (source->ended)
            return b->size > source->begin ? take(source, b->size, line, size) : LINE_END;
        if (b->size - source->begin > MAX_TURN)
            return LINE_TOO_LONG;
        searched = b->size - source->begin;
        const enum line_result got = fill(source, wait);
        if (got != LINE_READY)
            return got;
    }
}

void line_source_close(struct line_source *source) { text_free(&source->buffer); }
