/* SPDX-License-Identifier: Apache-2.0 */
/* tok_build.c - life cycle of the tokenizer object and its simple queries. */
#include "tokenizer/parts.h"
#include "tokenizer/pretok.h"

static quire_status copy_templates(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                                   struct quire_error *err)
{
    for (uint32_t i = 0; i < spec->n_templates; i++) {
        struct qr_spec_template *to = &t->templates[t->n_templates++];
        to->name = qr_strdup(t->a, spec->templates[i].name);
        to->text = qr_strdup(t->a, spec->templates[i].text);
        if (!to->name || !to->text)
            return qr_fail(err, QUIRE_E_NOMEM, "out of memory for the chat template");
    }
    return QUIRE_OK;
}

static void copy_rules(struct quire_tokenizer *t, const struct qr_vocab_spec *spec)
{
    t->kind = spec->kind;
    t->by_score = spec->kind == QR_VOCAB_CHAR_BPE && spec->by_score;
    t->ignore_merges = spec->ignore_merges;
    t->nfc = spec->nfc;
    t->split_spaces = spec->split_spaces;
    t->squeeze_spaces = spec->squeeze_spaces;
    t->single_unk = spec->single_unk;
    t->prefix = spec->prefix;
    t->strip_prefix = spec->strip_prefix;
    t->clean_text = spec->clean_text;
    t->space_cjk = spec->space_cjk;
    t->strip_accents = spec->strip_accents;
    t->lowercase = spec->lowercase;
    t->max_word_chars = spec->max_word_chars;
}

static quire_status build(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                          struct quire_error *err)
{
    if (spec->n_tokens == 0)
        return qr_fail(err, QUIRE_E_FORMAT, "vocabulary is empty");
    if (spec->n_tokens > QR_MAX_TOKENS)
        return qr_fail(err, QUIRE_E_LIMIT, "vocabulary of %zu tokens, at most %d", spec->n_tokens,
                       QR_MAX_TOKENS);
    copy_rules(t, spec);
    t->hash_key = qr_hash_key(t);
    QR_TRY(qr_tok_add_tokens(t, spec, err));
    QR_TRY(qr_tok_set_special_ids(t, spec, err));
    qr_tok_retype(t);
    QR_TRY(qr_tok_index_texts(t, err));
    if (t->kind != QR_VOCAB_WORDPIECE) {
        QR_TRY(qr_tok_find_bytes(t, err));
        QR_TRY(t->by_score ? qr_tok_order_scores(t, spec, err) : qr_tok_add_merges(t, spec, err));
    }
    qr_tok_find_ends(t);
    QR_TRY(qr_tok_collect_specials(t, err));
    QR_TRY(copy_templates(t, spec, err));
    if (t->kind == QR_VOCAB_BYTE_BPE)
        QR_TRY(qr_pretok_create(spec->stages, spec->n_stages, t->a, &t->pretok, err));
    return QUIRE_OK;
}

quire_status qr_tokenizer_build(const struct qr_vocab_spec *spec, const struct quire_allocator *a,
                                struct quire_tokenizer **out, struct quire_error *err)
{
    *out = NULL;
    struct quire_tokenizer *t = qr_calloc(a, 1, sizeof *t);
    if (!t)
        return qr_fail(err, QUIRE_E_NOMEM, "out of memory for the tokenizer");
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

void quire_tokenizer_close(struct quire_tokenizer *tok)
{
    if (!tok)
        return;
    const struct quire_allocator *a = tok->a;
    qr_free(a, tok->tokens, tok->n_tokens, sizeof *tok->tokens);
    qr_free(a, tok->pool, tok->pool_size, 1);
    qr_free(a, tok->order, tok->n_tokens, sizeof *tok->order);
    qr_free(a, tok->slots, tok->n_slots, sizeof *tok->slots);
    qr_free(a, tok->pairs, tok->n_pairs, sizeof *tok->pairs);
    qr_free(a, tok->specials, tok->cap_specials, sizeof *tok->specials);
    for (uint32_t i = 0; i < tok->n_templates; i++) {
        qr_strfree(a, (char *)tok->templates[i].name);
        qr_strfree(a, (char *)tok->templates[i].text);
    }
    qr_pretok_destroy(tok->pretok);
    const struct quire_allocator hooks = tok->hooks; /* they lie inside what is freed */
    qr_free(a ? &hooks : NULL, tok, 1, sizeof *tok);
}

static const struct qr_token *token_at(const struct quire_tokenizer *tok, int32_t id)
{
    return tok && id >= 0 && (uint32_t)id < tok->n_tokens ? &tok->tokens[id] : NULL;
}

size_t quire_tokenizer_vocab_size(const struct quire_tokenizer *tok)
{
    return tok ? tok->n_tokens : 0;
}

enum quire_token_type quire_tokenizer_token_type(const struct quire_tokenizer *tok, int32_t token)
{
    const struct qr_token *t = token_at(tok, token);
    return t ? (enum quire_token_type)t->type : QUIRE_TOKEN_UNDEFINED;
}

bool quire_tokenizer_is_special(const struct quire_tokenizer *tok, int32_t token)
{
    const struct qr_token *t = token_at(tok, token);
    return t && t->special;
}

bool quire_tokenizer_is_eog(const struct quire_tokenizer *tok, int32_t token)
{
    const struct qr_token *t = token_at(tok, token);
    return t && t->eog;
}

int32_t quire_tokenizer_special(const struct quire_tokenizer *tok, enum quire_special_token which)
{
    return tok && (unsigned)which < QUIRE_N_SPECIAL ? tok->special[which] : QUIRE_TOKEN_NONE;
}

bool quire_tokenizer_adds_bos(const struct quire_tokenizer *tok)
{
    return tok && tok->n_prefix_ids;
}
bool quire_tokenizer_adds_eos(const struct quire_tokenizer *tok)
{
    return tok && tok->n_suffix_ids;
}

int32_t quire_tokenizer_find(const struct quire_tokenizer *tok, const char *text, size_t size)
{
    return tok && text ? qr_tok_find(tok, text, size) : QUIRE_TOKEN_NONE;
}

const char *quire_tokenizer_token_text(const struct quire_tokenizer *tok, int32_t token,
                                       size_t *size)
{
    const struct qr_token *t = token_at(tok, token);
    if (size)
        *size = t ? t->text_size : 0;
    return t ? tok->pool + t->text_at : NULL;
}

const char *quire_tokenizer_token_bytes(const struct quire_tokenizer *tok, int32_t token,
                                        size_t *size)
{
    const struct qr_token *t = token_at(tok, token);
    if (size)
        *size = t ? t->bytes_size : 0;
    return t ? tok->pool + t->bytes_at : NULL;
}

const char *quire_tokenizer_chat_template(const struct quire_tokenizer *tok, const char *name)
{
    for (uint32_t i = 0; tok && i < tok->n_templates; i++)
        if (strcmp(tok->templates[i].name, name ? name : "") == 0)
            return tok->templates[i].text;
    return NULL;
}
