/* SPDX-License-Identifier: Apache-2.0 */
/* open_gguf.c - reads the tokenizer keys of a GGUF file. */
#include "tokenizer/open_gguf.h"
#include "base/error.h"
#include "format/gguf.h"
#include "format/gguf_meta.h"
#include "tokenizer/build.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/known_tokens.h"
#include "tokenizer/plamo.h"
#include "tokenizer/pretokenizer_presets.h"
#include "tokenizer/types.h"
#include "tokenizer/vocab_spec.h"
#include <string.h>

#define KEY(name) "tokenizer.ggml." name

static bool equals(const struct qr_gguf_str *s, const char *text)
{
    return s->size == strlen(text) && memcmp(s->data, text, s->size) == 0;
}

static quire_status no_memory(struct quire_error *err)
{
    return qr_fail(err, QUIRE_E_NOMEM, "no memory for the vocabulary");
}

/* Gets an optional array of n elements, one per token. */
static quire_status get_token_array(const struct qr_gguf *f, const char *key, size_t n,
                                    struct qr_gguf_array *out, bool *present,
                                    struct quire_error *err)
{
    *present = qr_gguf_has(f, key);
    if (!*present)
        return QUIRE_OK;
    QR_TRY(qr_gguf_get_array(f, key, out, err));
    if (out->count != n)
        return qr_fail(err, QUIRE_E_FORMAT, "%s has %zu entries for %zu tokens", key, out->count,
                       n);
    return QUIRE_OK;
}

static quire_status read_tokens(struct qr_vocab_spec *spec, const struct qr_gguf *f,
                                struct quire_error *err)
{
    struct qr_gguf_array texts, types, scores;
    bool has_types, has_scores;
    const bool plamo = spec->kind == QR_VOCAB_PLAMO;
    const bool scored = spec->merge_by_score || spec->kind == QR_VOCAB_UNIGRAM || plamo;
    QR_TRY(qr_gguf_get_array(f, KEY("tokens"), &texts, err));
    if (texts.count > QR_MAX_TOKENS)
        return qr_fail(err, QUIRE_E_LIMIT, KEY("tokens") " has %zu entries, at most %d",
                       texts.count, QR_MAX_TOKENS);
    QR_TRY(get_token_array(f, KEY("token_type"), texts.count, &types, &has_types, err));
    QR_TRY(get_token_array(f, KEY("scores"), texts.count, &scores, &has_scores, err));
    if (scored && !has_scores)
        return qr_fail(err, QUIRE_E_FORMAT, KEY("scores") " is missing");
    spec->n_tokens = texts.count;
    spec->tokens = qr_arena_alloc(&spec->arena, texts.count, sizeof *spec->tokens);
    if (!spec->tokens)
        return no_memory(err);
    for (size_t i = 0; i < texts.count; i++) {
        struct qr_spec_token *tok = &spec->tokens[i];
        struct qr_gguf_str s;
        int64_t type = QUIRE_TOKEN_NORMAL;
        if (!qr_gguf_array_str(&texts, i, &s))
            return qr_fail(err, QUIRE_E_FORMAT, KEY("tokens") " is not an array of strings");
        if (has_types && !qr_gguf_array_i64(&types, i, &type))
            return qr_fail(err, QUIRE_E_FORMAT, KEY("token_type") " is not an array of integers");
        if (type < 0 || type > QUIRE_TOKEN_BYTE)
            return qr_fail(err, QUIRE_E_FORMAT, KEY("token_type") "[%zu] = %lld is unknown", i,
                           (long long)type);
        if (scored && !qr_gguf_array_f32(&scores, i, &tok->score))
            return qr_fail(err, QUIRE_E_FORMAT, KEY("scores") " is not an array of numbers");
        if (plamo)
            tok->score = (float)qr_plamo_score((double)tok->score);
        if (!has_types && (scored || spec->kind == QR_VOCAB_SENTENCEPIECE_BPE) &&
            qr_byte_token_value(s.data, s.size) >= 0)
            type = QUIRE_TOKEN_BYTE;
        tok->text = s.data;
        tok->size = s.size;
        tok->type = (uint8_t)type;
    }
    return QUIRE_OK;
}

