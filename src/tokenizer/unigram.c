/* SPDX-License-Identifier: Apache-2.0 */
/* unigram.c - Unigram vocabularies: scores of the tokens, Viterbi search. */
#include "tokenizer/unigram.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/encoder.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/sorted_tokens.h"
#include "tokenizer/vocab.h"
#include <math.h>

enum { UNREACHED = -2 }; /* id of an end that no segmentation reaches yet */

/* How far an unknown character is below the lowest score, as in SentencePiece. */
static const double UNKNOWN_PENALTY = 10;

quire_status qr_unigram_build(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                              struct quire_error *err)
{
    struct qr_unigram *u = &t->unigram;
    double lowest = 0;
    bool any = false;
    u->scores = qr_alloc(t->a, t->n_tokens, sizeof *u->scores);
    if (!u->scores)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the tokenizer");
    for (uint32_t i = 0; i < t->n_tokens; i++) {
        u->scores[i] = spec->tokens[i].score;
        /* GCOVR_EXCL_BR_LINE: qr_vocab_add_tokens() has checked it */
        if (!isfinite(u->scores[i]))
            return qr_fail(err, QUIRE_E_FORMAT, "the score of token %u is not finite", i);
        if (!qr_token_is_normal(t, (int32_t)i))
            continue;
        if (!any || u->scores[i] < lowest)
            lowest = u->scores[i];
        any = true;
    }
    u->unknown_score = lowest - UNKNOWN_PENALTY;
    return qr_sorted_tokens_build(t, false, err);
}

void qr_unigram_free(struct quire_tokenizer *t)
{
    qr_free(t->a, t->unigram.scores, t->n_tokens, sizeof *t->unigram.scores);
}

uint64_t qr_unigram_bytes(const struct quire_tokenizer *t)
{
    return t->unigram.scores ? (uint64_t)t->n_tokens * sizeof *t->unigram.scores : 0;
}

/* ---- Search */

/* Makes the segmentation that ends with a token the best one of its end, if it is better. */
static void offer(struct qr_unigram_end *end, int32_t id, size_t begin, double score)
{
    if (end->id == UNREACHED || score > end->score)
        *end = (struct qr_unigram_end){ score, id, (uint32_t)begin };
}

/* Offers all tokens, and the unknown character, that begin at a character. */
static void extend(const struct qr_encoder *e, size_t at)
{
    const struct quire_tokenizer *t = e->t;
    const struct qr_unigram *u = &t->unigram;
    const uint8_t *s = e->piece.data + at;
    const size_t left = e->piece.size - at, character = qr_utf8_len(s[0]);
    struct qr_unigram_end *ends = e->ends + at;
    const double before = ends[0].score;
    uint32_t low = t->sorted.by_first_byte[s[0]], high = t->sorted.by_first_byte[s[0] + 1];
    bool known = false;
    for (uint32_t depth = 1; low < high; depth++) {
        const uint32_t id = t->sorted.ids[low]; /* the shortest one */
        if (t->tokens[id].text_size == depth) {
            offer(&ends[depth], (int32_t)id, at, before + u->scores[id]);
            known = known || depth == character;
            low++;
        }
        if (depth == left)
            break;
        low = qr_sorted_tokens_lower_bound(t, low, high, depth, s[depth]);
        high = qr_sorted_tokens_lower_bound(t, low, high, depth, s[depth] + 1u);
    }
    if (!known)
        offer(&ends[character], QUIRE_TOKEN_NONE, at, before + u->unknown_score);
}

quire_status qr_unigram_encode_piece(struct qr_encoder *e)
{
    const size_t n = e->piece.size;
    if (!qr_grow(e->t->a, (void **)&e->ends, &e->cap_ends, n + 1, sizeof *e->ends))
        return qr_encoder_nomem(e);
    e->ends[0] = (struct qr_unigram_end){ .id = QUIRE_TOKEN_NONE };
    for (size_t i = 1; i <= n; i++)
        e->ends[i].id = UNREACHED;
    for (size_t at = 0; at < n; at += qr_utf8_len(e->piece.data[at]))
        extend(e, at);
    /* follow the tokens back, and let each begin point to its end instead */
    size_t end = n, next = n;
    while (end) {
        const struct qr_unigram_end last = e->ends[end];
        e->ends[end].begin = (uint32_t)next;
        next = end;
        end = last.begin;
    }
    for (size_t begin = 0; begin < n; begin = next, next = e->ends[begin].begin) {
        const int32_t id = e->ends[next].id;
        if (id == QUIRE_TOKEN_NONE) {
            qr_emit_unknown(e, e->piece.data + begin, next - begin);
        } else {
            qr_emit(e, id);
            e->after_unk = false;
        }
    }
    return QUIRE_OK;
}
