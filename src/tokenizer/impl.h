/* SPDX-License-Identifier: Apache-2.0 */
/* tok_impl.h - the tokenizer object and the work memory of one call, for the files of this room. */
#ifndef QR_TOKENIZER_IMPL_H
#define QR_TOKENIZER_IMPL_H
#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/keyed_hash.h"
#include "tokenizer/vocab_spec.h"
#include <string.h>

enum {
    QR_MAX_TOKENS = 1 << 24,
    QR_MAX_TOKEN_BYTES = 1 << 16,
    QR_MAX_RUN = 1 << 16,   /* bytes of one class of characters that are encoded as one piece */
    QR_MAX_PIECE = 1 << 20, /* bytes of any piece */
};

#define QR_SPACE_MARK "\xE2\x96\x81" /* U+2581, a space in SentencePiece vocabularies */
enum { QR_SPACE_MARK_SIZE = 3 };

struct qr_token {
    uint32_t text_at, text_size;   /* stored text, in the pool */
    uint32_t bytes_at, bytes_size; /* what it stands for */
    uint8_t type;                  /* enum quire_token_type */
    uint8_t match;                 /* QR_TOKEN_LSTRIP ... */
    bool special, eog;
};

struct qr_pair {
    uint64_t key; /* left id in the high half, right id in the low half */
    uint32_t rank;
    int32_t id; /* what the two become; QUIRE_TOKEN_NONE in an empty slot */
};

/* Texts that are found in the input before anything else, sorted by their bytes. */
struct qr_special_text {
    const char *text;
    uint32_t size;
    int32_t id;
};

struct quire_tokenizer {
    const struct quire_allocator *a; /* NULL or &hooks */
    struct quire_allocator hooks;

    enum qr_vocab_kind kind;
    bool by_score, ignore_merges, nfc, split_spaces, squeeze_spaces, single_unk, strip_prefix;
    bool clean_text, space_cjk, strip_accents, lowercase;
    bool crosses_space; /* CHAR_BPE: some token has a space behind another character */
    enum qr_prefix prefix;
    uint32_t max_word_chars;

    uint32_t n_tokens;
    struct qr_token *tokens;
    char *pool;
    size_t pool_size;
    uint32_t max_text, max_bytes; /* of any token */
    uint32_t *order;              /* by_score: smaller merges first; else NULL */

    uint64_t hash_key;
    uint32_t *slots; /* text to id + 1; 0 is empty */
    size_t n_slots;  /* power of two */
    struct qr_pair *pairs;
    size_t n_pairs; /* slots, power of two; 0 when by_score */

    int32_t byte_id[256]; /* token of one byte, or QUIRE_TOKEN_NONE */
    struct qr_special_text *specials;
    size_t n_specials, cap_specials;
    bool starts_special[256]; /* whether a special text begins with this byte */

    struct qr_pretok *pretok; /* BYTE_BPE */

    int32_t special[QUIRE_N_SPECIAL];
    int32_t prefix_ids[QR_MAX_AFFIX], suffix_ids[QR_MAX_AFFIX];
    uint32_t n_prefix_ids, n_suffix_ids;
    struct qr_spec_template templates[QR_MAX_TEMPLATES]; /* strings are ours */
    uint32_t n_templates;
};

static inline const char *qr_token_text(const struct quire_tokenizer *t, int32_t id)
{
    return t->pool + t->tokens[id].text_at;
}

/* Id of a stored text, of any type. */
int32_t qr_tok_find(const struct quire_tokenizer *t, const void *text, size_t size);

/* Whether plain text may give the token: control tokens and the like never come from it. */
static inline bool qr_tok_is_piece(const struct quire_tokenizer *t, int32_t id)
{
    return t->tokens[id].type == QUIRE_TOKEN_NORMAL;
}

static inline const struct qr_pair *qr_tok_find_pair(const struct quire_tokenizer *t, int32_t left,
                                                     int32_t right)
{
    const uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    for (size_t i = qr_hash_u64(t->hash_key, key);; i++) {
        const struct qr_pair *p = &t->pairs[i & (t->n_pairs - 1)];
        if (p->id == QUIRE_TOKEN_NONE)
            return NULL;
        if (p->key == key)
            return p;
    }
}

/* GPT-2's alphabet: every byte is written as a printable character, U+0021 .. U+0143. */
uint32_t qr_byte_letter(uint8_t byte);
int qr_letter_byte(uint32_t cp); /* -1: not a letter of it */

/* A symbol while merging: initially a byte or a character, later what it grew into. */
struct qr_symbol {
    int32_t id;         /* QUIRE_TOKEN_NONE: not in the vocabulary */
    uint32_t at, size;  /* in the piece's text; size 0: swallowed by its left neighbour */
    int32_t prev, next; /* -1 at the ends */
};

struct qr_candidate {
    uint64_t key;  /* high half: order of the merge; low half: index of the left symbol */
    int32_t id;    /* what the two become */
    uint32_t size; /* of both symbols together; another sum means that one of them has changed */
};

/* A growing buffer of bytes. */
struct qr_bytes {
    uint8_t *data;
    size_t size, cap;
};
bool qr_bytes_reserve(const struct quire_allocator *a, struct qr_bytes *b, size_t more);

/* One encode call. Everything that grows lives here and is freed at its end. */
struct qr_encoder {
    const struct quire_tokenizer *t;
    struct quire_error *err;
    int32_t *ids;
    size_t n_ids, max_ids; /* n_ids counts on when the room is used up */

    struct qr_symbol *symbols;
    size_t n_symbols, cap_symbols;
    struct qr_candidate *heap;
    size_t n_heap, cap_heap;
    /* stages of a text on its way to the merges */
    struct qr_bytes repaired, normal, shifted, piece;
    bool after_unk;  /* the last symbol was unknown */
    int32_t *points; /* code points while normalising */
    size_t cap_points;
    void *match_data; /* of the pre-tokenizer */
};

static inline void qr_emit(struct qr_encoder *e, int32_t id)
{
    if (e->n_ids < e->max_ids)
        e->ids[e->n_ids] = id;
    e->n_ids++;
}

quire_status qr_encoder_nomem(struct qr_encoder *e);

/* The encoders of the three kinds: text is well-formed UTF-8 without special tokens; at_start: it
 * begins the whole input. */
quire_status qr_encode_byte_bpe(struct qr_encoder *e, const uint8_t *text, size_t n, bool at_start);
quire_status qr_encode_char_bpe(struct qr_encoder *e, const uint8_t *text, size_t n, bool at_start);
quire_status qr_encode_wordpiece(struct qr_encoder *e, const uint8_t *text, size_t n);

/* Merges e->symbols as long as a merge applies. text: the bytes their offsets count from. */
quire_status qr_bpe_merge(struct qr_encoder *e, const uint8_t *text);
bool qr_bpe_reserve(struct qr_encoder *e, size_t n_symbols);

/* Text in normal form C: the same text when it is so already, else in e->normal. */
quire_status qr_normalize_nfc(struct qr_encoder *e, const uint8_t **text, size_t *n);

/* Unicode's White_Space. */
bool qr_is_space(uint32_t cp);

/* Longest special text at s[0..n). `own`: bytes from s that may belong to special tokens, 0 inside
 * user text. NULL: none. */
const struct qr_special_text *qr_special_at(const struct quire_tokenizer *t, const char *s,
                                            size_t n, size_t own);

/* End (> begin) of the longest part from `begin` with no run of one class above QR_MAX_RUN. */
size_t qr_cut_run(const uint8_t *text, size_t begin, size_t n);

#endif
