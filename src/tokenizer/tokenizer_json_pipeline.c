/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer_json_pipeline.c - reads normalizer, pre-tokenizer, post-processor of tokenizer.json. */
#include "tokenizer/tokenizer_json_pipeline.h"
#include "base/error.h"
#include "format/json.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/pretokenizer_presets.h"
#include "tokenizer/tokenizer_json_pair.h"
#include <string.h>

#define FILE_NAME "tokenizer.json"

/* No step is approximated: an unknown step is an error that names it. */

/* Of a template: each is looked up among all special tokens. */
enum { MAX_TEMPLATE_ITEMS = 64 };

struct pipeline {
    struct qr_vocab_spec *spec;
    struct quire_error *err;
    bool replaces_spaces; /* a normalizer replaces spaces by U+2581 */
    bool byte_level, metaspace, bert_normalizer, bert_pre;
    bool lowercase, words; /* of BPE models: Lowercase, Whitespace */
    /* of Unigram models: white space at the end, at the beginning, and runs of spaces */
    bool strips_right, strips_left, collapses, white_space_split;
};

static quire_status unsupported(const struct pipeline *p, const char *part, const char *what)
{
    return qr_fail(p->err, QUIRE_E_UNSUPPORTED, FILE_NAME ": %s %.120s is not supported", part,
                   what);
}

static quire_status get_str(const struct pipeline *p, const struct qr_json *obj, const char *key,
                            const char **out)
{
    enum qr_json_state state;
    return qr_json_str(obj, FILE_NAME, key, out, &state, p->err);
}

static quire_status get_bool(const struct pipeline *p, const struct qr_json *obj, const char *key,
                             bool *out)
{
    enum qr_json_state state;
    return qr_json_bool(obj, FILE_NAME, key, out, &state, p->err);
}

typedef quire_status (*step_fn)(struct pipeline *p, const struct qr_json *step, const char *type);

/* Calls fn for a step, or for each member of a Sequence. The JSON parser bounds the nesting. */
static quire_status for_each_step(struct pipeline *p, const struct qr_json *step, const char *part,
                                  const char *members, step_fn fn)
{
    const char *type = NULL;
    if (!step || qr_json_is_null(step))
        return QUIRE_OK;
    if (!qr_json_is_object(step))
        return qr_fail(p->err, QUIRE_E_FORMAT, FILE_NAME ": %s is not an object", part);
    QR_TRY(get_str(p, step, "type", &type));
    if (!type)
        return qr_fail(p->err, QUIRE_E_FORMAT, FILE_NAME ": %s has no type", part);
    if (strcmp(type, "Sequence") != 0)
        return fn(p, step, type);
    const struct qr_json *list = qr_json_get(step, members);
    if (!qr_json_is_array(list))
        return qr_fail(p->err, QUIRE_E_FORMAT, FILE_NAME ": %s.%s is not an array", part, members);
    for (struct qr_json_iter i = qr_json_iterate(list); qr_json_next(&i);)
        QR_TRY(for_each_step(p, i.value, part, members, fn));
    return QUIRE_OK;
}

static quire_status read_bert_normalizer(struct pipeline *p, const struct qr_json *step)
{
    struct qr_vocab_spec *spec = p->spec;
    spec->clean_text = spec->isolate_cjk = spec->lowercase = true;
    QR_TRY(get_bool(p, step, "clean_text", &spec->clean_text));
    QR_TRY(get_bool(p, step, "handle_chinese_chars", &spec->isolate_cjk));
    QR_TRY(get_bool(p, step, "lowercase", &spec->lowercase));
    spec->strip_accents = spec->lowercase; /* meaning of null */
    p->bert_normalizer = true;
    return get_bool(p, step, "strip_accents", &spec->strip_accents);
}

/* Replace of " {2,}", runs of spaces. */
static bool is_collapse(const struct qr_json *step)
{
    const char *regex = qr_json_string(qr_json_get(qr_json_get(step, "pattern"), "Regex"));
    const char *content = qr_json_string(qr_json_get(step, "content"));
    return regex && content && strcmp(regex, " {2,}") == 0 &&
           (strcmp(content, " ") == 0 || strcmp(content, QR_METASPACE) == 0);
}

