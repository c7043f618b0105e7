/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/regex/slice.h"
#include <string.h>

/* Derivatives that a search for dead ends looks at before it takes a state for alive. */
enum { MAX_SEARCH = 1000 };

/* One byte of each class that the strings or class_of tell apart. */
static bool choose_bytes(struct qr_regex_set *set, const uint8_t class_of[256], struct qr_slice *s)
{
    uint8_t own[256], representatives[256];
    if (qr_regex_byte_classes(set, &s->inner, 1, own, representatives) == 0)
        return false;
    for (unsigned b = 0; b < 256; b++) {
        unsigned k = 0;
        while (k < s->n_bytes &&
               (own[s->bytes[k]] != own[b] || class_of[s->bytes[k]] != class_of[b]))
            k++;
        if (k == s->n_bytes)
            s->bytes[s->n_bytes++] = (uint8_t)b;
    }
    return true;
}

/* Transitions of the last state. states: the expressions of all. False after a failure. */
static bool expand(struct qr_regex_set *set, struct qr_slice *s, qr_regex *states, uint32_t at)
{
    for (uint32_t c = 0; c < s->n_bytes && s->n_states > 0; c++) {
        const qr_regex d = qr_regex_derivative(set, states[at], s->bytes[c]);
        bool none = false;
        if (qr_regex_is_none(set, d, MAX_SEARCH, &none) != QUIRE_OK &&
            qr_regex_set_status(set) != QUIRE_OK)
            return false;
        uint32_t k = 0;
        while (k < s->n_states && states[k] != d && !none)
            k++;
        if (!none && k == s->n_states) {
            states[k] = d;
            s->n_states = k < QR_SLICE_MAX_STATES ? k + 1 : 0;
        }
        s->next[at * s->n_bytes + c] = (uint16_t)(none ? 0 : k + 1);
    }
    return true;
}

quire_status qr_slice_build(struct qr_regex_set *set, qr_regex inner, const uint8_t class_of[256],
                            struct qr_slice *s)
{
    *s = (struct qr_slice){ .inner = inner, .n_states = 1 };
    const size_t n = QR_SLICE_MAX_STATES + 1;
    qr_regex *states = qr_alloc(set->a, n, sizeof *states);
    bool ok = states != NULL && choose_bytes(set, class_of, s);
    for (uint32_t i = 0; i < s->n_states && ok; i++) {
        states[0] = inner;
        ok = qr_grow(set->a, (void **)&s->next, &s->next_capacity, (i + 1) * s->n_bytes,
                     sizeof *s->next) &&
             expand(set, s, states, i);
    }
    qr_free(set->a, states, n, sizeof *states);
    if (ok)
        return QUIRE_OK;
    qr_slice_free(set, s);
    return set->status != QUIRE_OK ? set->status : QUIRE_E_NOMEM;
}

void qr_slice_free(struct qr_regex_set *set, struct qr_slice *s)
{
    qr_free(set->a, s->next, s->next_capacity, sizeof *s->next);
    s->next = NULL;
}
