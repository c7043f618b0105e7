/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_serve_reply.c - replies of a completion server to `quire-bench serve --url`.
 *
 * The first byte is the size of the pieces in which the reply arrives. The result must not depend
 * on it, buffers stay within their limits, and a reply that is not whole has a message. */
#include "bench_serve_reply.h"
#include "fuzz.h"
#include <string.h>

struct seen {
    uint32_t n_events, n_texts, n_failures;
    uint64_t hash;
};

static void on_event(void *user, const char *data, size_t size)
{
    struct seen *s = user;
    struct completion_chunk chunk;
    fuzz_check(size <= REPLY_MAX_EVENT && data[size] == 0, "an event of %zu bytes", size);
    completion_parse(data, size, &chunk);
    fuzz_check(strnlen(chunk.error, sizeof chunk.error) < sizeof chunk.error, "no terminator");
    s->n_events++;
    s->n_texts += chunk.has_text;
    s->n_failures += chunk.error[0] != 0;
    for (size_t i = 0; i < size; i++)
        s->hash = (s->hash ^ (uint8_t)data[i]) * 0x100000001b3ull;
}

static bool parse(const uint8_t *data, size_t size, size_t piece, struct serve_reply *r,
                  struct seen *seen)
{
    *seen = (struct seen){ 0 };
    *r = (struct serve_reply){ .on_event = on_event, .user = seen };
    bool ok = true;
    for (size_t at = 0; at < size; at += piece) {
        const size_t n = size - at < piece ? size - at : piece;
        const bool fed = reply_feed(r, (const char *)data + at, n);
        fuzz_check(ok || !fed, "a broken reply goes on");
        ok = fed;
    }
    fuzz_check(r->header.size <= REPLY_MAX_HEADER && r->line.size <= REPLY_MAX_EVENT &&
                   r->event.size <= REPLY_MAX_EVENT + 1,
               "a buffer exceeds its limit");
    ok = reply_end(r);
    fuzz_check(ok == (r->error[0] == 0), "whole %d, message '%s'", ok, r->error);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = { data, size };
    const size_t piece = 1 + fuzz_below(&in, 256);
    struct serve_reply a, b;
    struct seen whole, cut;
    const bool ok = parse(in.data, in.left, in.left ? in.left : 1, &a, &whole);
    fuzz_check(parse(in.data, in.left, piece, &b, &cut) == ok, "pieces of %zu bytes", piece);
    fuzz_check(whole.n_events == cut.n_events && whole.hash == cut.hash && a.status == b.status &&
                   whole.n_texts == cut.n_texts && whole.n_failures == cut.n_failures &&
                   !strcmp(a.error, b.error),
               "%u events, in pieces %u; '%s', '%s'", whole.n_events, cut.n_events, a.error,
               b.error);
    reply_free(&a);
    reply_free(&b);
    return 0;
}
