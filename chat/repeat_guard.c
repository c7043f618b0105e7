/* SPDX-License-Identifier: Apache-2.0 */
/* repeat_guard.c - detects answers that repeat themselves without end. */
#include "repeat_guard.h"
#include <stdlib.h>
#include <string.h>

static bool series_open(struct repeat_series *s, uint32_t max_period)
{
    *s = (struct repeat_series){ .max_period = max_period };
    s->last = calloc(2 * (size_t)max_period, sizeof *s->last);
    s->equals = calloc(max_period, sizeof *s->equals);
    return s->last && s->equals;
}

static void series_close(struct repeat_series *s)
{
    free(s->last);
    free(s->equals);
    *s = (struct repeat_series){ 0 };
}

static void series_begin(struct repeat_series *s)
{
    s->n = 0;
    s->position = s->max_period;
    memset(s->equals, 0, s->max_period * sizeof *s->equals);
}

static void series_add(struct repeat_series *s, int32_t value)
{
    const uint32_t known = s->n < s->max_period ? (uint32_t)s->n : s->max_period;
    const int32_t *before = s->last + s->position;
    for (uint32_t p = 0; p < known; p++)
        s->equals[p] = before[p] == value ? s->equals[p] + 1 : 0;
    if (s->position == 0) {
        s->position = s->max_period;
        memcpy(s->last + s->position, s->last, s->max_period * sizeof *s->last);
    }
    s->last[--s->position] = value;
    s->n++;
}

/* Whether the end consists of REPEAT_MIN_COUNT copies of a period and more than `least` values. */
static bool series_loops(const struct repeat_series *s, size_t least)
{
    for (size_t p = 1; p <= s->max_period; p++) {
        const size_t length = s->equals[p - 1] + p;
        if (length > least && length >= REPEAT_MIN_COUNT * p)
            return true;
    }
    return false;
}

void repeat_guard_open(struct repeat_guard *g, uint32_t context_length)
{
    const uint32_t quarter = context_length / 4;
    g->min_tokens = quarter < REPEAT_LEAST  ? REPEAT_LEAST
                    : quarter > REPEAT_MOST ? REPEAT_MOST
                                            : quarter;
    const bool tokens = series_open(&g->tokens, REPEAT_MAX_TOKENS);
    g->enabled = series_open(&g->bytes, REPEAT_MAX_BYTES) && tokens;
}

void repeat_guard_close(struct repeat_guard *g)
{
    series_close(&g->tokens);
    series_close(&g->bytes);
    g->enabled = false;
}

void repeat_guard_begin(struct repeat_guard *g)
{
    if (!g->enabled)
        return;
    series_begin(&g->tokens);
    series_begin(&g->bytes);
}

bool repeat_guard_add(struct repeat_guard *g, const int32_t *tokens, size_t n_tokens,
                      const char *text, size_t size)
{
    if (!g->enabled)
        return false;
    for (size_t i = 0; i < n_tokens; i++)
        series_add(&g->tokens, tokens[i]);
    for (size_t i = 0; i < size; i++)
        series_add(&g->bytes, (unsigned char)text[i]);
    return series_loops(&g->tokens, g->min_tokens) ||
           series_loops(&g->bytes, REPEAT_BYTES_PER_TOKEN * (size_t)g->min_tokens);
}

size_t repeat_guard_repeated_bytes(const struct repeat_guard *g)
{
    uint32_t most = 0;
    for (uint32_t p = 0; p < g->bytes.max_period; p++)
        most = g->bytes.equals[p] > most ? g->bytes.equals[p] : most;
    return most;
}
