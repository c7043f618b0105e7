/* SPDX-License-Identifier: Apache-2.0 */
/* group.h - up to 256 quantised values of one row, in one form for all quantised types. */
#ifndef QR_LINEAR_GROUP_H
#define QR_LINEAR_GROUP_H
#include "kernels/kernels_linear.h"

/* Which fields of scale, min, d and m are used, and how many, follows from the format's scale kind
 * (base/kernels_linear.h); d and m are f16 bits as stored in the file. */
struct qr_group {
    uint8_t code[QR_GROUP_K];
    uint8_t scale[16]; /* signed ones as two's complement; E8M0: the exponent */
    uint8_t min[16];
    uint16_t d[8], m[8];
};

/* Magnitudes of four values of IQ3_XXS and IQ3_S: octal digits, that of the first value lowest.
 * Digit i stands for 8 i + 4 (62 if i = 7) or 2 i + 1. */
extern const uint16_t qr_grid_iq3_xxs[256], qr_grid_iq3_s[512];

/* Format of a quantised type; NULL for others (f32, f16, bf16, unsupported). */
const struct qr_panel_format *qr_panel_format(uint32_t type);

/* Raw bytes of one group with n_blocks blocks of 32 values. */
size_t qr_group_raw_bytes(uint32_t type, size_t n_blocks);

/* Decodes one group of raw blocks. */
void qr_group_decode(uint32_t type, const uint8_t *raw, size_t n_blocks, struct qr_group *g);

/* Values of a group, exactly as the format defines them. */
void qr_group_values(struct qr_panel_format f, const struct qr_group *g, size_t n_blocks,
                     float *out);

/* Stores a group as row r (0..15) of a panel's group at `panel`, or loads it back. */
void qr_group_to_panel(struct qr_panel_format f, const struct qr_group *g, size_t n_blocks,
                       size_t r, uint8_t *panel);
void qr_group_from_panel(struct qr_panel_format f, const uint8_t *panel, size_t n_blocks, size_t r,
                         struct qr_group *g);

/* Reference dequantisation: k values of a row of raw blocks (any alignment) to f32, exactly as the
 * format defines them. The type must be supported and k a multiple of its block. */
void qr_weight_dequantise(uint32_t type, const void *raw, size_t k, float *out);

#endif
