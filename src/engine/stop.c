/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c - stop strings over a stream of text. */
#include "engine/stop.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include <string.h>

static quire_status check(const char *const *strings, uint32_t n, struct quire_error *err)
{
    if (n > QR_MAX_STOPS)
        return qr_fail(err, QUIRE_E_LIMIT, "n_stop %u is above %d", n, QR_MAX_STOPS);
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

/* Length of the longest prefix that ends the text after one more byte. */
static uint32_t advance(const struct qr_stop *s, uint32_t matched, char byte)
{
    while (matched && (matched == s->size || s->text[matched] != byte))
        matched = s->fall[matched - 1];
    return s->text[matched] == byte ? matched + 1 : 0;
}

static bool add(struct qr_stops *stops, const char *text)
{
    const size_t size = strlen(text);
    struct qr_stop *s = &stops->stop[stops->n];
    *s = (struct qr_stop){ .size = (uint32_t)size };
    s->text = qr_strndup(stops->allocator, text, size);
    s->fall = qr_calloc(stops->allocator, size, sizeof *s->fall);
    stops->n++; /* now qr_stops_free() sees it */
    if (!s->text || !s->fall)
        return false;
    for (uint32_t i = 1; i < size; i++)
        s->fall[i] = (uint16_t)advance(s, s->fall[i - 1], text[i]);
    return true;
}

quire_status qr_stops_init(struct qr_stops *stops, const char *const *strings, uint32_t n,
                           const struct quire_allocator *allocator, struct quire_error *err)
{
    *stops = (struct qr_stops){ .allocator = allocator };
    QR_TRY(check(strings, n, err));
    for (uint32_t i = 0; i < n; i++)
        if (!add(stops, strings[i])) {
            qr_stops_free(stops);
            return qr_fail(err, QUIRE_E_NOMEM, "no memory for stop[%u]", i);
        }
    return QUIRE_OK;
}

void qr_stops_free(struct qr_stops *stops)
{
    for (uint32_t i = 0; i < stops->n; i++) {
        qr_strfree(stops->allocator, stops->stop[i].text);
        qr_free(stops->allocator, stops->stop[i].fall, stops->stop[i].size, sizeof(uint16_t));
    }
    stops->n = 0;
}

bool qr_stops_feed(struct qr_stops *stops, const char *text, size_t size, size_t *end,
                   uint32_t *length)
{
    for (size_t at = 0; at < size; at++) {
        uint32_t longest = 0;
        for (uint32_t i = 0; i < stops->n; i++) {
            struct qr_stop *s = &stops->stop[i];
            s->matched = advance(s, s->matched, text[at]);
            if (s->matched == s->size && s->size > longest)
                longest = s->size;
        }
        if (longest) {
            *end = at + 1;
            *length = longest;
            return true;
        }
    }
    return false;
}

uint32_t qr_stops_held(const struct qr_stops *stops)
{
    uint32_t held = 0;
    for (uint32_t i = 0; i < stops->n; i++)
        held = stops->stop[i].matched > held ? stops->stop[i].matched : held;
    return held;
}
