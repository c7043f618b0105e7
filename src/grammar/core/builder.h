/* SPDX-License-Identifier: Apache-2.0 */
/* builder.h - a context-free grammar over lexemes, as the front ends (JSON Schema, GBNF, Lark,
 * structural tags) build it. */
#ifndef QR_GRAMMAR_CORE_BUILDER_H
#define QR_GRAMMAR_CORE_BUILDER_H
#include "grammar/regex/regex_set.h"

/* A node of the grammar; 0 = none. Nodes may be used in several places. */
typedef uint32_t qr_node;

struct qr_builder;

/* set  the expressions of the lexemes; borrowed */
struct qr_builder *qr_builder_new(struct qr_regex_set *set, const struct quire_allocator *a);
void qr_builder_free(struct qr_builder *b);
struct qr_regex_set *qr_builder_regexes(const struct qr_builder *b);

/* The expressions of the lexemes by their numbers, [*n]; until the next call that adds one. */
const qr_regex *qr_builder_lexemes(const struct qr_builder *b, size_t *n);

/* The first failure of the builder or its expressions; as qr_regex_set_status. Nodes are 0 from
 * then on. */
quire_status qr_builder_status(const struct qr_builder *b);

/* Records a failure of a front end, which has no node to return: QUIRE_E_NOMEM or QUIRE_E_LIMIT. */
void qr_builder_fail(struct qr_builder *b, quire_status status);

/* A lexeme: any string that r matches, the empty one included. Matching is exact: where a lexeme
 * may end or go on, both are followed, so that a text is accepted if and only if the grammar
 * derives it for some division into lexemes. */
qr_node qr_build_lexeme(struct qr_builder *b, qr_regex r);
/* One token of the vocabulary by its id: a control token, which has no text. */
qr_node qr_build_token(struct qr_builder *b, int32_t token);
qr_node qr_build_sequence(struct qr_builder *b, const qr_node *list, size_t n); /* n 0: empty */
qr_node qr_build_choice(struct qr_builder *b, const qr_node *list, size_t n);   /* n > 0 */
/* min .. max repetitions, max QR_REGEX_UNBOUNDED, with `separator` between two; 0 = none. Counted,
 * not expanded. */
qr_node qr_build_repeat(struct qr_builder *b, qr_node node, qr_node separator, uint32_t min,
                        uint32_t max);

/* One kind of member of a loop. */
struct qr_loop_member {
    qr_node node;
    bool once;     /* at most once in the loop */
    bool required; /* the loop does not end before it occurred; only with once */
};
/* Members in any order (ordered false) or with the `once` ones in the order of the list and the
 * others after them (ordered true), in all min .. max of them, with `separator` between two; 0 =
 * none. The members of a JSON object: `node` is key, colon and value. */
struct qr_loop {
    const struct qr_loop_member *members;
    size_t n_members;
    qr_node separator;
    uint32_t min, max; /* max QR_REGEX_UNBOUNDED */
    bool ordered;
};
qr_node qr_build_loop(struct qr_builder *b, const struct qr_loop *loop);

/* A rule that can be used before it is defined, for recursion. */
qr_node qr_build_rule(struct qr_builder *b);
void qr_build_define(struct qr_builder *b, qr_node rule, qr_node body);

/* The start of the grammar. */
void qr_build_start(struct qr_builder *b, qr_node node);

#endif
