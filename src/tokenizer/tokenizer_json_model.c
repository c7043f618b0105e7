/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer_json_model.c - reads the vocabulary, merges and added tokens of tokenizer.json. */
#include "tokenizer/tokenizer_json_model.h"
#include "base/error.h"
#include "format/json.h"
#include "tokenizer/known_tokens.h"
#include <string.h>

#define FILE_NAME "tokenizer.json"

static quire_status no_memory(struct quire_error *err)
{
    return qr_fail(err, QUIRE_E_NOMEM, "no memory for the vocabulary");
}

/* Reads an optional bool; leaves *out alone if it is absent. */
static quire_status get_bool(const struct qr_json *obj, const char *key, bool *out,
                             struct quire_error *err)
{
    enum qr_json_state state;
    return qr_json_bool(obj, FILE_NAME, key, out, &state, err);
}

/* Allocates tokens for all ids in the file. Ids must be dense, so the largest one is bounded by the
 * number of entries, and a hostile id cannot cause a large allocation. */
static quire_status allocate_tokens(struct qr_vocab_spec *spec, const struct qr_json *vocab,
                                    const struct qr_json *added, struct quire_error *err)
{
    size_t n = 0;
    const size_t entries = qr_json_size(vocab) + qr_json_size(added);
    const bool listed = qr_json_is_array(vocab); /* ids are places */
    if (listed)
        n = qr_json_size(vocab);
    for (struct qr_json_iter i = qr_json_iterate(vocab); !listed && qr_json_next(&i);) {
        uint32_t id;
        if (!qr_json_is_u32(i.value, &id))
            return qr_fail(err, QUIRE_E_FORMAT, FILE_NAME ": id of \"%.60s\" is not a token id",
                           i.key);
        if (id >= n)
            n = (size_t)id + 1;
    }
    for (struct qr_json_iter i = qr_json_iterate(added); qr_json_next(&i);) {
        uint32_t id;
        if (!qr_json_is_u32(qr_json_get(i.value, "id"), &id) ||
            !qr_json_is_string(qr_json_get(i.value, "content")))
            return qr_fail(err, QUIRE_E_FORMAT,
                           FILE_NAME ": added_tokens[%zu] has no id or content", i.index);
        if (id >= n)
            n = (size_t)id + 1;
    }
    if (n > entries)
        return qr_fail(err, QUIRE_E_FORMAT, FILE_NAME ": %zu tokens, but ids up to %zu", entries,
                       n - 1);
    if (n > QR_MAX_TOKENS) /* GCOVR_EXCL_BR_LINE: a file of more than 100 MiB */
        return qr_fail(err, QUIRE_E_LIMIT, FILE_NAME ": %zu tokens, at most %d", n, QR_MAX_TOKENS);
    spec->n_tokens = n;
    spec->tokens = qr_arena_alloc(&spec->arena, n, sizeof *spec->tokens);
    return spec->tokens ? QUIRE_OK : no_memory(err);
}

static quire_status add_vocab(struct qr_vocab_spec *spec, const struct qr_json *vocab,
                              bool byte_fallback, struct quire_error *err)
{
    for (struct qr_json_iter i = qr_json_iterate(vocab); qr_json_next(&i);) {
        const char *text = i.key;
        const int64_t id = qr_json_integer(i.value);
        struct qr_spec_token *tok = &spec->tokens[id];
        if (tok->text)
            return qr_fail(err, QUIRE_E_FORMAT,
                           FILE_NAME ": \"%.60s\" and \"%.60s\" both have the id %lld", tok->text,
                           text, (long long)id);
        tok->text = text;
        tok->size = strlen(text);
        tok->type = byte_fallback && qr_byte_token_value(text, tok->size) >= 0 ? QUIRE_TOKEN_BYTE
                                                                               : QUIRE_TOKEN_NORMAL;
    }
    return QUIRE_OK;
}

