/* SPDX-License-Identifier: Apache-2.0 */
/* group_panel.c - packs one row's group into a panel and unpacks it. Layout: kernels_linear.h. */
#include "linear/group_panel.h"
#include <string.h>

enum { STEPS = QR_BLOCK_K / 4 };

/* The four codes of a step as one number, the first in the lowest byte. Planes consist of
 * dwords. */
static uint32_t load_dword(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static void store_dword(uint8_t *p, uint32_t v) { memcpy(p, &v, sizeof v); }

/* A plane holds bits [from, from + bits) of every code; 8 / bits steps share a line. */
static void put_plane(int bits, int from, const uint8_t *code, size_t r, uint8_t *plane)
{
    const uint32_t mask = (uint32_t)((1 << bits) - 1) * 0x01010101u;
    for (int s = 0; s < STEPS;) {
        uint32_t line = 0;
        for (int shift = 0; shift < 8; shift += bits)
            line |= (load_dword(code + 4 * s++) >> from & mask) << shift;
        store_dword(plane + 4 * r, line);
        plane += QR_CACHE_LINE_BYTES;
    }
}

static void get_plane(int bits, int from, const uint8_t *plane, size_t r, uint8_t *code)
{
    const uint32_t mask = (uint32_t)((1 << bits) - 1) * 0x01010101u;
    for (int s = 0; s < STEPS;) {
        const uint32_t line = load_dword(plane + 4 * r);
        for (int shift = 0; shift < 8; shift += bits, s++)
            store_dword(code + 4 * s, load_dword(code + 4 * s) | (line >> shift & mask) << from);
        plane += QR_CACHE_LINE_BYTES;
    }
}

/* Three bits of every code: each of three lines holds two steps in its low six bits; the last two
 * steps are in the high bits of the three lines. */
static void put_threes(const uint8_t *code, size_t r, uint8_t *body)
{
    const uint32_t last = load_dword(code + 24) | load_dword(code + 28) << 3;
    for (int j = 0; j < 3; j++)
        store_dword(body + j * QR_CACHE_LINE_BYTES + 4 * r, load_dword(code + 8 * j) |
                                                                load_dword(code + 8 * j + 4) << 3 |
                                                                (last >> 2 * j & 0x03030303u) << 6);
}

static void get_threes(const uint8_t *body, size_t r, uint8_t *code)
{
    uint32_t last = 0;
    for (int j = 0; j < 3; j++) {
        const uint32_t line = load_dword(body + j * QR_CACHE_LINE_BYTES + 4 * r);
        store_dword(code + 8 * j, line & 0x07070707u);
        store_dword(code + 8 * j + 4, line >> 3 & 0x07070707u);
        last |= (line >> 6 & 0x03030303u) << 2 * j;
    }
    store_dword(code + 24, last & 0x07070707u);
    store_dword(code + 28, last >> 3 & 0x07070707u);
}

static void put_block(struct qr_panel_format f, const uint8_t *code, size_t r, uint8_t *body)
{
    if (f.low_bits == 3) {
        put_threes(code, r, body);
        return;
    }
    put_plane(f.low_bits, qr_panel_code_at(f), code, r, body);
    if (f.high_bits)
        put_plane(f.high_bits, f.low_bits, code, r, body + f.low_bits * QR_CACHE_LINE_BYTES);
}

static void get_block(struct qr_panel_format f, const uint8_t *body, size_t r, uint8_t *code)
{
    if (f.low_bits == 3) {
        get_threes(body, r, code);
        return;
    }
    memset(code, 0, QR_BLOCK_K);
    get_plane(f.low_bits, qr_panel_code_at(f), body, r, code);
    if (f.high_bits)
        get_plane(f.high_bits, f.low_bits, body + f.low_bits * QR_CACHE_LINE_BYTES, r, code);
}

static void put_u16(uint8_t *p, size_t i, uint16_t v) { memcpy(p + 2 * i, &v, sizeof v); }

static uint16_t get_u16(const uint8_t *p, size_t i)
{
    uint16_t v;
    memcpy(&v, p + 2 * i, sizeof v);
    return v;
}

static void put_bytes(uint8_t *p, const uint8_t *v, size_t n, size_t r)
{
    for (size_t i = 0; i < n; i++)
        p[i * QR_PANEL_ROWS + r] = v[i];
}

static void get_bytes(const uint8_t *p, uint8_t *v, size_t n, size_t r)
{
    for (size_t i = 0; i < n; i++)
        v[i] = p[i * QR_PANEL_ROWS + r];
}

/* Scales of four bits, two in a byte. */
static void put_nibbles(const uint8_t *v, size_t n, size_t r, uint8_t *p)
{
    for (size_t i = 0; i < n; i += 2)
        p[i / 2 * QR_PANEL_ROWS + r] = (uint8_t)(v[i] | v[i + 1] << 4);
}

static void get_nibbles(const uint8_t *p, size_t n, size_t r, uint8_t *v)
{
    for (size_t i = 0; i < n; i++)
        v[i] = p[i / 2 * QR_PANEL_ROWS + r] >> (4 * (i % 2)) & 15;
}

/* f32 scales, then zero points. */
static void put_f32_scales(struct qr_panel_format f, const struct qr_group *g, size_t nb, size_t r,
                           uint8_t *h)
{
    const size_t n = nb / qr_panel_blocks_per_f32(f);
    for (size_t i = 0; i < n; i++)
        store_dword(h + 4 * (i * QR_PANEL_ROWS + r), g->f[i]);
    if (qr_panel_has_zero(f))
        put_bytes(h + 4 * n * QR_PANEL_ROWS, g->min, n, r);
}

static void get_f32_scales(struct qr_panel_format f, const uint8_t *h, size_t nb, size_t r,
                           struct qr_group *g)
{
    const size_t n = (nb < 8 ? nb : 8) / qr_panel_blocks_per_f32(f);
    for (size_t i = 0; i < n; i++)
        g->f[i] = load_dword(h + 4 * (i * QR_PANEL_ROWS + r));
    if (qr_panel_has_zero(f))
        get_bytes(h + 4 * n * QR_PANEL_ROWS, g->min, n, r);
}

static void put_scales(struct qr_panel_format f, const struct qr_group *g, size_t nb, size_t r,
                       uint8_t *h)
{
    enum { R = QR_PANEL_ROWS };
    uint8_t both[16];
    switch ((enum qr_scale_kind)f.scales) {
    case QR_SCALE_D:
    case QR_SCALE_D64:
    case QR_SCALE_D128:
    case QR_SCALE_D256:
        for (size_t i = 0; i < nb / qr_panel_blocks_per_d(f); i++)
            put_u16(h, i * R + r, g->d[i]);
        return;
    case QR_SCALE_E4M3:
        put_bytes(h, g->scale, 2 * nb, r);
        return;
    case QR_SCALE_DM:
        for (size_t b = 0; b < nb; b++) {
            put_u16(h, 2 * b * R + r, g->d[b]);
            put_u16(h, (2 * b + 1) * R + r, g->m[b]);
        }
        return;
    case QR_SCALE_E8M0:
        put_bytes(h, g->scale, nb, r);
        return;
    case QR_SCALE_K8_MIN:
        put_u16(h, R + r, g->m[0]);
        put_bytes(h + 64, g->scale, 8, r);
        put_bytes(h + 192, g->min, 8, r);
        break;
    case QR_SCALE_K16_MIN:
        put_u16(h, R + r, g->m[0]);
        for (size_t i = 0; i < 16; i++)
            both[i] = (uint8_t)(g->scale[i] | g->min[i] << 4);
        put_bytes(h + 64, both, 16, r);
        break;
    case QR_SCALE_K8:
    case QR_SCALE_K8_HALF:
        put_bytes(h + 64, g->scale, 8, r);
        break;
    case QR_SCALE_K16:
        put_bytes(h + 64, g->scale, 16, r);
        break;
    case QR_SCALE_N8:
    case QR_SCALE_N8_DELTA:
    case QR_SCALE_N16:
    case QR_SCALE_N16_DELTA:
        put_nibbles(g->scale, qr_panel_sub16(f) ? 16 : 8, r, h + 32);
        break;
    case QR_SCALE_F32_32:
    case QR_SCALE_F32_64:
    case QR_SCALE_F32_128:
    case QR_SCALE_Z_32:
    case QR_SCALE_Z_64:
    case QR_SCALE_Z_128:
        put_f32_scales(f, g, nb, r, h);
        return;
    }
    put_u16(h, r, g->d[0]);
}

static void get_scales(struct qr_panel_format f, const uint8_t *h, size_t nb, size_t r,
                       struct qr_group *g)
{
    enum { R = QR_PANEL_ROWS };
    switch ((enum qr_scale_kind)f.scales) {
    case QR_SCALE_D:
    case QR_SCALE_D64:
    case QR_SCALE_D128:
    case QR_SCALE_D256:
        for (size_t i = 0; i < nb / qr_panel_blocks_per_d(f); i++)
            g->d[i] = get_u16(h, i * R + r);
        return;
    case QR_SCALE_E4M3:
        get_bytes(h, g->scale, nb < 8 ? 2 * nb : 16, r);
        return;
    case QR_SCALE_DM:
        for (size_t b = 0; b < nb; b++) {
            g->d[b] = get_u16(h, 2 * b * R + r);
            g->m[b] = get_u16(h, (2 * b + 1) * R + r);
        }
        return;
    case QR_SCALE_E8M0:
        get_bytes(h, g->scale, nb < 8 ? nb : 8, r);
        return;
    case QR_SCALE_K8_MIN:
        g->m[0] = get_u16(h, R + r);
        get_bytes(h + 64, g->scale, 8, r);
        get_bytes(h + 192, g->min, 8, r);
        break;
    case QR_SCALE_K16_MIN:
        g->m[0] = get_u16(h, R + r);
        get_bytes(h + 64, g->scale, 16, r);
        for (size_t i = 0; i < 16; i++) {
            g->min[i] = g->scale[i] >> 4;
            g->scale[i] &= 15;
        }
        break;
    case QR_SCALE_K8:
    case QR_SCALE_K8_HALF:
        get_bytes(h + 64, g->scale, 8, r);
        break;
    case QR_SCALE_K16:
        get_bytes(h + 64, g->scale, 16, r);
        break;
    case QR_SCALE_N8:
    case QR_SCALE_N8_DELTA:
    case QR_SCALE_N16:
    case QR_SCALE_N16_DELTA:
        get_nibbles(h + 32, qr_panel_sub16(f) ? 16 : 8, r, g->scale);
        break;
    case QR_SCALE_F32_32:
    case QR_SCALE_F32_64:
    case QR_SCALE_F32_128:
    case QR_SCALE_Z_32:
    case QR_SCALE_Z_64:
    case QR_SCALE_Z_128:
        get_f32_scales(f, h, nb, r, g);
        return;
    }
    g->d[0] = get_u16(h, r);
}

/* Bit j of the row's dword is bit 2 of the codes 8j .. 8j+7. */
static void put_delta(const uint8_t *code, size_t r, uint8_t *line)
{
    uint32_t bits = 0;
    for (size_t j = 0; j < QR_GROUP_K / 8; j++)
        bits |= (uint32_t)(code[8 * j] >> 2 & 1) << j;
    store_dword(line + 4 * r, bits);
}

static void get_delta(const uint8_t *line, size_t r, uint8_t *code)
{
    const uint32_t bits = load_dword(line + 4 * r);
    for (size_t k = 0; k < QR_GROUP_K; k++)
        code[k] |= (uint8_t)((bits >> (k / 8) & 1) << 2);
}

void qr_group_pack(struct qr_panel_format f, const struct qr_group *g, size_t n_blocks, size_t r,
                   uint8_t *panel)
{
    put_scales(f, g, n_blocks, r, panel);
    panel += qr_panel_header_bytes(f, n_blocks);
    if (qr_panel_has_delta(f))
        put_delta(g->code, r, panel - QR_CACHE_LINE_BYTES);
    for (size_t b = 0; b < n_blocks; b++)
        put_block(f, g->code + b * QR_BLOCK_K, r, panel + b * qr_panel_block_bytes(f));
}

void qr_group_unpack(struct qr_panel_format f, const uint8_t *panel, size_t n_blocks, size_t r,
                     struct qr_group *g)
{
    get_scales(f, panel, n_blocks, r, g);
    panel += qr_panel_header_bytes(f, n_blocks);
    for (size_t b = 0; b < n_blocks; b++)
        get_block(f, panel + b * qr_panel_block_bytes(f), r, g->code + b * QR_BLOCK_K);
    if (qr_panel_has_delta(f))
        get_delta(panel - QR_CACHE_LINE_BYTES, r, g->code);
}
