/* SPDX-License-Identifier: Apache-2.0 */
/* known_tokens.c - texts of control tokens in published models. */
#include "tokenizer/known_tokens.h"
#include <string.h>

#define BAR "\xEF\xBD\x9C" /* U+FF5C, a fullwidth bar */
#define LOW "\xE2\x96\x81" /* U+2581 */

static int hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

int qr_byte_token_value(const char *text, size_t size)
{
    if (size != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>')
        return -1;
    const int high = hex_value(text[3]), low = hex_value(text[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static const char *const eot_texts[] = {
    "<|eot_id|>",      "<|im_end|>",
    "<|end|>",         "<end_of_turn>",
    "<turn|>",         "<|EOT|>",
    "<EOT>",           "_<EOT>",
    "[EOT]",           "<end_of_utterance>",
    "<|end_of_text|>", "<|endoftext|>",
    "<|plamo:op|>",    ("<" BAR "end" LOW "of" LOW "sentence" BAR ">"), /* DeepSeek */
};
/* end a generation, but not the turn */
static const char *const other_eog_texts[] = { QR_EOM_TEXT, "<|return|>", "<|call|>", "<|flush|>",
                                               "<|calls|>" };

static const char *const control_texts[] = {
    "<s>",    "</s>",   "<unk>",   "<pad>",           "<bos>", "<eos>",
    "<mask>", "[INST]", "[/INST]", "<start_of_turn>", "[CLS]", "[SEP]"
};

static bool is_one_of(const char *const *list, size_t n, const char *text, size_t size)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(list[i]) == size && memcmp(list[i], text, size) == 0)
            return true;
    return false;
}
#define IS_ONE_OF(list, text, size) is_one_of(list, sizeof list / sizeof *list, text, size)

bool qr_is_eog_text(const char *text, size_t size)
{
    return IS_ONE_OF(eot_texts, text, size) || IS_ONE_OF(other_eog_texts, text, size);
}

const char *qr_eot_text(size_t i)
{
    return i < sizeof eot_texts / sizeof *eot_texts ? eot_texts[i] : NULL;
}

static bool is_between(const char *text, size_t size, const char *open, const char *close)
{
    const size_t n = strlen(open), m = strlen(close);
    return size > n + m && memcmp(text, open, n) == 0 && memcmp(text + size - m, close, m) == 0;
}

bool qr_is_control_text(const char *text, size_t size)
{
    return is_between(text, size, "<|", "|>") || is_between(text, size, "<" BAR, BAR ">") ||
           IS_ONE_OF(control_texts, text, size) || qr_is_eog_text(text, size);
}
