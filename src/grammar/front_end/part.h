/* SPDX-License-Identifier: Apache-2.0 */
/* part.h - parts of a grammar that stay expressions as long as they can: what is regular becomes
 * one lexeme, which masks follow much faster than several. */
#ifndef QR_GRAMMAR_FRONT_END_PART_H
#define QR_GRAMMAR_FRONT_END_PART_H
#include "grammar/core/front_end.h"

struct qr_part {
    bool is_regex;
    qr_regex regex;
    qr_node node;
};

/* A list of pieces under construction. */
struct qr_parts {
    struct qr_front_end *f;
    struct qr_part *list;
    size_t n, capacity;
};

struct qr_part qr_part_regex(qr_regex r);
struct qr_part qr_part_node(qr_node n);
qr_node qr_part_to_node(struct qr_builder *b, struct qr_part p);
struct qr_part qr_part_repeat(struct qr_builder *b, struct qr_part p, uint32_t min, uint32_t max);

quire_status qr_parts_add(struct qr_parts *p, struct qr_part piece,
                          struct quire_error *err) QUIRE_MUST_CHECK;
struct qr_part qr_parts_sequence(const struct qr_parts *p);
struct qr_part qr_parts_choice(const struct qr_parts *p);
void qr_parts_free(struct qr_parts *p);

#endif
