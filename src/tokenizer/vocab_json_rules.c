/* SPDX-License-Identifier: Apache-2.0 */
/* vocab_json_rules.c - what tokenizer.json says besides the model: normalizer, pre-tokenizer,
 * ends. */
#include "base/error.h"
#include "format/json.h"
#include "tokenizer/pretok.h"
#include "tokenizer/impl.h"
#include "tokenizer/vocab_hf.h"
#include <string.h>

#define FILE_NAME "tokenizer.json"

/* Nothing here is approximated: a step that this file does not know is an error that names it. */

struct rules {
    struct qr_vocab_spec *spec;
    struct quire_error *err;
    bool marks_spaces; /* a normalizer writes spaces as U+2581 */
    bool byte_level, metaspace, bert_normalizer, bert_pre;
};

static quire_status unsupported(const struct rules *r, const char *part, const char *what)
{
    return qr_fail(r->err, QUIRE_E_UNSUPPORTED, FILE_NAME ": %s %.120s is not supported", part,
                   what);
}

static quire_status get_str(const struct rules *r, const json_t *obj, const char *key,
                            const char **out)
{
    enum qr_json_state state;
    return qr_json_str(obj, FILE_NAME, key, out, &state, r->err);
}

static quire_status get_bool(const struct rules *r, const json_t *obj, const char *key, bool *out)
{
    enum qr_json_state state;
    return qr_json_bool(obj, FILE_NAME, key, out, &state, r->err);
}

typedef quire_status (*step_fn)(struct rules *r, const json_t *step, const char *type);

/* Calls fn for a step, or for each member of a Sequence of them. Nesting is bounded by the
 * parser. */
static quire_status for_each_step(struct rules *r, const json_t *step, const char *part,
                                  const char *members, step_fn fn)
{
    const char *type = NULL;
    if (!step || json_is_null(step))
        return QUIRE_OK;
    if (!json_is_object(step))
        return qr_fail(r->err, QUIRE_E_FORMAT, FILE_NAME ": %s is not an object", part);
    QR_TRY(get_str(r, step, "type", &type));
    if (!type)
        return qr_fail(r->err, QUIRE_E_FORMAT, FILE_NAME ": %s has no type", part);
    if (strcmp(type, "Sequence") != 0)
        return fn(r, step, type);
    const json_t *list = json_object_get(step, members);
    if (!json_is_array(list))
        return qr_fail(r->err, QUIRE_E_FORMAT, FILE_NAME ": %s.%s is not an array", part, members);
    for (size_t i = 0; i < json_array_size(list); i++)
        QR_TRY(for_each_step(r, json_array_get(list, i), part, members, fn));
    return QUIRE_OK;
}

static quire_status bert_normalizer(struct rules *r, const json_t *step)
{
    struct qr_vocab_spec *spec = r->spec;
    spec->clean_text = spec->space_cjk = spec->lowercase = true;
    QR_TRY(get_bool(r, step, "clean_text", &spec->clean_text));
    QR_TRY(get_bool(r, step, "handle_chinese_chars", &spec->space_cjk));
    QR_TRY(get_bool(r, step, "lowercase", &spec->lowercase));
    spec->strip_accents = spec->lowercase; /* what null means */
    r->bert_normalizer = true;
    return get_bool(r, step, "strip_accents", &spec->strip_accents);
}

static quire_status on_normalizer(struct rules *r, const json_t *step, const char *type)
{
    if (strcmp(type, "NFC") == 0) {
        r->spec->nfc = true;
        return QUIRE_OK;
    }
    if (strcmp(type, "BertNormalizer") == 0)
        return bert_normalizer(r, step);
    const char *mark = NULL, *from = NULL;
    if (strcmp(type, "Prepend") == 0) {
        QR_TRY(get_str(r, step, "prepend", &mark));
        if (mark && strcmp(mark, QR_SPACE_MARK) == 0) {
            r->spec->prefix = QR_PREFIX_ALWAYS;
            return QUIRE_OK;
        }
    }
    if (strcmp(type, "Replace") == 0) {
        QR_TRY(get_str(r, step, "content", &mark));
        from = json_string_value(json_object_get(json_object_get(step, "pattern"), "String"));
        if (mark && from && strcmp(from, " ") == 0 && strcmp(mark, QR_SPACE_MARK) == 0) {
            r->marks_spaces = true;
            return QUIRE_OK;
        }
    }
    return unsupported(r, "normalizer", type);
}

