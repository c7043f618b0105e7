/* SPDX-License-Identifier: Apache-2.0 */
/* test_repeat_guard.c - what the repetition guard ends, and what it leaves alone. */
#include "repeat_guard.h"
#include "text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void check(bool ok, const char *what)
{
    failures += !ok;
    if (!ok)
        printf("FAILED: %s\n", what);
}

/* ---- Answers as text; every token has a fixed number of bytes, and its id is made of them */

static bool add_token(struct repeat_guard *g, const char *text, size_t size)
{
    int32_t id = 0;
    for (size_t i = 0; i < size; i++)
        id = id * 31 + (unsigned char)text[i];
    return repeat_guard_add(g, &id, 1, text, size);
}

/* Number of bytes of the answer after which the guard ends it, or 0. */
static size_t ended_after(struct repeat_guard *g, const struct text *answer, size_t token_bytes)
{
    repeat_guard_begin(g);
    for (size_t i = 0; i < answer->size; i += token_bytes) {
        const size_t n = answer->size - i < token_bytes ? answer->size - i : token_bytes;
        if (add_token(g, answer->data + i, n))
            return i + n;
    }
    return 0;
}

static void repeat(struct text *t, const char *part, size_t n)
{
    for (size_t i = 0; i < n; i++)
        text_add(t, part, strlen(part));
}

/* ---- Left alone, at one token for each of 1 to 4 bytes */

static void code(struct text *t)
{
    for (int i = 0; i < 120; i++)
        text_addf(t, "    case %d:\n        return value_%d;\n", i, i);
}

static void zeros(struct text *t)
{
    text_addf(t, "static const int matrix[16][16] = {\n");
    repeat(t, "    { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },\n", 16);
}

static void table(struct text *t)
{
    repeat(t, "|---", 20);
    for (int i = 0; i < 60; i++)
        text_addf(t, "|\n| row %d | | | | | | | | |  yes | no | no | no | no | no |", i);
    text_addf(t, "|\n");
    repeat(t, "|      |      |      |      |\n", 30);
}

static void lines(struct text *t)
{
    for (int i = 0; i < 40; i++) {
        text_addf(t, "Chapter %d\n", i);
        repeat(t, i & 1 ? "=" : "-", 120);
        text_addf(t, "\n\n");
    }
}

static void canvas(struct text *t) /* a picture of 80 x 24 with little in it */
{
    for (int row = 0; row < 24; row++) {
        repeat(t, " ", 79);
        text_addf(t, row == 12 ? "@\n" : ".\n");
    }
}

static void list(struct text *t)
{
    for (int i = 1; i < 400; i++)
        text_addf(t, "%d. This is the same text again.\n", i);
}

static void letters(struct text *t) { repeat(t, "a", 1000); }

static void chorus(struct text *t)
{
    for (int i = 0; i < 12; i++) {
        text_addf(t, "Verse %d is about the number %d and what it did.\n", i, i * i);
        repeat(t, "Row, row, row your boat,\nGently down the stream.\n", 4);
    }
}

static void written_on_a_board(struct text *t) { repeat(t, "I will not sleep in class.\n", 30); }

