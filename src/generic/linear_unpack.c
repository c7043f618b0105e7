/* SPDX-License-Identifier: Apache-2.0 */
/* linear_unpack.c - unpacks one group of a quantized panel in plain C. */
#include "generic/linear_unpack.h"
#include "base/half.h"

enum { R = QR_PANEL_ROWS };

static const uint8_t luts[][16] = {
    [QR_LUT_IQ4] = { QR_IQ4_BYTES },         [QR_LUT_MXFP4] = { QR_MXFP4_BYTES },
    [QR_LUT_IQ3_XXS] = { QR_IQ3_XXS_BYTES }, [QR_LUT_IQ3_S] = { QR_IQ3_S_BYTES },
    [QR_LUT_IQ2] = { QR_IQ2_BYTES },
};

/* codes[x] |= `bits` bits of byte x of step s in a plane, moved up by `at` bits. */
static void add_plane(uint8_t codes[QR_CACHE_LINE_BYTES], const uint8_t *plane, int bits, int s,
                      int at)
{
    const int per_line = 8 / bits, down = bits * (s % per_line), mask = (1 << bits) - 1;
    const uint8_t *line = plane + s / per_line * QR_CACHE_LINE_BYTES;
    for (int x = 0; x < QR_CACHE_LINE_BYTES; x++)
        codes[x] |= (uint8_t)((line[x] >> down & mask) << at);
}

/* Codes of three bits: bits 6 and 7 of the lines are the last two steps. */
static void add_three_bits(uint8_t codes[QR_CACHE_LINE_BYTES], const uint8_t *body, int s)
{
    for (int x = 0; x < QR_CACHE_LINE_BYTES; x++) {
        const int last = body[x] >> 6 | body[QR_CACHE_LINE_BYTES + x] >> 6 << 2 |
                         body[2 * QR_CACHE_LINE_BYTES + x] >> 6 << 4;
        codes[x] |= (s < 6 ? body[s / 2 * QR_CACHE_LINE_BYTES + x] : last) >> (3 * (s % 2)) & 7;
    }
}

/* Step s of a block: k = 4 s to 4 s + 3. Byte x of a plane is row x / 4, k = 4 s + x % 4. */
static void unpack_step(struct qr_panel_format f, const uint8_t *body, int s, int16_t (*w)[R])
{
    uint8_t codes[QR_CACHE_LINE_BYTES] = { 0 };
    if (f.low_bits == 3)
        add_three_bits(codes, body, s);
    else
        add_plane(codes, body, f.low_bits, s, qr_panel_code_at(f));
    if (f.high_bits)
        add_plane(codes, body + f.low_bits * QR_CACHE_LINE_BYTES, f.high_bits, s, f.low_bits);
    if (f.lut != QR_LUT_NONE && !qr_panel_is_float(f))
        for (int x = 0; x < QR_CACHE_LINE_BYTES; x++)
            codes[x] = luts[f.lut][codes[x]];
    const int offset = qr_panel_has_delta(f) ? 0 : f.offset;
    for (int k = 0; k < 4; k++)
        for (int r = 0; r < R; r++)
            w[k][r] = (int16_t)(codes[4 * r + k] - offset);
}

static float f16_at(const uint8_t *p, size_t i)
{
    uint16_t h;
    memcpy(&h, p + 2 * i, sizeof h);
    return qr_f16_to_f32(h);
}

/* K types: d times 8 or 16 integer scales, and dmin times as many minimums. */
static void unpack_k_scales(struct qr_panel_format f, const uint8_t *h, struct generic_group *g)
{
    const size_t n = qr_panel_sub16(f) ? 16 : 8;
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < R; r++) {
            const float d = f16_at(h, r), dmin = f16_at(h, R + r);
            const uint8_t scale = h[64 + i * R + r];
            if (f.scales == QR_SCALE_K8_MIN) {
                g->scale[i][r] = d * scale;
                g->min[i][r] = dmin * h[192 + i * R + r];
            } else if (f.scales == QR_SCALE_K16_MIN) {
                g->scale[i][r] = d * (scale & 15);
                g->min[i][r] = dmin * (scale >> 4);
            } else {
                g->scale[i][r] = d * (int8_t)scale * (f.scales == QR_SCALE_K8_HALF ? 0.5f : 1);
            }
        }
}