static bool is_unigram_normalizer(const char *type, const struct qr_json *step)
{
    return strcmp(type, "Precompiled") == 0 || strcmp(type, "Strip") == 0 ||
           (strcmp(type, "Replace") == 0 && is_collapse(step));
}

/* The steps of converted SentencePiece models. The map comes first, as in encoding, or (DeBERTa)
 * behind a Strip of both ends. */
static quire_status read_unigram_normalizer(struct pipeline *p, const struct qr_json *step,
                                            const char *type)
{
    if (strcmp(type, "Replace") == 0) {
        p->collapses = true;
        return QUIRE_OK;
    }
    if (strcmp(type, "Strip") == 0) {
        p->strips_left = p->strips_right = true;
        QR_TRY(get_bool(p, step, "strip_left", &p->strips_left));
        return get_bool(p, step, "strip_right", &p->strips_right);
    }
    const struct qr_json *map = qr_json_get(step, "precompiled_charsmap");
    if (p->spec->charsmap || p->spec->nfc || p->strips_left != p->strips_right || p->collapses)
        return unsupported(p, "normalizer Precompiled", "after another step");
    p->spec->trim_white_space = p->strips_left;
    p->strips_left = p->strips_right = false;
    if (!map || qr_json_is_null(map))
        return QUIRE_OK;
    if (!qr_json_is_string(map))
        return qr_fail(p->err, QUIRE_E_FORMAT,
                       FILE_NAME ": normalizer.precompiled_charsmap is not a string");
    return qr_charsmap_read_base64(p->spec, qr_json_string(map), qr_json_string_size(map),
                                   FILE_NAME ": normalizer.precompiled_charsmap", p->err);
}

/* Read from tokenizer.json, before check_pipeline distinguishes the kinds of BPE models. */
static bool is_bpe(const struct qr_vocab_spec *spec)
{
    return spec->kind == QR_VOCAB_SENTENCEPIECE_BPE;
}

static quire_status on_normalizer(struct pipeline *p, const struct qr_json *step, const char *type)
{
    if (strcmp(type, "NFC") == 0) {
        if (p->lowercase)
            return unsupported(p, "normalizer NFC", "after Lowercase");
        p->spec->nfc = true;
        return QUIRE_OK;
    }
    if (strcmp(type, "BertNormalizer") == 0)
        return read_bert_normalizer(p, step);
    if (strcmp(type, "Lowercase") == 0 && is_bpe(p->spec)) {
        p->lowercase = true;
        return QUIRE_OK;
    }
    const char *content = NULL, *from = NULL;
    if (p->spec->kind == QR_VOCAB_UNIGRAM && is_unigram_normalizer(type, step))
        return read_unigram_normalizer(p, step, type);
    if (strcmp(type, "Prepend") == 0) {
        QR_TRY(get_str(p, step, "prepend", &content));
        if (content && strcmp(content, QR_METASPACE) == 0) {
            p->spec->prepend_scheme = QR_PREPEND_ALWAYS;
            return QUIRE_OK;
        }
    }
    if (strcmp(type, "Replace") == 0) {
        QR_TRY(get_str(p, step, "content", &content));
        from = qr_json_string(qr_json_get(qr_json_get(step, "pattern"), "String"));
        if (content && from && strcmp(from, " ") == 0 && strcmp(content, QR_METASPACE) == 0) {
            p->replaces_spaces = true;
            return QUIRE_OK;
        }
    }
    return unsupported(p, "normalizer", type);
}

static quire_status add_split(struct pipeline *p, int pattern)
{
    if (p->byte_level) /* its input would be in the byte-level alphabet */
        return unsupported(p, "pre_tokenizer", "with a step after ByteLevel");
    /* "$" matches at the end of a line in the reference, at the end of the piece here */
    const bool lines = p->spec->n_splits && p->spec->splits[0] == QR_SPLIT_NEWLINE;
    if (pattern == QR_SPLIT_TRAILING_SPACE && !lines)
        return unsupported(p, "pre_tokenizer pattern \\s+$", "without a split into lines");
    if (p->spec->n_splits == QR_MAX_SPLITS)
        return qr_fail(p->err, QUIRE_E_LIMIT, FILE_NAME ": pre_tokenizer has more than %d steps",
                       QR_MAX_SPLITS);
    p->spec->splits[p->spec->n_splits++] = (uint8_t)pattern;
    return QUIRE_OK;
}