static quire_status read_merges(struct qr_vocab_spec *spec, const struct qr_gguf *f,
                                struct quire_error *err)
{
    struct qr_gguf_array merges;
    QR_TRY(qr_gguf_get_array(f, KEY("merges"), &merges, err));
    spec->n_merges = merges.count;
    spec->merges = qr_arena_alloc(&spec->arena, merges.count, sizeof *spec->merges);
    if (!spec->merges)
        return no_memory(err);
    for (size_t i = 0; i < merges.count; i++) {
        struct qr_gguf_str s;
        if (!qr_gguf_array_str(&merges, i, &s))
            return qr_fail(err, QUIRE_E_FORMAT, KEY("merges") " is not an array of strings");
        spec->merges[i] = (struct qr_spec_merge){ .left = s.data, .left_size = s.size };
    }
    return QUIRE_OK;
}

static quire_status read_special_ids(struct qr_vocab_spec *spec, const struct qr_gguf *f,
                                     struct quire_error *err)
{
    static const struct {
        const char *key;
        enum quire_special_token which;
    } keys[] = {
        { KEY("bos_token_id"), QUIRE_SPECIAL_BOS },
        { KEY("eos_token_id"), QUIRE_SPECIAL_EOS },
        { KEY("eot_token_id"), QUIRE_SPECIAL_EOT },
        { KEY("eom_token_id"), QUIRE_SPECIAL_EOM },
        { KEY("unknown_token_id"), QUIRE_SPECIAL_UNK },
        { KEY("padding_token_id"), QUIRE_SPECIAL_PAD },
        { KEY("seperator_token_id"), QUIRE_SPECIAL_SEP }, /* sic: spelling in GGUF files */
        { KEY("separator_token_id"), QUIRE_SPECIAL_SEP },
        { KEY("cls_token_id"), QUIRE_SPECIAL_CLS },
        { KEY("mask_token_id"), QUIRE_SPECIAL_MASK },
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (qr_gguf_has(f, keys[i].key)) {
            int64_t id;
            QR_TRY(qr_gguf_get_i64(f, keys[i].key, &id, err));
            if (id < 0 || id >= (int64_t)spec->n_tokens)
                return qr_fail(err, QUIRE_E_FORMAT, "%s = %lld is outside the vocabulary of %zu",
                               keys[i].key, (long long)id, spec->n_tokens);
            spec->special[keys[i].which] = id;
        }
    return QUIRE_OK;
}

/* Assigns the token of that text to a role that the file does not assign. */
static void default_id(struct qr_vocab_spec *spec, enum quire_special_token which, const char *text)
{
    for (size_t i = 0; spec->special[which] == QUIRE_TOKEN_NONE && i < spec->n_tokens; i++)
        if (spec->tokens[i].size == strlen(text) &&
            memcmp(spec->tokens[i].text, text, strlen(text)) == 0)
            spec->special[which] = (int64_t)i;
}

/* add_bos, add_eos: defaults for files without the keys. */
static quire_status read_affixes(struct qr_vocab_spec *spec, const struct qr_gguf *f, int64_t bos,
                                 bool add_bos, int64_t eos, bool add_eos, struct quire_error *err)
{
    QR_TRY(qr_gguf_get_bool_or(f, KEY("add_bos_token"), add_bos, &add_bos, err));
    QR_TRY(qr_gguf_get_bool_or(f, KEY("add_eos_token"), add_eos, &add_eos, err));
    if (add_bos && bos != QUIRE_TOKEN_NONE)
        spec->prefix_ids[spec->n_prefix_ids++] = bos;
    if (add_eos && eos != QUIRE_TOKEN_NONE)
        spec->suffix_ids[spec->n_suffix_ids++] = eos;
    return QUIRE_OK;
}

/* Pairs of texts of encoders, whose texts have tokens at both ends: A [EOS] [SEP] B, as RoBERTa's
 * are, or A [EOS] B. The texts of ModernBERT have one token between them, whatever the file says:
 * so they were trained. */
static quire_status read_pair(struct qr_vocab_spec *spec, const struct qr_gguf *f,
                              struct quire_error *err)
{
    struct qr_gguf_str arch;
    bool two;
    QR_TRY(qr_gguf_get_str_or(f, "general.architecture", "", &arch, err));
    QR_TRY(qr_gguf_get_bool_or(f, KEY("add_sep_token"), true, &two, err));
    if (!spec->n_prefix_ids || !spec->n_suffix_ids)
        return QUIRE_OK;
    const int64_t eos = spec->suffix_ids[0], sep = spec->special[QUIRE_SPECIAL_SEP];
    spec->has_pair = true;
    spec->pair_ids[spec->n_pair_ids++] = eos;
    if (two && !equals(&arch, "modern-bert"))
        spec->pair_ids[spec->n_pair_ids++] = sep != QUIRE_TOKEN_NONE ? sep : eos;
    return QUIRE_OK;
}

/* Refuses normalizers of files whose texts are encoded as they are. */
static quire_status refuse_normalizers(const struct qr_gguf *f, struct quire_error *err)
{
    static const char *const keys[] = { KEY("normalizer.lowercase"),
                                        KEY("normalizer.strip_accents") };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        bool in_use;
        QR_TRY(qr_gguf_get_bool_or(f, keys[i], false, &in_use, err));
        if (in_use)
            return qr_fail(err, QUIRE_E_UNSUPPORTED, "%s is supported for WordPiece only", keys[i]);
    }
    return QUIRE_OK;
}