static quire_status add_stage(struct rules *r, int stage)
{
    if (r->byte_level) /* it would see the letters that bytes are written with */
        return unsupported(r, "pre_tokenizer", "with a step behind ByteLevel");
    /* "$" of the original is the end of a line, ours that of the piece */
    const bool lines = r->spec->n_stages && r->spec->stages[0] == QR_STAGE_NEWLINE;
    if (stage == QR_STAGE_TRAILING_SPACE && !lines)
        return unsupported(r, "pre_tokenizer pattern \\s+$", "without a split into lines");
    if (r->spec->n_stages == QR_MAX_STAGES)
        return qr_fail(r->err, QUIRE_E_LIMIT, FILE_NAME ": pre_tokenizer has more than %d steps",
                       QR_MAX_STAGES);
    r->spec->stages[r->spec->n_stages++] = (uint8_t)stage;
    return QUIRE_OK;
}

static quire_status byte_level(struct rules *r, const json_t *step)
{
    bool prefix = true, regex = true;
    QR_TRY(get_bool(r, step, "add_prefix_space", &prefix));
    QR_TRY(get_bool(r, step, "use_regex", &regex));
    if (prefix && r->spec->n_stages)
        return unsupported(r, "pre_tokenizer",
                           "ByteLevel with add_prefix_space behind another step");
    if (prefix)
        r->spec->prefix = QR_PREFIX_UNLESS_SPACE;
    if (regex)
        QR_TRY(add_stage(r, QR_STAGE_GPT2));
    else if (r->byte_level)
        return unsupported(r, "pre_tokenizer", "with ByteLevel twice");
    r->byte_level = true;
    return QUIRE_OK;
}

/* Patterns that leave nothing between their matches: there, dropping the rest changes nothing. */
static bool covers_everything(int stage)
{
    return stage >= QR_STAGE_GPT2 && stage <= QR_STAGE_GPT4O;
}

static quire_status split(struct rules *r, const json_t *step)
{
    const json_t *pattern = json_object_get(step, "pattern");
    const json_t *regex = json_object_get(pattern, "Regex");
    const char *string = json_string_value(json_object_get(pattern, "String")), *behavior = "";
    bool invert = false;
    QR_TRY(get_str(r, step, "behavior", &behavior));
    QR_TRY(get_bool(r, step, "invert", &invert));
    /* Gemma: there are no spaces left to split at */
    if (string && strcmp(string, " ") == 0 && r->marks_spaces)
        return QUIRE_OK;
    if (!json_is_string(regex))
        return unsupported(r, "pre_tokenizer Split at", string ? string : "nothing");
    const int stage = qr_pretok_stage_by_regex(json_string_value(regex), json_string_length(regex));
    if (stage < 0)
        return unsupported(r, "pre_tokenizer pattern", json_string_value(regex));
    const bool isolated = strcmp(behavior, "Isolated") == 0 && !invert;
    const bool rest_removed =
        strcmp(behavior, "Removed") == 0 && invert && covers_everything(stage);
    if (!isolated && !rest_removed)
        return unsupported(r, "pre_tokenizer Split with behavior", behavior);
    return add_stage(r, stage);
}

static quire_status metaspace(struct rules *r, const json_t *step)
{
    const char *mark = "", *scheme = NULL;
    bool prefix = true, split_spaces = true;
    QR_TRY(get_str(r, step, "replacement", &mark));
    QR_TRY(get_str(r, step, "prepend_scheme", &scheme));
    QR_TRY(get_bool(r, step, "add_prefix_space", &prefix));
    QR_TRY(get_bool(r, step, "split", &split_spaces));
    if (strcmp(mark, QR_SPACE_MARK) != 0)
        return unsupported(r, "pre_tokenizer Metaspace with replacement", mark);
    if (!scheme)
        scheme = prefix ? "always" : "never";
    if (strcmp(scheme, "always") == 0)
        r->spec->prefix = QR_PREFIX_UNLESS_SPACE;
    else if (strcmp(scheme, "first") == 0)
        r->spec->prefix = QR_PREFIX_FIRST;
    else if (strcmp(scheme, "never") != 0)
        return unsupported(r, "pre_tokenizer Metaspace with prepend_scheme", scheme);
    r->spec->split_spaces = split_spaces;
    r->metaspace = true;
    return QUIRE_OK;
}

static quire_status on_pre_tokenizer(struct rules *r, const json_t *step, const char *type)
{
    if (strcmp(type, "ByteLevel") == 0)
        return byte_level(r, step);
    if (strcmp(type, "Split") == 0)
        return split(r, step);
    if (strcmp(type, "Digits") == 0) {
        bool single = false;
        QR_TRY(get_bool(r, step, "individual_digits", &single));
        return add_stage(r, single ? QR_STAGE_DIGIT : QR_STAGE_DIGITS);
    }
    if (strcmp(type, "Metaspace") == 0)
        return metaspace(r, step);
    if (strcmp(type, "BertPreTokenizer") == 0) {
        r->bert_pre = true;
        return QUIRE_OK;
    }
    return unsupported(r, "pre_tokenizer", type);
}

