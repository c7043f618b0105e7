/* SPDX-License-Identifier: Apache-2.0 */
/* word_bpe.c - encoder of vocabularies of words: lower case, split, merges. */
#include "tokenizer/word_bpe.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/encoder.h"
#include "tokenizer/nfc.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/white_space.h"
#include <utf8proc.h>

/* \w of Rust's regex crate: alphabetic characters, marks, decimal digits, connectors, joiners. */
static bool is_word_character(uint32_t cp)
{
    const utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
    const bool circled = (cp >= 0x24B6 && cp <= 0x24E9) || (cp >= 0x1F130 && cp <= 0x1F149) ||
                         (cp >= 0x1F150 && cp <= 0x1F169) || (cp >= 0x1F170 && cp <= 0x1F189);
    return (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_NL) || c == UTF8PROC_CATEGORY_PC ||
           cp == 0x200C || cp == 0x200D || circled;
}

/* Encodes the word in e->prefixed and starts the next one. */
static quire_status flush(struct qr_encoder *e)
{
    const size_t n = e->prefixed.size;
    e->prefixed.size = 0;
    e->after_unk = false;
    return n ? qr_encode_bpe_piece(e, e->prefixed.data, n) : QUIRE_OK;
}

static quire_status append(struct qr_encoder *e, uint32_t cp)
{
    if (!qr_bytes_reserve(e->t->a, &e->prefixed, QR_UTF8_MAX))
        return qr_encoder_nomem(e);
    e->prefixed.size += qr_utf8_put(e->prefixed.data + e->prefixed.size, cp);
    return QUIRE_OK;
}

static quire_status append_lowered(struct qr_encoder *e, uint32_t cp)
{
    if (!e->t->lowercase)
        return append(e, cp);
    if (cp != 0x130)
        return append(e, (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp));
    QR_TRY(append(e, 'i')); /* the only letter with two characters in lower case */
    return append(e, 0x307);
}

quire_status qr_encode_word_bpe(struct qr_encoder *e, const uint8_t *text, size_t n)
{
    const struct quire_tokenizer *t = e->t;
    bool was_word = false;
    if (t->nfc)
        QR_TRY(qr_normalize_nfc(e, &text, &n));
    e->prefixed.size = 0;
    for (size_t i = 0; i < n; i += qr_utf8_len(text[i])) {
        uint32_t cp = 0;
        (void)qr_utf8_next_final(text + i, n - i, &cp); /* well-formed */
        if (qr_is_white_space(cp)) {
            QR_TRY(flush(e));
            continue;
        }
        const bool is_word = t->split_words && is_word_character(cp);
        if (is_word != was_word || e->prefixed.size >= QR_MAX_PIECE_BYTES)
            QR_TRY(flush(e));
        was_word = is_word;
        QR_TRY(append_lowered(e, cp));
    }
    return flush(e);
}