/* model.vocab of a Unigram model: a list of [text, score]; the place is the id. */
static quire_status add_scored_vocab(struct qr_vocab_spec *spec, const struct qr_json *vocab,
                                     bool byte_fallback, struct quire_error *err)
{
    for (struct qr_json_iter i = qr_json_iterate(vocab); qr_json_next(&i);) {
        const struct qr_json *text = qr_json_at(i.value, 0), *score = qr_json_at(i.value, 1);
        struct qr_spec_token *tok = &spec->tokens[i.index];
        if (!qr_json_is_array(i.value) || !qr_json_is_string(text) || !qr_json_is_number(score))
            return qr_fail(err, QUIRE_E_FORMAT,
                           FILE_NAME ": model.vocab[%zu] is not a text with a score", i.index);
        tok->text = qr_json_string(text);
        tok->size = qr_json_string_size(text);
        tok->score = (float)qr_json_number(score);
        tok->type = byte_fallback && qr_byte_token_value(tok->text, tok->size) >= 0
                        ? QUIRE_TOKEN_BYTE
                        : QUIRE_TOKEN_NORMAL;
    }
    return QUIRE_OK;
}

static quire_status add_added_tokens(struct qr_vocab_spec *spec, const struct qr_json *added,
                                     const char *unk, struct quire_error *err)
{
    for (struct qr_json_iter i = qr_json_iterate(added); qr_json_next(&i);) {
        const struct qr_json *v = i.value;
        const int64_t id = qr_json_integer(qr_json_get(v, "id"));
        const char *text = qr_json_string(qr_json_get(v, "content"));
        struct qr_spec_token *tok = &spec->tokens[id];
        if (tok->text && strcmp(tok->text, text) != 0)
            return qr_fail(err, QUIRE_E_FORMAT,
                           FILE_NAME
                           ": added token %lld is \"%.60s\", but the vocabulary has \"%.60s\"",
                           (long long)id, text, tok->text);
        bool special = false, lstrip = false, rstrip = false, single_word = false,
             normalized = true;
        QR_TRY(get_bool(v, "special", &special, err));
        QR_TRY(get_bool(v, "lstrip", &lstrip, err));
        QR_TRY(get_bool(v, "rstrip", &rstrip, err));
        QR_TRY(get_bool(v, "single_word", &single_word, err));
        QR_TRY(get_bool(v, "normalized", &normalized, err));
        tok->text = text;
        tok->size = strlen(text);
        const bool is_unk = unk && strcmp(text, unk) == 0 && !qr_is_eog_text(text, tok->size);
        tok->type = is_unk    ? QUIRE_TOKEN_UNKNOWN
                    : special ? QUIRE_TOKEN_CONTROL
                              : QUIRE_TOKEN_USER_DEFINED;
        tok->match = (uint8_t)((lstrip ? QR_TOKEN_LSTRIP : 0) | (rstrip ? QR_TOKEN_RSTRIP : 0) |
                               (single_word ? QR_TOKEN_SINGLE_WORD : 0) |
                               (normalized ? 0 : QR_TOKEN_NOT_NORMALIZED));
    }
    return QUIRE_OK;
}

static quire_status read_unigram(struct qr_vocab_spec *spec, const struct qr_json *model,
                                 const struct qr_json *added, struct quire_error *err)
{
    const struct qr_json *vocab = qr_json_get(model, "vocab"), *unk = qr_json_get(model, "unk_id");
    bool byte_fallback = false;
    uint32_t id = 0;
    if (!qr_json_is_array(vocab))
        return qr_fail(err, QUIRE_E_FORMAT, FILE_NAME ": model.vocab is not an array");
    QR_TRY(get_bool(model, "byte_fallback", &byte_fallback, err));
    QR_TRY(allocate_tokens(spec, vocab, added, err));
    QR_TRY(add_scored_vocab(spec, vocab, byte_fallback, err));
    const bool has_unk = unk && !qr_json_is_null(unk);
    if (has_unk && (!qr_json_is_u32(unk, &id) || id >= qr_json_size(vocab)))
        return qr_fail(err, QUIRE_E_FORMAT, FILE_NAME ": model.unk_id is not in the vocabulary");
    QR_TRY(add_added_tokens(spec, added, has_unk ? spec->tokens[id].text : NULL, err));
    if (has_unk) {
        spec->special[QUIRE_SPECIAL_UNK] = id;
        spec->tokens[id].type = QUIRE_TOKEN_UNKNOWN;
    }
    spec->kind = QR_VOCAB_UNIGRAM;
    spec->fuse_unk = true;
    return QUIRE_OK;
}