static quire_status read_byte_level(struct pipeline *p, const struct qr_json *step)
{
    bool prefix = true, regex = true;
    QR_TRY(get_bool(p, step, "add_prefix_space", &prefix));
    QR_TRY(get_bool(p, step, "use_regex", &regex));
    if (prefix && p->spec->n_splits)
        return unsupported(p, "pre_tokenizer",
                           "ByteLevel with add_prefix_space after another step");
    if (prefix)
        p->spec->prepend_scheme = QR_PREPEND_UNLESS_SPACE;
    if (regex)
        QR_TRY(add_split(p, QR_SPLIT_GPT2));
    else if (p->byte_level)
        return unsupported(p, "pre_tokenizer", "with ByteLevel twice");
    p->byte_level = true;
    return QUIRE_OK;
}

/* Whether the matches of the pattern cover any text, so that removing the rest changes nothing. */
static bool covers_everything(int pattern)
{
    return pattern >= QR_SPLIT_GPT2 && pattern <= QR_SPLIT_GPT4O;
}

static quire_status read_split(struct pipeline *p, const struct qr_json *step)
{
    const struct qr_json *given = qr_json_get(step, "pattern");
    const struct qr_json *regex = qr_json_get(given, "Regex");
    const char *string = qr_json_string(qr_json_get(given, "String")), *behavior = "";
    bool invert = false;
    QR_TRY(get_str(p, step, "behavior", &behavior));
    QR_TRY(get_bool(p, step, "invert", &invert));
    /* Gemma: the normalizer has replaced all spaces, so the split has no effect */
    if (string && strcmp(string, " ") == 0 && p->replaces_spaces)
        return QUIRE_OK;
    if (!qr_json_is_string(regex))
        return unsupported(p, "pre_tokenizer Split at", string ? string : "nothing");
    const int pattern = qr_split_pattern_find(qr_json_string(regex), qr_json_string_size(regex));
    if (pattern < 0)
        return unsupported(p, "pre_tokenizer pattern", qr_json_string(regex));
    const bool isolated = strcmp(behavior, "Isolated") == 0 && !invert;
    const bool rest_removed =
        strcmp(behavior, "Removed") == 0 && invert && covers_everything(pattern);
    if (!isolated && !rest_removed)
        return unsupported(p, "pre_tokenizer Split with behavior", behavior);
    return add_split(p, pattern);
}

static quire_status read_metaspace(struct pipeline *p, const struct qr_json *step)
{
    const char *replacement = "", *scheme = NULL;
    bool prefix = true, split_spaces = true;
    QR_TRY(get_str(p, step, "replacement", &replacement));
    QR_TRY(get_str(p, step, "prepend_scheme", &scheme));
    QR_TRY(get_bool(p, step, "add_prefix_space", &prefix));
    QR_TRY(get_bool(p, step, "split", &split_spaces));
    if (strcmp(replacement, QR_METASPACE) != 0)
        return unsupported(p, "pre_tokenizer Metaspace with replacement", replacement);
    if (!scheme)
        scheme = prefix ? "always" : "never";
    if (strcmp(scheme, "always") == 0)
        p->spec->prepend_scheme = QR_PREPEND_UNLESS_SPACE;
    else if (strcmp(scheme, "first") == 0)
        p->spec->prepend_scheme = QR_PREPEND_FIRST;
    else if (strcmp(scheme, "never") != 0)
        return unsupported(p, "pre_tokenizer Metaspace with prepend_scheme", scheme);
    p->spec->split_at_spaces = split_spaces;
    p->metaspace = true;
    return QUIRE_OK;
}

