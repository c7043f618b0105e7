/* SPDX-License-Identifier: Apache-2.0 */
/* low_rank.c - reads the low-rank updates of a model into the panels of the kernel `lora`. */
#include "model/load/low_rank.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/half.h"
#include "model/load/weight_roles.h"
#include "model/load/weights.h"
#include "model/load/weights_read.h"

static const struct {
    enum qr_weight_role w, a, b;
} sites[QR_LOW_RANK_SITES] = {
    [QR_LOW_RANK_Q] = { QR_W_ATTN_Q, QR_W_LOW_RANK_Q_A, QR_W_LOW_RANK_Q_B },
    [QR_LOW_RANK_K] = { QR_W_ATTN_K, QR_W_LOW_RANK_K_A, QR_W_LOW_RANK_K_B },
    [QR_LOW_RANK_V] = { QR_W_ATTN_V, QR_W_LOW_RANK_V_A, QR_W_LOW_RANK_V_B },
    [QR_LOW_RANK_GATE] = { QR_W_FFN_GATE, QR_W_LOW_RANK_FFN_A, QR_W_LOW_RANK_GATE_B },
    [QR_LOW_RANK_UP] = { QR_W_FFN_UP, QR_W_LOW_RANK_FFN_A, QR_W_LOW_RANK_UP_B },
};

static uint32_t panels(uint64_t rows)
{
    return (uint32_t)((rows + QR_LORA_PANEL - 1) / QR_LORA_PANEL);
}

static bool is_bf16(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (qr_f32_to_bits(x[i]) & 0xffff)
            return false;
    return true;
}

/* Panels of a matrix x [rows][cols] with zeros behind its last row and, up to `stride`, its last
 * column; NULL without memory. */
static void *pack(struct quire_model *m, const float *x, uint64_t rows, uint64_t cols,
                  uint64_t stride, bool bf16)
{
    enum { ALIGN = 64 };
    const size_t elem = bf16 ? sizeof(uint16_t) : sizeof(float);
    size_t bytes;
    /* GCOVR_EXCL_BR_LINE: the file has the values: their number does not overflow */
    if (!qr_mul4_size(panels(rows), QR_LORA_PANEL, stride + QR_LORA_CHAINS, elem, &bytes) ||
        bytes > SIZE_MAX - ALIGN)
        return NULL;
    bytes = panels(rows) * qr_lora_panel_size((size_t)stride) * elem;
    unsigned char *memory = qr_arena_alloc(&m->vectors, bytes + ALIGN, 1);
    if (!memory)
        return NULL;
    memory += (ALIGN - (uintptr_t)memory % ALIGN) % ALIGN;
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t i = 0; i < cols; i++) {
            const size_t at = qr_lora_place((size_t)r, (size_t)i, (size_t)stride);
            if (bf16)
                ((uint16_t *)(void *)memory)[at] = qr_f32_to_bf16(x[r * cols + i]);
            else
                ((float *)(void *)memory)[at] = x[r * cols + i];
        }
    m->weight_bytes += bytes;
    return memory;
}

/* Reads the matrix of a role and packs it. */
static quire_status read_panels(struct quire_model *m, enum qr_weight_role role, uint32_t layer,
                                uint64_t stride, void **out, bool *bf16, struct quire_error *err)
{
    struct qr_weight w;
    /* GCOVR_EXCL_BR_LINE: open has checked that both parts exist */
    if (!qr_weights_find(m->weights, role, layer, &w))
        return qr_fail(err, QUIRE_E_INTERNAL, "layer %u has no %s", layer,
                       qr_weight_role_name(role));
    const uint64_t n = w.n_rows * w.n_cols;
    float *x = n <= SIZE_MAX ? qr_alloc(m->allocator, (size_t)n, sizeof *x) : NULL;
    if (!x)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %s", qr_weight_role_name(role));
    const quire_status s = qr_weights_read_f32(m->weights, &w, x, n, err);
    if (s == QUIRE_OK) {
        *bf16 = is_bf16(x, (size_t)n);
        *out = pack(m, x, w.n_rows, w.n_cols, stride ? stride : w.n_cols, *bf16);
        m->n_parameters += n;
    }
    qr_free(m->allocator, x, (size_t)n, sizeof *x);
    QR_TRY(s);
    return *out ? QUIRE_OK
                : qr_fail(err, QUIRE_E_NOMEM, "no memory for %s", qr_weight_role_name(role));
}

static quire_status read_site(struct quire_model *m, uint32_t layer, enum qr_low_rank_site site,
                              struct quire_error *err)
{
    struct qr_lora *all = m->layers[layer].low_rank, *l = &all[site];
    uint64_t out, in, rank;
    qr_role_shape(m->config, sites[site].w, layer, &out, &in);
    qr_role_shape(m->config, sites[site].a, layer, &rank, &in);
    *l = (struct qr_lora){
        .rank = panels(rank) * QR_LORA_PANEL, .in = (uint32_t)in, .out = (uint32_t)out, .scale = 1
    };
    if (site == QR_LOW_RANK_UP) { /* gate and up have one A */
        l->a = all[QR_LOW_RANK_GATE].a;
        l->a_bf16 = all[QR_LOW_RANK_GATE].a_bf16;
    } else {
        QR_TRY(read_panels(m, sites[site].a, layer, 0, &l->a, &l->a_bf16, err));
    }
    return read_panels(m, sites[site].b, layer, l->rank, &l->b, &l->b_bf16, err);
}

quire_status qr_low_rank_load(struct quire_model *m, uint32_t layer, struct quire_error *err)
{
    struct qr_model_layer *into = &m->layers[layer];
    struct qr_weight w;
    for (int i = 0; i < QR_LOW_RANK_SITES; i++) {
        if (!qr_weights_find(m->weights, sites[i].b, layer, &w))
            continue;
        if (!into->low_rank)
            into->low_rank = qr_arena_alloc(&m->vectors, QR_LOW_RANK_SITES, sizeof(struct qr_lora));
        if (!into->low_rank)
            return qr_fail(err, QUIRE_E_NOMEM, "no memory for the updates of layer %u", layer);
        QR_TRY(read_site(m, layer, (enum qr_low_rank_site)i, err));
    }
    return QUIRE_OK;
}

const struct qr_lora *qr_low_rank_find(const struct quire_model *m, enum qr_weight_role role,
                                       uint32_t layer)
{
    if (role < QR_W_FIRST_LAYER_ROLE || !m->layers[layer].low_rank)
        return NULL;
    for (int i = 0; i < QR_LOW_RANK_SITES; i++)
        if (sites[i].w == role)
            return m->layers[layer].low_rank[i].a ? &m->layers[layer].low_rank[i] : NULL;
    return NULL;
}
