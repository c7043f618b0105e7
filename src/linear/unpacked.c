/* SPDX-License-Identifier: Apache-2.0 */
/* unpacked.c - weights unpacked to bf16 panels. */
#include "linear/unpacked.h"
#include "base/half.h"
#include "kernels/kernels.h"
#include <string.h>

typedef void unpack_kernel(uint16_t *out, const uint8_t *panel, size_t k);

static unpack_kernel *pick(enum qr_weight_type type, const struct qr_kernels *k)
{
    switch (type) {
#define X(name, NAME, ...)                                                                         \
    case QR_WEIGHT_##NAME:                                                                         \
        return k->unpack_bf16_##name;
        QR_QUANT_TYPES(X)
#undef X
    case QR_WEIGHT_F16:
        return k->unpack_bf16_f16;
    case QR_WEIGHT_F32:
    case QR_WEIGHT_BF16:
        break;
    }
    return NULL;
}

bool qr_linear_unpacks(const struct qr_packed *w, enum quire_compute compute)
{
    return compute == QUIRE_COMPUTE_THROUGHPUT && !w->order && w->type != QR_WEIGHT_F32 &&
           w->type != QR_WEIGHT_BF16;
}

size_t qr_unpacked_bytes(size_t k) { return (k + k % 2) * QR_FLOAT_PANEL_ROWS * sizeof(uint16_t); }

void qr_unpacked_init(struct qr_unpacked *u, void *memory, size_t bytes)
{
    *u = (struct qr_unpacked){ .memory = memory, .bytes = bytes };
}

const uint8_t *qr_unpacked_get(struct qr_unpacked *u, const struct qr_packed *w, size_t j, size_t n,
                               const struct qr_kernels *kernels)
{
    const uint8_t *source = w->data + j / w->panel_rows * w->panel_bytes;
    for (unsigned i = 0; i < 2; i++)
        if (u->panels[i].source == source && u->panels[i].n == n) {
            u->last = i;
            return u->memory + u->panels[i].begin;
        }
    const size_t bytes = qr_unpacked_bytes(w->k);
    struct qr_unpacked_panel *other = &u->panels[u->last], *panel = &u->panels[!u->last];
    u->last = !u->last;
    *panel = (struct qr_unpacked_panel){ .source = source, .n = n, .end = bytes };
    if (u->last) {
        panel->begin = u->bytes - bytes;
        panel->end = u->bytes;
    }
    if (panel->begin < other->end && other->begin < panel->end)
        other->source = NULL;
    uint16_t *out = (uint16_t *)(void *)(u->memory + panel->begin);
    if (n < QR_FLOAT_PANEL_ROWS)
        memset(out, 0, bytes);
    for (size_t r = 0; r < n; r += w->panel_rows, source += w->panel_bytes)
        pick(w->type, kernels)(out + 2 * r, source, w->k);
    return u->memory + panel->begin;
}
