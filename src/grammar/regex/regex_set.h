/* SPDX-License-Identifier: Apache-2.0 */
/* regex_set.h - regular expressions over bytes with intersection and complement, hash-consed, and
 * their derivatives (Brzozowski 1964; Owens, Reppy, Turon 2009). A set is not thread-safe. */
#ifndef QR_GRAMMAR_REGEX_REGEX_SET_H
#define QR_GRAMMAR_REGEX_REGEX_SET_H
#include "grammar/regex/derivative.h"
#include "grammar/regex/emptiness.h"
#include "grammar/regex/regex_choice.h"
#include "grammar/regex/types.h"

/* NULL = no memory. */
struct qr_regex_set *qr_regex_set_new(const struct quire_allocator *a);
void qr_regex_set_free(struct qr_regex_set *set);

/* The first failure of any constructor since the set was made: QUIRE_OK, QUIRE_E_NOMEM or, of
 * expressions that are nested too deeply or too many, QUIRE_E_LIMIT. Constructors return
 * QR_REGEX_NONE from then on, so that callers check once, after all of them. */
quire_status qr_regex_set_status(const struct qr_regex_set *set);

qr_regex qr_regex_bytes(struct qr_regex_set *set, const struct qr_byte_set *bytes);
qr_regex qr_regex_literal(struct qr_regex_set *set, const char *bytes, size_t size);
qr_regex qr_regex_concat(struct qr_regex_set *set, const qr_regex *list, size_t n);
/* All strings of bytes that r does not match. */
qr_regex qr_regex_not(struct qr_regex_set *set, qr_regex r);
/* min .. max repetitions; max QR_REGEX_UNBOUNDED. Repetitions are counted, not expanded. */
qr_regex qr_regex_repeat(struct qr_regex_set *set, qr_regex r, uint32_t min, uint32_t max);
/* Decimal digits, with at most `scale` digits after a point, whose value is a multiple of
 * divisor / 10^scale: e.g. divisor 25, scale 2 for multiples of 0.25. Digits only: no sign, no
 * exponent; leading zeros are accepted. "1.50" is a multiple of 0.5 (further zeros are accepted).
 * 0 < divisor < 2^31. */
qr_regex qr_regex_multiple_of(struct qr_regex_set *set, uint32_t divisor, uint32_t scale);

/* Whether r matches the empty string. */
bool qr_regex_nullable(const struct qr_regex_set *set, qr_regex r);

#endif