/* Adds the bits of eight values, at `delta`, to the weights; see N16_DELTA. */
static void unpack_delta(const uint8_t *delta, struct generic_group *g)
{
    for (size_t k = 0; k < QR_GROUP_K; k++)
        for (size_t r = 0; r < R; r++) {
            const bool minus = delta[4 * r + k / 64] >> (k / 8 % 8) & 1;
            const int code = g->w[k][r];
            g->w[k][r] = (int16_t)(8 * (code - 1) + (minus ? -1 : 1));
        }
}

/* Scales that are nibbles. */
static void unpack_nibble_scales(struct qr_panel_format f, const uint8_t *h,
                                 struct generic_group *g)
{
    const size_t n = qr_panel_sub16(f) ? 16 : 8;
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < R; r++) {
            const int nibble = h[32 + i / 2 * R + r] >> (4 * (i % 2)) & 15;
            const float d = f16_at(h, r);
            if (f.scales == QR_SCALE_N8_DELTA) {
                g->scale[i][r] = d * (float)(2 * (nibble & 7) + 1);
                g->min[i][r] = g->scale[i][r] * (nibble & 8 ? 1.125f : 0.875f);
            } else {
                g->scale[i][r] = d * ((float)(2 * nibble + 1) * 0.125f);
            }
        }
}

static void unpack_scales(struct qr_panel_format f, const uint8_t *h, size_t n_blocks,
                          struct generic_group *g)
{
    const size_t per_d = qr_panel_blocks_per_d(f);
    for (size_t b = 0; b < n_blocks; b++)
        for (size_t r = 0; r < R; r++) {
            if (per_d) {
                g->scale[b][r] = f16_at(h, b / per_d * R + r);
            } else if (f.scales == QR_SCALE_E4M3) {
                g->scale[2 * b][r] = qr_e4m3_half_to_f32(h[2 * b * R + r]);
                g->scale[2 * b + 1][r] = qr_e4m3_half_to_f32(h[(2 * b + 1) * R + r]);
            } else if (f.scales == QR_SCALE_DM) {
                g->scale[b][r] = f16_at(h, 2 * b * R + r);
                g->min[b][r] = -f16_at(h, (2 * b + 1) * R + r);
            } else {
                g->scale[b][r] = qr_e8m0_half_to_f32(h[b * R + r]);
            }
        }
}

/* f32 scales, of 1, 2 or 4 blocks, and zero points. */
static void unpack_f32_scales(struct qr_panel_format f, const uint8_t *h, size_t n_blocks,
                              struct generic_group *g)
{
    const size_t per_f32 = qr_panel_blocks_per_f32(f);
    const int8_t *z = (const int8_t *)h + n_blocks / per_f32 * R * sizeof(float);
    for (size_t b = 0; b < n_blocks; b++)
        for (size_t r = 0; r < R; r++) {
            const size_t at = b / per_f32 * R + r;
            memcpy(&g->scale[b][r], h + at * sizeof(float), sizeof(float));
            if (qr_panel_has_zero(f))
                g->min[b][r] = g->scale[b][r] * (float)z[at];
        }
}

void qr_generic_unpack(struct qr_panel_format f, const uint8_t *group, size_t n_blocks,
                       struct generic_group *g)
{
    if (qr_panel_blocks_per_d(f) || f.scales == QR_SCALE_DM || f.scales == QR_SCALE_E8M0 ||
        f.scales == QR_SCALE_E4M3)
        unpack_scales(f, group, n_blocks, g);
    else if (qr_panel_blocks_per_f32(f))
        unpack_f32_scales(f, group, n_blocks, g);
    else if (qr_panel_nibble_scales(f))
        unpack_nibble_scales(f, group, g);
    else
        unpack_k_scales(f, group, g);
    group += qr_panel_header_bytes(f, n_blocks);
    for (size_t b = 0; b < n_blocks; b++)
        for (int s = 0; s < QR_BLOCK_K / 4; s++)
            unpack_step(f, group + b * qr_panel_block_bytes(f), s,
                        g->w + b * QR_BLOCK_K + (size_t)s * 4);
    if (qr_panel_has_delta(f))
        unpack_delta(group - QR_CACHE_LINE_BYTES, g);
}
