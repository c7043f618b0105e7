/* SPDX-License-Identifier: Apache-2.0 */
/* byte_alphabet.c - GPT-2's byte-level alphabet. */
#include "tokenizer/byte_alphabet.h"

/* Printable Latin-1 characters map to themselves, the other 68 bytes to U+0100 and up, in order. */
enum { FIRST_OTHER = 0x100, N_LOW = 0x21, N_MIDDLE = 0xA1 - 0x7F };

uint32_t qr_byte_to_unicode(uint8_t byte)
{
    if (byte < N_LOW)
        return FIRST_OTHER + byte;
    if (byte >= 0x7F && byte <= 0xA0)
        return FIRST_OTHER + N_LOW + byte - 0x7F;
    if (byte == 0xAD)
        return FIRST_OTHER + N_LOW + N_MIDDLE;
    return byte;
}

int qr_unicode_to_byte(uint32_t cp)
{
    if (cp < FIRST_OTHER)
        return qr_byte_to_unicode((uint8_t)cp) == cp ? (int)cp : -1;
    const uint32_t i = cp - FIRST_OTHER;
    if (i < N_LOW)
        return (int)i;
    if (i < N_LOW + N_MIDDLE)
        return (int)(i - N_LOW + 0x7F);
    return i == N_LOW + N_MIDDLE ? 0xAD : -1;
}
