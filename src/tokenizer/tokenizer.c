/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer.c - closes a tokenizer and answers queries about its vocabulary. */
#include "base/alloc.h"
#include "base/handle.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/sorted_tokens.h"
#include "tokenizer/types.h"
#include "tokenizer/unigram.h"
#include "tokenizer/vocab.h"
#include <string.h>

void quire_tokenizer_close(struct quire_tokenizer *tok)
{
    if (!qr_handle_end(tok, QR_KIND_TOKENIZER))
        return;
    const struct quire_allocator *a = tok->a;
    qr_free(a, tok->tokens, tok->n_tokens, sizeof *tok->tokens);
    qr_free(a, tok->pool, tok->pool_size, 1);
    qr_sorted_tokens_free(tok);
    qr_unigram_free(tok);
    qr_free(a, tok->charsmap, tok->charsmap_size, 1);
    qr_free(a, tok->score_rank, tok->n_tokens, sizeof *tok->score_rank);
    qr_free(a, tok->text_slots, tok->n_text_slots, sizeof *tok->text_slots);
    qr_free(a, tok->merges, tok->n_merge_slots, sizeof *tok->merges);
    qr_free(a, tok->added, tok->cap_added, sizeof *tok->added);
    for (uint32_t i = 0; i < tok->n_templates; i++) {
        qr_strfree(a, (char *)tok->templates[i].name);
        qr_strfree(a, (char *)tok->templates[i].text);
    }
    qr_pretokenizer_destroy(tok->pretokenizer);
    const struct quire_allocator hooks = tok->hooks; /* a copy: tok holds them */
    qr_free(a ? &hooks : NULL, tok, 1, sizeof *tok);
}

static const struct qr_token *token_at(const struct quire_tokenizer *tok, int32_t id)
{
    return qr_handle_is(tok, QR_KIND_TOKENIZER) && id >= 0 && (uint32_t)id < tok->n_tokens
               ? &tok->tokens[id]
               : NULL;
}

size_t quire_tokenizer_vocab_size(const struct quire_tokenizer *tok)
{
    return qr_handle_is(tok, QR_KIND_TOKENIZER) ? tok->n_tokens : 0;
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
    return qr_handle_is(tok, QR_KIND_TOKENIZER) && (unsigned)which < QUIRE_N_SPECIAL
               ? tok->special[which]
               : QUIRE_TOKEN_NONE;
}

bool quire_tokenizer_adds_bos(const struct quire_tokenizer *tok)
{
    return qr_handle_is(tok, QR_KIND_TOKENIZER) && tok->n_prefix_ids;
}

bool quire_tokenizer_adds_eos(const struct quire_tokenizer *tok)
{
    return qr_handle_is(tok, QR_KIND_TOKENIZER) && tok->n_suffix_ids;
}

int32_t quire_tokenizer_find(const struct quire_tokenizer *tok, const char *text, size_t size)
{
    return qr_handle_is(tok, QR_KIND_TOKENIZER) && text ? qr_vocab_find(tok, text, size)
                                                        : QUIRE_TOKEN_NONE;
}

const char *quire_tokenizer_token_text(const struct quire_tokenizer *tok, int32_t token,
                                       size_t *size)
{
    const struct qr_token *t = token_at(tok, token);
    if (size)
        *size = t ? t->text_size : 0;
    return t ? tok->pool + t->text_offset : NULL;
}

const char *quire_tokenizer_token_bytes(const struct quire_tokenizer *tok, int32_t token,
                                        size_t *size)
{
    const struct qr_token *t = token_at(tok, token);
    if (size)
        *size = t ? t->bytes_size : 0;
    return t ? tok->pool + t->bytes_offset : NULL;
}

const char *quire_tokenizer_chat_template(const struct quire_tokenizer *tok, const char *name)
{
    if (!qr_handle_is(tok, QR_KIND_TOKENIZER))
        return NULL;
    for (uint32_t i = 0; i < tok->n_templates; i++)
        if (strcmp(tok->templates[i].name, name ? name : "") == 0)
            return tok->templates[i].text;
    return NULL;
}
