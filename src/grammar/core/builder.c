/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/core/builder.h"
#include "grammar/core/nodes.h"
#include <string.h>

static bool grow(struct qr_builder *b, void **p, size_t *capacity, size_t need, size_t elem_size)
{
    if (b->status == QUIRE_OK && !qr_grow(b->a, p, capacity, need, elem_size))
        b->status = QUIRE_E_NOMEM;
    return b->status == QUIRE_OK;
}

struct qr_builder *qr_builder_new(struct qr_regex_set *set, const struct quire_allocator *a)
{
    struct qr_builder *b = qr_calloc(a, 1, sizeof *b);
    if (b == NULL)
        return NULL;
    b->set = set;
    b->a = a;
    b->n_nodes = 1; /* node 0 is none */
    if (grow(b, (void **)&b->nodes, &b->nodes_capacity, 64, sizeof *b->nodes))
        b->nodes[0] = (struct qr_builder_node){ .kind = QR_NODE_NONE };
    return b;
}

void qr_builder_free(struct qr_builder *b)
{
    if (b == NULL)
        return;
    const struct quire_allocator *a = b->a;
    qr_free(a, b->nodes, b->nodes_capacity, sizeof *b->nodes);
    qr_free(a, b->children, b->children_capacity, sizeof *b->children);
    qr_free(a, b->loops, b->loops_capacity, sizeof *b->loops);
    qr_free(a, b->members, b->members_capacity, sizeof *b->members);
    qr_free(a, b->lexemes, b->lexemes_capacity, sizeof *b->lexemes);
    qr_free(a, b->lexeme_nodes, b->lexeme_nodes_capacity, sizeof *b->lexeme_nodes);
    qr_free(a, b->lexeme_index, b->lexeme_index_size, sizeof *b->lexeme_index);
    qr_free(a, b, 1, sizeof *b);
}

struct qr_regex_set *qr_builder_regexes(const struct qr_builder *b) { return b->set; }

const qr_regex *qr_builder_lexemes(const struct qr_builder *b, size_t *n)
{
    *n = b->n_lexemes;
    return b->lexemes;
}

void qr_builder_fail(struct qr_builder *b, quire_status status)
{
    if (b->status == QUIRE_OK)
        b->status = status;
}

quire_status qr_builder_status(const struct qr_builder *b)
{
    return b->status != QUIRE_OK ? b->status : qr_regex_set_status(b->set);
}

static qr_node add_node(struct qr_builder *b, const struct qr_builder_node *node)
{
    if (!grow(b, (void **)&b->nodes, &b->nodes_capacity, b->n_nodes + 1, sizeof *node))
        return 0;
    b->nodes[b->n_nodes] = *node;
    return (qr_node)b->n_nodes++;
}

/* ---- Lexemes ---- */

static size_t lexeme_slot(const struct qr_builder *b, qr_regex r)
{
    size_t i = r * 0x9e3779b1u & (b->lexeme_index_size - 1);
    while (b->lexeme_index[i] != 0 && b->lexemes[b->lexeme_index[i] - 1] != r)
        i = (i + 1) & (b->lexeme_index_size - 1);
    return i;
}

static bool rehash_lexemes(struct qr_builder *b)
{
    const size_t size = b->lexeme_index_size ? 2 * b->lexeme_index_size : 64;
    uint32_t *index = qr_calloc(b->a, size, sizeof *index);
    if (index == NULL) {
        b->status = QUIRE_E_NOMEM;
        return false;
    }
    qr_free(b->a, b->lexeme_index, b->lexeme_index_size, sizeof *index);
    b->lexeme_index = index;
    b->lexeme_index_size = size;
    for (size_t i = 0; i < b->n_lexemes; i++)
        index[lexeme_slot(b, b->lexemes[i])] = (uint32_t)i + 1;
    return true;
}

