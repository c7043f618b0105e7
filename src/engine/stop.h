/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h - stop strings over a stream of text: what may be shown, what must wait, and where to
 * cut. */
#ifndef QR_ENGINE_STOP_H
#define QR_ENGINE_STOP_H
#include <quire/status.h>
#include <stdbool.h>

enum { QR_MAX_STOPS = 16, QR_MAX_STOP_BYTES = 1024 };

/* One automaton per string (Knuth, Morris, Pratt), so that the time is linear however the
 * strings repeat themselves and a match may lie across any number of tokens. */
struct qr_stops {
    const struct quire_allocator *allocator;
    uint32_t n;
    struct qr_stop {
        char *text;
        uint16_t *fall; /* [size] length to fall back to after `matched` bytes; fall[0] unused */
        uint32_t size;
        uint32_t matched; /* bytes of the string that end the text so far */
    } stop[QR_MAX_STOPS];
};

/* Copies the strings. Each must be well-formed UTF-8 of 1 .. QR_MAX_STOP_BYTES bytes: then no
 * cut and no held-back part ever splits a character. On failure there is nothing to free. */
quire_status qr_stops_init(struct qr_stops *stops, const char *const *strings, uint32_t n,
                           const struct quire_allocator *allocator, struct quire_error *err);
void qr_stops_free(struct qr_stops *stops); /* safe on zeroes and twice */

/* Reads on. True: a stop string ended at text[*end - 1], and *length is its length. The string
 * that is complete first wins, among several the longest. */
bool qr_stops_feed(struct qr_stops *stops, const char *text, size_t size, size_t *end,
                   uint32_t *length);

/* Bytes at the end of the text so far that may turn out to begin a stop string. */
uint32_t qr_stops_held(const struct qr_stops *stops);

#endif
