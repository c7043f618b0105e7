/* SPDX-License-Identifier: Apache-2.0 */
/* plamo.c - vocabularies of PLaMo: scores, search from the end of a text. */
#include "tokenizer/plamo.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/encoder.h"
#include "tokenizer/sorted_tokens.h"
#include "tokenizer/vocab.h"
#include <math.h>
#include <string.h>

/* Sums of scores are integers below 2^53 for any text: exact in double precision. */
static const double UNKNOWN = -1e7;

double qr_plamo_score(double score) { return rint(score * 1e4); }

quire_status qr_plamo_build(struct quire_tokenizer *t, const struct qr_vocab_spec *spec,
                            struct quire_error *err)
{
    struct qr_unigram *u = &t->unigram;
    u->scores = qr_alloc(t->a, t->n_tokens, sizeof *u->scores);
    if (!u->scores)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the tokenizer");
    for (uint32_t i = 0; i < t->n_tokens; i++) {
        u->scores[i] = spec->tokens[i].score;
        if (qr_token_is_normal(t, (int32_t)i) && fabs((double)u->scores[i]) > -UNKNOWN)
            return qr_fail(err, QUIRE_E_FORMAT, "the score of token %u is %g, beyond 1000", i,
                           (double)u->scores[i] / 1e4);
    }
    for (int b = 0; b < 256; b++)
        if (t->byte_token[b] == QUIRE_TOKEN_NONE)
            return qr_fail(err, QUIRE_E_FORMAT, "vocabulary has no token for byte 0x%02X", b);
    u->unknown_score = UNKNOWN;
    return qr_sorted_tokens_build(t, false, err);
}

/* Finds the best segmentation of s[0..n), whose rest behind each character is done: best[0] gets
 * its score, its first token and the bytes of that. */
static void extend(const struct quire_tokenizer *t, const uint8_t *s, size_t n,
                   struct qr_unigram_end *best)
{
    const struct qr_sorted_tokens *sorted = &t->sorted;
    const size_t character = qr_utf8_len(s[0]);
    uint32_t low = sorted->by_first_byte[s[0]], high = sorted->by_first_byte[s[0] + 1];
    *best = (struct qr_unigram_end){ t->unigram.unknown_score + best[character].score,
                                     QUIRE_TOKEN_NONE, (uint32_t)character };
    for (uint32_t depth = 1; low < high; depth++) {
        const uint32_t id = sorted->ids[low]; /* the shortest one */
        if (t->tokens[id].text_size == depth &&
            (depth == n || !qr_utf8_is_continuation(s[depth]))) {
            const double score = (double)t->unigram.scores[id] + best[depth].score;
            if (score >= best->score) /* as good as a shorter one is better */
                *best = (struct qr_unigram_end){ score, (int32_t)id, depth };
        }
        low += t->tokens[id].text_size == depth;
        if (depth == n)
            break;
        low = qr_sorted_tokens_lower_bound(t, low, high, depth, s[depth]);
        high = qr_sorted_tokens_lower_bound(t, low, high, depth, s[depth] + 1u);
    }
}

static quire_status encode_segment(struct qr_encoder *e, const uint8_t *s, size_t n)
{
    const struct quire_tokenizer *t = e->t;
    if (!qr_grow(t->a, (void **)&e->ends, &e->cap_ends, n + 1, sizeof *e->ends))
        return qr_encoder_nomem(e);
    e->ends[n] = (struct qr_unigram_end){ 0 };
    for (size_t at = n; at-- > 0;)
        if (!qr_utf8_is_continuation(s[at]))
            extend(t, s + at, n - at, e->ends + at);
    for (size_t at = 0; at < n; at += e->ends[at].begin) {
        const struct qr_unigram_end *first = &e->ends[at];
        if (first->id != QUIRE_TOKEN_NONE)
            qr_emit(e, first->id);
        else
            for (uint32_t i = 0; i < first->begin; i++)
                qr_emit(e, t->byte_token[s[at + i]]);
    }
    return QUIRE_OK;
}

/* Encodes text between runs, in parts of up to QR_MAX_PIECE_BYTES: up to a line break in the second
 * half, if there is one. */
static quire_status encode_text(struct qr_encoder *e, const uint8_t *s, size_t n)
{
    enum { MOST = QR_MAX_PIECE_BYTES };
    while (n > MOST) {
        size_t size = MOST;
        while (size > MOST / 2 && s[size - 1] != '\n')
            size--;
        if (size == MOST / 2)
            for (size = MOST; qr_utf8_is_continuation(s[size]);)
                size--;
        QR_TRY(encode_segment(e, s, size));
        s += size;
        n -= size;
    }
    return encode_segment(e, s, n);
}

/* Bytes of the run of the character at s, if it is segmented by itself, else 0. *n_run: receives
 * the bytes of the run. */
static size_t separate_run(const struct quire_tokenizer *t, const uint8_t *s, size_t n,
                           size_t *n_run)
{
    const size_t character = qr_utf8_len(s[0]);
    size_t end = character, count = 1;
    for (; n - end >= character && memcmp(s, s + end, character) == 0; count++)
        end += character;
    *n_run = end;
    const bool repeats = t->break_repeats && count >= t->break_repeats && s[0] != '\n';
    const bool spaces = t->break_spaces && count >= t->break_spaces && s[0] == ' ';
    return repeats || spaces ? end : 0;
}

quire_status qr_encode_plamo(struct qr_encoder *e, const uint8_t *text, size_t n)
{
    const struct quire_tokenizer *t = e->t;
    size_t done = 0;
    if (!t->break_repeats && !t->break_spaces)
        return encode_text(e, text, n);
    for (size_t at = 0, run; at < n; at += run) {
        const size_t size = separate_run(t, text + at, n - at, &run);
        if (!size)
            continue;
        QR_TRY(encode_text(e, text + done, at - done));
        QR_TRY(encode_text(e, text + at, size));
        done = at + size;
    }
    return encode_text(e, text + done, n - done);
}
