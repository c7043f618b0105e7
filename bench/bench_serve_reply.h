/* SPDX-License-Identifier: Apache-2.0 */
/* bench_serve_reply.h - parses the streamed HTTP reply of a completion server, byte by byte. */
#ifndef QUIRE_BENCH_BENCH_SERVE_REPLY_H
#define QUIRE_BENCH_BENCH_SERVE_REPLY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    REPLY_MAX_HEADER = 16384,   /* bytes of a header or chunk line */
    REPLY_MAX_HEADERS = 256,    /* header lines and trailers, interim replies included */
    REPLY_MAX_EVENT = 1 << 20,  /* bytes of one line of the event stream, and of an event */
    REPLY_MAX_ERROR_BODY = 200, /* bytes shown of the body of an error */
};

enum reply_state {
    REPLY_STATUS_LINE,
    REPLY_HEADER,
    REPLY_BODY, /* until content_left is 0 or the connection ends */
    REPLY_CHUNK_SIZE,
    REPLY_CHUNK,
    REPLY_CHUNK_END,
    REPLY_TRAILER,
    REPLY_COMPLETE,
    REPLY_BROKEN
};

struct reply_bytes {
    char *data;
    size_t size, capacity;
};

/* An HTTP/1.x reply whose body is a stream of server-sent events, chunked or not. Zeroes with
 * on_event and user set are the initial state. */
struct serve_reply {
    /* the data of one event, NUL-terminated; valid during the call */
    void (*on_event)(void *user, const char *data, size_t size);
    void *user;
    enum reply_state state;
    int status; /* of HTTP */
    bool chunked, has_length, skip_newline;
    uint64_t content_left; /* bytes of the body or of the chunk */
    uint32_t n_headers;
    struct reply_bytes header, line, event;
    char error[320]; /* of REPLY_BROKEN */
};

void reply_free(struct serve_reply *r);
/* Parses n more bytes. False: the reply is broken, see error; later bytes are ignored. */
bool reply_feed(struct serve_reply *r, const char *bytes, size_t n);
/* The connection has ended. False: the reply is broken or incomplete, see error; also for a status
 * other than 200, with the beginning of its body. */
bool reply_end(struct serve_reply *r);

/* What a chunk of an OpenAI-compatible completion says. */
struct completion_chunk {
    bool done;     /* the data is "[DONE]" */
    bool has_text; /* the choice has text that is not empty */
    bool has_usage;
    uint32_t prompt_tokens, completion_tokens, cached_tokens; /* of usage */
    char error[200]; /* the server reports an error, or the chunk is malformed; else "" */
};
void completion_parse(const char *data, size_t size, struct completion_chunk *out);

#endif
