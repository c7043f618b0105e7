/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - tokenizer description, tokenizer object and encoder state, shared by the module. */
#ifndef QR_TOKENIZER_TYPES_H
#define QR_TOKENIZER_TYPES_H
#include "base/alloc.h"
#include "base/handle.h"
#include <quire/tokenizer.h>

enum {
    QR_MAX_TOKENS = 1 << 24,
    QR_MAX_TOKEN_BYTES = 1 << 16,
    QR_MAX_RUN_BYTES = 1 << 16,   /* longest run of one character class in a segment */
    QR_MAX_PIECE_BYTES = 1 << 20, /* longest piece that is merged as a whole */
    QR_MAX_AFFIX = 4,
    QR_MAX_EOG = 32,
    QR_MAX_SPLITS = 8,
    QR_MAX_TEMPLATES = 16,
};

#define QR_METASPACE "\xE2\x96\x81" /* U+2581, a space in SentencePiece vocabularies */
enum { QR_METASPACE_SIZE = 3 };

/* ---- Description: the unvalidated result of a file reader. */

enum qr_vocab_kind {
    QR_VOCAB_BYTE_LEVEL_BPE,    /* merges over bytes; texts use GPT-2's byte-level alphabet */
    QR_VOCAB_SENTENCEPIECE_BPE, /* merges over characters; a space is U+2581 */
    QR_VOCAB_WORDPIECE,         /* greedy longest match inside each word */
    QR_VOCAB_UNIGRAM,           /* highest sum of scores; a space is U+2581 */
    QR_VOCAB_LONGEST_MATCH,     /* greedy longest match over bytes; texts are escaped */
    QR_VOCAB_WORD_BPE,          /* merges over the characters of words; white space is dropped */
    QR_VOCAB_PLAMO,             /* highest sum of scores; texts are what they say */
};

/* When a space is prepended to a fragment, i.e. to the text between two added tokens. */
enum qr_prepend_scheme {
    QR_PREPEND_NEVER,
    QR_PREPEND_ALWAYS,
    QR_PREPEND_UNLESS_SPACE, /* if the fragment does not begin with a space */
    QR_PREPEND_FIRST,        /* like UNLESS_SPACE, at the start of the input only */
};

/* Matching options of an added token. */
enum {
    QR_TOKEN_LSTRIP = 1,         /* also consumes white space in front of it */
    QR_TOKEN_RSTRIP = 2,         /* also consumes white space after it */
    QR_TOKEN_SINGLE_WORD = 4,    /* does not match inside a longer word */
    QR_TOKEN_NOT_NORMALIZED = 8, /* U+2581 in its text is that character, not a space */
};

struct qr_spec_token {
    const char *text; /* NULL: no token has this id */
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

/* Ids are int64_t so that a wrong value in a file survives until qr_tokenizer_build checks it. */
struct qr_vocab_spec {
    /* owns the arrays; strings belong to the arena or to the file that is being read */
    struct qr_arena arena;
    enum qr_vocab_kind kind;

    struct qr_spec_token *tokens; /* [id] */
    size_t n_tokens;
    struct qr_spec_merge *merges; /* [rank] */
    size_t n_merges;

    bool merge_by_score; /* SENTENCEPIECE_BPE: two neighbors merge if their concatenation is a
                            token; the highest score merges first. There is no list of merges */
    bool ignore_merges;  /* BYTE_LEVEL_BPE: a piece that is a token as a whole is not merged */
    bool nfc;            /* normalizes text to NFC first */
    /* SENTENCEPIECE_BPE, UNIGRAM */
    bool split_at_spaces;          /* a piece begins at every space, also inside a run */
    bool split_at_white_space;     /* white space of all kinds is a space */
    bool remove_extra_whitespaces; /* no leading, trailing or repeated spaces */
    bool keep_leading_space, keep_trailing_space; /* one of them stays then */
    bool strip_white_space;  /* those at the beginning and end may be white space of all kinds */
    bool trim_white_space;   /* UNIGRAM: that of all kinds at both ends, before the normalizer */
    bool fuse_unk;           /* consecutive unknown characters give one unknown token */
    const uint8_t *charsmap; /* UNIGRAM: normalizer (charsmap.h); NULL = none */
    size_t charsmap_size;
    enum qr_prepend_scheme prepend_scheme;
    bool strip_prepended_space; /* the detokenizer drops the prepended space */

