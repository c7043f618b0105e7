/* SPDX-License-Identifier: Apache-2.0 */
/* weights_read.c - reading weights: rows out of fused, interleaved, transposed and stacked tensors. */
#include "base/checked.h"
#include "base/error.h"
#include "linear/dequantize.h"
#include "linear/weight_type.h"
#include "model/load/weights_internal.h"
#include <string.h>

struct qr_weight qr_weights_expert(const struct qr_weight *stack, uint32_t expert)
{
    struct qr_weight w = *stack;
    if (stack->expert_tensors)
        w.tensor = stack->expert_tensors[expert];
    else
        w.first_byte += expert * stack->expert_bytes;
    w.n_experts = 0;
    return w;
}

/* Calls of the hook are serialised, so that the host sees a figure that only grows. */
static quire_status report(struct qr_weights *w, uint64_t bytes, struct quire_error *err)
{
    if (!w->progress)
        return QUIRE_OK;
    pthread_mutex_lock(&w->progress_lock);
    /* a weight that is read twice must not push the figure beyond the total */
    const uint64_t left = w->total_bytes - w->done_bytes;
    w->done_bytes += bytes < left ? bytes : left;
    const uint64_t done = w->done_bytes;
    const int stop = w->progress(w->progress_user, done, w->total_bytes);
    pthread_mutex_unlock(&w->progress_lock);
    return stop ? qr_fail(err, QUIRE_E_CANCELLED, "loading was cancelled at %llu of %llu bytes",
                          (unsigned long long)done, (unsigned long long)w->total_bytes)
                : QUIRE_OK;
}

quire_status qr_weights_skip(struct qr_weights *w, uint64_t bytes, struct quire_error *err)
{
    return report(w, bytes, err);
}

/* Units that one read brings: `count` of them, `step` units apart, from unit `begin` of the tensor on. */
struct run {
    uint64_t begin, count, step;
};

static struct run next_run(const struct qr_weight *w, uint64_t unit, uint64_t left)
{
    const uint64_t within = unit % w->group, rest = w->group - within;
    if (w->group == 1) /* unit by unit: what lies between is read and dropped */
        return (struct run){ unit * w->stride, left, w->stride };
    return (struct run){ unit / w->group * w->stride + within, left < rest ? left : rest, 1 };
}

/* Units [unit, unit + n) of a weight whose units lie as the reader wants them, one after the other. */
static quire_status read_units(const struct qr_weights *w, const struct qr_weight *weight,
                               uint64_t unit, uint64_t n, uint8_t *dst, struct quire_error *err)
{
    while (n > 0) {
        struct run r = next_run(weight, unit, n);
        if (r.step > 1)
            r.count = 1;
        const uint64_t bytes = r.count * weight->unit_bytes;
        QR_TRY(qr_weights_read_source(
            w, weight->tensor, weight->first_byte + r.begin * weight->unit_bytes, bytes, dst, err));
        unit += r.count;
        n -= r.count;
        dst += bytes;
    }
    return QUIRE_OK;
}

/* One column of rows [row, row + n): in the tensor a piece of a row. Elements go row_bytes apart. */
static quire_status read_column(const struct qr_weights *w, const struct qr_weight *weight,
                                uint64_t column, uint64_t row, uint64_t n, uint8_t *dst,
                                struct quire_error *err)
{
    enum { PIECE = 8192 };
    uint8_t piece[PIECE];
    const size_t elem = weight->unit_bytes;
    const uint64_t base = weight->first_byte + column * weight->column_bytes;
    while (n > 0) {
        struct run r = next_run(weight, row, n);
        const uint64_t most = (PIECE / elem - 1) / r.step + 1;
        r.count = r.count < most ? r.count : most;
        const uint64_t span = (r.count - 1) * r.step + 1;
        QR_TRY(qr_weights_read_source(w, weight->tensor, base + r.begin * elem, span * elem, piece,
                                      err));
        for (uint64_t i = 0; i < r.count; i++)
            memcpy(dst + i * weight->row_bytes, piece + i * r.step * elem, elem);
        row += r.count;
        n -= r.count;
        dst += r.count * weight->row_bytes;
    }
    return QUIRE_OK;
}

