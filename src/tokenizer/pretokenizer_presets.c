/* SPDX-License-Identifier: Apache-2.0 */
/* pretokenizer_presets.c - split patterns of published pre-tokenizers and their presets. */
#include "tokenizer/pretokenizer_presets.h"
#include "base/utf8.h"
#include <string.h>

/* Patterns have the spelling of tokenizer.json files, so that one text serves for recognition and
 * for matching; only characters beyond ASCII are written \x{...} here. */

/* clang-format off */
#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define LEAD "[^\\r\\n\\p{L}\\p{N}]?"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define SYMBOLS(extra) " ?[^\\s\\p{L}\\p{N}]+[\\r\\n" extra "]*"
#define SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define NO_HAN "(?!\\p{Han})"

/* letters of scripts with case, as listed by DeepSeek LLM */
#define ALPHABETS \
    "A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}" \
    "\\x{1C4}-\\x{293}\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}" \
    "\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}" \
    "\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}" \
    "\\x{13A0}-\\x{13F5}\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}" \
    "\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}" \
    "\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}" \
    "\\x{1F59}\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}" \
    "\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}" \
    "\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}" \
    "\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}\\x{2126}\\x{2128}" \
    "\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}\\x{2139}\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}" \
    "\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}\\x{2CEB}-\\x{2CEE}" \
    "\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}" \
    "\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}" \
    "\\x{FB13}-\\x{FB17}\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}" \
    "\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}" \
    "\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}"

