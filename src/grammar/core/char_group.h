/* SPDX-License-Identifier: Apache-2.0 */
/* char_group.h - groups of characters that patterns rarely tell apart, and alphabets: sets of
 * groups, bit g for group g. */
#ifndef QR_GRAMMAR_CORE_CHAR_GROUP_H
#define QR_GRAMMAR_CORE_CHAR_GROUP_H
#include <stdint.h>

typedef uint32_t qr_alphabet;

enum {
    QR_GROUP_OTHER = 0, /* ASCII characters that are in none of the following groups */
    QR_GROUP_DIGIT = 1,
    QR_GROUP_LOWER_HEX = 2, /* a to f */
    QR_GROUP_LOWER = 3,     /* g to z */
    QR_GROUP_UPPER_HEX = 4,
    QR_GROUP_UPPER = 5,
    QR_GROUP_SINGLE = 6, /* groups of one character each: those of QR_GROUP_SINGLES */
    QR_GROUP_WIDE = 24,  /* groups of characters from U+0080, by the first byte in UTF-8 */
    QR_N_GROUPS = 32
};
#define QR_GROUP_SINGLES " _-./:,@#+=%&?!'\"\\" /* 18 characters */
#define QR_ALPHABET_WIDE 0xff000000u

/* First bytes of a wide group, inclusive. The groups with one byte hold the white space, dashes and
 * marks that patterns exclude. */
struct qr_wide_group {
    uint8_t first, last;
};
extern const struct qr_wide_group qr_wide_groups[QR_N_GROUPS - QR_GROUP_WIDE];

/* The group of a character that begins with this byte: 0x00 to 0x7f, or 0xc2 to 0xf4. */
unsigned qr_group_of(uint8_t byte);

#endif
