/* SPDX-License-Identifier: Apache-2.0 */
/* front_end.h - the arguments that all front ends of the grammar engine take. A front end turns a
 * text of UTF-8 into a node of the builder:
 *     quire_status qr_NAME_build(struct qr_front_end *f, const char *text, size_t size,
 *                                qr_node *out, struct quire_error *err);
 * with the errors of quire_grammar_compile(). */
#ifndef QR_GRAMMAR_CORE_FRONT_END_H
#define QR_GRAMMAR_CORE_FRONT_END_H
#include "grammar/core/builder.h"
#include <quire/grammar.h>

struct qr_front_end {
    struct qr_builder *builder;
    const struct quire_tokenizer *tok; /* control tokens by name; NULL: none can be named */
    const struct quire_allocator *allocator;
    uint32_t flags;  /* QUIRE_GRAMMAR_COMPACT, QUIRE_GRAMMAR_ORDERED */
    double deadline; /* of qr_clock_thread(): QUIRE_E_LIMIT after it */
};

#endif
