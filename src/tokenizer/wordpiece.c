/* SPDX-License-Identifier: Apache-2.0 */
/* wordpiece.c - encoder of WordPiece vocabularies: BERT normalization, greedy longest match. */
#include "tokenizer/wordpiece.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/encoder.h"
#include "tokenizer/vocab.h"
#include "tokenizer/white_space.h"
#include <string.h>
#include <utf8proc.h>

/* The vocabulary has the form of GGUF files: U+2581 in front of a token that begins a word, nothing
 * in front of one that continues it. e->piece is the current word with its U+2581. */

static bool is_cjk(uint32_t cp)
{
    return (cp >= 0x4E00 && cp <= 0x9FFF) || (cp >= 0x3400 && cp <= 0x4DBF) ||
           (cp >= 0xF900 && cp <= 0xFAFF) || (cp >= 0x20000 && cp <= 0x2A6DF) ||
           (cp >= 0x2A700 && cp <= 0x2CEAF) || (cp >= 0x2F800 && cp <= 0x2FA1F);
}

static bool is_control(uint32_t cp)
{
    switch (utf8proc_category((utf8proc_int32_t)cp)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CS:
        return true;
    default:
        return false;
    }
}

static bool is_punctuation(uint32_t cp)
{
    if (cp < 0x80)
        return cp > ' ' && cp < 0x7F &&
               !((cp >= '0' && cp <= '9') || ((cp | 0x20) >= 'a' && (cp | 0x20) <= 'z'));
    const utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
    return c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO;
}

struct word {
    struct qr_encoder *e;
    uint32_t chars;
};

/* Encodes the current word and starts the next one. */
static void flush(struct word *w)
{
    struct qr_encoder *e = w->e;
    const struct quire_tokenizer *t = e->t;
    const uint8_t *s = e->piece.data;
    const size_t n = e->piece.size, first_id = e->n_ids;
    const uint32_t chars = w->chars;
    w->chars = 0;
    e->piece.size = QR_METASPACE_SIZE;
    if (!chars)
        return;
    bool known = chars <= t->max_word_chars;
    for (size_t at = 0; known && at < n;) {
        size_t end = n - at > t->max_text ? at + t->max_text : n;
        int32_t id = QUIRE_TOKEN_NONE;
        /* U+2581 inside the word comes from the input and does not begin a word */
        if (at && n - at >= QR_METASPACE_SIZE &&
            memcmp(s + at, QR_METASPACE, QR_METASPACE_SIZE) == 0)
            end = at;
        for (; end > (at ? at : QR_METASPACE_SIZE); end--) {
            if (end < n && qr_utf8_is_continuation(s[end]))
                continue;
            id = qr_vocab_find(t, s + at, end - at);
            if (id != QUIRE_TOKEN_NONE && qr_token_is_normal(t, id))
                break;
            id = QUIRE_TOKEN_NONE;
        }
        known = id != QUIRE_TOKEN_NONE;
        if (known)
            qr_emit(e, id);
        at = end;
    }
    if (!known) { /* one unknown part makes the whole word unknown */
        e->n_ids = first_id;
        if (t->special[QUIRE_SPECIAL_UNK] != QUIRE_TOKEN_NONE)
            qr_emit(e, t->special[QUIRE_SPECIAL_UNK]);
    }
}

/* Appends a character to the word. Stops after one character more than a word may have. */
static quire_status append(struct word *w, uint32_t cp)
{
    if (w->chars > w->e->t->max_word_chars)
        return QUIRE_OK;
    if (!qr_bytes_reserve(w->e->t->a, &w->e->piece, QR_UTF8_MAX))
        return qr_encoder_nomem(w->e);
    w->e->piece.size += qr_utf8_put(w->e->piece.data + w->e->piece.size, cp);
    w->chars++;
    return QUIRE_OK;
}

static quire_status add_char(struct word *w, uint32_t cp)
{
    const bool alone = is_punctuation(cp);
    if (alone)
        flush(w);
    QR_TRY(append(w, cp));
    if (alone)
        flush(w);
    return QUIRE_OK;
}

static quire_status add_lowered(struct word *w, uint32_t cp)
{
    if (!w->e->t->lowercase)
        return add_char(w, cp);
    if (cp == 0x130) { /* the only letter with two characters in lower case */
        QR_TRY(add_char(w, 'i'));
        return add_char(w, 0x307);
    }
    return add_char(w, (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp));
}

static quire_status add_input(struct word *w, uint32_t cp)
{
    const struct quire_tokenizer *t = w->e->t;
    if (qr_is_white_space(cp)) {
        flush(w);
        return QUIRE_OK;
    }
    if (t->clean_text && (cp == 0 || cp == QR_UTF8_REPLACEMENT || is_control(cp)))
        return QUIRE_OK;
    const bool alone = t->isolate_cjk && is_cjk(cp);
    if (alone)
        flush(w);
    utf8proc_int32_t parts[8] = { (utf8proc_int32_t)cp };
    utf8proc_ssize_t n = 1;
    if (t->strip_accents) {
        int boundary = 0;
        n = utf8proc_decompose_char((utf8proc_int32_t)cp, parts, 8, UTF8PROC_DECOMPOSE, &boundary);
        if (n < 1 || n > 8) /* GCOVR_EXCL_BR_LINE: no canonical decomposition is that long */
            return qr_fail(w->e->err, QUIRE_E_INTERNAL, "decomposition of U+%04X", (unsigned)cp);
    }
    for (utf8proc_ssize_t i = 0; i < n; i++)
        if (!t->strip_accents || utf8proc_category(parts[i]) != UTF8PROC_CATEGORY_MN)
            QR_TRY(add_lowered(w, (uint32_t)parts[i]));
    if (alone)
        flush(w);
    return QUIRE_OK;
}

quire_status qr_encode_wordpiece(struct qr_encoder *e, const uint8_t *text, size_t n)
{
    struct word w = { .e = e };
    e->piece.size = 0;
    if (!qr_bytes_reserve(e->t->a, &e->piece, QR_METASPACE_SIZE))
        return qr_encoder_nomem(e);
    memcpy(e->piece.data, QR_METASPACE, QR_METASPACE_SIZE);
    e->piece.size = QR_METASPACE_SIZE;
    for (size_t i = 0; i < n;) {
        uint32_t cp = 0;
        i += (size_t)qr_utf8_next_final(text + i, n - i, &cp);
        QR_TRY(add_input(&w, cp));
    }
    flush(&w);
    return QUIRE_OK;
}