/* A vocabulary like SentencePiece's with merges instead of scores (Gemma 4). */
static quire_status read_sentencepiece_merges(struct qr_vocab_spec *spec, const struct qr_gguf *f,
                                              bool add_bos, struct quire_error *err)
{
    bool prepend;
    spec->kind = QR_VOCAB_SENTENCEPIECE_BPE;
    spec->fuse_unk = true;
    QR_TRY(read_tokens(spec, f, err));
    QR_TRY(read_merges(spec, f, err));
    QR_TRY(read_special_ids(spec, f, err));
    default_id(spec, QUIRE_SPECIAL_UNK, "<unk>");
    QR_TRY(qr_gguf_get_bool_or(f, KEY("add_space_prefix"), false, &prepend, err));
    spec->prepend_scheme = prepend ? QR_PREPEND_ALWAYS : QR_PREPEND_NEVER;
    spec->strip_prepended_space = prepend;
    return read_affixes(spec, f, spec->special[QUIRE_SPECIAL_BOS], add_bos,
                        spec->special[QUIRE_SPECIAL_EOS], false, err);
}

static quire_status read_byte_level_bpe(struct qr_vocab_spec *spec, const struct qr_gguf *f,
                                        struct quire_error *err)
{
    struct qr_gguf_str pre;
    spec->kind = QR_VOCAB_BYTE_LEVEL_BPE;
    QR_TRY(qr_gguf_get_str_or(f, KEY("pre"), NULL, &pre, err));
    if (!pre.data)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       KEY("pre") " is missing: the pre-tokenizer of this file is unknown");
    if (equals(&pre, "granite-embed-multi-311m") || equals(&pre, "sarvam-moe"))
        return read_sentencepiece_merges(spec, f, false, err);
    const struct qr_pretokenizer_preset *rule = qr_pretokenizer_preset_find(pre.data, pre.size);
    if (!rule)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "unknown pre-tokenizer \"%.*s\" in " KEY("pre"),
                       (int)(pre.size < 60 ? pre.size : 60), pre.data);
    memcpy(spec->splits, rule->splits, sizeof rule->splits);
    spec->n_splits = rule->n_splits;
    spec->nfc = rule->nfc;
    spec->ignore_merges = rule->ignore_merges;
    QR_TRY(read_tokens(spec, f, err));
    QR_TRY(read_merges(spec, f, err));
    QR_TRY(read_special_ids(spec, f, err));
    QR_TRY(read_affixes(spec, f, spec->special[QUIRE_SPECIAL_BOS], rule->add_bos,
                        spec->special[QUIRE_SPECIAL_EOS], false, err));
    return read_pair(spec, f, err);
}

/* Phi-3's control tokens consume the white space after them, which GGUF has no key for. */
static void set_phi3_rstrip(struct qr_vocab_spec *spec)
{
    for (size_t i = 0; i < spec->n_tokens; i++) {
        struct qr_spec_token *tok = &spec->tokens[i];
        const bool plain = tok->size == 13 && memcmp(tok->text, "<|endoftext|>", 13) == 0;
        const bool end = tok->size == 4 && memcmp(tok->text, "</s>", 4) == 0;
        if (end || (!plain && tok->size > 4 && memcmp(tok->text, "<|", 2) == 0 &&
                    memcmp(tok->text + tok->size - 2, "|>", 2) == 0))
            tok->match |= QR_TOKEN_RSTRIP;
    }
}

