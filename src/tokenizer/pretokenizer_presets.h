/* SPDX-License-Identifier: Apache-2.0 */
/* pretokenizer_presets.h - split patterns of published pre-tokenizers and their presets. */
#ifndef QR_TOKENIZER_PRETOKENIZER_PRESETS_H
#define QR_TOKENIZER_PRETOKENIZER_PRESETS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum qr_split_pattern {
    QR_SPLIT_GPT2,
    QR_SPLIT_LLAMA3,
    QR_SPLIT_QWEN2,
    QR_SPLIT_QWEN35,
    QR_SPLIT_TEKKEN,
    QR_SPLIT_GPT4O,
    QR_SPLIT_DIGIT,          /* single digits */
    QR_SPLIT_DIGITS,         /* runs of digits */
    QR_SPLIT_DIGITS3,        /* runs of up to three digits */
    QR_SPLIT_NEWLINE,        /* single line breaks */
    QR_SPLIT_SPACE_LETTERS,  /* DeepSeek Coder: letters with an optional space in front */
    QR_SPLIT_SPACE_PUNCT,    /* DeepSeek Coder: punctuation with an optional space in front */
    QR_SPLIT_CJK,            /* DeepSeek: runs of Chinese, Japanese, Korean */
    QR_SPLIT_ALPHABETS,      /* DeepSeek LLM: letters of scripts with upper and lower case */
    QR_SPLIT_ASCII_PUNCT,    /* DeepSeek LLM: punctuation, its fullwidth forms, quotes */
    QR_SPLIT_TRAILING_SPACE, /* DeepSeek LLM */
    QR_SPLIT_CJK_KANA,       /* DeepSeek V3 */
    QR_SPLIT_DEEPSEEK_V3,
    QR_SPLIT_PUNCT_RUNS,    /* Falcon: runs of ASCII and Unicode punctuation */
    QR_SPLIT_ASCII_DIGITS3, /* Falcon: three ASCII digits */
    QR_SPLIT_BLOOM,         /* words with an optional space in front */
    QR_SPLIT_LINES,         /* runs of line feeds, and the text between them */
    QR_SPLIT_DIGITS3_RIGHT, /* groups of three from the right end of a run, as 1,234,567 */
    QR_SPLIT_DIGITS3_WORD,  /* the same, where the run is the end of a word */
    QR_SPLIT_SCRIPTS_AFMOE, /* runs of Asian scripts */
    QR_SPLIT_SCRIPTS_YOUTU, /* runs of Hangul, of fullwidth punctuation, of bopomofo, of CJK */
    QR_SPLIT_YOUTU,
    QR_SPLIT_KIMI_K2,
    QR_SPLIT_BAILING,
    QR_SPLIT_SEED_CODER,
    QR_SPLIT_EXAONE_MOE,
    QR_SPLIT_MINICPM5,
    QR_SPLIT_JAIS2,
    QR_SPLIT_UFAKZEKA,
    QR_SPLIT_SENTINEL, /* Chameleon: text of its sentinel tokens */
    QR_SPLIT_IMAGE,    /* Chameleon: text of its image tokens */
    QR_SPLIT_INDENT,   /* Chameleon: tabs, line feeds, two or four spaces */
    QR_SPLIT_PUNCT,    /* single punctuation characters */
    QR_N_SPLIT_PATTERNS
};

/* A pre-tokenizer as named by tokenizer.ggml.pre of GGUF files, with the settings the name
 * implies. */
struct qr_pretokenizer_preset {
    const char *names; /* separated by spaces */
    uint8_t splits[8]; /* enum qr_split_pattern */
    uint8_t n_splits;
    bool nfc; /* normalizes to NFC */
    bool ignore_merges;
    bool add_bos; /* default; the file may override it */
};

/* Preset of that name, or NULL. There is deliberately no default: a wrong pre-tokenizer yields
 * plausible tokens and silently degrades the model. */
const struct qr_pretokenizer_preset *qr_pretokenizer_preset_find(const char *name, size_t size);

/* The split pattern that tokenizer.json files write as this regular expression, or -1. */
int qr_split_pattern_find(const char *regex, size_t size);

/* Name for error messages. */
const char *qr_split_pattern_name(enum qr_split_pattern pattern);

/* Length of the pattern as a PCRE2 expression. Writes it with a terminator if out is not NULL. */
size_t qr_split_pattern_regex(enum qr_split_pattern pattern, char *out);

#endif
