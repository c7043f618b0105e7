/* SPDX-License-Identifier: Apache-2.0 */
/* slice.h - deterministic automaton of the strings of a slice of the vocabulary, built at once. */
#ifndef QR_GRAMMAR_REGEX_SLICE_H
#define QR_GRAMMAR_REGEX_SLICE_H
#include "grammar/regex/regex_set.h"

enum { QR_SLICE_MAX_STATES = 1024 };

struct qr_slice {
    qr_regex inner;       /* the strings */
    uint32_t n_states;    /* without the dead one; 0: more than QR_SLICE_MAX_STATES */
    uint32_t n_bytes;     /* bytes that represent all others, here and in the given classes */
    uint8_t bytes[256];   /* [n_bytes] */
    uint16_t *next;       /* [n_states][n_bytes] state + 1; 0: no string goes on so */
    size_t next_capacity; /* elements */
};

/* class_of  classes of bytes that must be told apart too
 * QUIRE_E_NOMEM, or the failure of the set; *slice is freed then. */
quire_status qr_slice_build(struct qr_regex_set *set, qr_regex inner, const uint8_t class_of[256],
                            struct qr_slice *slice) QUIRE_MUST_CHECK;
void qr_slice_free(struct qr_regex_set *set, struct qr_slice *slice);

#endif