static quire_status read_sentencepiece_bpe(struct qr_vocab_spec *spec, const struct qr_gguf *f,
                                           struct quire_error *err)
{
    spec->kind = QR_VOCAB_SENTENCEPIECE_BPE;
    spec->merge_by_score = true;
    spec->fuse_unk = true;
    if (qr_gguf_has(f, KEY("precompiled_charsmap")))
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       KEY("precompiled_charsmap") " together with " KEY("model") " = \"llama\"");
    QR_TRY(read_tokens(spec, f, err));
    QR_TRY(read_special_ids(spec, f, err));
    default_id(spec, QUIRE_SPECIAL_BOS, "<s>");
    default_id(spec, QUIRE_SPECIAL_EOS, "</s>");
    default_id(spec, QUIRE_SPECIAL_UNK, "<unk>");
    bool prepend;
    QR_TRY(qr_gguf_get_bool_or(f, KEY("add_space_prefix"), true, &prepend, err));
    QR_TRY(qr_gguf_get_bool_or(f, KEY("remove_extra_whitespaces"), false,
                               &spec->remove_extra_whitespaces, err));
    spec->prepend_scheme = prepend ? QR_PREPEND_ALWAYS : QR_PREPEND_NEVER;
    spec->strip_prepended_space = prepend;
    struct qr_gguf_str arch;
    QR_TRY(qr_gguf_get_str_or(f, "general.architecture", "", &arch, err));
    if (equals(&arch, "phi3"))
        set_phi3_rstrip(spec);
    return read_affixes(spec, f, spec->special[QUIRE_SPECIAL_BOS], true,
                        spec->special[QUIRE_SPECIAL_EOS], false, err);
}

static quire_status read_charsmap(struct qr_vocab_spec *spec, const struct qr_gguf *f,
                                  struct quire_error *err)
{
    static const char key[] = KEY("precompiled_charsmap");
    struct qr_gguf_array bytes;
    if (!qr_gguf_has(f, key))
        return QUIRE_OK;
    QR_TRY(qr_gguf_get_array(f, key, &bytes, err));
    if (bytes.type != QR_GGUF_U8 && bytes.type != QR_GGUF_I8)
        return qr_fail(err, QUIRE_E_FORMAT, "%s is not an array of bytes", key);
    return qr_charsmap_read(spec, bytes.data, bytes.count, key, err);
}

static quire_status read_unigram(struct qr_vocab_spec *spec, const struct qr_gguf *f,
                                 struct quire_error *err)
{
    bool prepend;
    spec->kind = QR_VOCAB_UNIGRAM;
    spec->fuse_unk = true;
    QR_TRY(read_tokens(spec, f, err));
    QR_TRY(read_special_ids(spec, f, err));
    default_id(spec, QUIRE_SPECIAL_EOS, "</s>");
    default_id(spec, QUIRE_SPECIAL_UNK, "<unk>");
    default_id(spec, QUIRE_SPECIAL_PAD, "<pad>");
    QR_TRY(read_charsmap(spec, f, err));
    QR_TRY(qr_gguf_get_bool_or(f, KEY("add_space_prefix"), true, &prepend, err));
    QR_TRY(qr_gguf_get_bool_or(f, KEY("remove_extra_whitespaces"), false,
                               &spec->remove_extra_whitespaces, err));
    spec->prepend_scheme = prepend ? QR_PREPEND_ALWAYS : QR_PREPEND_NEVER;
    spec->strip_prepended_space = prepend;
    QR_TRY(read_affixes(spec, f, spec->special[QUIRE_SPECIAL_BOS], false,
                        spec->special[QUIRE_SPECIAL_EOS], true, err));
    return read_pair(spec, f, err);
}

/* The vocabulary of RWKV "world" models. Texts get BOS and EOS only if the file says so. */
static quire_status read_longest_match(struct qr_vocab_spec *spec, const struct qr_gguf *f,
                                       struct quire_error *err)
{
    spec->kind = QR_VOCAB_LONGEST_MATCH;
    QR_TRY(read_tokens(spec, f, err));
    QR_TRY(read_special_ids(spec, f, err));
    return read_affixes(spec, f, spec->special[QUIRE_SPECIAL_BOS], false,
                        spec->special[QUIRE_SPECIAL_EOS], false, err);
}

