/* SPDX-License-Identifier: Apache-2.0 */
/* json_mutator.c - mutates JSON texts value by value. */
#include "json_mutator.h"
#include "mutate.h"
#include <string.h>

enum { MAX_VALUES = 4096 };

/* A value, or a key with its quotes: a range of the text. */
struct span {
    uint32_t begin, end;
};

static const char *const literals[] = {
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "64",
    "255",
    "65536",
    "1000000007",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551616",
    "1e9999",
    "-0",
    "-0.0",
    "0.5",
    "1e-30",
    "3.4e38",
    "NaN",
    "null",
    "true",
    "false",
    "[]",
    "{}",
    "[null]",
    "[0,0]",
    "[[]]",
    "\"\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"\xff\"",
    "\"\xF0\x9F\x98\x80\"",
    "\"default\"",
};
enum { N_LITERALS = sizeof literals / sizeof *literals };

static uint32_t string_end(const uint8_t *t, uint32_t n, uint32_t at)
{
    for (at++; at < n && t[at] != '"'; at++)
        at += t[at] == '\\';
    return at < n ? at + 1 : n;
}

static uint32_t word_end(const uint8_t *t, uint32_t n, uint32_t at)
{
    while (at < n && t[at] && !strchr("{}[],: \t\r\n\"", t[at]))
        at++;
    return at;
}

/* Finds strings, numbers, words and bracketed groups. */
static uint32_t find_values(const uint8_t *t, uint32_t n, struct span *values)
{
    uint32_t count = 0, open[256], depth = 0;
    for (uint32_t at = 0; at < n && count < MAX_VALUES;) {
        const uint8_t c = t[at];
        if (c == '{' || c == '[') {
            open[depth++ % 256] = at++;
        } else if (c == '}' || c == ']') {
            at++;
            if (depth)
                values[count++] = (struct span){ open[--depth % 256], at };
        } else if (c == '"') {
            const uint32_t end = string_end(t, n, at);
            values[count++] = (struct span){ at, end };
            at = end;
        } else {
            const uint32_t end = word_end(t, n, at);
            if (end > at)
                values[count++] = (struct span){ at, end };
            at = end > at ? end : at + 1;
        }
    }
    return count;
}

static void put_span(struct fuzz_buffer *out, const uint8_t *t, struct span s)
{
    fuzz_put(out, t + s.begin, s.end - s.begin);
}

/* Repeats an element, or nests it in arrays. */
static void put_repeated(struct fuzz_buffer *out, const uint8_t *t, struct span s,
                         struct fuzz_random *rng)
{
    const bool nest = fuzz_random(rng, 4) == 0;
    const uint32_t times = 1 + fuzz_random(rng, fuzz_random(rng, 8) ? 3 : 70);
    for (uint32_t i = 0; nest && i < times; i++)
        fuzz_put_text(out, "[");
    put_span(out, t, s);
    for (uint32_t i = 0; i < times && out->size < 1 << 20; i++) {
        fuzz_put_text(out, nest ? "]" : ",");
        if (!nest)
            put_span(out, t, s);
    }
}

static void put_changed(struct fuzz_buffer *out, const uint8_t *t, struct span s, struct span other,
                        struct fuzz_random *rng)
{
    switch (fuzz_random(rng, 8)) {
    case 0:
    case 1:
        fuzz_put_text(out, literals[fuzz_random(rng, N_LITERALS)]);
        break;
    case 2:
    case 3:
        put_span(out, t, other);
        break;
    case 4:
        put_repeated(out, t, s, rng);
        break;
    case 5: /* removes it; the comma stays */
        break;
    default:
        if (t[s.begin] == '"' && s.end - s.begin >= 2) {
            fuzz_put_text(out, "\"");
            fuzz_put_mutated(out, t + s.begin + 1, s.end - s.begin - 2, s.end - s.begin + 8);
            fuzz_put_text(out, "\"");
        } else {
            fuzz_put_mutated(out, t + s.begin, s.end - s.begin, s.end - s.begin + 4);
        }
    }
}

void json_put_mutated(struct fuzz_buffer *out, const uint8_t *text, size_t size,
                      struct fuzz_random *rng)
{
    static struct span values[MAX_VALUES];
    const uint32_t n = find_values(text, (uint32_t)size, values);
    if (!n) {
        fuzz_put_mutated(out, text, size, size + 16);
        return;
    }
    const struct span s = values[fuzz_random(rng, n)], other = values[fuzz_random(rng, n)];
    fuzz_put(out, text, s.begin);
    put_changed(out, text, s, other, rng);
    fuzz_put(out, text + s.end, size - s.end);
}

size_t json_mutate(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    struct fuzz_random rng = { seed };
    struct fuzz_buffer out = { 0 };
    if (!size || fuzz_random(&rng, 8) == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    const uint8_t *second;
    size_t n_second;
    const size_t n = fuzz_split(data, size, &second, &n_second);
    if (second && fuzz_random(&rng, 3) == 0) {
        fuzz_put(&out, data, size - n_second);
        json_put_mutated(&out, second, n_second, &rng);
    } else {
        json_put_mutated(&out, data, n, &rng);
        fuzz_put(&out, data + n, size - n);
    }
    return fuzz_mutated(&out, data, size, max_size);
}
