/* SPDX-License-Identifier: Apache-2.0 */
/* node_store.h - memory of a set of expressions: hash-consed nodes within a limit. */
#ifndef QR_GRAMMAR_REGEX_NODE_STORE_H
#define QR_GRAMMAR_REGEX_NODE_STORE_H
#include "grammar/regex/types.h"

/* Finds or adds a node whose flags are computed here. QR_REGEX_NONE after a failure. */
qr_regex qr_regex_intern(struct qr_regex_set *set, const struct qr_regex_node *node);

/* Makes the hash table of nodes, or doubles it. False after a failure. */
bool qr_regex_rehash(struct qr_regex_set *set);

/* Fails the set. Returns QR_REGEX_NONE. */
qr_regex qr_regex_set_fail(struct qr_regex_set *set, quire_status status);

/* Grows an array of the set within its limit. */
bool qr_regex_set_grow(struct qr_regex_set *set, void **p, size_t *capacity, size_t need,
                       size_t elem_size);

#endif
