/* SPDX-License-Identifier: Apache-2.0 */
/* tok_byte_bpe.c - encoding with byte-level vocabularies: GPT-2, Llama 3, Qwen and their kin. */
#include "base/utf8.h"
#include "tokenizer/impl.h"
#include "tokenizer/pretok.h"

/* The token whose bytes are the whole piece, if there is one. */
static int32_t whole_piece(struct qr_encoder *e, const uint8_t *s, size_t n)
{
    uint8_t *out = e->piece.data;
    size_t size = 0;
    for (size_t i = 0; i < n; i++) {
        if (size + QR_UTF8_MAX > e->piece.cap)
            return QUIRE_TOKEN_NONE;
        size += qr_utf8_put(out + size, qr_byte_letter(s[i]));
    }
    const int32_t id = qr_tok_find(e->t, out, size);
    return id != QUIRE_TOKEN_NONE && qr_tok_is_piece(e->t, id) ? id : QUIRE_TOKEN_NONE;
}

static quire_status encode_piece(struct qr_encoder *e, const uint8_t *s, size_t n)
{
    const struct quire_tokenizer *t = e->t;
    if (n == 1 && t->byte_id[*s] != QUIRE_TOKEN_NONE) {
        qr_emit(e, t->byte_id[*s]);
        return QUIRE_OK;
    }
    if (t->ignore_merges) {
        const int32_t id = whole_piece(e, s, n);
        if (id != QUIRE_TOKEN_NONE) {
            qr_emit(e, id);
            return QUIRE_OK;
        }
    }
    if (!qr_bpe_reserve(e, n))
        return qr_encoder_nomem(e);
    for (size_t i = 0; i < n; i++)
        e->symbols[i] = (struct qr_symbol){ .id = t->byte_id[s[i]],
                                            .at = (uint32_t)i,
                                            .size = 1,
                                            .prev = (int32_t)i - 1,
                                            .next = i + 1 < n ? (int32_t)i + 1 : -1 };
    e->n_symbols = n;
    QR_TRY(qr_bpe_merge(e, s));
    for (int32_t i = 0; i >= 0; i = e->symbols[i].next) {
        /* a byte without a token becomes the unknown token; without that it is left out, as the
         * original does */
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
    while (n > QR_MAX_PIECE) {
        size_t cut = QR_MAX_PIECE;
        while (qr_utf8_is_continuation(s[cut]))
            cut--;
        QR_TRY(encode_piece(e, s, cut));
        s += cut;
        n -= cut;
    }
    return encode_piece(e, s, n);
}

quire_status qr_encode_byte_bpe(struct qr_encoder *e, const uint8_t *text, size_t n, bool at_start)
{
    const struct quire_tokenizer *t = e->t;
    if (t->nfc)
        QR_TRY(qr_normalize_nfc(e, &text, &n));
    const bool prefix =
        t->prefix == QR_PREFIX_ALWAYS ||
        (n && text[0] != ' ' &&
         (t->prefix == QR_PREFIX_UNLESS_SPACE || (t->prefix == QR_PREFIX_FIRST && at_start)));
    if (prefix) {
        e->shifted.size = 0;
        if (!qr_bytes_reserve(t->a, &e->shifted, n + 1))
            return qr_encoder_nomem(e);
        e->shifted.data[0] = ' ';
        memcpy(e->shifted.data + 1, text, n);
        text = e->shifted.data;
        n++;
    }
    if (!e->match_data && !(e->match_data = qr_pretok_scratch_create(t->pretok)))
        return qr_encoder_nomem(e);
    if (t->ignore_merges && !qr_bytes_reserve(t->a, &e->piece, (size_t)t->max_text + QR_UTF8_MAX))
        return qr_encoder_nomem(e);
    for (size_t begin = 0, end; begin < n; begin = end) {
        end = qr_cut_run(text, begin, n);
        QR_TRY(qr_pretok_split(t->pretok, e->match_data, text + begin, end - begin, on_piece, e,
                               e->err));
    }
    return QUIRE_OK;
}