/* A vocabulary of words (jina-embeddings-v2-base-zh). */
static quire_status read_word_bpe(struct qr_vocab_spec *spec, const struct qr_gguf *f,
                                  struct quire_error *err)
{
    struct qr_gguf_str pre;
    bool strips;
    spec->kind = QR_VOCAB_WORD_BPE;
    QR_TRY(qr_gguf_get_str_or(f, KEY("pre"), "whitespace", &pre, err));
    if (!equals(&pre, "whitespace"))
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "pre-tokenizer \"%.*s\" with words",
                       (int)(pre.size < 60 ? pre.size : 60), pre.data);
    QR_TRY(read_tokens(spec, f, err));
    QR_TRY(read_merges(spec, f, err));
    QR_TRY(read_special_ids(spec, f, err));
    default_id(spec, QUIRE_SPECIAL_UNK, "<unk>");
    QR_TRY(qr_gguf_get_bool_or(f, KEY("normalizer.lowercase"), false, &spec->lowercase, err));
    QR_TRY(qr_gguf_get_bool_or(f, KEY("normalizer.strip_accents"), false, &strips, err));
    if (strips)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       KEY("normalizer.strip_accents") " is supported for WordPiece only");
    QR_TRY(read_affixes(spec, f, spec->special[QUIRE_SPECIAL_BOS], false,
                        spec->special[QUIRE_SPECIAL_EOS], false, err));
    return read_pair(spec, f, err);
}

/* The vocabulary of PLaMo 2 and 3. Texts get BOS and EOS only if the file says so. */
static quire_status read_plamo(struct qr_vocab_spec *spec, const struct qr_gguf *f,
                               struct quire_error *err)
{
    spec->kind = QR_VOCAB_PLAMO;
    QR_TRY(read_tokens(spec, f, err));
    QR_TRY(read_special_ids(spec, f, err));
    default_id(spec, QUIRE_SPECIAL_UNK, "<|plamo:unk|>");
    default_id(spec, QUIRE_SPECIAL_BOS, "<|plamo:bos|>");
    default_id(spec, QUIRE_SPECIAL_EOS, "<|plamo:eos|>");
    default_id(spec, QUIRE_SPECIAL_PAD, "<|plamo:pad|>");
    return read_affixes(spec, f, spec->special[QUIRE_SPECIAL_BOS], false,
                        spec->special[QUIRE_SPECIAL_EOS], false, err);
}

/* Older files have no key for lowercasing. A vocabulary without capital letters must be uncased: it
 * could not encode them. */
static bool is_uncased(const struct qr_vocab_spec *spec)
{
    for (size_t i = 0; i < spec->n_tokens; i++) {
        const struct qr_spec_token *tok = &spec->tokens[i];
        if (tok->type != QUIRE_TOKEN_NORMAL || !tok->size || tok->text[0] == '[')
            continue;
        for (size_t k = 0; k < tok->size; k++)
            if (tok->text[k] >= 'A' && tok->text[k] <= 'Z')
                return false;
    }
    return true;
}

static quire_status read_wordpiece(struct qr_vocab_spec *spec, const struct qr_gguf *f,
                                   struct quire_error *err)
{
    spec->kind = QR_VOCAB_WORDPIECE;
    QR_TRY(read_tokens(spec, f, err));
    QR_TRY(read_special_ids(spec, f, err));
    default_id(spec, QUIRE_SPECIAL_UNK, "[UNK]");
    default_id(spec, QUIRE_SPECIAL_CLS, "[CLS]");
    default_id(spec, QUIRE_SPECIAL_SEP, "[SEP]");
    default_id(spec, QUIRE_SPECIAL_PAD, "[PAD]");
    default_id(spec, QUIRE_SPECIAL_MASK, "[MASK]");
    if (spec->special[QUIRE_SPECIAL_UNK] == QUIRE_TOKEN_NONE)
        return qr_fail(err, QUIRE_E_FORMAT, KEY("unknown_token_id") " is missing");
    spec->clean_text = spec->isolate_cjk = true;
    QR_TRY(qr_gguf_get_bool_or(f, KEY("normalizer.lowercase"), is_uncased(spec), &spec->lowercase,
                               err));
    QR_TRY(qr_gguf_get_bool_or(f, KEY("normalizer.strip_accents"), spec->lowercase,
                               &spec->strip_accents, err));
    spec->strip_prepended_space = true;
    const int64_t cls = spec->special[QUIRE_SPECIAL_CLS], sep = spec->special[QUIRE_SPECIAL_SEP];
    spec->has_pair = sep != QUIRE_TOKEN_NONE; /* [CLS] A [SEP] B [SEP] */
    spec->pair_ids[0] = sep;
    spec->n_pair_ids = spec->pair_type = spec->has_pair;
    return read_affixes(spec, f, cls != QUIRE_TOKEN_NONE ? cls : spec->special[QUIRE_SPECIAL_BOS],
                        true, sep != QUIRE_TOKEN_NONE ? sep : spec->special[QUIRE_SPECIAL_EOS],
                        true, err);
}

