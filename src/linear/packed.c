/* SPDX-License-Identifier: Apache-2.0 */
/* packed.c - packs weight rows into panels and unpacks single rows. */
#include "linear/packed.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/fnv1a.h"
#include "base/half.h"
#include "linear/dequantize.h"
#include "linear/group_decode.h"
#include "linear/group_panel.h"
#include "linear/onednn_shim.h"
#include "linear/panel_format.h"
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE_BYTES = 2 << 20 };

static quire_status count_bytes(struct qr_packed *w, struct quire_error *err)
{
    /* no allocation can exceed PTRDIFF_MAX */
    if (!qr_mul_size(w->n_panels, w->panel_bytes, &w->bytes) ||
        w->bytes > PTRDIFF_MAX - HUGE_PAGE_BYTES)
        return qr_fail(err, QUIRE_E_LIMIT, "weight of %zu x %zu values is too large", w->n, w->k);
    return QUIRE_OK;
}

/* Fills all fields of a weight but its data. */
static quire_status describe(uint32_t type, uint64_t n, uint64_t k, struct qr_packed *w,
                             struct quire_error *err)
{
    const struct qr_weight_type_info *info = qr_weight_type_info(type);
    struct qr_weight_type_foreign foreign;
    if (!info && qr_weight_type_foreign(type, &foreign))
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "weight type %s %s", foreign.name, foreign.why);
    if (!info)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "weight type %u is unknown", (unsigned)type);
    if (!info->supported)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "weight type %s is not supported", info->name);
    if (n == 0 || k == 0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "weight of %llu x %llu values is empty",
                       (unsigned long long)n, (unsigned long long)k);
    if (k % info->block_elems != 0)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "row of %llu values is not a multiple of the %s block of %u",
                       (unsigned long long)k, info->name, (unsigned)info->block_elems);
    const struct qr_panel_format *f = qr_weight_panel_format(type);
    *w = (struct qr_packed){ .type = (enum qr_weight_type)type, .scale = 1 };
    w->panel_rows = f ? QR_PANEL_ROWS : QR_FLOAT_PANEL_ROWS;
    bool fits = n <= SIZE_MAX - w->panel_rows && k < SIZE_MAX &&
                qr_weight_row_bytes(type, k, &w->row_bytes);
    w->n = (size_t)n;
    w->k = (size_t)k;
    w->n_panels = (w->n + w->panel_rows - 1) / w->panel_rows;
    if (f) {
        const size_t whole = w->k / QR_GROUP_K, rest = w->k % QR_GROUP_K / QR_BLOCK_K;
        fits =
            fits && qr_mul_size(whole, qr_panel_group_bytes(*f, 8), &w->panel_bytes) &&
            qr_add_size(w->panel_bytes, rest ? qr_panel_group_bytes(*f, rest) : 0, &w->panel_bytes);
    } else {
        const size_t padded = type == QR_WEIGHT_BF16 ? w->k + w->k % 2 : w->k;
        fits =
            fits && qr_mul3_size(padded, QR_FLOAT_PANEL_ROWS, info->block_bytes, &w->panel_bytes);
    }
    if (!fits)
        return qr_fail(err, QUIRE_E_LIMIT, "weight of %llu x %llu values is too large",
                       (unsigned long long)n, (unsigned long long)k);
    return count_bytes(w, err);
}

quire_status qr_packed_bytes(uint32_t type, uint64_t n, uint64_t k, uint64_t *bytes,
                             struct quire_error *err)
{
    struct qr_packed w;
    QR_TRY(describe(type, n, k, &w, err));
    *bytes = w.bytes;
    return QUIRE_OK;
}

static quire_status new_weight(const struct qr_packed *described,
                               const struct quire_allocator *allocator, struct qr_packed **out,
                               struct quire_error *err)
{
    struct qr_packed *w = qr_alloc(allocator, 1, sizeof *w);
    if (!w)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a weight");
    *w = *described;
    w->allocator = allocator;
    *out = w;
    return QUIRE_OK;
}

