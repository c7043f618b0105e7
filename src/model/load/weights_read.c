/* SPDX-License-Identifier: Apache-2.0 */
/* weights_read.c - reads weights in rows from fused, interleaved, transposed and stacked
 * tensors. */
#include "model/load/weights_read.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/weight_type.h"
#include "linear/dequantize.h"
#include "model/load/unit_rows.h"
#include "model/load/weight_roles.h"
#include "model/load/weights_source.h"
#include <string.h>

struct qr_weight qr_weights_expert(const struct qr_weight *stack, uint32_t expert)
{
    struct qr_weight w = *stack;
    if (stack->expert_tensors)
        w.tensor = stack->expert_tensors[expert];
    else
        w.first_byte += expert * stack->expert_bytes;
    w.n_experts = 0;
    w.expert = expert;
    return w;
}

/* Serializes calls of the progress hook, so that its argument never decreases. */
static quire_status report(struct qr_weights *w, uint64_t bytes, struct quire_error *err)
{
    if (!w->progress)
        return QUIRE_OK;
    pthread_mutex_lock(&w->progress_lock);
    /* a weight that is read twice must not exceed the total */
    const uint64_t left = w->total_bytes - w->done_bytes;
    w->done_bytes += bytes < left ? bytes : left;
    const uint64_t done = w->done_bytes;
    const bool stop = !w->progress(w->progress_user, done, w->total_bytes);
    pthread_mutex_unlock(&w->progress_lock);
    return stop ? qr_fail(err, QUIRE_E_CANCELLED, "loading was cancelled at %llu of %llu bytes",
                          (unsigned long long)done, (unsigned long long)w->total_bytes)
                : QUIRE_OK;
}

quire_status qr_weights_skip(struct qr_weights *w, uint64_t bytes, struct quire_error *err)
{
    return report(w, bytes, err);
}

/* `count` units, `step` units apart, from unit `begin` of the tensor. */
struct run {
    uint64_t begin, count, step;
};

/* Longest run from `unit` of the weight, of at most `left` units. */
static struct run next_run(const struct qr_weight *w, uint64_t unit, uint64_t left)
{
    const uint64_t within = unit % w->group, rest = w->group - within;
    if (w->group == 1) /* interleaved */
        return (struct run){ unit * w->stride, left, w->stride };
    return (struct run){ unit / w->group * w->stride + within, left < rest ? left : rest, 1 };
}

/* Reads units [unit, unit + n) without gaps. */
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

/* Reads one column of rows [row, row + n) of a transposed matrix, a part of a row in the tensor,
 * and stores its elements row_bytes apart. Reads include the gaps between interleaved elements. */
static quire_status read_column(const struct qr_weights *w, const struct qr_weight *weight,
                                uint64_t column, uint64_t row, uint64_t n, uint8_t *dst,
                                struct quire_error *err)
{
    enum { BUFFER_BYTES = 8192 };
    uint8_t buffer[BUFFER_BYTES];
    const size_t elem = weight->unit_bytes;
    const uint64_t base = weight->first_byte + column * weight->column_bytes;
    while (n > 0) {
        struct run r = next_run(weight, row, n);
        const uint64_t max_count = (BUFFER_BYTES / elem - 1) / r.step + 1;
        r.count = r.count < max_count ? r.count : max_count;
        const uint64_t span = (r.count - 1) * r.step + 1;
        QR_TRY(qr_weights_read_source(w, weight->tensor, base + r.begin * elem, span * elem, buffer,
                                      err));
        for (uint64_t i = 0; i < r.count; i++)
            memcpy(dst + i * weight->row_bytes, buffer + i * r.step * elem, elem);
        row += r.count;
        n -= r.count;
        dst += r.count * weight->row_bytes;
    }
    return QUIRE_OK;
}

/* The scale of the source tensor's matrix. */
static float source_scale(const struct qr_weights *w, const struct qr_weight *weight)
{
    struct qr_source_tensor t;
    qr_weights_source_tensor(w, weight->tensor, &t);
    return t.scales ? t.scales[t.n_scales > 1 ? weight->expert : 0] : 1;
}

