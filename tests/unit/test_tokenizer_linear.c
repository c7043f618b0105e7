/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer_linear.c - work of the pre-tokenizers on long text of one class: calls of PCRE2,
 * bytes that they scan, and items of the pattern that they try. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdbool.h>
#include <stdint.h>

static struct work {
    uint64_t calls, bytes, steps, pieces;
    bool long_pieces; /* some have more than one character */
} work;
static int count_steps; /* compiles the patterns with a callout at every item */

static int counted_match(const pcre2_code *code, PCRE2_SPTR text, size_t n, size_t pos,
                         uint32_t options, pcre2_match_data *data, pcre2_match_context *context)
{
    const int rc = pcre2_match_8(code, text, n, pos, options, data, context);
    work.calls++;
    work.bytes += (rc >= 0 ? pcre2_get_ovector_pointer_8(data)[1] : n) - pos;
    return rc;
}

static int count_step(pcre2_callout_block *block, void *user)
{
    (void)block, (void)user;
    work.steps++;
    return 0;
}

static pcre2_code *callout_compile(PCRE2_SPTR pattern, size_t n, uint32_t options, int *error,
                                   PCRE2_SIZE *at, pcre2_compile_context *context)
{
    return pcre2_compile_8(pattern, n, options | (count_steps ? PCRE2_AUTO_CALLOUT : 0), error, at,
                           context);
}

#undef pcre2_match
#undef pcre2_compile
#define pcre2_match   counted_match
#define pcre2_compile callout_compile
#include "../../src/tokenizer/pretokenizer.c"
#include "quire_cmocka.h"
#include "tokenizer/segment.h"

/* One name of every preset. */
static const char *const presets[] = {
    "gpt-2",          "llama-bpe",    "dbrx",        "qwen2",  "deepseek-r1-qwen",
    "qwen35",         "smollm",       "command-r",   "tekken", "gpt-4o",
    "deepseek-coder", "deepseek-llm", "deepseek-v3",
};

static const char *const units[] = {
    "a",
    "A",
    " ",
    "\n",
    "\t",
    "0",
    "!",
    "'",
    "_",
    "\xC2\xA0",
    "\xC3\xA9",
    "\xCC\x81",
    "\xE0\xA4\x95",
    "\xE4\xB8\xAD",
    "\xF0\x9F\x98\x80",
    "aA",
    " a",
    "a1",
    " \n",
    "\r\n",
    "'s",
    "a\xCC\x81",
};

static quire_status on_piece(void *user, const uint8_t *piece, size_t n)
{
    (void)user;
    assert_true(n > 0);
    work.pieces++;
    work.long_pieces = work.long_pieces || n > qr_utf8_len(*piece);
    return QUIRE_OK;
}

static struct work split(const struct qr_pretokenizer *p, const uint8_t *text, size_t n)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    void *scratch = qr_pretokenizer_scratch_create(p);
    work = (struct work){ 0 };
    for (size_t begin = 0, end; begin < n; begin = end) {
        end = qr_segment_end(text, begin, n);
        assert_status(QUIRE_OK, qr_pretokenizer_split(p, scratch, text + begin, end - begin,
                                                      on_piece, NULL, &err));
    }
    qr_pretokenizer_scratch_destroy(scratch);
    return work;
}

/* large: 16 times small. Counts grow by at most 20; there is at most one call per piece and split,
 * and one per piece if those are single characters. */
static void check(const char *name, size_t small, size_t large)
{
    const struct qr_pretokenizer_preset *preset = qr_pretokenizer_preset_find(name, strlen(name));
    struct qr_pretokenizer *p;
    struct quire_error err = QUIRE_ERROR_INIT;
    uint8_t *text = malloc(large);
    assert_non_null(preset);
    assert_status(QUIRE_OK,
                  qr_pretokenizer_create(preset->splits, preset->n_splits, NULL, &p, &err));
    if (count_steps)
        pcre2_set_callout(p->limits, count_step, NULL);
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        const size_t len = strlen(units[u]);
        for (size_t i = 0; i < large; i++)
            text[i] = (uint8_t)units[u][i % len];
        const struct work s = split(p, text, small / len * len),
                          l = split(p, text, large / len * len);
        const uint64_t ratio = large / small * 5 / 4;
        const uint64_t per_piece = l.long_pieces ? preset->n_splits : 1;
        if (l.calls > ratio * s.calls || l.bytes > ratio * s.bytes || l.steps > ratio * s.steps ||
            l.calls > per_piece * l.pieces + large / 1000 || l.bytes > preset->n_splits * large ||
            l.steps > 64 * (uint64_t)large)
            fail_msg("%s, unit %zu: %llu calls, %llu bytes, %llu steps for %llu pieces; of %zu: "
                     "%llu, %llu, %llu",
                     name, u, (unsigned long long)l.calls, (unsigned long long)l.bytes,
                     (unsigned long long)l.steps, (unsigned long long)l.pieces, small,
                     (unsigned long long)s.calls, (unsigned long long)s.bytes,
                     (unsigned long long)s.steps);
    }
    qr_pretokenizer_destroy(p);
    free(text);
}

static void calls_and_bytes(void **state)
{
    (void)state;
    count_steps = 0;
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        check(presets[i], 1 << 17, 1 << 21);
}

/* Shorter texts: a callout at every item is slow. */
static void steps(void **state)
{
    (void)state;
    count_steps = 1;
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        check(presets[i], 1 << 13, 1 << 17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_and_bytes),
        cmocka_unit_test(steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