    /* WORDPIECE; WORD_BPE: lowercase */
    bool clean_text, isolate_cjk, strip_accents, lowercase;
    bool split_words; /* WORD_BPE: words of letters and digits, and runs of other characters */
    uint32_t max_word_chars;

    /* PLAMO: runs of a character, and of spaces, that are segmented by themselves if they are at
     * least that long; 0: none */
    uint32_t break_repeats, break_spaces;

    uint8_t splits[QR_MAX_SPLITS]; /* enum qr_split_pattern, BYTE_LEVEL_BPE */
    uint32_t n_splits;

    int64_t special[QUIRE_N_SPECIAL]; /* QUIRE_TOKEN_NONE: the file names none */
    int64_t prefix_ids[QR_MAX_AFFIX], suffix_ids[QR_MAX_AFFIX]; /* around the text: BOS, EOS ... */
    uint32_t n_prefix_ids, n_suffix_ids;
    int64_t pair_ids[QR_MAX_AFFIX]; /* between the two texts of a pair */
    uint32_t n_pair_ids;
    uint8_t pair_type; /* token type of the second text and the suffix; 0 before */
    bool has_pair;
    /* end-of-generation ids besides those found by role or by text; at most QR_MAX_EOG of a file,
     * and token 0 of LONGEST_MATCH */
    int64_t eog[QR_MAX_EOG + 1];
    uint32_t n_eog;
    struct qr_spec_template templates[QR_MAX_TEMPLATES]; /* the default one has the name "" */
    uint32_t n_templates;
};

/* ---- Tokenizer. */

struct qr_token {
    uint32_t text_offset, text_size;   /* stored text, in the pool */
    uint32_t bytes_offset, bytes_size; /* decoded bytes, in the pool */
    uint8_t type;                      /* enum quire_token_type */
    uint8_t match;                     /* QR_TOKEN_LSTRIP ... */
    bool special, eog;
};

/* Slot of the merge table. */
struct qr_merge {
    uint64_t key; /* left id in the high half, right id in the low half */
    uint32_t rank;
    int32_t id; /* of the merged token; QUIRE_TOKEN_NONE in an empty slot */
};

/* Normal tokens in ascending order of their strings. */
struct qr_sorted_tokens {
    uint32_t *ids; /* [n] of n_tokens */
    uint32_t n;
    uint32_t by_first_byte[257]; /* index of the first token with at least this first byte */
    bool by_bytes;               /* the strings are the decoded bytes, else the texts */
};

/* UNIGRAM, PLAMO */
struct qr_unigram {
    float *scores;        /* [id] */
    double unknown_score; /* of a character that is no token */
};

/* The best segmentation found so far of the bytes before a position; PLAMO: of those behind it,
 * with its first token and the bytes of that. */
struct qr_unigram_end {
    double score;
    int32_t id; /* of its last token; QUIRE_TOKEN_NONE: an unknown character */
    uint32_t begin;
};

/* Text that is matched in the input before normalization and pre-tokenization. */
struct qr_added_token {
    const char *text;
    uint32_t size;
    int32_t id;
};

struct quire_tokenizer {
    struct qr_handle handle;
    const struct quire_allocator *a; /* NULL or &hooks */
    struct quire_allocator hooks;

