/* SPDX-License-Identifier: Apache-2.0 */
/* trie.h - the tokens of a vocabulary by their bytes. */
#ifndef QR_GRAMMAR_CORE_TRIE_H
#define QR_GRAMMAR_CORE_TRIE_H
#include "base/handle.h"
#include "grammar/core/char_group.h"
#include <quire/status.h>
#include <quire/tokenizer.h>

/* A node, in depth-first order: its children follow it. */
struct qr_trie_node {
    uint32_t skip;  /* nodes to the next one that is not below this one */
    uint32_t first; /* in `tokens`: those that end at this node and below it, up to `first` of the
                     * node that is `skip` further; those that end here come first */
    int32_t token;  /* that ends here, or bit 0 of the word behind the mask */
    uint16_t depth; /* bytes from the root, 1 for the first byte of tokens */
    uint8_t byte;
    uint8_t chars; /* of the longest string below, if all are whole characters; 0: they are not, or
                    * there are too few of them to treat them together */
};

struct qr_trie {
    struct qr_trie_node *nodes; /* [n + 1]: the last one ends the lists */
    qr_alphabet *alphabets;     /* [n] of the strings below a node; valid if chars > 0 */
    int32_t *tokens;            /* [n_tokens] in the order of the nodes */
    size_t n, n_tokens, capacity, alphabets_capacity, tokens_capacity;
};

/* Slices: tokens of plain characters (regex/plain_run.h), which are allowed as a whole in most
 * states of a string. A mask of a slice is copied, and the trie without its tokens walked. */
enum qr_slice {
    QR_SLICE_NONE,   /* no token */
    QR_SLICE_SHORT,  /* plain tokens of at most QR_SHORT_CHARS characters */
    QR_SLICE_MEDIUM, /* of at most QR_MEDIUM_CHARS */
    QR_SLICE_PLAIN,  /* all of them */
    QR_N_SLICES
};
enum { QR_SHORT_CHARS = 12, QR_MEDIUM_CHARS = 24 };

/* Immutable. */
struct quire_grammar_vocab {
    struct qr_handle handle;
    const struct quire_tokenizer *tok;
    struct quire_allocator allocator;
    const struct quire_allocator *a;   /* &allocator or NULL */
    size_t n_tokens, n_words;          /* n_words: of a mask */
    struct qr_trie tries[QR_N_SLICES]; /* of the tokens outside the slice */
    uint32_t *slices[QR_N_SLICES];     /* [n_words] mask of each slice; NULL for NONE */
    uint32_t slice_chars[QR_N_SLICES]; /* characters of the longest token of each slice */
    uint32_t *ends;                    /* [n_words] mask of the end-of-generation tokens */
    size_t max_bytes;                  /* of a token in the tries */
};

#endif