static quire_status on_pre_tokenizer(struct pipeline *p, const struct qr_json *step,
                                     const char *type)
{
    if (strcmp(type, "ByteLevel") == 0)
        return read_byte_level(p, step);
    if (strcmp(type, "Split") == 0)
        return read_split(p, step);
    if (strcmp(type, "Digits") == 0) {
        bool single = false;
        QR_TRY(get_bool(p, step, "individual_digits", &single));
        return add_split(p, single ? QR_SPLIT_DIGIT : QR_SPLIT_DIGITS);
    }
    if (strcmp(type, "Metaspace") == 0)
        return read_metaspace(p, step);
    if (strcmp(type, "BertPreTokenizer") == 0) {
        p->bert_pre = true;
        return QUIRE_OK;
    }
    if (strcmp(type, "WhitespaceSplit") == 0 && p->spec->kind == QR_VOCAB_UNIGRAM &&
        !p->metaspace) {
        p->white_space_split = true;
        return QUIRE_OK;
    }
    if (strcmp(type, "Whitespace") == 0 && is_bpe(p->spec)) {
        p->words = true;
        return QUIRE_OK;
    }
    return unsupported(p, "pre_tokenizer", type);
}

static quire_status add_affix(struct pipeline *p, const struct qr_json *id, bool suffix)
{
    struct qr_vocab_spec *spec = p->spec;
    uint32_t *n = suffix ? &spec->n_suffix_ids : &spec->n_prefix_ids, value;
    if (!qr_json_is_u32(id, &value))
        return qr_fail(p->err, QUIRE_E_FORMAT,
                       FILE_NAME ": post_processor has a token without an id");
    if (*n == QR_MAX_AFFIX)
        return qr_fail(p->err, QUIRE_E_LIMIT, FILE_NAME ": post_processor adds more than %d tokens",
                       QR_MAX_AFFIX);
    (suffix ? spec->suffix_ids : spec->prefix_ids)[(*n)++] = value;
    return QUIRE_OK;
}

/* TemplateProcessing: the ids before and after the text in `single`. */
static quire_status read_template_processing(struct pipeline *p, const struct qr_json *step)
{
    const struct qr_json *single = qr_json_get(step, "single"),
                         *tokens = qr_json_get(step, "special_tokens");
    bool after_text = false;
    if (!qr_json_is_array(single))
        return qr_fail(p->err, QUIRE_E_FORMAT, FILE_NAME ": post_processor.single is not an array");
    if (qr_json_size(single) > MAX_TEMPLATE_ITEMS)
        return qr_fail(p->err, QUIRE_E_LIMIT,
                       FILE_NAME ": post_processor.single has more than %d items",
                       MAX_TEMPLATE_ITEMS);
    for (struct qr_json_iter i = qr_json_iterate(single); qr_json_next(&i);) {
        const struct qr_json *item = i.value;
        const char *name = qr_json_string(qr_json_get(qr_json_get(item, "SpecialToken"), "id"));
        const struct qr_json *ids = qr_json_get(name ? qr_json_get(tokens, name) : NULL, "ids");
        if (qr_json_get(item, "Sequence")) {
            after_text = true;
            continue;
        }
        if (!qr_json_is_array(ids))
            return qr_fail(p->err, QUIRE_E_FORMAT,
                           FILE_NAME ": post_processor.single[%zu] names no known token", i.index);
        for (struct qr_json_iter k = qr_json_iterate(ids); qr_json_next(&k);)
            QR_TRY(add_affix(p, k.value, after_text));
    }
    return QUIRE_OK;
}

static quire_status on_post_processor(struct pipeline *p, const struct qr_json *step,
                                      const char *type)
{
    if (strcmp(type, "ByteLevel") == 0) /* affects offsets into the text only */
        return QUIRE_OK;
    if (strcmp(type, "TemplateProcessing") == 0)
        return read_template_processing(p, step);
    if (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0) {
        QR_TRY(add_affix(p, qr_json_at(qr_json_get(step, "cls"), 1), false));
        return add_affix(p, qr_json_at(qr_json_get(step, "sep"), 1), true);
    }
    return unsupported(p, "post_processor", type);
}