static quire_status add_merges(struct qr_vocab_spec *spec, const struct qr_json *merges,
                               struct quire_error *err)
{
    if (!qr_json_is_array(merges))
        return qr_fail(err, QUIRE_E_FORMAT, FILE_NAME ": model.merges is not an array");
    spec->n_merges = qr_json_size(merges);
    /* every merge is another split of some token's text */
    size_t splits = 0;
    for (size_t i = 0; i < spec->n_tokens; i++)
        splits += spec->tokens[i].size;
    if (spec->n_merges > splits)
        return qr_fail(err, QUIRE_E_FORMAT, FILE_NAME ": %zu merges for a vocabulary of %zu bytes",
                       spec->n_merges, splits);
    spec->merges = qr_arena_alloc(&spec->arena, spec->n_merges, sizeof *spec->merges);
    if (!spec->merges)
        return no_memory(err);
    for (struct qr_json_iter i = qr_json_iterate(merges); qr_json_next(&i);) {
        const struct qr_json *v = i.value;
        const bool pair = qr_json_is_array(v) && qr_json_size(v) == 2;
        const struct qr_json *left = pair ? qr_json_at(v, 0) : v,
                             *right = pair ? qr_json_at(v, 1) : NULL;
        if (!qr_json_is_string(left) || (pair && !qr_json_is_string(right)))
            return qr_fail(
                err, QUIRE_E_FORMAT,
                FILE_NAME ": model.merges[%zu] is neither a string nor a pair of strings", i.index);
        spec->merges[i.index] = (struct qr_spec_merge){ .left = qr_json_string(left),
                                                        .left_size = qr_json_string_size(left),
                                                        .right = qr_json_string(right),
                                                        .right_size = qr_json_string_size(right) };
    }
    return QUIRE_OK;
}

/* Rejects a setting that is present and neither null, empty nor zero. */
static quire_status require_empty(const struct qr_json *model, const char *key,
                                  struct quire_error *err)
{
    const struct qr_json *v = qr_json_get(model, key);
    if (!v || qr_json_is_null(v) || (qr_json_is_string(v) && !qr_json_string_size(v)) ||
        (qr_json_is_number(v) && qr_json_number(v) == 0))
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_UNSUPPORTED, FILE_NAME ": model.%s is not supported", key);
}

static quire_status set_unk(struct qr_vocab_spec *spec, const char *unk, struct quire_error *err)
{
    for (size_t i = 0; unk && i < spec->n_tokens; i++)
        if (spec->tokens[i].text && strcmp(spec->tokens[i].text, unk) == 0) {
            spec->special[QUIRE_SPECIAL_UNK] = (int64_t)i;
            return QUIRE_OK;
        }
    return unk ? qr_fail(err, QUIRE_E_FORMAT,
                         FILE_NAME ": model.unk_token \"%.60s\" is not in the vocabulary", unk)
               : QUIRE_OK;
}

/* Converts a WordPiece vocabulary to the form of GGUF files: tokens that begin a word get U+2581,
 * the others lose the prefix of continuations. */