static void test_left_alone(struct repeat_guard *g)
{
    static const struct {
        const char *name;
        void (*write)(struct text *);
    } answers[] = {
        { "code", code },     { "zeros", zeros },     { "table", table },
        { "lines", lines },   { "canvas", canvas },   { "list", list },
        { "chorus", chorus }, { "letters", letters }, { "board", written_on_a_board },
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        for (size_t token_bytes = 1; token_bytes <= 4; token_bytes++) {
            struct text t = { 0 };
            char what[160];
            answers[i].write(&t);
            const size_t end = ended_after(g, &t, token_bytes);
            snprintf(what, sizeof what, "%s of %zu bytes, %zu a token: ended after %zu",
                     answers[i].name, t.size, token_bytes, end);
            /* single letters as tokens: as many as the least loop */
            check(!end || (t.size / token_bytes > g->min_tokens && token_bytes < 2), what);
            text_free(&t);
        }
}

/* ---- Ended */

/* A loop behind 100 bytes of other text is ended after `most` bytes at the latest, and of the loop
 * one copy is left. */
static void check_ended(struct repeat_guard *g, const char *period, size_t token_bytes, size_t most)
{
    struct text t = { 0 };
    char what[160];
    for (int i = 0; i < 10; i++)
        text_addf(&t, "start %d...", i);
    const size_t start = t.size;
    repeat(&t, period, 20000 / strlen(period) + 1);
    const size_t end = ended_after(g, &t, token_bytes);
    snprintf(what, sizeof what, "'%.20s' of %zu bytes, %zu a token: ended after %zu of at most %zu",
             period, strlen(period), token_bytes, end, start + most);
    check(end && end <= start + most, what);
    const size_t kept = end - repeat_guard_repeated_bytes(g);
    snprintf(what, sizeof what, "'%.20s': keeps %zu bytes", period, kept);
    check(kept <= start + strlen(period) && kept + 1 >= start, what);
    text_free(&t);
}

static void test_ended(struct repeat_guard *g)
{
    const size_t n = g->min_tokens;
    check_ended(g, "k", 1, n + 8);
    check_ended(g, "ha", 1, n + 8);
    check_ended(g, " the", 4, 4 * n + 16);
    check_ended(g, "I am sorry, but I am not able to say more. ", 1, (n > 344 ? n : 344) + 43);
    check_ended(g, "I am sorry, but I am not able to say more. ", 4, 4 * n + 400);
    check_ended(g,
                "A longer sentence, which goes round and round, and which a model of language "
                "says again and again since it has just said it, without an end in sight.\n",
                4, 4 * n + 1300);
    check_ended(g, "\xC3\xA9\xE2\x82\xAC", 1, n + 8);
}

/* The same text in other tokens: only the bytes repeat. */
static void test_other_tokens(struct repeat_guard *g)
{
    repeat_guard_begin(g);
    uint32_t random = 1;
    size_t size = 0;
    bool ended = false;
    while (!ended && size < 20000) {
        random = random * 1664525 + 1013904223;
        const size_t n = 1 + (random >> 24) % 5;
        ended = add_token(g, "aaaaa", n);
        size += n;
    }
    check(ended && size <= REPEAT_BYTES_PER_TOKEN * (size_t)g->min_tokens + 5,
          "the letter a in tokens of 1 to 5 letters");
}

/* Tokens without text. */
static void test_no_text(struct repeat_guard *g)
{
    repeat_guard_begin(g);
    const int32_t ids[] = { 5, 6, 7 };
    size_t n = 0;
    while (n < 20000 && !repeat_guard_add(g, ids, 3, "", 0))
        n += 3;
    check(n <= g->min_tokens + 3, "tokens without text");
    check(repeat_guard_repeated_bytes(g) == 0, "no text to drop");
}

/* Longer than any buffer, without a period: numbers, and a period above the limits. */
static void test_no_loop(struct repeat_guard *g)
{
    struct text t = { 0 };
    for (int i = 0; i < 20000; i++)
        text_addf(&t, "%d ", i);
    check(!ended_after(g, &t, 3), "numbers");
    text_clear(&t);
    for (int copy = 0; copy < 7; copy++) /* one copy less than a loop needs */
        for (uint32_t i = 0, random = 1; i < 300; i++, random = random * 1664525 + 1013904223)
            text_addf(&t, "%c", 'a' + (int)(random >> 16) % 23);
    check(!ended_after(g, &t, 1), "7 copies");
    text_free(&t);
}

int main(void)
{
    static const uint32_t contexts[] = { 100, 2048, 8192, 1 << 20 };
    static const uint32_t least[] = { 256, 512, 1024, 1024 };
    for (size_t i = 0; i < sizeof contexts / sizeof contexts[0]; i++) {
        struct repeat_guard g;
        repeat_guard_open(&g, contexts[i]);
        check(g.min_tokens == least[i], "the least length of a loop");
        if (contexts[i] >= 8192)
            test_left_alone(&g);
        test_ended(&g);
        test_other_tokens(&g);
        test_no_text(&g);
        test_no_loop(&g);
        repeat_guard_close(&g);
    }
    struct repeat_guard off = { 0 };
    repeat_guard_begin(&off);
    check(!repeat_guard_add(&off, NULL, 0, "a", 1) && repeat_guard_repeated_bytes(&off) == 0,
          "a guard that was not opened");
    printf("%d failed\n", failures);
    return failures != 0;
}