/* The ways to write what remove_extra_whitespaces of a SentencePiece model does. */
static quire_status check_unigram(struct pipeline *p)
{
    struct qr_vocab_spec *spec = p->spec;
    if (p->bert_pre || p->bert_normalizer || p->byte_level || spec->n_splits)
        return unsupported(p, "pre_tokenizer or normalizer", "of this Unigram model");
    if (!p->metaspace && !p->replaces_spaces)
        return unsupported(p, "Unigram model", "without U+2581 for spaces");
    if (spec->nfc && spec->charsmap)
        return unsupported(p, "normalizer", "NFC with Precompiled");
    if ((p->strips_right || p->strips_left) && !p->collapses && !p->white_space_split)
        return unsupported(p, "normalizer", "Strip without Replace of \" {2,}\"");
    /* Metaspace sees the words one by one */
    if (p->white_space_split && spec->prepend_scheme != QR_PREPEND_UNLESS_SPACE)
        return unsupported(p, "pre_tokenizer WhitespaceSplit", "without a space before each word");
    spec->remove_extra_whitespaces = p->collapses || p->white_space_split;
    spec->keep_leading_space = !p->strips_left && !p->white_space_split;
    spec->keep_trailing_space = !p->strips_right && !p->white_space_split;
    spec->strip_white_space = p->strips_left || p->strips_right;
    spec->split_at_white_space = p->white_space_split;
    spec->strip_prepended_space = spec->prepend_scheme != QR_PREPEND_NEVER;
    return QUIRE_OK;
}

/* BPE over words. */
static quire_status check_words(struct pipeline *p)
{
    struct qr_vocab_spec *spec = p->spec;
    if (p->byte_level || p->metaspace || p->replaces_spaces || spec->n_splits ||
        spec->prepend_scheme != QR_PREPEND_NEVER)
        return unsupported(p, "pre_tokenizer Whitespace", "with another step");
    if (spec->ignore_merges)
        return unsupported(p, "model.ignore_merges", "without ByteLevel");
    spec->kind = QR_VOCAB_WORD_BPE;
    spec->split_words = true;
    spec->lowercase = p->lowercase;
    return QUIRE_OK;
}

/* Checks that the steps fit the model and each other. */
static quire_status check_pipeline(struct pipeline *p)
{
    struct qr_vocab_spec *spec = p->spec;
    if (spec->kind == QR_VOCAB_WORDPIECE) {
        if (!p->bert_pre || p->byte_level || p->metaspace || p->replaces_spaces || spec->n_splits ||
            spec->nfc)
            return unsupported(p, "pre_tokenizer or normalizer", "of this WordPiece model");
        spec->strip_prepended_space = true;
        return QUIRE_OK;
    }
    if (spec->kind == QR_VOCAB_UNIGRAM)
        return check_unigram(p);
    if (p->bert_pre || p->bert_normalizer)
        return unsupported(p, "BertPreTokenizer or BertNormalizer", "with a BPE model");
    if (p->words)
        return check_words(p);
    if (p->lowercase)
        return unsupported(p, "normalizer", "Lowercase without Whitespace");
    if (p->byte_level) {
        if (p->metaspace || p->replaces_spaces || spec->prepend_scheme == QR_PREPEND_ALWAYS)
            return unsupported(p, "pre_tokenizer ByteLevel", "with spaces written as U+2581");
        spec->kind = QR_VOCAB_BYTE_LEVEL_BPE;
        return QUIRE_OK;
    }
    if (spec->n_splits)
        return unsupported(p, "pre_tokenizer", "without ByteLevel");
    if (!p->metaspace && !p->replaces_spaces)
        return unsupported(p, "BPE model", "without ByteLevel or U+2581 for spaces");
    if (spec->ignore_merges)
        return unsupported(p, "model.ignore_merges", "without ByteLevel");
    spec->strip_prepended_space = spec->prepend_scheme != QR_PREPEND_NEVER;
    return QUIRE_OK;
}

quire_status qr_tokenizer_json_read_pipeline(struct qr_vocab_spec *spec, const struct qr_json *root,
                                             struct quire_error *err)
{
    struct pipeline p = { .spec = spec, .err = err };
    QR_TRY(for_each_step(&p, qr_json_get(root, "normalizer"), "normalizer", "normalizers",
                         on_normalizer));
    QR_TRY(for_each_step(&p, qr_json_get(root, "pre_tokenizer"), "pre_tokenizer", "pretokenizers",
                         on_pre_tokenizer));
    QR_TRY(for_each_step(&p, qr_json_get(root, "post_processor"), "post_processor", "processors",
                         on_post_processor));
    qr_tokenizer_json_read_pair(spec, root);
    return check_pipeline(&p);
}
