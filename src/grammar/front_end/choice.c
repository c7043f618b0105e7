/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/front_end/choice.h"
#include "base/error.h"
#include "json/parse.h"
#include <string.h>

/* A choice of the strings of an array as one lexeme. */
static quire_status build_strings(struct qr_front_end *f, const struct qr_json *root, qr_node *out,
                                  struct quire_error *err)
{
    struct qr_regex_set *set = qr_builder_regexes(f->builder);
    const size_t n = qr_json_size(root);
    size_t i = 0;
    if (!qr_json_is_array(root) || n == 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "the choice must be a JSON array of at least one string");
    qr_regex *list = qr_alloc(f->allocator, n, sizeof *list);
    if (list == NULL)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the choice");
    for (struct qr_json_iter it = qr_json_iterate(root); qr_json_next(&it); i++) {
        const char *text = qr_json_string(it.value);
        if (text == NULL)
            break;
        list[i] = qr_regex_literal(set, text, strlen(text));
    }
    if (i == n)
        *out = qr_build_lexeme(f->builder, qr_regex_or(set, list, n));
    qr_free(f->allocator, list, n, sizeof *list);
    return i == n ? QUIRE_OK
                  : qr_fail(err, QUIRE_E_INVALID_ARG, "element %zu of the choice is no string", i);
}

quire_status qr_choice_build(struct qr_front_end *f, const char *text, size_t size, qr_node *out,
                             struct quire_error *err)
{
    struct qr_json_error e;
    struct qr_json *root = qr_json_parse(text, size, 0, f->allocator, &e);
    if (root == NULL)
        return qr_fail(err, e.code == QUIRE_E_FORMAT ? QUIRE_E_INVALID_ARG : e.code,
                       "the choice is no JSON, byte %zu: %s", e.offset, e.text);
    const quire_status status = build_strings(f, root, out, err);
    qr_json_free(root);
    return status;
}
