/* SPDX-License-Identifier: Apache-2.0 */
/* chunk_size.c - how many prompt tokens a step computes beside the tokens it generates. */
#include "engine/chunk_size.h"
#include <math.h>

/* Longest step that decodes and computes prompts, relative to one that only decodes: while there
 * are at least as many answers as prompts, and if there are many more prompts. */
static const double DEFAULT_SLOWDOWN = 2.5, MAX_DEFAULT_SLOWDOWN = 10;

/* After this many steps a size is tried again: one slow step must not rule it out for ever. */
enum { FORGET_STEPS = 512 };

void qr_chunk_size_record(struct qr_chunk_size *c, uint32_t n_prompt, uint32_t n_rows,
                          double seconds)
{
    if (n_prompt > 0) {
        qr_step_cost_record(&c->cost, n_rows, seconds);
        qr_step_cost_forget(&c->cost, FORGET_STEPS);
    } else if (c->decode_seconds > 0) {
        c->decode_seconds += 0.25 * (seconds - c->decode_seconds);
    } else {
        c->decode_seconds = seconds;
    }
}

static double default_target(const struct qr_chunk_size *c, uint32_t n_decoding, uint32_t n_prompts)
{
    const double slowdown =
        n_prompts > n_decoding ? DEFAULT_SLOWDOWN * n_prompts / n_decoding : DEFAULT_SLOWDOWN;
    return fmin(slowdown, MAX_DEFAULT_SLOWDOWN) * c->decode_seconds;
}

uint32_t qr_chunk_size_choose(const struct qr_chunk_size *c, uint32_t n_decoding,
                              uint32_t n_prompts, double target, uint32_t max)
{
    const uint32_t measured = qr_step_cost_max_rows(&c->cost);
    if (n_decoding > 0 && target <= 0)
        target = default_target(c, n_decoding, n_prompts);
    if (n_decoding == 0 || target <= 0 || isinf(target) || measured == 0)
        return max;
    const uint64_t limit = 2 * (uint64_t)measured;
    if (limit < max)
        max = (uint32_t)limit;
    /* multiples of the smallest chunk; the cost grows with the rows but for noise */
    uint32_t low = 1, high = max / QR_CHUNK_MIN_TOKENS;
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        const uint32_t rows = n_decoding + middle * QR_CHUNK_MIN_TOKENS;
        if (qr_step_cost_estimate(&c->cost, rows) <= target)
            low = middle;
        else
            high = middle - 1;
    }
    const uint32_t n = low * QR_CHUNK_MIN_TOKENS;
    return n < max ? n : max;
}
