/* SPDX-License-Identifier: Apache-2.0 */
/* weights_source.c - tensors of GGUF and safetensors files behind one interface. */
#include "model/load/weights_source.h"
#include "base/error.h"
#include "base/weight_type.h"
#include "format/gguf.h"
#include "format/safetensors.h"
#include "model/load/quantized.h"
#include "model/load/quantized_read.h"
#include <string.h>

/* Tensors of the model itself, without dense layers. */
static size_t main_count(const struct qr_weights *w)
{
    return w->gguf        ? qr_gguf_tensor_count(w->gguf)
           : w->quantized ? qr_quantized_count(w->quantized)
                          : qr_safetensors_count(w->safetensors);
}

/* The file of dense layers that has tensor *i, which becomes its index there; NULL: none. */
static const struct qr_safetensors *dense_of(const struct qr_weights *w, size_t *i)
{
    *i -= main_count(w);
    /* GCOVR_EXCL_BR_LINE: tensors have numbers below qr_weights_source_count */
    for (size_t d = 0; d < QR_MAX_DENSE && w->dense[d]; d++) {
        const size_t n = qr_safetensors_count(w->dense[d]);
        if (*i < n)
            return w->dense[d];
        *i -= n;
    }
    return NULL;
}

size_t qr_weights_source_count(const struct qr_weights *w)
{
    size_t n = main_count(w);
    for (size_t d = 0; d < QR_MAX_DENSE && w->dense[d]; d++)
        n += qr_safetensors_count(w->dense[d]);
    return n;
}

bool qr_weights_source_find(const struct qr_weights *w, const char *name, size_t *i)
{
    static const char dense[] = "dense.";
    if (w->gguf)
        return qr_gguf_find_tensor(w->gguf, name, i);
    if (!w->dense[0] || strncmp(name, dense, sizeof dense - 1) != 0)
        return w->quantized ? qr_quantized_find(w, name, i)
                            : qr_safetensors_find(w->safetensors, name, i);
    const char digit = name[sizeof dense - 1];
    const size_t which = (size_t)(digit - '0');
    if (digit < '0' || which >= QR_MAX_DENSE || !w->dense[which] || name[sizeof dense] != '.' ||
        !qr_safetensors_find(w->dense[which], name + sizeof dense + 1, i))
        return false;
    *i += main_count(w);
    for (size_t d = 0; d < which; d++)
        *i += qr_safetensors_count(w->dense[d]);
    return true;
}

static uint32_t type_of_dtype(uint8_t dtype)
{
    switch (dtype) {
    case QR_DTYPE_F32:
        return QR_WEIGHT_F32;
    case QR_DTYPE_F16:
        return QR_WEIGHT_F16;
    case QR_DTYPE_BF16:
        return QR_WEIGHT_BF16;
    default:
        return UINT32_MAX;
    }
}

static void from_safetensor(const struct qr_safetensor *s, struct qr_source_tensor *t)
{
    *t = (struct qr_source_tensor){ .name = s->name,
                                    .type = type_of_dtype(s->dtype),
                                    .type_name = qr_dtype_name(s->dtype),
                                    .n_dims = s->n_dims > 4 ? 5 : s->n_dims,
                                    .dims = { 1, 1, 1, 1 },
                                    .bytes = s->bytes };
    for (unsigned d = 0; d < s->n_dims && t->n_dims <= 4; d++)
        t->dims[d] = s->shape[s->n_dims - 1 - d];
}

static void from_quantized(const struct qr_quantized_tensor *q, struct qr_source_tensor *t)
{
    const uint64_t experts = q->experts ? q->experts : 1;
    size_t row_bytes = 0;
    (void)qr_quantized_row_bytes(q, &row_bytes); /* fits: the codes are in a file */
    *t = (struct qr_source_tensor){
        .name = q->name,
        .type = q->type,
        .type_name = qr_weight_type_info(q->type)->name,
        .n_dims = q->experts ? 3 : 2,
        .dims = { q->columns, q->rows, experts, 1 },
        .bytes = q->rows * experts * row_bytes,
        .many_rows = q->codes_layout == QR_CODES_GPTQ || q->codes_layout == QR_CODES_AWQ,
        .order = q->order,
        .scales = q->tensor_scale == 1 ? NULL : &q->tensor_scale,
        .n_scales = 1,
    };
}

void qr_weights_source_tensor(const struct qr_weights *w, size_t i, struct qr_source_tensor *t)
{
    if (!w->gguf) {
        const struct qr_safetensors *dense = i < main_count(w) ? NULL : dense_of(w, &i);
        size_t file = i;
        const struct qr_quantized_tensor *q =
            !dense && w->quantized ? qr_quantized_get(w->quantized, i, &file) : NULL;
        if (q)
            from_quantized(q, t);
        else
            from_safetensor(qr_safetensors_tensor(dense ? dense : w->safetensors, file), t);
        return;
    }
    const struct qr_gguf_tensor *g = qr_gguf_tensor(w->gguf, i);
    *t = (struct qr_source_tensor){ .name = g->name,
                                    .type = g->type,
                                    .type_name = qr_weight_type_info(g->type)->name,
                                    .n_dims = g->n_dims,
                                    .bytes = g->bytes };
    memcpy(t->dims, g->dims, sizeof t->dims);
    if (w->gguf_scales) {
        t->scales = w->gguf_scales[i].values;
        t->n_scales = w->gguf_scales[i].n;
    }
}

quire_status qr_weights_read_source(const struct qr_weights *w, size_t tensor, uint64_t begin,
                                    uint64_t bytes, void *dst, struct quire_error *err)
{
    if (w->gguf)
        return qr_gguf_read_range(w->gguf, tensor, begin, bytes, dst, err);
    if (w->safetensors) {
        const struct qr_safetensors *dense = tensor < main_count(w) ? NULL : dense_of(w, &tensor);
        /* GCOVR_EXCL_BR_LINE: as there */
        const struct qr_quantized_tensor *q =
            !dense && w->quantized ? qr_quantized_get(w->quantized, tensor, &tensor) : NULL;
        return q ? qr_quantized_read(w, q, begin, bytes, dst, err)
                 : qr_safetensors_read_range(dense ? dense : w->safetensors, tensor, begin, bytes,
                                             dst, err);
    }
    return qr_fail(err, QUIRE_E_MISUSE, "the source of the weights has been released");
}
