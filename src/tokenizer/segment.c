/* SPDX-License-Identifier: Apache-2.0 */
/* segment.c - bounds runs of one character class, so that time and memory stay linear. */
#include "tokenizer/segment.h"
#include "base/utf8.h"
#include "tokenizer/types.h"
#include <utf8proc.h>

enum run_class { RUN_SPACE, RUN_DIGIT, RUN_LETTER, RUN_OTHER };

static enum run_class class_of(uint32_t cp, enum run_class before)
{
    if (cp < 0x80) {
        if (cp == ' ' || (cp >= '\t' && cp <= '\r'))
            return RUN_SPACE;
        if (cp >= '0' && cp <= '9')
            return RUN_DIGIT;
        return (cp | 0x20) >= 'a' && (cp | 0x20) <= 'z' ? RUN_LETTER : RUN_OTHER;
    }
    switch (utf8proc_category((utf8proc_int32_t)cp)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return RUN_LETTER;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return RUN_DIGIT;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return RUN_SPACE;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
        /* some split patterns group marks with letters, others with symbols */
        return before == RUN_LETTER ? RUN_LETTER : RUN_OTHER;
    default:
        return RUN_OTHER;
    }
}

size_t qr_segment_end(const uint8_t *text, size_t begin, size_t n)
{
    if (n - begin <= QR_MAX_RUN_BYTES)
        return n;
    enum run_class run = RUN_OTHER;
    size_t start = begin;
    for (size_t i = begin; i < n;) {
        uint32_t cp = text[i];
        const size_t len = cp < 0x80 ? 1 : (size_t)qr_utf8_next_final(text + i, n - i, &cp);
        const enum run_class c = class_of(cp, run);
        if (c != run) {
            run = c;
            start = i;
        } else if (i + len - start > QR_MAX_RUN_BYTES) {
            return i;
        }
        i += len;
    }
    return n;
}