static quire_status add_affix(struct rules *r, const json_t *id, bool suffix)
{
    struct qr_vocab_spec *spec = r->spec;
    uint32_t *n = suffix ? &spec->n_suffix_ids : &spec->n_prefix_ids, value;
    if (!qr_json_is_u32(id, &value))
        return qr_fail(r->err, QUIRE_E_FORMAT,
                       FILE_NAME ": post_processor has a token without an id");
    if (*n == QR_MAX_AFFIX)
        return qr_fail(r->err, QUIRE_E_LIMIT, FILE_NAME ": post_processor adds more than %d tokens",
                       QR_MAX_AFFIX);
    (suffix ? spec->suffix_ids : spec->prefix_ids)[(*n)++] = value;
    return QUIRE_OK;
}

/* TemplateProcessing: the ids in front of and behind the text in `single`. */
static quire_status template_processing(struct rules *r, const json_t *step)
{
    const json_t *single = json_object_get(step, "single"),
                 *tokens = json_object_get(step, "special_tokens");
    bool behind = false;
    if (!json_is_array(single))
        return qr_fail(r->err, QUIRE_E_FORMAT, FILE_NAME ": post_processor.single is not an array");
    for (size_t i = 0; i < json_array_size(single); i++) {
        const json_t *item = json_array_get(single, i);
        const char *name =
            json_string_value(json_object_get(json_object_get(item, "SpecialToken"), "id"));
        const json_t *ids = json_object_get(name ? json_object_get(tokens, name) : NULL, "ids");
        if (json_object_get(item, "Sequence")) {
            behind = true;
            continue;
        }
        if (!json_is_array(ids))
            return qr_fail(r->err, QUIRE_E_FORMAT,
                           FILE_NAME ": post_processor.single[%zu] names no known token", i);
        for (size_t k = 0; k < json_array_size(ids); k++)
            QR_TRY(add_affix(r, json_array_get(ids, k), behind));
    }
    return QUIRE_OK;
}

static quire_status on_post_processor(struct rules *r, const json_t *step, const char *type)
{
    if (strcmp(type, "ByteLevel") == 0) /* concerns offsets into the text only */
        return QUIRE_OK;
    if (strcmp(type, "TemplateProcessing") == 0)
        return template_processing(r, step);
    if (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0) {
        QR_TRY(add_affix(r, json_array_get(json_object_get(step, "cls"), 1), false));
        return add_affix(r, json_array_get(json_object_get(step, "sep"), 1), true);
    }
    return unsupported(r, "post_processor", type);
}

/* Whether the steps fit the model and each other. */
static quire_status check_rules(struct rules *r)
{
    struct qr_vocab_spec *spec = r->spec;
    if (spec->kind == QR_VOCAB_WORDPIECE) {
        if (!r->bert_pre || r->byte_level || r->metaspace || r->marks_spaces || spec->n_stages ||
            spec->nfc)
            return unsupported(r, "pre_tokenizer or normalizer", "of this WordPiece model");
        spec->strip_prefix = true;
        return QUIRE_OK;
    }
    if (r->bert_pre || r->bert_normalizer)
        return unsupported(r, "BertPreTokenizer or BertNormalizer", "with a BPE model");
    if (r->byte_level) {
        if (r->metaspace || r->marks_spaces || spec->prefix == QR_PREFIX_ALWAYS)
            return unsupported(r, "pre_tokenizer ByteLevel", "with spaces written as U+2581");
        spec->kind = QR_VOCAB_BYTE_BPE;
        return QUIRE_OK;
    }
    if (spec->n_stages)
        return unsupported(r, "pre_tokenizer", "without ByteLevel");
    if (!r->metaspace && !r->marks_spaces)
        return unsupported(r, "BPE model", "without ByteLevel or U+2581 for spaces");
    if (spec->ignore_merges)
        return unsupported(r, "model.ignore_merges", "without ByteLevel");
    spec->strip_prefix = spec->prefix != QR_PREFIX_NEVER;
    return QUIRE_OK;
}

quire_status qr_vocab_read_json_rules(struct qr_vocab_spec *spec, const json_t *root,
                                      struct quire_error *err)
{
    struct rules r = { .spec = spec, .err = err };
    QR_TRY(for_each_step(&r, json_object_get(root, "normalizer"), "normalizer", "normalizers",
                         on_normalizer));
    QR_TRY(for_each_step(&r, json_object_get(root, "pre_tokenizer"), "pre_tokenizer",
                         "pretokenizers", on_pre_tokenizer));
    QR_TRY(for_each_step(&r, json_object_get(root, "post_processor"), "post_processor",
                         "processors", on_post_processor));
    return check_rules(&r);
}
