/* SPDX-License-Identifier: Apache-2.0 */
/* vocab_spec.h - a tokenizer as unchecked data: what every file format is read into. */
#ifndef QR_TOKENIZER_VOCAB_SPEC_H
#define QR_TOKENIZER_VOCAB_SPEC_H
#include "base/alloc.h"
#include <quire/tokenizer.h>

enum qr_vocab_kind {
    QR_VOCAB_BYTE_BPE,  /* merges over bytes, written in the 256-letter alphabet of GPT-2 */
    QR_VOCAB_CHAR_BPE,  /* merges over characters, spaces written U+2581: SentencePiece */
    QR_VOCAB_WORDPIECE, /* longest match from the left inside words */
};

/* When a fragment of text gets a space in front (a fragment lies between two special tokens). */
enum qr_prefix {
    QR_PREFIX_NEVER,
    QR_PREFIX_ALWAYS,
    QR_PREFIX_UNLESS_SPACE, /* if it does not begin with one */
    QR_PREFIX_FIRST,        /* the same, and only at the very beginning of the text */
};

/* What a special token takes with it from the text around it, and when it counts. */
enum {
    QR_TOKEN_LSTRIP = 1,
    QR_TOKEN_RSTRIP = 2,
    QR_TOKEN_SINGLE_WORD = 4,
    QR_TOKEN_LITERAL = 8, /* a space mark in its text is that character, not a space */
};

struct qr_spec_token {
    const char *text; /* NULL: the id is not taken yet */
    size_t size;
    float score;
    uint8_t type;  /* enum quire_token_type */
    uint8_t match; /* QR_TOKEN_LSTRIP ... */
};

/* Either both parts, or right == NULL and left is "LEFT RIGHT". */
struct qr_spec_merge {
    const char *left, *right;
    size_t left_size, right_size;
};

struct qr_spec_template {
    const char *name, *text; /* NUL-terminated */
};

enum { QR_MAX_AFFIX = 4, QR_MAX_EOG = 32, QR_MAX_STAGES = 8, QR_MAX_TEMPLATES = 16 };

/* Ids are int64 here so that a wrong value of a file survives until it is checked. */
struct qr_vocab_spec {
    /* owns the arrays; strings belong to the arena or to the file that is being read */
    struct qr_arena arena;
    enum qr_vocab_kind kind;

    struct qr_spec_token *tokens; /* index = id */
    size_t n_tokens;
    struct qr_spec_merge *merges; /* best first */
    size_t n_merges;

    bool by_score;      /* CHAR_BPE: any two neighbours that form a token merge, best score first */
    bool ignore_merges; /* BYTE_BPE: a piece that is a token needs no merges */
    bool nfc;           /* text is brought to normal form C first */
    bool split_spaces;  /* CHAR_BPE: every space begins a new piece, even inside a run of spaces */
    bool squeeze_spaces; /* CHAR_BPE: no leading, trailing or repeated spaces */
    bool single_unk;     /* CHAR_BPE: unknown characters in a row give one unknown token */
    enum qr_prefix prefix;
    bool strip_prefix; /* decoding drops the space that `prefix` added */

    /* WORDPIECE */
    bool clean_text, space_cjk, strip_accents, lowercase;
    uint32_t max_word_chars;

    uint8_t stages[QR_MAX_STAGES]; /* enum qr_pretok_stage, BYTE_BPE */
    uint32_t n_stages;

    int64_t special[QUIRE_N_SPECIAL]; /* QUIRE_TOKEN_NONE: the file has none */
    int64_t prefix_ids[QR_MAX_AFFIX], suffix_ids[QR_MAX_AFFIX];
    uint32_t n_prefix_ids, n_suffix_ids;
    int64_t eog[QR_MAX_EOG]; /* besides those that are recognised by id or name */
    uint32_t n_eog;
    struct qr_spec_template templates[QR_MAX_TEMPLATES]; /* name "" is the default one */
    uint32_t n_templates;
};

/* An empty description: no tokens, every special id QUIRE_TOKEN_NONE. */
void qr_vocab_spec_init(struct qr_vocab_spec *spec, const struct quire_allocator *a);
void qr_vocab_spec_free(struct qr_vocab_spec *spec);

/* Checks everything and makes the tokenizer; the spec and the strings it points to are not needed
 * any more. */
quire_status qr_tokenizer_build(const struct qr_vocab_spec *spec, const struct quire_allocator *a,
                                struct quire_tokenizer **out, struct quire_error *err);

struct qr_gguf;
/* From the metadata of an open GGUF file, so that a model is read once. */
quire_status qr_tokenizer_from_gguf(const struct qr_gguf *file, const struct quire_allocator *a,
                                    struct quire_tokenizer **out, struct quire_error *err);

/* Readers; they fill a spec that was initialised. Its strings may point into what they read
 * from. */
quire_status qr_vocab_read_gguf(struct qr_vocab_spec *spec, const struct qr_gguf *file,
                                struct quire_error *err);

#endif
