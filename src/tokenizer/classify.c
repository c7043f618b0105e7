/* SPDX-License-Identifier: Apache-2.0 */
/* tok_classify.c - which tokens are special, which end a generation, which are looked for in
 * text. */
#include "tokenizer/impl.h"
#include "tokenizer/names.h"
#include "tokenizer/parts.h"

enum { MAX_SPECIAL_BYTES = 1024 };

static const char *const special_names[QUIRE_N_SPECIAL] = { "BOS", "EOS",     "EOT",
                                                            "EOM", "unknown", "padding",
                                                            "SEP", "CLS",     "mask" };

static quire_status check_id(const struct quire_tokenizer *t, int64_t id, const char *what,
                             struct quire_error *err)
{
    if (id < 0 || id >= (int64_t)t->n_tokens)
        return qr_fail(err, QUIRE_E_FORMAT, "%s token id %lld is outside the vocabulary of %u",
                       what, (long long)id, t->n_tokens);
    return QUIRE_OK;
}

static quire_status copy_ids(const struct quire_tokenizer *t, const int64_t *from, uint32_t n,
                             int32_t *to, uint32_t *n_to, struct quire_error *err)
{
    for (uint32_t i = 0; i < n; i++) {
        QR_TRY(check_id(t, from[i], "added", err));
        to[i] = (int32_t)from[i];
    }
    *n_to = n;
    return QUIRE_OK;
}

quire_status qr_tok_set_special_ids(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                                    struct quire_error *err)
{
    for (int i = 0; i < QUIRE_N_SPECIAL; i++) {
        if (spec->special[i] != QUIRE_TOKEN_NONE)
            QR_TRY(check_id(t, spec->special[i], special_names[i], err));
        t->special[i] = (int32_t)spec->special[i];
    }
    QR_TRY(copy_ids(t, spec->prefix_ids, spec->n_prefix_ids, t->prefix_ids, &t->n_prefix_ids, err));
    QR_TRY(copy_ids(t, spec->suffix_ids, spec->n_suffix_ids, t->suffix_ids, &t->n_suffix_ids, err));
    for (uint32_t i = 0; i < spec->n_eog; i++) {
        QR_TRY(check_id(t, spec->eog[i], "end-of-generation", err));
        t->tokens[spec->eog[i]].eog = true;
    }
    return QUIRE_OK;
}

static void make_control(struct qr_token *tok)
{
    tok->type = QUIRE_TOKEN_CONTROL;
    tok->bytes_at = tok->text_at;
    tok->bytes_size = tok->text_size;
}

/* Files often call tokens of the conversation format user-defined or even normal. Users could then
 * forge them, so that what is recognised by its role or its shape is made a control token. */
void qr_tok_retype(struct quire_tokenizer *t)
{
    for (uint32_t i = 0; i < t->n_tokens; i++) {
        struct qr_token *tok = &t->tokens[i];
        const char *text = t->pool + tok->text_at;
        if ((tok->type == QUIRE_TOKEN_USER_DEFINED && qr_is_format_name(text, tok->text_size)) ||
            (tok->type == QUIRE_TOKEN_NORMAL && qr_is_end_name(text, tok->text_size)))
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
        const char first = t->pool[tok->text_at];
        if (tok->type == QUIRE_TOKEN_USER_DEFINED ||
            (tok->type == QUIRE_TOKEN_NORMAL && (first == '<' || first == '[')))
            make_control(tok);
    }
}

static bool is_control(const struct quire_tokenizer *t, int32_t id)
{
    return id != QUIRE_TOKEN_NONE && t->tokens[id].type == QUIRE_TOKEN_CONTROL;
}