qr_node qr_build_lexeme(struct qr_builder *b, qr_regex r)
{
    if (qr_builder_status(b) != QUIRE_OK ||
        (2 * (b->n_lexemes + 1) > b->lexeme_index_size && !rehash_lexemes(b)))
        return 0;
    const size_t slot = lexeme_slot(b, r);
    if (b->lexeme_index[slot] != 0)
        return b->lexeme_nodes[b->lexeme_index[slot] - 1];
    if (!grow(b, (void **)&b->lexemes, &b->lexemes_capacity, b->n_lexemes + 1,
              sizeof *b->lexemes) ||
        !grow(b, (void **)&b->lexeme_nodes, &b->lexeme_nodes_capacity, b->n_lexemes + 1,
              sizeof *b->lexeme_nodes))
        return 0;
    const uint32_t lexeme = (uint32_t)b->n_lexemes++;
    b->lexemes[lexeme] = r;
    b->lexeme_index[slot] = lexeme + 1;
    b->lexeme_nodes[lexeme] =
        add_node(b, &(struct qr_builder_node){ .kind = QR_NODE_LEXEME, .a = lexeme });
    return b->lexeme_nodes[lexeme];
}

/* ---- Other nodes ---- */

qr_node qr_build_token(struct qr_builder *b, int32_t token)
{
    return add_node(b, &(struct qr_builder_node){ .kind = QR_NODE_TOKEN, .a = (uint32_t)token });
}

static qr_node add_list(struct qr_builder *b, enum qr_node_kind kind, const qr_node *list, size_t n)
{
    if (n == 1)
        return list[0];
    if (!grow(b, (void **)&b->children, &b->children_capacity, b->n_children + n,
              sizeof *b->children))
        return 0;
    if (n > 0)
        memcpy(b->children + b->n_children, list, n * sizeof *list);
    const struct qr_builder_node node = { .kind = (uint8_t)kind,
                                          .children = (uint32_t)b->n_children,
                                          .n_children = (uint32_t)n };
    b->n_children += n;
    return add_node(b, &node);
}

qr_node qr_build_sequence(struct qr_builder *b, const qr_node *list, size_t n)
{
    return add_list(b, QR_NODE_SEQUENCE, list, n);
}

qr_node qr_build_choice(struct qr_builder *b, const qr_node *list, size_t n)
{
    return add_list(b, QR_NODE_CHOICE, list, n);
}

qr_node qr_build_loop(struct qr_builder *b, const struct qr_loop *loop)
{
    if (!grow(b, (void **)&b->loops, &b->loops_capacity, b->n_loops + 1, sizeof *b->loops) ||
        !grow(b, (void **)&b->members, &b->members_capacity, b->n_members + loop->n_members,
              sizeof *b->members))
        return 0;
    const uint32_t number = (uint32_t)b->n_loops++;
    b->loops[number] = (struct qr_builder_loop){ .members = (uint32_t)b->n_members,
                                                 .n_members = (uint32_t)loop->n_members,
                                                 .separator = loop->separator,
                                                 .min = loop->min,
                                                 .max = loop->max,
                                                 .ordered = loop->ordered };
    if (loop->n_members > 0)
        memcpy(b->members + b->n_members, loop->members, loop->n_members * sizeof *loop->members);
    b->n_members += loop->n_members;
    return add_node(b, &(struct qr_builder_node){ .kind = QR_NODE_LOOP, .a = number });
}

qr_node qr_build_repeat(struct qr_builder *b, qr_node node, qr_node separator, uint32_t min,
                        uint32_t max)
{
    const struct qr_loop_member member = { .node = node };
    if (min == 1 && max == 1)
        return node;
    if (min == 0 && max == 1) /* without a rule of its own, so that tail recursion is seen */
        return qr_build_choice(b, (qr_node[]){ node, qr_build_sequence(b, NULL, 0) }, 2);
    return qr_build_loop(
        b,
        &(struct qr_loop){
            .members = &member, .n_members = 1, .separator = separator, .min = min, .max = max });
}

qr_node qr_build_rule(struct qr_builder *b)
{
    return add_node(b, &(struct qr_builder_node){ .kind = QR_NODE_RULE });
}

void qr_build_define(struct qr_builder *b, qr_node rule, qr_node body)
{
    if (b->status == QUIRE_OK)
        b->nodes[rule].a = body;
}

void qr_build_start(struct qr_builder *b, qr_node node) { b->start = node; }
