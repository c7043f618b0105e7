/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/core/char_group.h"
#include <string.h>

/* U+00A0 begins with 0xc2, U+1680 with 0xe1, U+2000 to U+2FFF with 0xe2, U+3000 with 0xe3, and
 * U+FEFF with 0xef. */
const struct qr_wide_group qr_wide_groups[QR_N_GROUPS - QR_GROUP_WIDE] = {
    { 0xc2, 0xc2 }, { 0xc3, 0xdf }, { 0xe0, 0xe1 }, { 0xe2, 0xe2 },
    { 0xe3, 0xe3 }, { 0xe4, 0xee }, { 0xef, 0xef }, { 0xf0, 0xf4 },
};

static unsigned ascii_group(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return QR_GROUP_DIGIT;
    if (c >= 'a' && c <= 'z')
        return c <= 'f' ? QR_GROUP_LOWER_HEX : QR_GROUP_LOWER;
    if (c >= 'A' && c <= 'Z')
        return c <= 'F' ? QR_GROUP_UPPER_HEX : QR_GROUP_UPPER;
    const char *p = c != 0 ? strchr(QR_GROUP_SINGLES, c) : NULL;
    return p != NULL ? QR_GROUP_SINGLE + (unsigned)(p - QR_GROUP_SINGLES) : QR_GROUP_OTHER;
}

unsigned qr_group_of(uint8_t byte)
{
    unsigned g = QR_GROUP_WIDE;
    if (byte < 0x80)
        return ascii_group(byte);
    while (g < QR_N_GROUPS - 1 && byte > qr_wide_groups[g - QR_GROUP_WIDE].last)
        g++;
    return g;
}
