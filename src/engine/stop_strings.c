/* SPDX-License-Identifier: Apache-2.0 */
/* stop_strings.c - Knuth-Morris-Pratt matching of stop strings over streamed text. */
#include "engine/stop_strings.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include <string.h>

static quire_status check(const char *const *strings, uint32_t n, struct quire_error *err)
{
    if (n > QR_MAX_STOP_STRINGS)
        return qr_fail(err, QUIRE_E_LIMIT, "n_stop %u is above %d", n, QR_MAX_STOP_STRINGS);
    if (n && !strings)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "stop is NULL but n_stop is %u", n);
    for (uint32_t i = 0; i < n; i++) {
        if (!strings[i] || !strings[i][0])
            return qr_fail(err, QUIRE_E_INVALID_ARG, "stop[%u] is %s", i,
                           strings[i] ? "empty" : "NULL");
        const size_t size = strnlen(strings[i], QR_MAX_STOP_BYTES + 1);
        if (size > QR_MAX_STOP_BYTES)
            return qr_fail(err, QUIRE_E_LIMIT, "stop[%u] is longer than %d bytes", i,
                           QR_MAX_STOP_BYTES);
        if (!qr_utf8_valid((const uint8_t *)strings[i], size))
            return qr_fail(err, QUIRE_E_INVALID_ARG, "stop[%u] is not well-formed UTF-8", i);
    }
    return QUIRE_OK;
}

/* Length of the longest prefix of s that ends the stream after one more byte. */
static uint32_t advance(const struct qr_stop_string *s, uint32_t matched, char byte)
{
    while (matched && (matched == s->size || s->text[matched] != byte))
        matched = s->failure[matched - 1];
    return s->text[matched] == byte ? matched + 1 : 0;
}

static bool add(struct qr_stop_strings *stops, const char *text)
{
    const size_t size = strlen(text);
    struct qr_stop_string *s = &stops->string[stops->n];
    *s = (struct qr_stop_string){ .size = (uint32_t)size };
    s->text = qr_strndup(stops->allocator, text, size);
    s->failure = qr_calloc(stops->allocator, size, sizeof *s->failure);
    stops->n++; /* from here qr_stop_strings_free() covers it */
    if (!s->text || !s->failure)
        return false;
    for (uint32_t i = 1; i < size; i++)
        s->failure[i] = (uint16_t)advance(s, s->failure[i - 1], text[i]);
    return true;
}

quire_status qr_stop_strings_init(struct qr_stop_strings *stops, const char *const *strings,
                                  uint32_t n, const struct quire_allocator *allocator,
                                  struct quire_error *err)
{
    *stops = (struct qr_stop_strings){ .allocator = allocator };
    QR_TRY(check(strings, n, err));
    for (uint32_t i = 0; i < n; i++)
        if (!add(stops, strings[i])) {
            qr_stop_strings_free(stops);
            return qr_fail(err, QUIRE_E_NOMEM, "no memory for stop[%u]", i);
        }
    return QUIRE_OK;
}

void qr_stop_strings_free(struct qr_stop_strings *stops)
{
    for (uint32_t i = 0; i < stops->n; i++) {
        qr_strfree(stops->allocator, stops->string[i].text);
        qr_free(stops->allocator, stops->string[i].failure, stops->string[i].size,
                sizeof(uint16_t));
    }
    stops->n = 0;
}

void qr_stop_strings_copy(struct qr_stop_strings *to, const struct qr_stop_strings *from)
{
    for (uint32_t i = 0; i < to->n; i++)
        to->string[i].matched = from->string[i].matched;
}

bool qr_stop_strings_scan(struct qr_stop_strings *stops, const char *text, size_t size, size_t *end,
                          uint32_t *length)
{
    for (size_t i = 0; i < size; i++) {
        uint32_t longest = 0;
        for (uint32_t j = 0; j < stops->n; j++) {
            struct qr_stop_string *s = &stops->string[j];
            s->matched = advance(s, s->matched, text[i]);
            if (s->matched == s->size && s->size > longest)
                longest = s->size;
        }
        if (longest) {
            *end = i + 1;
            *length = longest;
            return true;
        }
    }
    return false;
}

uint32_t qr_stop_strings_partial(const struct qr_stop_strings *stops)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < stops->n; i++)
        longest = stops->string[i].matched > longest ? stops->string[i].matched : longest;
    return longest;
}
