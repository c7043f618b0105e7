/* SPDX-License-Identifier: Apache-2.0 */
/* build.c - builds a tokenizer from its description. */
#include "tokenizer/build.h"
#include "base/error.h"
#include "base/keyed_hash.h"
#include "tokenizer/added_tokens.h"
#include "tokenizer/longest_match.h"
#include "tokenizer/merges.h"
#include "tokenizer/plamo.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/unigram.h"
#include "tokenizer/vocab.h"
#include <string.h>

static quire_status copy_templates(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                                   struct quire_error *err)
{
    for (uint32_t i = 0; i < spec->n_templates; i++) {
        struct qr_spec_template *to = &t->templates[t->n_templates++];
        to->name = qr_strdup(t->a, spec->templates[i].name);
        to->text = qr_strdup(t->a, spec->templates[i].text);
        if (!to->name || !to->text)
            return qr_fail(err, QUIRE_E_NOMEM, "no memory for the chat template");
    }
    return QUIRE_OK;
}

static void copy_settings(struct quire_tokenizer *t, const struct qr_vocab_spec *spec)
{
    t->kind = spec->kind;
    t->merge_by_score = spec->kind == QR_VOCAB_SENTENCEPIECE_BPE && spec->merge_by_score;
    t->ignore_merges = spec->ignore_merges;
    t->nfc = spec->nfc;
    t->split_at_spaces = spec->split_at_spaces;
    t->split_at_white_space = spec->split_at_white_space;
    t->remove_extra_whitespaces = spec->remove_extra_whitespaces;
    t->keep_leading_space = spec->keep_leading_space;
    t->keep_trailing_space = spec->keep_trailing_space;
    t->strip_white_space = spec->strip_white_space;
    t->trim_white_space = spec->trim_white_space;
    t->fuse_unk = spec->fuse_unk;
    t->prepend_scheme = spec->prepend_scheme;
    t->strip_prepended_space = spec->strip_prepended_space;
    t->clean_text = spec->clean_text;
    t->isolate_cjk = spec->isolate_cjk;
    t->strip_accents = spec->strip_accents;
    t->lowercase = spec->lowercase;
    t->split_words = spec->split_words;
    t->max_word_chars = spec->max_word_chars;
    t->break_repeats = spec->break_repeats;
    t->break_spaces = spec->break_spaces;
}

static quire_status build_unigram(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                                  struct quire_error *err)
{
    qr_merges_find_inner_spaces(t);
    QR_TRY(qr_unigram_build(t, spec, err));
    if (!spec->charsmap)
        return QUIRE_OK;
    t->charsmap_size = spec->charsmap_size;
    t->charsmap = qr_alloc(t->a, t->charsmap_size, 1);
    if (!t->charsmap)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the tokenizer");
    memcpy(t->charsmap, spec->charsmap, t->charsmap_size);
    return QUIRE_OK;
}

static quire_status build(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                          struct quire_error *err)
{
    if (spec->n_tokens == 0)
        return qr_fail(err, QUIRE_E_FORMAT, "vocabulary is empty");
    if (spec->n_tokens > QR_MAX_TOKENS)
        return qr_fail(err, QUIRE_E_LIMIT, "vocabulary of %zu tokens, at most %d", spec->n_tokens,
                       QR_MAX_TOKENS);
    copy_settings(t, spec);
    t->hash_key = qr_hash_key(t);
    QR_TRY(qr_vocab_add_tokens(t, spec, err));
    QR_TRY(qr_special_tokens_set_ids(t, spec, err));
    qr_special_tokens_retype(t);
    QR_TRY(qr_vocab_index_texts(t, err));
    if (t->kind == QR_VOCAB_LONGEST_MATCH) {
        QR_TRY(qr_longest_match_build(t, err));
    } else if (t->kind != QR_VOCAB_WORDPIECE) {
        QR_TRY(qr_vocab_find_byte_tokens(t, err));
        QR_TRY(t->kind == QR_VOCAB_UNIGRAM ? build_unigram(t, spec, err)
               : t->kind == QR_VOCAB_PLAMO ? qr_plamo_build(t, spec, err)
               : t->merge_by_score         ? qr_merges_order_by_score(t, spec, err)
                                           : qr_merges_add(t, spec, err));
    }
    qr_special_tokens_find_eog(t);
    QR_TRY(qr_added_tokens_build(t, err));
    QR_TRY(copy_templates(t, spec, err));
    if (t->kind == QR_VOCAB_BYTE_LEVEL_BPE)
        QR_TRY(qr_pretokenizer_create(spec->splits, spec->n_splits, t->a, &t->pretokenizer, err));
    return QUIRE_OK;
}

quire_status qr_tokenizer_build(const struct qr_vocab_spec *spec, const struct quire_allocator *a,
                                struct quire_tokenizer **out, struct quire_error *err)
{
    *out = NULL;
    struct quire_tokenizer *t = qr_calloc(a, 1, sizeof *t);
    if (!t)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the tokenizer");
    t->handle.kind = QR_KIND_TOKENIZER;
    if (a) {
        t->hooks = *a;
        t->a = &t->hooks;
    }
    const quire_status st = build(t, spec, err);
    if (st != QUIRE_OK) {
        quire_tokenizer_close(t);
        return st;
    }
    *out = t;
    return QUIRE_OK;
}
