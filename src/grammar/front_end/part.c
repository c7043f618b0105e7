/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/front_end/part.h"
#include "base/error.h"

struct qr_part qr_part_regex(qr_regex r)
{
    return (struct qr_part){ .is_regex = true, .regex = r };
}

struct qr_part qr_part_node(qr_node n) { return (struct qr_part){ .node = n }; }

qr_node qr_part_to_node(struct qr_builder *b, struct qr_part p)
{
    return p.is_regex ? qr_build_lexeme(b, p.regex) : p.node;
}

struct qr_part qr_part_repeat(struct qr_builder *b, struct qr_part p, uint32_t min, uint32_t max)
{
    if (p.is_regex)
        return qr_part_regex(qr_regex_repeat(qr_builder_regexes(b), p.regex, min, max));
    return qr_part_node(qr_build_repeat(b, p.node, 0, min, max));
}

quire_status qr_parts_add(struct qr_parts *p, struct qr_part piece, struct quire_error *err)
{
    if (!qr_grow(p->f->allocator, (void **)&p->list, &p->capacity, p->n + 1, sizeof *p->list))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the grammar");
    p->list[p->n++] = piece;
    return QUIRE_OK;
}

void qr_parts_free(struct qr_parts *p)
{
    qr_free(p->f->allocator, p->list, p->capacity, sizeof *p->list);
    *p = (struct qr_parts){ .f = p->f };
}

static bool are_regexes(const struct qr_parts *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (!p->list[i].is_regex)
            return false;
    return true;
}

/* A sequence or choice of all parts: one expression, or nodes. */
static struct qr_part join(const struct qr_parts *p, bool sequence)
{
    struct qr_builder *b = p->f->builder;
    struct qr_regex_set *set = qr_builder_regexes(b);
    const bool regex = are_regexes(p);
    uint32_t *ids = qr_alloc(p->f->allocator, p->n + 1, sizeof *ids);
    struct qr_part out = qr_part_regex(QR_REGEX_NONE);
    if (ids == NULL) {
        qr_builder_fail(b, QUIRE_E_NOMEM);
        return out;
    }
    for (size_t i = 0; i < p->n; i++)
        ids[i] = regex ? p->list[i].regex : qr_part_to_node(b, p->list[i]);
    if (regex)
        out =
            qr_part_regex(sequence ? qr_regex_concat(set, ids, p->n) : qr_regex_or(set, ids, p->n));
    else
        out = qr_part_node(sequence ? qr_build_sequence(b, ids, p->n)
                                    : qr_build_choice(b, ids, p->n));
    qr_free(p->f->allocator, ids, p->n + 1, sizeof *ids);
    return out;
}

struct qr_part qr_parts_sequence(const struct qr_parts *p) { return join(p, true); }
struct qr_part qr_parts_choice(const struct qr_parts *p) { return join(p, false); }