static quire_status add_template(struct qr_vocab_spec *spec, const struct qr_gguf *f,
                                 const char *key, const char *name, struct quire_error *err)
{
    struct qr_gguf_str text;
    QR_TRY(qr_gguf_get_str(f, key, &text, err));
    if (text.size && memchr(text.data, 0, text.size))
        return qr_fail(err, QUIRE_E_FORMAT, "%s contains a NUL character", key);
    if (spec->n_templates == QR_MAX_TEMPLATES)
        return qr_fail(err, QUIRE_E_LIMIT, "more than %d chat templates", QR_MAX_TEMPLATES);
    char *copy = qr_arena_strndup(&spec->arena, text.data, text.size);
    char *label = qr_arena_strndup(&spec->arena, name, strlen(name));
    if (!copy || !label)
        return no_memory(err);
    spec->templates[spec->n_templates++] = (struct qr_spec_template){ label, copy };
    return QUIRE_OK;
}

static quire_status read_templates(struct qr_vocab_spec *spec, const struct qr_gguf *f,
                                   struct quire_error *err)
{
    static const char main_key[] = "tokenizer.chat_template", prefix[] = "tokenizer.chat_template.";
    if (qr_gguf_has(f, main_key))
        QR_TRY(add_template(spec, f, main_key, "", err));
    for (size_t i = 0; i < qr_gguf_key_count(f); i++) {
        const struct qr_gguf_str key = qr_gguf_key(f, i);
        char name[128];
        if (key.size < sizeof prefix || key.size >= sizeof name ||
            memcmp(key.data, prefix, sizeof prefix - 1) != 0)
            continue;
        memcpy(name, key.data, key.size);
        name[key.size] = 0;
        QR_TRY(add_template(spec, f, name, name + sizeof prefix - 1, err));
    }
    return QUIRE_OK;
}

static quire_status read_vocab(struct qr_vocab_spec *spec, const struct qr_gguf *f,
                               struct quire_error *err)
{
    struct qr_gguf_str model;
    QR_TRY(qr_gguf_get_str(f, KEY("model"), &model, err));
    if (!equals(&model, "bert") && !equals(&model, "whitespace"))
        QR_TRY(refuse_normalizers(f, err));
    if (equals(&model, "gpt2"))
        QR_TRY(read_byte_level_bpe(spec, f, err));
    else if (equals(&model, "llama"))
        QR_TRY(read_sentencepiece_bpe(spec, f, err));
    else if (equals(&model, "gemma4"))
        QR_TRY(read_sentencepiece_merges(spec, f, true, err));
    else if (equals(&model, "bert"))
        QR_TRY(read_wordpiece(spec, f, err));
    else if (equals(&model, "t5"))
        QR_TRY(read_unigram(spec, f, err));
    else if (equals(&model, "rwkv"))
        QR_TRY(read_longest_match(spec, f, err));
    else if (equals(&model, "whitespace"))
        QR_TRY(read_word_bpe(spec, f, err));
    else if (equals(&model, "plamo2"))
        QR_TRY(read_plamo(spec, f, err));
    else
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "tokenizer model \"%.*s\" is not supported",
                       (int)(model.size < 60 ? model.size : 60), model.data);
    return read_templates(spec, f, err);
}

quire_status qr_tokenizer_from_gguf(const struct qr_gguf *f, const struct quire_allocator *a,
                                    struct quire_tokenizer **out, struct quire_error *err)
{
    *out = NULL;
    struct qr_vocab_spec spec;
    qr_vocab_spec_init(&spec, a);
    quire_status st = read_vocab(&spec, f, err);
    if (st == QUIRE_OK)
        st = qr_tokenizer_build(&spec, a, out, err);
    qr_vocab_spec_free(&spec);
    return st;
}

quire_status qr_tokenizer_open_gguf_memory(const void *data, size_t size,
                                           const struct quire_tokenizer_params *params,
                                           struct quire_tokenizer **out, struct quire_error *err)
{
    const struct quire_allocator *a = params ? params->allocator : NULL;
    struct qr_gguf *file;
    *out = NULL;
    QR_TRY(qr_gguf_open_memory(data, size, a, params ? params->logger : NULL, &file, err));
    const quire_status st = qr_tokenizer_from_gguf(file, a, out, err);
    qr_gguf_close(file);
    return st;
}