/* The same of a quantised tensor, whose elements come in blocks: they are widened to f32. */
static quire_status read_wide_column(const struct qr_weights *w, const struct qr_weight *weight,
                                     uint64_t column, uint64_t row, uint64_t n, uint8_t *dst,
                                     struct quire_error *err)
{
    enum { PIECE = 256 }; /* whole blocks of every type */
    const struct qr_weight_type_info *info = qr_weight_type_info(weight->stored_type);
    const uint64_t base = weight->first_byte + column * weight->column_bytes;
    uint8_t raw[PIECE * sizeof(float)];
    float values[PIECE];
    for (uint64_t at = row - row % PIECE; at < row + n; at += PIECE) {
        const uint64_t left = weight->group - at, count = left < PIECE ? left : PIECE;
        const uint64_t begin = at / info->block_elems * info->block_bytes;
        QR_TRY(qr_weights_read_source(w, weight->tensor, base + begin,
                                      count / info->block_elems * info->block_bytes, raw, err));
        qr_weight_dequantize((enum qr_weight_type)weight->stored_type, raw, (size_t)count, values);
        for (uint64_t i = at < row ? row - at : 0; i < count && at + i < row + n; i++)
            memcpy(dst + (at + i - row) * weight->row_bytes, &values[i], sizeof *values);
    }
    return QUIRE_OK;
}

quire_status qr_weights_read_rows(struct qr_weights *w, const struct qr_weight *weight,
                                  uint64_t row0, uint64_t n_rows, void *dst,
                                  struct quire_error *err)
{
    uint64_t end;
    if (!qr_add_u64(row0, n_rows, &end) || end > weight->n_rows)
        return qr_fail(err, QUIRE_E_RANGE, "%s: rows %llu to %llu asked for, it has %llu",
                       qr_weight_role_name(weight->role), (unsigned long long)row0,
                       (unsigned long long)end, (unsigned long long)weight->n_rows);
    if (weight->column_bytes) {
        const bool wide = weight->stored_type != weight->type;
        for (uint64_t c = 0; c < weight->n_cols; c++)
            QR_TRY((wide ? read_wide_column : read_column)(
                w, weight, c, row0, n_rows, (uint8_t *)dst + c * weight->unit_bytes, err));
    } else {
        const uint64_t units =
            weight->row_bytes / weight->unit_bytes; /* of a row: 1, in vectors every element */
        QR_TRY(read_units(w, weight, row0 * units, n_rows * units, dst, err));
    }
    return report(w, n_rows * weight->row_bytes, err);
}

quire_status qr_weights_read_f32(struct qr_weights *w, const struct qr_weight *weight, float *dst,
                                 uint64_t n, struct quire_error *err)
{
    const struct qr_weight_type_info *info = qr_weight_type_info(weight->type);
    const uint64_t has = weight->n_rows * weight->n_cols;
    if (n != has)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s has %llu elements, room for %llu was given",
                       qr_weight_role_name(weight->role), (unsigned long long)has,
                       (unsigned long long)n);
    if (info->block_elems != 1)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "%s has type %s and cannot be read as f32",
                       qr_weight_role_name(weight->role), info->name);
    /* the stored elements go to the end of dst, from where they are widened upwards in place */
    const size_t stored = (size_t)n * info->block_bytes;
    uint8_t *raw = (uint8_t *)dst + ((size_t)n * sizeof *dst - stored);
    QR_TRY(qr_weights_read_rows(w, weight, 0, weight->n_rows, raw, err));
    for (uint64_t i = 0; i < n; i++) {
        uint8_t elem[sizeof(float)];
        memcpy(elem, raw + i * info->block_bytes, info->block_bytes);
        qr_weight_dequantize(weight->type, elem, 1, &dst[i]);
    }
    return QUIRE_OK;
}
