/* SPDX-License-Identifier: Apache-2.0 */
/* stop_strings.h - finds stop strings in streamed text and the tail that may begin one. */
#ifndef QR_ENGINE_STOP_STRINGS_H
#define QR_ENGINE_STOP_STRINGS_H
#include <quire/status.h>
#include <stdbool.h>

enum { QR_MAX_STOP_STRINGS = 16, QR_MAX_STOP_BYTES = 1024 };

/* One Knuth-Morris-Pratt automaton per string: linear time for self-repeating strings, and a match
 * may span any number of tokens. */
struct qr_stop_strings {
    const struct quire_allocator *allocator;
    uint32_t n;
    struct qr_stop_string {
        char *text;
        uint16_t *failure; /* [size] failure function: border length of text[0 .. i] */
        uint32_t size;
        uint32_t matched; /* length of the longest prefix of text that ends the stream so far */
    } string[QR_MAX_STOP_STRINGS];
};

/* Copies the strings. Each must be well-formed UTF-8 of 1 .. QR_MAX_STOP_BYTES bytes, so that
 * neither a cut nor a held-back tail splits a character. On failure there is nothing to free. */
quire_status qr_stop_strings_init(struct qr_stop_strings *stops, const char *const *strings,
                                  uint32_t n, const struct quire_allocator *allocator,
                                  struct quire_error *err);
void qr_stop_strings_free(struct qr_stop_strings *stops); /* safe on zeroes and twice */

/* Makes `to` continue the stream of `from`; both have the same strings. */
void qr_stop_strings_copy(struct qr_stop_strings *to, const struct qr_stop_strings *from);

/* Scans the next piece of the stream. True: a stop string of *length bytes ends at text[*end - 1].
 * The string that completes first wins, among several at the same byte the longest. */
bool qr_stop_strings_scan(struct qr_stop_strings *stops, const char *text, size_t size, size_t *end,
                          uint32_t *length);

/* Length in bytes of the longest tail of the stream that is a prefix of a stop string. */
uint32_t qr_stop_strings_partial(const struct qr_stop_strings *stops);

#endif
