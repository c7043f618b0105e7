/* SPDX-License-Identifier: Apache-2.0 */
/* param.h - what a loop has seen so far: the parameter of its items. Interned, so that equal
 * contents have equal ids. */
#ifndef QR_GRAMMAR_CORE_PARAM_H
#define QR_GRAMMAR_CORE_PARAM_H
#include "grammar/core/network.h"

struct qr_params {
    const struct quire_allocator *a;
    /* contents of parameter i: words[offsets[i] .. offsets[i + 1]): number of members, position in
     * the list of an ordered loop, then a bit per once member of an unordered one */
    uint32_t *words;
    size_t n_words, words_capacity;
    uint32_t *offsets; /* [n + 1] */
    size_t n, offsets_capacity;
    uint32_t *index; /* hash table: id + 1 */
    size_t index_size;
};

/* Parameter 0, of a loop that has seen nothing and of items of other rules. */
enum { QR_PARAM_START = 0 };

quire_status qr_params_init(struct qr_params *p, const struct quire_allocator *a);
void qr_params_free(struct qr_params *p);

/* Whether the loop may end. */
bool qr_param_may_end(const struct qr_params *p, const struct qr_network *net,
                      const struct qr_net_loop *loop, uint32_t param);
/* Whether member i may come next, and the loop still end later. */
bool qr_param_may_pick(const struct qr_params *p, const struct qr_network *net,
                       const struct qr_net_loop *loop, uint32_t param, uint32_t i);
/* Number of members so far, exact as long as it is 0. */
uint32_t qr_param_count(const struct qr_params *p, uint32_t param);
/* The parameter after member i. */
quire_status qr_param_after(struct qr_params *p, const struct qr_network *net,
                            const struct qr_net_loop *loop, uint32_t param, uint32_t i,
                            uint32_t *out);

#endif