quire_status qr_packed_describe(struct qr_onednn *onednn, uint32_t type, uint64_t n, uint64_t k,
                                const struct quire_allocator *allocator, struct qr_packed **out,
                                struct quire_error *err)
{
    struct qr_packed w;
    *out = NULL;
    QR_TRY(describe(type, n, k, &w, err));
    if (onednn) {
        QR_TRY(qr_onednn_get_matmul(onednn, w.type, w.k, &w.onednn, err));
        w.panel_bytes = w.onednn->panel_bytes;
        QR_TRY(count_bytes(&w, err));
    }
    return new_weight(&w, allocator, out, err);
}

quire_status qr_packed_reserve(struct qr_packed *w, struct quire_error *err)
{
    /* Large weights get huge pages of their own: with 4 KiB pages, page table walks take 10 % of
     * the time to stream them. */
    const bool large = w->bytes >= 2 * HUGE_PAGE_BYTES;
    w->data =
        qr_alloc_aligned(w->allocator, w->bytes, large ? HUGE_PAGE_BYTES : QR_CACHE_LINE_BYTES);
    if (!w->data)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a weight of %zu bytes", w->bytes);
#ifdef MADV_HUGEPAGE
    /* only for our own memory, not that of a host's allocator; failure costs only speed */
    if (!w->allocator && large)
        (void)madvise(w->data, w->bytes & ~(size_t)(HUGE_PAGE_BYTES - 1), MADV_HUGEPAGE);
#endif
    return QUIRE_OK;
}

void qr_packed_borrow(struct qr_packed *w, const uint8_t *panels)
{
    w->data = (uint8_t *)(uintptr_t)panels; /* qr_packed_pack_rows refuses to write here */
    w->borrowed = true;
}

void qr_packed_set_order(struct qr_packed *w, const uint32_t *order) { w->order = order; }
void qr_packed_set_scale(struct qr_packed *w, float scale) { w->scale = scale; }

static quire_status create(struct qr_onednn *onednn, uint32_t type, uint64_t n, uint64_t k,
                           const struct quire_allocator *allocator, struct qr_packed **out,
                           struct quire_error *err)
{
    QR_TRY(qr_packed_describe(onednn, type, n, k, allocator, out, err));
    const quire_status s = qr_packed_reserve(*out, err);
    if (s != QUIRE_OK) {
        qr_packed_destroy(*out);
        *out = NULL;
    }
    return s;
}

quire_status qr_packed_create(uint32_t type, uint64_t n, uint64_t k,
                              const struct quire_allocator *allocator, struct qr_packed **out,
                              struct quire_error *err)
{
    return create(NULL, type, n, k, allocator, out, err);
}

quire_status qr_packed_create_onednn(struct qr_onednn *onednn, uint32_t type, uint64_t n,
                                     uint64_t k, const struct quire_allocator *allocator,
                                     struct qr_packed **out, struct quire_error *err)
{
    return create(onednn, type, n, k, allocator, out, err);
}

void qr_packed_destroy(struct qr_packed *w)
{
    if (!w)
        return;
    if (!w->borrowed)
        qr_free(w->allocator, w->data, w->bytes, 1);
    qr_free(w->allocator, w, 1, sizeof *w);
}

/* Blocks of 32 values in the group that starts at k0. */
static size_t blocks_at(const struct qr_packed *w, size_t k0)
{
    const size_t left = w->k - k0;
    return (left < QR_GROUP_K ? left : QR_GROUP_K) / QR_BLOCK_K;
}

