/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer_json_pair.c - template of tokenizer.json for pairs of texts. */
#include "tokenizer/tokenizer_json_pair.h"
#include "format/json.h"
#include <string.h>

/* Tokens before, between and after the texts. */
enum { BEFORE, BETWEEN, AFTER, N_PLACES };
struct pair {
    int64_t ids[N_PLACES][QR_MAX_AFFIX];
    uint32_t n[N_PLACES], type; /* type: of the second text and the tokens after it */
    int place;
};

static bool add_id(struct pair *p, const struct qr_json *id)
{
    uint32_t value;
    if (p->n[p->place] == QR_MAX_AFFIX || !qr_json_is_u32(id, &value))
        return false;
    p->ids[p->place][p->n[p->place]++] = value;
    return true;
}

/* An item {"Sequence": {"id": "A", "type_id": 0}}: the place moves behind the text. */
static bool add_text(struct pair *p, const struct qr_json *text, uint32_t type)
{
    const char *name = qr_json_string(qr_json_get(text, "id"));
    if (p->place == AFTER || !name || strcmp(name, p->place == BEFORE ? "A" : "B") != 0 || type > 1)
        return false;
    p->type = type;
    return p->place++ == BETWEEN || type == 0;
}

/* An item {"SpecialToken": {"id": "[SEP]", "type_id": 0}}. */
static bool add_token(struct pair *p, const struct qr_json *token, uint32_t type,
                      const struct qr_json *tokens)
{
    const char *name = qr_json_string(qr_json_get(token, "id"));
    const struct qr_json *ids = qr_json_get(name ? qr_json_get(tokens, name) : NULL, "ids");
    if (!qr_json_is_array(ids) || type != (p->place == AFTER ? p->type : 0))
        return false;
    for (struct qr_json_iter i = qr_json_iterate(ids); qr_json_next(&i);)
        if (!add_id(p, i.value))
            return false;
    return true;
}

static bool read_template(struct pair *p, const struct qr_json *step)
{
    const struct qr_json *items = qr_json_get(step, "pair"),
                         *tokens = qr_json_get(step, "special_tokens");
    if (!qr_json_is_array(items))
        return false;
    for (struct qr_json_iter i = qr_json_iterate(items); qr_json_next(&i);) {
        const struct qr_json *text = qr_json_get(i.value, "Sequence"),
                             *token = qr_json_get(i.value, "SpecialToken");
        uint32_t type = 0;
        (void)qr_json_is_u32(qr_json_get(text ? text : token, "type_id"), &type);
        if (text ? !add_text(p, text, type) : !add_token(p, token, type, tokens))
            return false;
    }
    return p->place == AFTER;
}

/* [CLS] A [SEP] B [SEP] with types, or <s> A </s></s> B </s> without. */
static bool read_fixed(struct pair *p, const struct qr_json *step, bool bert)
{
    const struct qr_json *sep = qr_json_at(qr_json_get(step, "sep"), 1);
    p->type = bert;
    /* GCOVR_EXCL_BR_LINE: the affixes of single texts have been read from these ids */
    if (!add_id(p, qr_json_at(qr_json_get(step, "cls"), 1)))
        return false;
    p->place = BETWEEN;
    if (!add_id(p, sep) || (!bert && !add_id(p, sep))) /* GCOVR_EXCL_BR_LINE: as above */
        return false;
    p->place = AFTER;
    return add_id(p, sep);
}

static bool same_ids(const int64_t *a, uint32_t n_a, const int64_t *b, uint32_t n_b)
{
    return n_a == n_b && memcmp(a, b, n_a * sizeof *a) == 0;
}

static void read_step(struct qr_vocab_spec *spec, const struct qr_json *step)
{
    const char *type = qr_json_string(qr_json_get(step, "type"));
    struct pair p = { .place = BEFORE };
    if (!type)
        return;
    const bool bert = strcmp(type, "BertProcessing") == 0;
    const bool read = bert || strcmp(type, "RobertaProcessing") == 0 ? read_fixed(&p, step, bert)
                      : strcmp(type, "TemplateProcessing") == 0      ? read_template(&p, step)
                                                                     : false;
    /* GCOVR_EXCL_BR_LINE: read_fixed() does not fail after the affixes of single texts were read */
    if (!read || !same_ids(p.ids[BEFORE], p.n[BEFORE], spec->prefix_ids, spec->n_prefix_ids) ||
        !same_ids(p.ids[AFTER], p.n[AFTER], spec->suffix_ids, spec->n_suffix_ids))
        return;
    memcpy(spec->pair_ids, p.ids[BETWEEN], sizeof spec->pair_ids);
    spec->n_pair_ids = p.n[BETWEEN];
    spec->pair_type = (uint8_t)p.type;
    spec->has_pair = true;
}

void qr_tokenizer_json_read_pair(struct qr_vocab_spec *spec, const struct qr_json *root)
{
    const struct qr_json *step = qr_json_get(root, "post_processor");
    const char *type = qr_json_string(qr_json_get(step, "type"));
    if (!type || strcmp(type, "Sequence") != 0) {
        read_step(spec, step);
        return;
    }
    const struct qr_json *list = qr_json_get(step, "processors");
    for (struct qr_json_iter i = qr_json_iterate(list); qr_json_next(&i);)
        read_step(spec, i.value);
}