void qr_tok_find_ends(struct quire_tokenizer *t)
{
    for (size_t i = 0; t->special[QUIRE_SPECIAL_EOT] == QUIRE_TOKEN_NONE && qr_end_of_turn_name(i);
         i++) {
        const int32_t id = qr_tok_find(t, qr_end_of_turn_name(i), strlen(qr_end_of_turn_name(i)));
        if (is_control(t, id))
            t->special[QUIRE_SPECIAL_EOT] = id;
    }
    if (t->special[QUIRE_SPECIAL_EOM] == QUIRE_TOKEN_NONE) {
        const int32_t id = qr_tok_find(t, QR_END_OF_MESSAGE_NAME, strlen(QR_END_OF_MESSAGE_NAME));
        if (is_control(t, id))
            t->special[QUIRE_SPECIAL_EOM] = id;
    }
    /* in formats with channels "<|end|>" only ends one message of several; another token ends the
     * turn */
    const int32_t end = qr_tok_find(t, "<|end|>", 7), ret = qr_tok_find(t, "<|return|>", 10);
    const bool channels = is_control(t, ret) && is_control(t, qr_tok_find(t, "<|call|>", 8));
    if (channels && end != QUIRE_TOKEN_NONE && t->special[QUIRE_SPECIAL_EOT] == end)
        t->special[QUIRE_SPECIAL_EOT] = ret;
    for (uint32_t i = 0; i < t->n_tokens; i++) {
        struct qr_token *tok = &t->tokens[i];
        if (tok->type == QUIRE_TOKEN_CONTROL && !(channels && (int32_t)i == end) &&
            qr_is_end_name(t->pool + tok->text_at, tok->text_size))
            tok->eog = true;
    }
    for (int i = QUIRE_SPECIAL_EOS; i <= QUIRE_SPECIAL_EOM; i++)
        if (t->special[i] != QUIRE_TOKEN_NONE)
            t->tokens[t->special[i]].eog = true;
}

static int compare_texts(const struct qr_special_text *a, const struct qr_special_text *b)
{
    const int c = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
    if (c || a->size != b->size)
        return c ? c : a->size < b->size ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Heap sort: takes no memory, and no input makes it slow. */
static void sort_texts(struct qr_special_text *s, size_t n)
{
    for (size_t built = n / 2, end = n; end > 1;) {
        struct qr_special_text moving;
        if (built) {
            moving = s[--built];
        } else {
            moving = s[--end];
            s[end] = s[0];
        }
        size_t i = built;
        for (size_t child; (child = 2 * i + 1) < end; i = child) {
            if (child + 1 < end && compare_texts(&s[child], &s[child + 1]) < 0)
                child++;
            if (compare_texts(&moving, &s[child]) >= 0)
                break;
            s[i] = s[child];
        }
        s[i] = moving;
    }
}

static bool add_text(struct quire_tokenizer *t, uint32_t at, uint32_t size, int32_t id)
{
    if (!qr_grow(t->a, (void **)&t->specials, &t->cap_specials, t->n_specials + 1,
                 sizeof *t->specials))
        return false;
    t->specials[t->n_specials++] = (struct qr_special_text){ t->pool + at, size, id };
    return true;
}

quire_status qr_tok_collect_specials(struct quire_tokenizer *t, struct quire_error *err)
{
    for (uint32_t i = 0; i < t->n_tokens; i++) {
        struct qr_token *tok = &t->tokens[i];
        tok->special = tok->type == QUIRE_TOKEN_CONTROL || tok->type == QUIRE_TOKEN_UNKNOWN;
        if (!tok->special && tok->type != QUIRE_TOKEN_USER_DEFINED)
            continue;
        if (tok->text_size > MAX_SPECIAL_BYTES)
            return qr_fail(err, QUIRE_E_LIMIT, "special token %u has %u bytes, at most %d", i,
                           tok->text_size, MAX_SPECIAL_BYTES);
        /* user-defined tokens with a space mark are met as plain spaces in the input */
        const bool spaced = t->kind == QR_VOCAB_CHAR_BPE && !tok->special &&
                            tok->bytes_at != tok->text_at && !(tok->match & QR_TOKEN_LITERAL);
        if (!add_text(t, tok->text_at, tok->text_size, (int32_t)i) ||
            (spaced && !add_text(t, tok->bytes_at, tok->bytes_size, (int32_t)i)))
            return qr_fail(err, QUIRE_E_NOMEM, "out of memory for the tokenizer");
    }
    sort_texts(t->specials, t->n_specials);
    size_t kept = 0;
    for (size_t i = 0; i < t->n_specials; i++) { /* of equal texts the lowest id counts */
        const struct qr_special_text *s = &t->specials[i],
                                     *last = kept ? &t->specials[kept - 1] : NULL;
        if (last && last->size == s->size && memcmp(last->text, s->text, s->size) == 0)
            continue;
        t->starts_special[(uint8_t)*s->text] = true;
        t->specials[kept++] = *s;
    }
    t->n_specials = kept;
    return QUIRE_OK;
}
