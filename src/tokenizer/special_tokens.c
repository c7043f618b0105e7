/* SPDX-License-Identifier: Apache-2.0 */
/* special_tokens.c - roles of special tokens and the end-of-generation set. */
#include "tokenizer/special_tokens.h"
#include "base/error.h"
#include "tokenizer/known_tokens.h"
#include "tokenizer/vocab.h"
#include <string.h>

static const char *const role_names[QUIRE_N_SPECIAL] = { "BOS",     "EOS", "EOT", "EOM", "unknown",
                                                         "padding", "SEP", "CLS", "mask" };

static quire_status check_id(const struct quire_tokenizer *t, int64_t id, const char *role,
                             struct quire_error *err)
{
    if (id < 0 || id >= (int64_t)t->n_tokens)
        return qr_fail(err, QUIRE_E_FORMAT, "%s token id %lld is outside the vocabulary of %u",
                       role, (long long)id, t->n_tokens);
    return QUIRE_OK;
}

static quire_status copy_ids(const struct quire_tokenizer *t, const int64_t *from, uint32_t n,
                             int32_t *to, uint32_t *n_to, struct quire_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        QR_TRY(check_id(t, from[i], "prefix or suffix", err));
        to[i] = (int32_t)from[i];
    }
    *n_to = n;
    return QUIRE_OK;
}

quire_status qr_special_tokens_set_ids(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                                       struct quire_error *err)
{
    for (int i = 0; i < QUIRE_N_SPECIAL; i++) {
        if (spec->special[i] != QUIRE_TOKEN_NONE)
            QR_TRY(check_id(t, spec->special[i], role_names[i], err));
        t->special[i] = (int32_t)spec->special[i];
    }
    QR_TRY(copy_ids(t, spec->prefix_ids, spec->n_prefix_ids, t->prefix_ids, &t->n_prefix_ids, err));
    QR_TRY(copy_ids(t, spec->suffix_ids, spec->n_suffix_ids, t->suffix_ids, &t->n_suffix_ids, err));
    QR_TRY(copy_ids(t, spec->pair_ids, spec->n_pair_ids, t->pair_ids, &t->n_pair_ids, err));
    t->pair_type = spec->pair_type;
    t->has_pair = spec->has_pair;
    for (uint32_t i = 0; i < spec->n_eog; i++) {
        QR_TRY(check_id(t, spec->eog[i], "end-of-generation", err));
        t->tokens[spec->eog[i]].eog = true;
    }
    return QUIRE_OK;
}

static void make_control(struct qr_token *tok)
{
    tok->type = QUIRE_TOKEN_CONTROL;
    tok->bytes_offset = tok->text_offset;
    tok->bytes_size = tok->text_size;
}

void qr_special_tokens_retype(struct quire_tokenizer *t)
{
    for (uint32_t i = 0; i < t->n_tokens; i++) {
        struct qr_token *tok = &t->tokens[i];
        const char *text = t->pool + tok->text_offset;
        if ((tok->type == QUIRE_TOKEN_USER_DEFINED && qr_is_control_text(text, tok->text_size)) ||
            (tok->type == QUIRE_TOKEN_NORMAL && qr_is_eog_text(text, tok->text_size)))
            make_control(tok);
    }
    static const enum quire_special_token roles[] = { QUIRE_SPECIAL_BOS, QUIRE_SPECIAL_EOS,
                                                      QUIRE_SPECIAL_EOT, QUIRE_SPECIAL_EOM,
                                                      QUIRE_SPECIAL_SEP, QUIRE_SPECIAL_CLS };
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        const int32_t id = t->special[roles[i]];
        if (id == QUIRE_TOKEN_NONE)
            continue;
        struct qr_token *tok = &t->tokens[id];
        const char first = t->pool[tok->text_offset];
        if (tok->type == QUIRE_TOKEN_USER_DEFINED ||
            (tok->type == QUIRE_TOKEN_NORMAL && (first == '<' || first == '[')))
            make_control(tok);
    }
}

static bool is_control(const struct quire_tokenizer *t, int32_t id)
{
    return id != QUIRE_TOKEN_NONE && t->tokens[id].type == QUIRE_TOKEN_CONTROL;
}

void qr_special_tokens_find_eog(struct quire_tokenizer *t)
{
    for (size_t i = 0; t->special[QUIRE_SPECIAL_EOT] == QUIRE_TOKEN_NONE && qr_eot_text(i); i++) {
        const int32_t id = qr_vocab_find(t, qr_eot_text(i), strlen(qr_eot_text(i)));
        if (is_control(t, id))
            t->special[QUIRE_SPECIAL_EOT] = id;
    }
    if (t->special[QUIRE_SPECIAL_EOM] == QUIRE_TOKEN_NONE) {
        const int32_t id = qr_vocab_find(t, QR_EOM_TEXT, strlen(QR_EOM_TEXT));
        if (is_control(t, id))
            t->special[QUIRE_SPECIAL_EOM] = id;
    }
    /* in formats with channels "<|end|>" ends one message of several, and another token the turn */
    const int32_t end = qr_vocab_find(t, "<|end|>", 7), ret = qr_vocab_find(t, "<|return|>", 10);
    const bool channels = is_control(t, ret) && is_control(t, qr_vocab_find(t, "<|call|>", 8));
    if (channels && end != QUIRE_TOKEN_NONE && t->special[QUIRE_SPECIAL_EOT] == end)
        t->special[QUIRE_SPECIAL_EOT] = ret;
    for (uint32_t i = 0; i < t->n_tokens; i++) {
        struct qr_token *tok = &t->tokens[i];
        if (tok->type == QUIRE_TOKEN_CONTROL && !(channels && (int32_t)i == end) &&
            qr_is_eog_text(t->pool + tok->text_offset, tok->text_size))
            tok->eog = true;
    }
    for (int i = QUIRE_SPECIAL_EOS; i <= QUIRE_SPECIAL_EOM; i++)
        if (t->special[i] != QUIRE_TOKEN_NONE)
            t->tokens[t->special[i]].eog = true;
}
