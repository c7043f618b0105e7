/* SPDX-License-Identifier: Apache-2.0 */
/* tok_char_bpe.c - encoding with SentencePiece vocabularies: merges over characters. */
#include "base/utf8.h"
#include "tokenizer/impl.h"

static bool is_mark(const uint8_t *s, size_t n)
{
    return n >= QR_SPACE_MARK_SIZE && memcmp(s, QR_SPACE_MARK, QR_SPACE_MARK_SIZE) == 0;
}

/* Where a part of the text ends that can be encoded without its neighbours. As long as no token has
 * a space behind another character, no merge crosses the beginning of a run of spaces, so that
 * cutting there changes nothing and keeps the merging in small, fast pieces. */
static size_t part_end(const struct quire_tokenizer *t, const uint8_t *s, size_t begin, size_t n)
{
    const size_t limit = n - begin > QR_MAX_PIECE ? begin + QR_MAX_PIECE : n;
    size_t i = begin + 1, space = 0;
    for (; i < limit; i++) {
        if (t->split_spaces && (s[i] == ' ' || is_mark(s + i, n - i)))
            return i;
        if (s[i] == ' ' && s[i - 1] != ' ') {
            if (!t->crosses_space)
                return i;
            space = i;
        }
    }
    if (limit == n)
        return n;
    if (space)
        return space;
    while (qr_utf8_is_continuation(s[i]))
        i--;
    return i;
}

/* The part's text as the vocabulary writes it, one symbol per character, into e->piece and
 * e->symbols. */
static quire_status load_symbols(struct qr_encoder *e, const uint8_t *s, size_t n, bool prefix)
{
    const struct quire_tokenizer *t = e->t;
    struct qr_bytes *b = &e->piece;
    b->size = 0;
    e->n_symbols = 0;
    if (!qr_bytes_reserve(t->a, b, (n + prefix) * QR_SPACE_MARK_SIZE) ||
        !qr_bpe_reserve(e, n + prefix))
        return qr_encoder_nomem(e);
    for (size_t i = 0; i < n || prefix;) {
        const bool space = prefix || s[i] == ' ';
        const size_t step = space ? QR_SPACE_MARK_SIZE : qr_utf8_len(s[i]);
        memcpy(b->data + b->size, space ? (const uint8_t *)QR_SPACE_MARK : s + i, step);
        const int32_t id = qr_tok_find(t, b->data + b->size, step), k = (int32_t)e->n_symbols++;
        e->symbols[k] = (struct qr_symbol){ .id = id != QUIRE_TOKEN_NONE && qr_tok_is_piece(t, id)
                                                      ? id
                                                      : QUIRE_TOKEN_NONE,
                                            .at = (uint32_t)b->size,
                                            .size = (uint32_t)step,
                                            .prev = k - 1,
                                            .next = k + 1 };
        b->size += step;
        if (!prefix)
            i += space ? 1 : step;
        prefix = false;
    }
    e->symbols[e->n_symbols - 1].next = -1;
    return QUIRE_OK;
}

static void emit_unknown(struct qr_encoder *e, const uint8_t *s, size_t n)
{
    const struct quire_tokenizer *t = e->t;
    bool bytes = true;
    for (size_t i = 0; i < n; i++)
        bytes = bytes && t->byte_id[s[i]] != QUIRE_TOKEN_NONE;
    for (size_t i = 0; bytes && i < n; i++)
        qr_emit(e, t->byte_id[s[i]]);
    if (!bytes && !(e->after_unk && t->single_unk) &&
        t->special[QUIRE_SPECIAL_UNK] != QUIRE_TOKEN_NONE)
        qr_emit(e, t->special[QUIRE_SPECIAL_UNK]);
    e->after_unk = !bytes;
}

static quire_status encode_part(struct qr_encoder *e, const uint8_t *s, size_t n, bool prefix)
{
    QR_TRY(load_symbols(e, s, n, prefix));
    QR_TRY(qr_bpe_merge(e, e->piece.data));
    for (int32_t i = 0; i >= 0; i = e->symbols[i].next) {
        const struct qr_symbol *sym = &e->symbols[i];
        if (sym->id == QUIRE_TOKEN_NONE) {
            emit_unknown(e, e->piece.data + sym->at, sym->size);
        } else {
            qr_emit(e, sym->id);
            e->after_unk = false;
        }
    }
    return QUIRE_OK;
}

/* Drops leading, trailing and repeated spaces. */
static quire_status squeeze(struct qr_encoder *e, const uint8_t **text, size_t *n)
{
    struct qr_bytes *b = &e->shifted;
    b->size = 0;
    if (!qr_bytes_reserve(e->t->a, b, *n))
        return qr_encoder_nomem(e);
    for (size_t i = 0; i < *n; i++)
        if ((*text)[i] != ' ' || (b->size && b->data[b->size - 1] != ' '))
            b->data[b->size++] = (*text)[i];
    if (b->size && b->data[b->size - 1] == ' ')
        b->size--;
    *text = b->data;
    *n = b->size;
    return QUIRE_OK;
}

quire_status qr_encode_char_bpe(struct qr_encoder *e, const uint8_t *text, size_t n, bool at_start)
{
    const struct quire_tokenizer *t = e->t;
    if (t->nfc)
        QR_TRY(qr_normalize_nfc(e, &text, &n));
    if (t->squeeze_spaces)
        QR_TRY(squeeze(e, &text, &n));
    if (!n)
        return QUIRE_OK;
    const bool spaced = text[0] == ' ' || is_mark(text, n);
    bool prefix = t->prefix == QR_PREFIX_ALWAYS ||
                  (t->prefix == QR_PREFIX_UNLESS_SPACE && !spaced) ||
                  (t->prefix == QR_PREFIX_FIRST && at_start && !spaced);
    e->after_unk = false;
    for (size_t begin = 0, end; begin < n; begin = end) {
        end = qr_cut_run(text, begin, n);
        for (size_t part = begin, next; part < end; part = next) {
            next = part_end(t, text, part, end);
            QR_TRY(encode_part(e, text + part, next - part, prefix));
            prefix = false;
        }
    }
    return QUIRE_OK;
}