static quire_status convert_wordpiece_texts(struct qr_vocab_spec *spec, const char *prefix,
                                            struct quire_error *err)
{
    const size_t n = strlen(prefix);
    for (size_t i = 0; i < spec->n_tokens; i++) {
        struct qr_spec_token *tok = &spec->tokens[i];
        if (!tok->text || tok->type != QUIRE_TOKEN_NORMAL)
            continue;
        if (tok->size > n && memcmp(tok->text, prefix, n) == 0) {
            tok->text += n;
            tok->size -= n;
            continue;
        }
        char *text = qr_arena_alloc(&spec->arena, tok->size + QR_METASPACE_SIZE, 1);
        if (!text)
            return no_memory(err);
        memcpy(text, QR_METASPACE, QR_METASPACE_SIZE);
        memcpy(text + QR_METASPACE_SIZE, tok->text, tok->size);
        tok->text = text;
        tok->size += QR_METASPACE_SIZE;
    }
    return QUIRE_OK;
}

quire_status qr_tokenizer_json_read_model(struct qr_vocab_spec *spec, const struct qr_json *root,
                                          struct quire_error *err)
{
    const struct qr_json *model = qr_json_get(root, "model"),
                         *added = qr_json_get(root, "added_tokens");
    const struct qr_json *vocab = qr_json_get(model, "vocab"),
                         *merges = qr_json_get(model, "merges");
    const char *type = merges ? "BPE" : "", *unk = NULL, *prefix = "##";
    enum qr_json_state state;
    bool byte_fallback = false;
    if (!qr_json_is_object(model))
        return qr_fail(err, QUIRE_E_FORMAT, FILE_NAME ": model is not an object");
    if (added && !qr_json_is_null(added) && !qr_json_is_array(added))
        return qr_fail(err, QUIRE_E_FORMAT, FILE_NAME ": added_tokens is not an array");
    QR_TRY(qr_json_str(model, FILE_NAME, "type", &type, &state, err));
    if (strcmp(type, "Unigram") == 0)
        return read_unigram(spec, model, added, err);
    if (strcmp(type, "BPE") != 0 && strcmp(type, "WordPiece") != 0)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       FILE_NAME ": model type \"%.60s\" is not supported", type);
    if (!qr_json_is_object(vocab))
        return qr_fail(err, QUIRE_E_FORMAT, FILE_NAME ": model.vocab is not an object");
    QR_TRY(qr_json_str(model, FILE_NAME, "unk_token", &unk, &state, err));
    QR_TRY(get_bool(model, "byte_fallback", &byte_fallback, err));
    QR_TRY(allocate_tokens(spec, vocab, added, err));
    QR_TRY(add_vocab(spec, vocab, byte_fallback, err));
    QR_TRY(add_added_tokens(spec, added, unk, err));
    QR_TRY(set_unk(spec, unk, err));
    if (strcmp(type, "WordPiece") == 0) {
        spec->kind = QR_VOCAB_WORDPIECE;
        QR_TRY(qr_json_u32(model, FILE_NAME, "max_input_chars_per_word", &spec->max_word_chars,
                           &state, err));
        QR_TRY(qr_json_str(model, FILE_NAME, "continuing_subword_prefix", &prefix, &state, err));
        if (spec->special[QUIRE_SPECIAL_UNK] == QUIRE_TOKEN_NONE ||
            spec->max_word_chars > QR_MAX_RUN_BYTES)
            return qr_fail(err, QUIRE_E_FORMAT,
                           FILE_NAME
                           ": model.unk_token or max_input_chars_per_word is missing or wrong");
        if (!*prefix) /* a token would both begin and continue words */
            return qr_fail(err, QUIRE_E_UNSUPPORTED,
                           FILE_NAME ": model.continuing_subword_prefix is empty");
        return convert_wordpiece_texts(spec, prefix, err);
    }
    spec->kind = QR_VOCAB_SENTENCEPIECE_BPE; /* unless the pre-tokenizer is ByteLevel */
    QR_TRY(require_empty(model, "dropout", err));
    QR_TRY(require_empty(model, "continuing_subword_prefix", err));
    QR_TRY(require_empty(model, "end_of_word_suffix", err));
    QR_TRY(get_bool(model, "ignore_merges", &spec->ignore_merges, err));
    QR_TRY(get_bool(model, "fuse_unk", &spec->fuse_unk, err));
    return add_merges(spec, merges, err);
}
