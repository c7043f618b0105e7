/* SPDX-License-Identifier: Apache-2.0 */
/* suffix_automaton.h - online suffix automaton over the tokens of one request. */
#ifndef QR_ENGINE_SPECULATION_SUFFIX_AUTOMATON_H
#define QR_ENGINE_SPECULATION_SUFFIX_AUTOMATON_H
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limit of capacity; keeps the numbers of states, transitions and slots within 32 bits. */
enum { QR_SUFFIX_MAX_TOKENS = 1 << 29 };

/* A state stands for the substrings that end at the same positions (Blumer et al. 1985). */
struct qr_suffix_state {
    uint32_t length;      /* of the longest of these substrings, in tokens */
    uint32_t link;        /* state of its longest suffix that ends at further positions */
    uint32_t end;         /* tokens before the end of its first, or a later, occurrence */
    uint32_t transitions; /* head of the list of its transitions: number + 1; 0 = none */
};

struct qr_suffix_transition {
    uint32_t from, to; /* states */
    int32_t token;
    uint32_t next; /* of the same state: number + 1; 0 = none */
};

/* n tokens make at most 2n states and 3n transitions, together with the slots 104 bytes per token.
 * Transitions are never removed; `slots` is an open-addressing hash table over (state, token), at
 * most half full. */
struct qr_suffix_automaton {
    const struct quire_allocator *allocator;
    void *memory; /* owns the three arrays */
    struct qr_suffix_state *states;
    struct qr_suffix_transition *transitions;
    uint32_t *slots; /* number of a transition + 1; 0 = free */
    uint32_t capacity, n_tokens, n_states, n_transitions, n_slots;
    uint32_t last;      /* state of the whole sequence */
    uint32_t match_end; /* of qr_suffix_automaton_match() */
    uint64_t key;       /* of the hash */
    uint64_t n_probes;  /* slots read so far, a measure of the work */
};

/* Exact size of the memory of an automaton in bytes. False above QR_SUFFIX_MAX_TOKENS or when
 * size_t is too small. */
bool qr_suffix_automaton_bytes(uint32_t capacity, size_t *bytes);

/* Reserves memory for `capacity` tokens, which may be 0. `key` is a number that the author of the
 * tokens cannot know: with it one cannot construct tokens that collide. QUIRE_E_LIMIT above
 * QR_SUFFIX_MAX_TOKENS, QUIRE_E_NOMEM; on failure there is nothing to free. */
quire_status qr_suffix_automaton_init(struct qr_suffix_automaton *a, uint32_t capacity,
                                      uint64_t key, const struct quire_allocator *allocator,
                                      struct quire_error *err);
void qr_suffix_automaton_free(struct qr_suffix_automaton *a); /* safe on zeroes and twice */

/* Appends a token, any int32. Amortized O(1), no allocation. False when `capacity` tokens are in
 * the sequence; then nothing changes. */
bool qr_suffix_automaton_append(struct qr_suffix_automaton *a, int32_t token);

/* The longest suffix of the sequence that also ends at an earlier position; the two may overlap. Of
 * several earlier occurrences it is nearly always the latest. */
struct qr_suffix_match {
    uint32_t length; /* tokens; 0 = the last token occurs once */
    uint32_t end;    /* tokens before the end of the earlier occurrence, which is at most
                      * n_tokens - 1: the number of the token that followed it */
};

/* Constant time. */
struct qr_suffix_match qr_suffix_automaton_match(const struct qr_suffix_automaton *a);

#endif
