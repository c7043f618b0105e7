/* SPDX-License-Identifier: Apache-2.0 */
/* pretok.h - splitting text into the pieces that byte-level merges work on. */
#ifndef QR_TOKENIZER_PRETOK_H
#define QR_TOKENIZER_PRETOK_H
#include "base/alloc.h"
#include <quire/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A pre-tokenizer is a list of stages. Each stage isolates the matches of one pattern inside every
 * piece that the stage before it left, and keeps what lies between the matches as pieces too. */
enum qr_pretok_stage {
    QR_STAGE_GPT2,
    QR_STAGE_LLAMA3,
    QR_STAGE_QWEN2,
    QR_STAGE_QWEN35,
    QR_STAGE_TEKKEN,
    QR_STAGE_GPT4O,
    QR_STAGE_DIGIT,          /* every digit alone */
    QR_STAGE_DIGITS,         /* runs of digits */
    QR_STAGE_DIGITS3,        /* runs of up to three */
    QR_STAGE_NEWLINE,        /* every line break alone */
    QR_STAGE_SPACE_LETTERS,  /* DeepSeek Coder: letters with a space in front */
    QR_STAGE_SPACE_PUNCT,    /* DeepSeek Coder: punctuation with a space in front */
    QR_STAGE_CJK,            /* DeepSeek: runs of Chinese, Japanese, Korean */
    QR_STAGE_ALPHABETS,      /* DeepSeek LLM: letters of scripts with upper and lower case */
    QR_STAGE_ASCII_PUNCT,    /* DeepSeek LLM: punctuation, its fullwidth forms, quotes */
    QR_STAGE_TRAILING_SPACE, /* DeepSeek LLM */
    QR_STAGE_CJK_KANA,       /* DeepSeek V3 */
    QR_STAGE_DEEPSEEK_V3,
    QR_N_STAGES
};

/* A pre-tokenizer by the name that GGUF files use, with the settings that belong to the name. */
struct qr_pretok_rule {
    const char *names; /* separated by spaces */
    uint8_t stages[8]; /* enum qr_pretok_stage */
    uint8_t n_stages;
    bool nfc; /* the tokenizers of this name normalize to form C */
    bool ignore_merges;
    bool add_bos; /* unless the file says otherwise */
};
/* NULL: no rule of that name. There is no default on purpose: a wrong one gives text that looks
 * fine and a model that is worse. */
const struct qr_pretok_rule *qr_pretok_rule_find(const char *name, size_t size);

/* The stage whose pattern is spelt like this in tokenizer.json files, or -1. */
int qr_pretok_stage_by_regex(const char *regex, size_t size);

const char *qr_pretok_stage_name(enum qr_pretok_stage stage);
/* Length of the pattern in PCRE2's syntax; writes it with a terminator when out is not NULL. */
size_t qr_pretok_stage_pattern(enum qr_pretok_stage stage, char *out);

struct qr_pretok;
quire_status qr_pretok_create(const uint8_t *stages, uint32_t n_stages,
                              const struct quire_allocator *a, struct qr_pretok **out,
                              struct quire_error *err);
void qr_pretok_destroy(struct qr_pretok *p);

/* Work memory of one thread. NULL: out of memory. */
void *qr_pretok_scratch_create(const struct qr_pretok *p);
void qr_pretok_scratch_destroy(void *scratch);

typedef quire_status (*qr_piece_fn)(void *user, const uint8_t *piece, size_t n);
/* Calls `piece` for each piece of well-formed text, in order; stops at its first failure. */
quire_status qr_pretok_split(const struct qr_pretok *p, void *scratch, const uint8_t *text,
                             size_t n, qr_piece_fn piece, void *user, struct quire_error *err);

#endif