/* Group by group over all rows: writes the panel sequentially. */
static void pack_quant_panel(const struct qr_packed *w, const uint8_t *raw, size_t rows,
                             uint8_t *panel)
{
    const struct qr_panel_format f = *qr_weight_panel_format(w->type);
    struct qr_group g;
    for (size_t k0 = 0; k0 < w->k; k0 += QR_GROUP_K) {
        const size_t nb = blocks_at(w, k0), bytes = qr_panel_group_bytes(f, nb);
        const size_t raw_bytes = qr_group_raw_bytes(w->type, nb);
        memset(panel, 0, rows < QR_PANEL_ROWS ? bytes : qr_panel_header_bytes(f, nb));
        for (size_t r = 0; r < rows; r++) {
            qr_group_decode(w->type, raw + r * w->row_bytes, nb, &g);
            qr_group_pack(f, &g, nb, r, panel);
        }
        raw += raw_bytes;
        panel += bytes;
    }
}

/* Index of element (row r of the panel, column k) in a float panel, in elements. */
static size_t float_index(const struct qr_packed *w, size_t r, size_t k)
{
    if (w->onednn)
        return w->onednn->row_offset[r] + w->onednn->k_offset[k];
    if (w->type == QR_WEIGHT_BF16)
        return (k / 2 * QR_FLOAT_PANEL_ROWS + r) * 2 + k % 2;
    return k * QR_FLOAT_PANEL_ROWS + r;
}

/* Copies word k of row r to panel[k][r], for words of 2 or 4 bytes. */
static inline void transpose(const uint8_t *raw, size_t row_bytes, size_t rows, size_t words,
                             size_t word_bytes, uint8_t *panel)
{
    enum { STEP = 32 }; /* one or two cache lines per row: source and destination stay in cache */
    for (size_t k0 = 0; k0 < words; k0 += STEP) {
        const size_t k1 = words - k0 < STEP ? words : k0 + STEP;
        for (size_t r = 0; r < rows; r++)
            for (size_t k = k0; k < k1; k++)
                memcpy(panel + (k * QR_FLOAT_PANEL_ROWS + r) * word_bytes,
                       raw + r * row_bytes + k * word_bytes, word_bytes);
    }
}

static void pack_float_panel(const struct qr_packed *w, const uint8_t *raw, size_t rows,
                             uint8_t *panel)
{
    const size_t size = w->type == QR_WEIGHT_F32 ? 4 : 2;
    size_t done = 0; /* columns copied as whole words */
    if (rows < QR_FLOAT_PANEL_ROWS || w->k % 2 || w->onednn)
        memset(panel, 0, w->panel_bytes);
    if (!w->onednn) {
        done = w->type == QR_WEIGHT_BF16 ? w->k - w->k % 2 : w->k;
        if (w->type == QR_WEIGHT_F16)
            transpose(raw, w->row_bytes, rows, w->k, 2, panel);
        else /* f32, or a pair of bf16 */
            transpose(raw, w->row_bytes, rows, done * size / 4, 4, panel);
    }
    for (size_t r = 0; r < rows; r++)
        for (size_t k = done; k < w->k; k++)
            memcpy(panel + float_index(w, r, k) * size, raw + r * w->row_bytes + k * size, size);
}

quire_status qr_packed_pack_rows(struct qr_packed *w, size_t row0, size_t n_rows, const void *raw,
                                 struct quire_error *err)
{
    if (row0 > w->n || n_rows > w->n - row0)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "rows %zu..%zu of a weight with %zu rows", row0,
                       row0 + n_rows, w->n);
    if (row0 % w->panel_rows != 0 || (n_rows % w->panel_rows != 0 && row0 + n_rows != w->n))
        return qr_fail(err, QUIRE_E_INVALID_ARG, "rows %zu..%zu are not whole panels of %zu rows",
                       row0, row0 + n_rows, w->panel_rows);
    if (w->borrowed)
        return qr_fail(err, QUIRE_E_MISUSE, "borrowed panels are read-only");
    const uint8_t *src = raw;
    uint8_t *panel = w->data + row0 / w->panel_rows * w->panel_bytes;
    while (n_rows > 0) {
        const size_t rows = n_rows < w->panel_rows ? n_rows : w->panel_rows;
        if (w->panel_rows == QR_PANEL_ROWS)
            pack_quant_panel(w, src, rows, panel);
        else
            pack_float_panel(w, src, rows, panel);
        src += rows * w->row_bytes;
        panel += w->panel_bytes;
        n_rows -= rows;
    }
    return QUIRE_OK;
}

