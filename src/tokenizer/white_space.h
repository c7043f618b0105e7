/* SPDX-License-Identifier: Apache-2.0 */
/* white_space.h - Unicode's White_Space property. */
#ifndef QR_TOKENIZER_WHITE_SPACE_H
#define QR_TOKENIZER_WHITE_SPACE_H
#include <stdbool.h>
#include <stdint.h>

static inline bool qr_is_white_space(uint32_t cp)
{
    return cp == ' ' || (cp >= '\t' && cp <= '\r') || cp == 0x85 || cp == 0xA0 || cp == 0x1680 ||
           (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 || cp == 0x2029 || cp == 0x202F ||
           cp == 0x205F || cp == 0x3000;
}

#endif
