/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_chat_input.c - bytes that reach the chat program: numbers, arguments, text for the terminal.
 *
 * The first byte selects the part. Checks numbers against the C library, that shown text is
 * well-formed and without control characters, and that wrapping does not depend on the pieces. */
#include "base/utf8.h"
#include "fuzz.h"
#include "numbers.h"
#include "options.h"
#include "terminal.h"
#include "text.h"
#include "wrap.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARGS = 24 };

/* Replaces the function of terminal.c. */
void print_message(const char *format, ...) { (void)format; }

/* The parser prints what it refuses; the engine keeps the original stream. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    FILE *quiet = fopen("/dev/null", "w");
    if (quiet)
        stderr = quiet;
    return 0;
}

/* fuzz_check for the original stream. */
#define check(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dprintf(2, "fuzz: %s: ", #condition);                                                  \
            dprintf(2, __VA_ARGS__);                                                               \
            dprintf(2, "\n");                                                                      \
            __builtin_trap();                                                                      \
        }                                                                                          \
    } while (0)

static void check_numbers(const char *text)
{
    int64_t integer = 7;
    uint64_t bytes = 7;
    double real = 7;
    char *end;
    char shown[24];
    if (parse_integer(text, -100, INT64_MAX, &integer))
        check(integer >= -100 && integer == strtoll(text, &end, 10) && !*end, "%s gives %lld", text,
              (long long)integer);
    else
        check(integer == 7, "%s changes the result", text);
    if (parse_real(text, &real)) {
        const double expected = strtod(text, &end);
        /* a long mantissa may differ in the last digits */
        check(!*end && isfinite(real) && fabs(real - expected) <= 1e-12 * fabs(expected) + 1e-300,
              "%s gives %.17g, not %.17g", text, real, expected);
    } else {
        check(real == 7, "%s changes the result", text);
    }
    if (parse_bytes(text, &bytes))
        check(bytes >= 1 && strlen(format_bytes(bytes, shown)) < sizeof shown, "%s", text);
    else
        check(bytes == 7, "%s changes the result", text);
}

/* Arguments are separated by newlines. */
static void check_options(char *text)
{
    char *argv[MAX_ARGS + 2] = { (char *)"quire-chat" };
    int argc = 1;
    for (char *part = strtok(text, "\n"); part && argc <= MAX_ARGS; part = strtok(NULL, "\n"))
        argv[argc++] = part;
    struct options o;
    if (!options_parse(&o, argc, argv))
        return;
    check(o.stop.n <= MAX_STOPS, "%u stops", o.stop.n);
    check(!(o.prompt && o.file), "two prompts");
}

static bool is_safe(const struct text *t)
{
    for (size_t i = 0; i < t->size; i++)
        if (((uint8_t)t->data[i] < 0x20 && t->data[i] != '\n' && t->data[i] != '\t') ||
            t->data[i] == 0x7f)
            return false;
    return qr_utf8_valid((const uint8_t *)t->data, t->size);
}

/* The output does not depend on the pieces in which the text arrives. */
static void check_wrap(const struct text *safe, unsigned width, uint32_t piece)
{
    struct wrap whole = { 0 }, cut = { 0 };
    struct text a = { 0 }, b = { 0 };
    wrap_add(&whole, safe->data, safe->size, width, &a);
    for (size_t at = 0; at < safe->size;) {
        size_t n = 0;
        while (n < piece && at + n < safe->size)
            n += utf8_length(safe->data + at + n, safe->size - at - n);
        wrap_add(&cut, safe->data + at, n, width, &b);
        at += n;
    }
    check(a.size == b.size && memcmp(a.data, b.data, a.size) == 0,
          "%zu bytes at once, %zu in pieces", a.size, b.size);
    wrap_reset(&whole), wrap_reset(&cut);
    text_free(&a), text_free(&b);
}

static void check_text(const char *bytes, size_t n, uint32_t choice)
{
    struct text repaired = { 0 }, escaped = { 0 }, json = { 0 };
    text_add_repaired(&repaired, bytes, n);
    check(n == 0 || (qr_utf8_valid((const uint8_t *)repaired.data, repaired.size) &&
                     strlen(repaired.data) == repaired.size),
          "repaired text is ill-formed");
    text_add_escaped(&escaped, repaired.data, repaired.size);
    check(is_safe(&escaped), "escaped text has control characters");
    text_add_json(&json, bytes, n);
    check(json.size >= 2 && qr_utf8_valid((const uint8_t *)json.data, json.size) &&
              json.data[0] == '"' && json.data[json.size - 1] == '"',
          "JSON %s", json.data);
    if (escaped.size)
        check_wrap(&escaped, 1 + choice % 90, 1 + choice / 90);
    text_free(&repaired), text_free(&escaped), text_free(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = { data, size };
    const uint32_t part = fuzz_below(&in, 3), choice = fuzz_below(&in, 256);
    char *text = malloc(in.left + 1);
    if (in.left)
        memcpy(text, in.data, in.left);
    text[in.left] = 0;
    if (part == 0)
        check_numbers(text);
    else if (part == 1)
        check_options(text);
    else
        check_text(text, in.left, choice);
    free(text);
    return 0;
}