    /* see qr_vocab_spec */
    enum qr_vocab_kind kind;
    bool merge_by_score, ignore_merges, nfc, split_at_spaces, split_at_white_space,
        remove_extra_whitespaces, keep_leading_space, keep_trailing_space, strip_white_space,
        trim_white_space, fuse_unk, strip_prepended_space;
    bool clean_text, isolate_cjk, strip_accents, lowercase, split_words;
    bool tokens_cross_spaces; /* a token has a space after another character */
    enum qr_prepend_scheme prepend_scheme;
    uint32_t max_word_chars, break_repeats, break_spaces;

    uint32_t n_tokens;
    struct qr_token *tokens;
    char *pool; /* texts and bytes of all tokens */
    size_t pool_size;
    uint32_t max_text, max_bytes; /* maximum over all tokens, in bytes */
    uint32_t *score_rank;         /* merge_by_score: [id], lower merges first; else NULL */

    uint64_t hash_key;
    uint32_t *text_slots; /* hash table from text to id + 1; 0 is empty */
    size_t n_text_slots;  /* power of two */
    struct qr_merge *merges;
    size_t n_merge_slots; /* power of two; 0 if merge_by_score */

    int32_t byte_token[256];      /* id of the token of one byte, or QUIRE_TOKEN_NONE */
    struct qr_added_token *added; /* sorted by text, byte by byte */
    size_t n_added, cap_added;
    bool starts_added_token[256]; /* whether an added token begins with this byte */

    struct qr_pretokenizer *pretokenizer; /* BYTE_LEVEL_BPE */
    struct qr_sorted_tokens sorted;       /* UNIGRAM, PLAMO by text, LONGEST_MATCH by bytes */
    struct qr_unigram unigram;            /* UNIGRAM, PLAMO */
    uint8_t *charsmap;                    /* its normalizer; NULL = none */
    size_t charsmap_size;

    int32_t special[QUIRE_N_SPECIAL];
    int32_t prefix_ids[QR_MAX_AFFIX], suffix_ids[QR_MAX_AFFIX], pair_ids[QR_MAX_AFFIX];
    uint32_t n_prefix_ids, n_suffix_ids, n_pair_ids;
    uint8_t pair_type;
    bool has_pair;
    struct qr_spec_template templates[QR_MAX_TEMPLATES]; /* owned strings */
    uint32_t n_templates;
};

/* ---- State of one encode call. */

/* A BPE symbol: a byte or a character at first, the merge of several later. */
struct qr_symbol {
    int32_t id;            /* QUIRE_TOKEN_NONE: not in the vocabulary */
    uint32_t offset, size; /* in the piece's text; size 0: merged into its left neighbor */
    int32_t prev, next;    /* indices of symbols, -1 at the ends */
};

struct qr_merge_candidate {
    uint64_t key;  /* high half: rank of the merge; low half: index of the left symbol */
    int32_t id;    /* of the merged token */
    uint32_t size; /* sum of both symbols' sizes; another sum marks a stale candidate */
};

struct qr_bytes {
    uint8_t *data;
    size_t size, cap;
};

struct qr_encoder {
    const struct quire_tokenizer *t;
    struct quire_error *err;
    int32_t *ids;
    size_t n_ids, max_ids; /* n_ids keeps counting beyond max_ids */

    struct qr_symbol *symbols;
    size_t n_symbols, cap_symbols;
    struct qr_merge_candidate *heap;
    size_t n_heap, cap_heap;
    struct qr_bytes repaired;   /* fragment with ill-formed UTF-8 replaced */
    struct qr_bytes normalized; /* after NFC or the map of characters */
    struct qr_bytes prefixed;   /* after prepending a space or removing extra ones */
    struct qr_bytes piece;      /* text of the piece that is merged, in the vocabulary's alphabet */
    bool after_unk;             /* the last symbol was unknown */
    struct qr_unigram_end *ends; /* of a piece, by bytes */
    size_t cap_ends;
    int32_t *code_points; /* scratch of the NFC normalizer */
    size_t cap_code_points;
    void *pretokenizer_scratch;
};

#endif