/* read_column of a tensor with quantized blocks, dequantized to f32. */
static quire_status read_quantized_column(const struct qr_weights *w,
                                          const struct qr_weight *weight, uint64_t column,
                                          uint64_t row, uint64_t n, uint8_t *dst,
                                          struct quire_error *err)
{
    enum { CHUNK = 256 }; /* elements; a multiple of every type's block */
    const struct qr_weight_type_info *info = qr_weight_type_info(weight->stored_type);
    const uint64_t base = weight->first_byte + column * weight->column_bytes;
    uint8_t raw[CHUNK * sizeof(float)];
    float values[CHUNK];
    for (uint64_t at = row - row % CHUNK; at < row + n; at += CHUNK) {
        const uint64_t left = weight->group - at, count = left < CHUNK ? left : CHUNK;
        const uint64_t begin = at / info->block_elems * info->block_bytes;
        QR_TRY(qr_weights_read_source(w, weight->tensor, base + begin,
                                      count / info->block_elems * info->block_bytes, raw, err));
        const float scale = source_scale(w, weight); /* the source was there to be read */
        qr_weight_dequantize((enum qr_weight_type)weight->stored_type, raw, (size_t)count, values);
        for (uint64_t i = at < row ? row - at : 0; i < count && at + i < row + n; i++) {
            const float value = values[i] * scale;
            memcpy(dst + (at + i - row) * weight->row_bytes, &value, sizeof value);
        }
    }
    return QUIRE_OK;
}

quire_status qr_weights_read_rows(struct qr_weights *w, const struct qr_weight *weight,
                                  uint64_t row0, uint64_t n_rows, void *dst,
                                  struct quire_error *err)
{
    uint64_t end;
    if (!qr_add_u64(row0, n_rows, &end) || end > weight->n_rows)
        return qr_fail(err, QUIRE_E_RANGE, "%s: rows %llu to %llu requested, it has %llu",
                       qr_weight_role_name(weight->role), (unsigned long long)row0,
                       (unsigned long long)end, (unsigned long long)weight->n_rows);
    if (weight->column_bytes) {
        const bool quantized = weight->stored_type != weight->type;
        for (uint64_t c = 0; c < weight->n_cols; c++)
            QR_TRY((quantized ? read_quantized_column : read_column)(
                w, weight, c, row0, n_rows, (uint8_t *)dst + c * weight->unit_bytes, err));
    } else {
        const uint64_t units =
            weight->row_bytes / weight->unit_bytes; /* per row: 1, or all elements of a vector */
        QR_TRY(read_units(w, weight, row0 * units, n_rows * units, dst, err));
    }
    if (w->config.unit_head && weight->role == QR_W_OUTPUT)
        QR_TRY(qr_unit_rows(weight, n_rows, dst, err));
    return report(w, n_rows * weight->row_bytes, err);
}

const uint32_t *qr_weights_order(const struct qr_weights *w, const struct qr_weight *weight)
{
    struct qr_source_tensor t;
    qr_weights_source_tensor(w, weight->tensor, &t);
    return t.order;
}

float qr_weights_scale(const struct qr_weights *w, const struct qr_weight *weight)
{
    return weight->stored_type == weight->type ? source_scale(w, weight) : 1;
}

quire_status qr_weights_read_f32(struct qr_weights *w, const struct qr_weight *weight, float *dst,
                                 uint64_t n, struct quire_error *err)
{
    const struct qr_weight_type_info *info = qr_weight_type_info(weight->type);
    const uint64_t has = weight->n_rows * weight->n_cols;
    if (n != has)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s has %llu elements, the destination %llu",
                       qr_weight_role_name(weight->role), (unsigned long long)has,
                       (unsigned long long)n);
    if (info->block_elems != 1)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "%s has type %s and cannot be read as f32",
                       qr_weight_role_name(weight->role), info->name);
    /* read to the end of dst, then convert in place, from the first element on */
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
