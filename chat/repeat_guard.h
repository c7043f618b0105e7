/* SPDX-License-Identifier: Apache-2.0 */
/* repeat_guard.h - detects answers that repeat themselves without end. */
#ifndef QUIRE_CHAT_REPEAT_GUARD_H
#define QUIRE_CHAT_REPEAT_GUARD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A small model, or a large one at a low temperature, can fall into a loop: the loop itself makes
 * its continuation ever more likely, so the answer would fill the context. An answer is in a loop
 * if its end consists of at least REPEAT_MIN_COUNT copies of a period of at most
 *      REPEAT_MAX_TOKENS tokens, more than min_tokens tokens together; or
 *      REPEAT_MAX_BYTES bytes, more than REPEAT_BYTES_PER_TOKEN * min_tokens bytes together.
 * The second rule finds loops whose text is split into tokens in different ways; the first those
 * of tokens without text.
 *
 * min_tokens is a quarter of the context, so that a loop leaves room for the conversation, but at
 * least REPEAT_LEAST and at most REPEAT_MOST. Content that repeats by intention is shorter: lines
 * of 120 dashes, rulers of wide tables, an 80 x 24 canvas of blanks (1944 bytes), 500 zeros
 * (1000 tokens). Lists whose numbers change never repeat exactly. */
enum {
    REPEAT_MIN_COUNT = 8,
    REPEAT_MAX_TOKENS = 128,
    REPEAT_MAX_BYTES = 1024,
    REPEAT_BYTES_PER_TOKEN = 4, /* of English text in a common vocabulary */
    REPEAT_LEAST = 256,
    REPEAT_MOST = 1024,
};

/* The end of a series of values. */
struct repeat_series {
    uint32_t max_period;
    uint32_t position; /* of the last value in `last` */
    size_t n;
    int32_t *last;    /* [2 * max_period] values, latest first from position on */
    uint32_t *equals; /* [max_period] last values that equal the one p + 1 before */
};

struct repeat_guard {
    bool enabled;
    uint32_t min_tokens;
    struct repeat_series tokens, bytes;
};

/* A guard that was not opened, or could not be for lack of memory, detects nothing. */
void repeat_guard_open(struct repeat_guard *g, uint32_t context_length);
void repeat_guard_close(struct repeat_guard *g);

void repeat_guard_begin(struct repeat_guard *g); /* of an answer */

/* Adds a piece of the answer. Returns whether the answer is in a loop. */
bool repeat_guard_add(struct repeat_guard *g, const int32_t *tokens, size_t n_tokens,
                      const char *text, size_t size);

/* Number of bytes at the end of the answer that repeat the text before them: the copies of the
 * period after its first. */
size_t repeat_guard_repeated_bytes(const struct repeat_guard *g);

#endif
