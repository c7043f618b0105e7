/* SPDX-License-Identifier: Apache-2.0 */
/* byte_level_bpe.c - encoder of byte-level BPE vocabularies: GPT-2, Llama 3, Qwen and others. */
#include "tokenizer/byte_level_bpe.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/bpe.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/encoder.h"
#include "tokenizer/nfc.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/segment.h"
#include "tokenizer/vocab.h"
#include <string.h>

/* Token whose bytes are the whole piece, or QUIRE_TOKEN_NONE. */
static int32_t find_whole_piece(struct qr_encoder *e, const uint8_t *s, size_t n)
{
    uint8_t *out = e->piece.data;
    size_t size = 0;
    for (size_t i = 0; i < n; i++) {
        if (size + QR_UTF8_MAX > e->piece.cap)
            return QUIRE_TOKEN_NONE;
        size += qr_utf8_put(out + size, qr_byte_to_unicode(s[i]));
    }
    const int32_t id = qr_vocab_find(e->t, out, size);
    return id != QUIRE_TOKEN_NONE && qr_token_is_normal(e->t, id) ? id : QUIRE_TOKEN_NONE;
}

static quire_status encode_piece(struct qr_encoder *e, const uint8_t *s, size_t n)
{
    const struct quire_tokenizer *t = e->t;
    if (n == 1 && t->byte_token[*s] != QUIRE_TOKEN_NONE) {
        qr_emit(e, t->byte_token[*s]);
        return QUIRE_OK;
    }
    if (t->ignore_merges) {
        const int32_t id = find_whole_piece(e, s, n);
        if (id != QUIRE_TOKEN_NONE) {
            qr_emit(e, id);
            return QUIRE_OK;
        }
    }
    if (!qr_bpe_reserve(e, n))
        return qr_encoder_nomem(e);
    for (size_t i = 0; i < n; i++)
        e->symbols[i] = (struct qr_symbol){ .id = t->byte_token[s[i]],
                                            .offset = (uint32_t)i,
                                            .size = 1,
                                            .prev = (int32_t)i - 1,
                                            .next = i + 1 < n ? (int32_t)i + 1 : -1 };
    e->n_symbols = n;
    QR_TRY(qr_bpe_merge(e, s));
    for (int32_t i = 0; i >= 0; i = e->symbols[i].next) {
        /* a byte without a token gives the unknown token, or nothing if there is none, as in the
         * reference implementation */
        const int32_t id =
            e->symbols[i].id != QUIRE_TOKEN_NONE ? e->symbols[i].id : t->special[QUIRE_SPECIAL_UNK];
        if (id != QUIRE_TOKEN_NONE)
            qr_emit(e, id);
    }
    return QUIRE_OK;
}

static quire_status on_piece(void *user, const uint8_t *s, size_t n)
{
    struct qr_encoder *e = user;
    while (n > QR_MAX_PIECE_BYTES) {
        size_t cut = QR_MAX_PIECE_BYTES;
        while (qr_utf8_is_continuation(s[cut]))
            cut--;
        QR_TRY(encode_piece(e, s, cut));
        s += cut;
        n -= cut;
    }
    return encode_piece(e, s, n);
}

quire_status qr_encode_byte_level_bpe(struct qr_encoder *e, const uint8_t *text, size_t n,
                                      bool at_start)
{
    const struct quire_tokenizer *t = e->t;
    if (t->nfc)
        QR_TRY(qr_normalize_nfc(e, &text, &n));
    const bool prepend = t->prepend_scheme == QR_PREPEND_ALWAYS ||
                         (n && text[0] != ' ' && /* GCOVR_EXCL_BR_LINE: a fragment has text */
                          (t->prepend_scheme == QR_PREPEND_UNLESS_SPACE ||
                           (t->prepend_scheme == QR_PREPEND_FIRST && at_start)));
    if (prepend) {
        e->prefixed.size = 0;
        if (!qr_bytes_reserve(t->a, &e->prefixed, n + 1))
            return qr_encoder_nomem(e);
        e->prefixed.data[0] = ' ';
        memcpy(e->prefixed.data + 1, text, n);
        text = e->prefixed.data;
        n++;
    }
    if (!e->pretokenizer_scratch &&
        !(e->pretokenizer_scratch = qr_pretokenizer_scratch_create(t->pretokenizer)))
        return qr_encoder_nomem(e);
    if (t->ignore_merges && !qr_bytes_reserve(t->a, &e->piece, (size_t)t->max_text + QR_UTF8_MAX))
        return qr_encoder_nomem(e);
    for (size_t begin = 0, end; begin < n; begin = end) {
        end = qr_segment_end(text, begin, n);
        QR_TRY(qr_pretokenizer_split(t->pretokenizer, e->pretokenizer_scratch, text + begin,
                                     end - begin, on_piece, e, e->err));
    }
    return QUIRE_OK;
}
