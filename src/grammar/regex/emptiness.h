/* SPDX-License-Identifier: Apache-2.0 */
/* emptiness.h - whether an expression matches any string. */
#ifndef QR_GRAMMAR_REGEX_EMPTINESS_H
#define QR_GRAMMAR_REGEX_EMPTINESS_H
#include "grammar/regex/types.h"

/* Whether r matches no string. Exact: explores derivatives, at most max_states of them, then
 * QUIRE_E_LIMIT, also when they are so large that the search takes too long. */
quire_status qr_regex_is_none(struct qr_regex_set *set, qr_regex r, uint32_t max_states,
                              bool *is_none);
/* Whether every string of `inner` is one of `outer`: inner & ~outer is empty. */
quire_status qr_regex_contains(struct qr_regex_set *set, qr_regex outer, qr_regex inner,
                               uint32_t max_states, bool *contains);

/* qr_regex_is_none() with the representatives of byte classes that contain those of r, e.g. of an
 * expression of which r is a derivative: they need not be found again. */
quire_status qr_regex_is_none_among(struct qr_regex_set *set, qr_regex r,
                                    const uint8_t *representatives, uint32_t n_classes,
                                    uint32_t max_states, bool *is_none) QUIRE_MUST_CHECK;

#endif