static const struct {
    const char *name, *regex;
    const char *pattern; /* equivalent that is matched instead; NULL: regex itself */
} patterns[QR_N_SPLIT_PATTERNS] = {
    [QR_SPLIT_GPT2] = { "gpt-2",
        "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|"
        "\\s+(?!\\S)|\\s+", NULL },
    [QR_SPLIT_LLAMA3] = { "llama-bpe",
        CONTRACTIONS "|" LEAD "\\p{L}+|\\p{N}{1,3}|" SYMBOLS("") "|" SPACES, NULL },
    [QR_SPLIT_QWEN2] = { "qwen2",
        CONTRACTIONS "|" LEAD "\\p{L}+|\\p{N}|" SYMBOLS("") "|" SPACES, NULL },
    [QR_SPLIT_QWEN35] = { "qwen35",
        CONTRACTIONS "|" LEAD "[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|"
        SPACES, NULL },
    [QR_SPLIT_TEKKEN] = { "tekken",
        LEAD UPPER "*" LOWER "+|" LEAD UPPER "+" LOWER "*|\\p{N}|" SYMBOLS("/") "|" SPACES, NULL },
    [QR_SPLIT_GPT4O] = { "gpt-4o",
        LEAD UPPER "*" LOWER "+" CONTRACTIONS "?|" LEAD UPPER "+" LOWER "*" CONTRACTIONS "?|"
        "\\p{N}{1,3}|" SYMBOLS("/") "|" SPACES, NULL },
    [QR_SPLIT_DIGIT] = { "single digits", "\\p{N}", NULL },
    [QR_SPLIT_DIGITS] = { "digits", "\\p{N}+", NULL },
    [QR_SPLIT_DIGITS3] = { "groups of digits", "\\p{N}{1,3}", NULL },
    [QR_SPLIT_NEWLINE] = { "line breaks", "[\\r\\n]", NULL },
    [QR_SPLIT_SPACE_LETTERS] = { "letters", "\\s?\\p{L}+", NULL },
    [QR_SPLIT_SPACE_PUNCT] = { "punctuation", "\\s?\\p{P}+", NULL },
    [QR_SPLIT_CJK] = { "CJK", "[\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+", NULL },
    [QR_SPLIT_ALPHABETS] = { "alphabets", "\\s?[" ALPHABETS "]+", NULL },
    [QR_SPLIT_ASCII_PUNCT] = { "punctuation and its fullwidth forms",
        "\\s?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}"
        "\\x{3000}-\\x{3002}]+", NULL },
    /* the look-behind keeps the search linear: a match starts at the first space of a run only */
    [QR_SPLIT_TRAILING_SPACE] = { "trailing space", "\\s+$", "(?<!\\s)\\s++\\z" },
    [QR_SPLIT_CJK_KANA] = { "CJK and kana",
        "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+", NULL },
    [QR_SPLIT_DEEPSEEK_V3] = { "deepseek-v3",
        "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|"
        "[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|" SPACES, NULL },
    [QR_SPLIT_PUNCT_RUNS] = { "runs of punctuation", "[\\p{P}$+<=>^~|`]+", NULL },
    [QR_SPLIT_ASCII_DIGITS3] = { "three digits", "[0-9][0-9][0-9]", NULL },
    /* the reference reads the brackets inside the class as a class of its own */
    [QR_SPLIT_BLOOM] = { "bloom",
        " ?[^(\\s|[.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C}])]+",
        " ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C})]+" },
    [QR_SPLIT_LINES] = { "lines", "[^\\n]+|[\\n]+", NULL },
    /* the next two look ahead at the begin of a run only, which keeps the search linear */
    [QR_SPLIT_DIGITS3_RIGHT] = { "groups of digits from the right",
        "\\p{N}{1,3}(?=(?:\\p{N}{3})*(?!\\p{N}))",
        "(?<!\\p{N})\\p{N}{1,2}(?=(?:\\p{N}{3})++(?!\\p{N}))|\\p{N}{3}|\\p{N}{1,2}" },
    /* \G: a digit in front of the start of the search belongs to a group that was found */
    [QR_SPLIT_DIGITS3_WORD] = { "groups of digits at the end of a word",
        "\\d{1,3}(?=(?:\\d{3})*\\b)",
        "\\G(?<=\\d)\\d{3}|(?<!\\d)\\d{1,3}+(?=\\b)|"
        "(?<!\\d)\\d{1,2}(?=(?:\\d{3})++\\b)|(?<!\\d)\\d{3}(?=(?:\\d{3})++\\b)" },
    [QR_SPLIT_SCRIPTS_AFMOE] = { "Asian scripts",
        "[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{F900}-\\x{FAFF}\\x{3040}-\\x{309F}"
        "\\x{30A0}-\\x{30FF}\\x{FF65}-\\x{FF9F}\\x{2F00}-\\x{2FDF}\\x{E40}-\\x{E7F}"
        "\\x{E80}-\\x{EFF}\\x{1780}-\\x{17FF}\\x{1000}-\\x{109F}\\x{AA60}-\\x{AA7F}"
        "\\x{A9E0}-\\x{A9FF}\\x{AC00}-\\x{D7AF}\\x{1100}-\\x{11FF}]+", NULL },
    [QR_SPLIT_SCRIPTS_YOUTU] = { "Hangul, bopomofo, CJK and their punctuation",
        "[\\x{AC00}-\\x{D7A3}\\x{3131}-\\x{318E}]+|[\\x{FF01}\\x{2026}\\x{201C}\\x{201D}"
        "\\x{2018}\\x{2019}\\x{2014}\\x{FF1A}\\x{FF1B}\\x{FF0C}\\x{3001}-\\x{303F}"
        "\\x{FE30}-\\x{FE4F}]+|[\\x{3105}-\\x{312F}]+|"
        "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+", NULL },
    [QR_SPLIT_YOUTU] = { "youtu",
        LEAD UPPER "*" LOWER "+" CONTRACTIONS "?|" LEAD UPPER "+" LOWER "*" CONTRACTIONS "?|"
        "\\p{N}|" SYMBOLS("/") "|" SPACES, NULL },
    [QR_SPLIT_KIMI_K2] = { "kimi-k2",
        "[\\p{Han}]+|" LEAD "(?:" NO_HAN UPPER ")*(?:" NO_HAN LOWER ")+" CONTRACTIONS "?|"
        LEAD "(?:" NO_HAN UPPER ")+(?:" NO_HAN LOWER ")*" CONTRACTIONS "?|\\p{N}{1,3}|"
        SYMBOLS("") "|" SPACES, NULL },
    [QR_SPLIT_BAILING] = { "bailingmoe",
        "'(?i:[sdmt]|ll|ve|re)|" LEAD "+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|"
        "\\s*[\\r\\n]|\\s+(?!\\S)|\\s+", NULL },
    [QR_SPLIT_SEED_CODER] = { "seed-coder",
        CONTRACTIONS "|" LEAD "\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" SPACES, NULL },
    [QR_SPLIT_EXAONE_MOE] = { "exaone-moe",
        CONTRACTIONS "|" LEAD "(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}|"
        " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+", NULL },
    [QR_SPLIT_MINICPM5] = { "minicpm5",
        CONTRACTIONS "|" LEAD "\\p{L}+|\\p{N}+|" SYMBOLS("") "|" SPACES, NULL },
    [QR_SPLIT_JAIS2] = { "jais-2",
        CONTRACTIONS "|" LEAD "\\p{L}+|\\p{N}{1,3}|" SYMBOLS("") "|\\s*[\\r\\n]+|"
        "\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|"
        "\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}", NULL },
    [QR_SPLIT_UFAKZEKA] = { "ufakzeka",
        LEAD "\\p{L}+|\\p{N}|" SYMBOLS("") "|" SPACES, NULL },
    [QR_SPLIT_SENTINEL] = { "sentinels", "<sentinel:[0-9]+>", NULL },
    [QR_SPLIT_IMAGE] = { "image tokens", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", NULL },
    [QR_SPLIT_INDENT] = { "indentation", "([\\t\\n]|    |  )", NULL },
    [QR_SPLIT_PUNCT] = { "single punctuation", "[\\p{P}!-/:-@\\[-`{-~]", NULL },
};
/* clang-format on */

static const struct qr_pretokenizer_preset presets[] = {
    { .names = "gpt-2 phi-2 mpt olmo jais jina-es jina-de jina-v1-en jina-v2-es jina-v2-de "
               "jina-v2-code roberta-bpe gigachat a.x-4.0 mellum modern-bert exaone4 trillion "
               "granite-docling",
      .splits = { QR_SPLIT_GPT2 },
      .n_splits = 1 },
    { .names = "llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 "
               "jina-v5-nano",
      .splits = { QR_SPLIT_LLAMA3 },
      .n_splits = 1,
      .ignore_merges = true,
      .add_bos = true },
    { .names = "dbrx smaug-bpe glm4 chatglm-bpe", .splits = { QR_SPLIT_LLAMA3 }, .n_splits = 1 },
    { .names = "qwen2 megrez f2llmv2", .splits = { QR_SPLIT_QWEN2 }, .n_splits = 1, .nfc = true },
    { .names = "deepseek-r1-qwen stablelm2 hunyuan kormo solar-open grok-2",
      .splits = { QR_SPLIT_QWEN2 },
      .n_splits = 1 },
    { .names = "qwen35", .splits = { QR_SPLIT_QWEN35 }, .n_splits = 1, .nfc = true },
    { .names = "smollm starcoder refact codeshell exaone minerva-7b mellum2",
      .splits = { QR_SPLIT_DIGIT, QR_SPLIT_GPT2 },
      .n_splits = 2 },
    { .names = "command-r",
      .splits = { QR_SPLIT_DIGIT, QR_SPLIT_GPT2 },
      .n_splits = 2,
      .nfc = true },
    { .names = "tekken",
      .splits = { QR_SPLIT_TEKKEN },
      .n_splits = 1,
      .ignore_merges = true,
      .add_bos = true },
    { .names = "gpt-4o llama4 kanana2 talkie minimax-m2",
      .splits = { QR_SPLIT_GPT4O },
      .n_splits = 1 },
    { .names = "granite-embed-multi-97m",
      .splits = { QR_SPLIT_GPT4O },
      .n_splits = 1,
      .ignore_merges = true },
    { .names = "tiny_aya cohere2moe",
      .splits = { QR_SPLIT_DIGITS3_WORD, QR_SPLIT_GPT4O },
      .n_splits = 2 },
    { .names = "deepseek-coder",
      .splits = { QR_SPLIT_NEWLINE, QR_SPLIT_SPACE_LETTERS, QR_SPLIT_SPACE_PUNCT, QR_SPLIT_CJK,
                  QR_SPLIT_DIGIT },
      .n_splits = 5 },
    { .names = "deepseek-llm",
      .splits = { QR_SPLIT_NEWLINE, QR_SPLIT_ALPHABETS, QR_SPLIT_ASCII_PUNCT,
                  QR_SPLIT_TRAILING_SPACE, QR_SPLIT_CJK, QR_SPLIT_DIGITS },
      .n_splits = 6 },
    { .names = "deepseek-v3 hunyuan-dense joyai-llm hy_v4",
      .splits = { QR_SPLIT_DIGITS3, QR_SPLIT_CJK_KANA, QR_SPLIT_DEEPSEEK_V3 },
      .n_splits = 3 },
    { .names = "falcon",
      .splits = { QR_SPLIT_PUNCT_RUNS, QR_SPLIT_GPT2, QR_SPLIT_ASCII_DIGITS3 },
      .n_splits = 3 },
    { .names = "bloom gpt3-finnish poro-chat", .splits = { QR_SPLIT_BLOOM }, .n_splits = 1 },
    { .names = "viking", .splits = { QR_SPLIT_BLOOM, QR_SPLIT_DIGIT }, .n_splits = 2 },
    { .names = "chameleon",
      .splits = { QR_SPLIT_SENTINEL, QR_SPLIT_IMAGE, QR_SPLIT_INDENT, QR_SPLIT_DIGIT,
                  QR_SPLIT_PUNCT, QR_SPLIT_GPT2 },
      .n_splits = 6,
      .add_bos = true },
    { .names = "superbpe", .splits = { QR_SPLIT_DIGITS, QR_SPLIT_DIGITS3_RIGHT }, .n_splits = 2 },
    { .names = "afmoe",
      .splits = { QR_SPLIT_DIGITS3_RIGHT, QR_SPLIT_SCRIPTS_AFMOE, QR_SPLIT_DEEPSEEK_V3 },
      .n_splits = 3 },
    { .names = "youtu",
      .splits = { QR_SPLIT_SCRIPTS_YOUTU, QR_SPLIT_YOUTU },
      .n_splits = 2,
      .ignore_merges = true },
    { .names = "laguna", .splits = { QR_SPLIT_LINES, QR_SPLIT_QWEN2 }, .n_splits = 2 },
    { .names = "minicpm5",
      .splits = { QR_SPLIT_DIGITS3, QR_SPLIT_MINICPM5 },
      .n_splits = 2,
      .ignore_merges = true },
    { .names = "kimi-k2", .splits = { QR_SPLIT_KIMI_K2 }, .n_splits = 1 },
    { .names = "bailingmoe bailingmoe2 llada-moe", .splits = { QR_SPLIT_BAILING }, .n_splits = 1 },
    { .names = "seed-coder", .splits = { QR_SPLIT_SEED_CODER }, .n_splits = 1 },
    { .names = "exaone-moe", .splits = { QR_SPLIT_EXAONE_MOE }, .n_splits = 1 },
    { .names = "jais-2", .splits = { QR_SPLIT_JAIS2 }, .n_splits = 1 },
    { .names = "ufakzeka", .splits = { QR_SPLIT_UFAKZEKA }, .n_splits = 1 },
};

static bool in_list(const char *list, const char *name, size_t size)
{
    for (const char *p = list; *p;) {
        const size_t n = strcspn(p, " ");
        if (n == size && memcmp(p, name, n) == 0)
            return true;
        p += n + strspn(p + n, " ");
    }
    return false;
}

const struct qr_pretokenizer_preset *qr_pretokenizer_preset_find(const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (in_list(presets[i].names, name, size))
            return &presets[i];
    return NULL;
}

const char *qr_split_pattern_name(enum qr_split_pattern pattern) { return patterns[pattern].name; }

/* Unicode's White_Space, as in the reference tokenizers. PCRE2's own \s includes U+180E. */
#define WHITE_SPACE                                                                                \
    "\\t-\\r\\x{20}\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}" \
    "\\x{3000}"

size_t qr_split_pattern_regex(enum qr_split_pattern pattern, char *out)
{
    const char *s = patterns[pattern].pattern ? patterns[pattern].pattern : patterns[pattern].regex;
    bool in_class = false;
    size_t n = 0;
    for (; *s; s++) {
        const bool space = s[0] == '\\' && (s[1] == 's' || s[1] == 'S');
        const char *text = !space        ? s
                           : in_class    ? WHITE_SPACE
                           : s[1] == 's' ? "[" WHITE_SPACE "]"
                                         : "[^" WHITE_SPACE "]";
        const size_t size = space ? strlen(text) : s[0] == '\\' ? 2 : 1;
        if (*s == '[' || *s == ']')
            in_class = *s == '[';
        if (out)
            memcpy(out + n, text, size);
        n += size;
        s += *s == '\\';
    }
    if (out)
        out[n] = 0;
    return n;
}

/* Compares one character of a known pattern with one of the given pattern, and advances both.
 * \x{...} of the known one matches that character itself, \r and \n also the control characters. */
static bool same_char(const char **known, const uint8_t **given, const uint8_t *end)
{
    uint32_t want = (uint8_t) * *known, cp = 0;
    size_t step = 1;
    const int len = qr_utf8_next_final(*given, (size_t)(end - *given), &cp);
    if (len < 0)
        return false;
    if (want == '\\' && (*known)[1] == 'x') {
        want = 0;
        for (step = 3; (*known)[step] != '}'; step++) {
            const char c = (*known)[step];
            want = want * 16 + (uint32_t)(c <= '9' ? c - '0' : c - 'A' + 10);
        }
        step++;
    } else if (want == '\\' && (cp == '\r' || cp == '\n')) {
        want = (*known)[1] == 'r' ? '\r' : (*known)[1] == 'n' ? '\n' : 0;
        step = 2;
    }
    *known += step;
    *given += len;
    return want == cp;
}

int qr_split_pattern_find(const char *regex, size_t size)
{
    for (int i = 0; i < QR_N_SPLIT_PATTERNS; i++) {
        const char *known = patterns[i].regex;
        const uint8_t *given = (const uint8_t *)regex, *end = given + size;
        while (*known && given < end && same_char(&known, &given, end))
            ;
        if (!*known && given == end)
            return i;
    }
    return -1;
}