static uint64_t onednn_layout(const struct qr_onednn_matmul *p)
{
    uint64_t h = qr_fnv1a(QR_FNV1A_INIT, &p->panel_bytes, sizeof p->panel_bytes);
    h = qr_fnv1a(h, p->row_offset, sizeof p->row_offset);
    return qr_fnv1a(h, p->k_offset, p->k * sizeof *p->k_offset);
}

quire_status qr_packed_layout(const struct qr_packed *w, uint64_t *layout, struct quire_error *err)
{
    if (w->onednn) {
        *layout = onednn_layout(w->onednn);
        return QUIRE_OK;
    }
    /* one full panel and a partial one; a partial group as well, where the type allows it */
    const struct qr_weight_type_info *info = qr_weight_type_info(w->type);
    const uint64_t n = w->panel_rows + 1, k = 2 * QR_GROUP_K + info->block_elems % QR_GROUP_K;
    struct qr_packed *sample;
    QR_TRY(qr_packed_create(w->type, n, k, w->allocator, &sample, err));
    const size_t raw_bytes = sample->n * sample->row_bytes;
    uint8_t *raw = qr_alloc(w->allocator, raw_bytes, 1);
    quire_status s = raw ? QUIRE_OK : qr_fail(err, QUIRE_E_NOMEM, "no memory for a sample weight");
    uint32_t x = 1;
    for (size_t i = 0; raw && i < raw_bytes; i++)
        raw[i] = (uint8_t)((x = x * 1664525u + 1013904223u) >> 24);
    if (raw)
        s = qr_packed_pack_rows(sample, 0, sample->n, raw, err);
    if (s == QUIRE_OK)
        *layout = qr_fnv1a(QR_FNV1A_INIT, sample->data, sample->bytes);
    qr_free(w->allocator, raw, raw_bytes, 1);
    qr_packed_destroy(sample);
    return s;
}

/* A row of a quantized panel from the row's group at `panel` on. */
static void unpack_quant_row(const struct qr_packed *w, const uint8_t *panel, size_t r, float *out)
{
    const struct qr_panel_format f = *qr_weight_panel_format(w->type);
    struct qr_group g;
    float values[QR_GROUP_K];
    for (size_t k0 = 0; k0 < w->k; k0 += QR_GROUP_K) {
        const size_t nb = blocks_at(w, k0);
        qr_group_unpack(f, panel, nb, r, &g);
        /* cppcheck-suppress legacyUninitvar ; it is written there */
        qr_group_dequantize(f, &g, nb, w->order ? values : out + k0);
        for (size_t k = 0; w->order && k < nb * QR_BLOCK_K; k++)
            out[w->order[k0 + k]] = values[k];
        panel += qr_panel_group_bytes(f, nb);
    }
    for (size_t k = 0; w->scale != 1 && k < w->k; k++)
        out[k] *= w->scale;
}

void qr_packed_unpack_row(const struct qr_packed *w, size_t row, float *out)
{
    const size_t r = row % w->panel_rows;
    const uint8_t *panel = w->data + row / w->panel_rows * w->panel_bytes;
    if (w->panel_rows == QR_PANEL_ROWS) {
        unpack_quant_row(w, panel, r, out);
        return;
    }
    for (size_t k = 0; k < w->k; k++) {
        const size_t i = float_index(w, r, k);
        uint16_t h;
        if (w->type == QR_WEIGHT_F32) {
            memcpy(out + k, panel + 4 * i, 4);
            continue;
        }
        memcpy(&h, panel + 2 * i, 2);
        out[k] = w->type == QR_WEIGHT_F16 ? qr_f16_to_f32(h) : qr_bf16_to_f32(h);
    }
}
