/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_scales.c - scales of whole NVFP4 tensors in GGUF files. The scales of their blocks are E4M3,
 * whose range is small; checkpoints of ModelOpt and compressed-tensors have a second one, in F32.
 */
#include "model/load/gguf_scales.h"
#include "base/error.h"
#include "base/weight_type.h"
#include "format/gguf.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WEIGHT_NAME_MAX = 128 }; /* longer names belong to no weight */

/* Finds the NVFP4 tensor "X.weight" of a tensor "X<ending>". */
static bool find_weight(const struct qr_gguf *g, const char *name, const char *ending,
                        size_t *weight)
{
    char other[WEIGHT_NAME_MAX];
    const size_t n = strlen(name), m = strlen(ending);
    if (n <= m || strcmp(name + n - m, ending) != 0)
        return false;
    const int size = snprintf(other, sizeof other, "%.*s.weight", (int)(n - m), name);
    return size < WEIGHT_NAME_MAX && qr_gguf_find_tensor(g, other, weight) &&
           qr_gguf_tensor(g, *weight)->type == QR_WEIGHT_NVFP4;
}

static quire_status read_scales(struct qr_weights *w, size_t tensor, size_t weight,
                                struct quire_error *err)
{
    const struct qr_gguf_tensor *t = qr_gguf_tensor(w->gguf, tensor),
                                *of = qr_gguf_tensor(w->gguf, weight);
    if (t->type != QR_WEIGHT_F32)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "tensor %.80s is not F32", t->name);
    const uint64_t n = t->dims[0], matrices = of->dims[2];
    if (t->n_dims != 1 || (n != 1 && n != matrices))
        return qr_fail(err, QUIRE_E_FORMAT,
                       "tensor %.80s has %llu values in %u dimensions, its weight has %llu %s",
                       t->name, (unsigned long long)n, t->n_dims, (unsigned long long)matrices,
                       matrices == 1 ? "matrix" : "matrices");
    float *values = qr_arena_alloc(&w->lists, (size_t)n, sizeof *values);
    if (!values)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for %.80s", t->name);
    QR_TRY(qr_gguf_read_range(w->gguf, tensor, 0, t->bytes, values, err));
    for (uint64_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return qr_fail(err, QUIRE_E_FORMAT, "tensor %.80s: value %llu is %g, not finite",
                           t->name, (unsigned long long)i, (double)values[i]);
    w->gguf_scales[weight] = (struct qr_tensor_scales){ values, n };
    return QUIRE_OK;
}

quire_status qr_gguf_scales_bind(struct qr_weights *w, uint8_t *used, struct quire_error *err)
{
    const size_t n = qr_gguf_tensor_count(w->gguf);
    for (size_t i = 0; i < n; i++) {
        const char *name = qr_gguf_tensor(w->gguf, i)->name;
        size_t weight;
        if (used[i])
            continue;
        if (find_weight(w->gguf, name, ".input_scale", &weight)) {
            used[i] = 1;
        } else if (find_weight(w->gguf, name, ".scale", &weight)) {
            if (!w->gguf_scales)
                w->gguf_scales = qr_arena_alloc(&w->lists, n, sizeof *w->gguf_scales);
            if (!w->gguf_scales)
                return qr_fail(err, QUIRE_E_NOMEM, "no memory for the scales of %zu tensors", n);
            QR_TRY(read_scales(w, i, weight, err));
            used[i] = 1;
        }
    }
    return QUIRE_OK;
}
