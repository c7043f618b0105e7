/* SPDX-License-Identifier: Apache-2.0 */
/* emit_array.c - nodes of arrays. */
#include "grammar/json_schema/emit_array.h"
#include "grammar/json_schema/pieces.h"

/* White space and a text, as a lexeme. */
static qr_node bracket(struct qr_emitter *e, const char *text)
{
    struct qr_pieces p = { 0 };
    qr_pieces_regex(e->s, &p, e->space);
    qr_pieces_text(e->s, &p, text);
    return qr_pieces_finish(e->s, &p);
}

static qr_node optional(struct qr_emitter *e, qr_node node)
{
    struct qr_builder *b = e->s->f->builder;
    return qr_build_choice(b, (qr_node[]){ qr_build_sequence(b, NULL, 0), node }, 2);
}

/* Items behind the prefix with commas between them: min .. max of them. */
static qr_node tail(struct qr_emitter *e, const struct qr_array_shape *a, uint32_t min,
                    uint32_t max, qr_node comma)
{
    struct qr_schema *s = e->s;
    struct qr_builder *b = s->f->builder;
    const bool rest = qr_is_productive(s, e->reach, a->rest);
    if (!a->n_once)
        return qr_build_repeat(b, rest ? qr_emit_value(e, a->rest) : 0, comma, min, max);
    struct qr_loop_member *members = qr_schema_alloc(s, a->n_once + 1, sizeof *members);
    uint32_t n = 0;
    if (!members)
        return 0;
    for (uint32_t i = 0; i < a->n_once; i++)
        if (qr_is_productive(s, e->reach, a->once[i]))
            members[n++] =
                (struct qr_loop_member){ qr_emit_value(e, a->once[i]), true, i < a->n_required };
    if (rest)
        members[n++] = (struct qr_loop_member){ qr_emit_value(e, a->rest), false, false };
    const struct qr_loop loop = { members, n, comma, min, max, false };
    return qr_build_loop(b, &loop);
}

/* The items, from the last position to the first: what may follow item i. */
static qr_node items(struct qr_emitter *e, const struct qr_array_shape *a, uint32_t max)
{
    struct qr_builder *b = e->s->f->builder;
    const qr_node comma = bracket(e, ",");
    uint32_t i = a->n_prefix < max ? a->n_prefix : max;
    qr_node node = 0; /* 0 = nothing follows */
    if (max > a->n_prefix) {
        const uint32_t n = a->n_prefix, min = a->min > n ? a->min - n : 0;
        node = tail(e, a, min ? min : n != 0, max == QR_UNLIMITED ? max : max - n, comma);
        if (n)
            node = qr_build_sequence(b, (qr_node[]){ comma, node }, 2);
        if (n && !min && !a->n_required)
            node = optional(e, node);
    }
    while (i-- > 0) {
        const qr_node list[3] = { comma, qr_emit_value(e, a->prefix[i]), node };
        node = qr_build_sequence(b, list + !i, (node ? 3 : 2) - !i);
        if (i >= a->min && !a->n_required)
            node = optional(e, node);
    }
    return node;
}

qr_node qr_emit_arrays(struct qr_emitter *e, const struct qr_reached *entry)
{
    struct qr_schema *s = e->s;
    const struct qr_shape *shape = &entry->shape;
    struct qr_list options = { 0 };
    for (uint32_t i = 0; i < shape->n_arrays; i++) {
        const struct qr_array_shape *a = &shape->arrays[i];
        if (!qr_array_is_productive(s, e->reach, a))
            continue;
        const uint32_t max = qr_array_max(s, e->reach, a);
        const qr_node node = max ? items(e, a, max) : qr_build_sequence(s->f->builder, NULL, 0);
        if (!qr_list_push(s, &options, &node, sizeof node) || !qr_schema_check(s))
            return 0;
    }
    if (!options.n)
        return 0;
    const qr_node list[3] = { bracket(e, "["),
                              qr_build_choice(s->f->builder, options.items, options.n),
                              bracket(e, "]") };
    return qr_build_sequence(s->f->builder, list, 3);
}
