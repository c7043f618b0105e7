/* SPDX-License-Identifier: Apache-2.0 */
#include "importance.h"
#include "base/error.h"
#include "base/weight_type.h"
#include "format/gguf_meta.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct importance {
    struct qr_gguf *file;
};

static quire_status check_type(const struct qr_gguf *g, struct quire_error *err)
{
    struct qr_gguf_str type;
    QR_TRY(qr_gguf_get_str(g, "general.type", &type, err));
    if (type.size != strlen("imatrix") || memcmp(type.data, "imatrix", type.size) != 0)
        return qr_fail(err, QUIRE_E_FORMAT, "general.type is '%.*s', not imatrix",
                       type.size < 40 ? (int)type.size : 40, type.data);
    return QUIRE_OK;
}

quire_status importance_open(const char *path, struct importance **out, struct quire_error *err)
{
    struct importance *m = calloc(1, sizeof *m);
    quire_status s = m ? QUIRE_OK : qr_fail(err, QUIRE_E_NOMEM, "no memory for %s", path);
    *out = NULL;
    if (s == QUIRE_OK)
        s = qr_gguf_open(path, NULL, NULL, &m->file, err);
    if (s == QUIRE_OK)
        s = check_type(m->file, err);
    if (s != QUIRE_OK) {
        importance_close(m);
        return s;
    }
    *out = m;
    return QUIRE_OK;
}

void importance_close(struct importance *m)
{
    if (m)
        qr_gguf_close(m->file);
    free(m);
}

/* A tensor [n][k] of f32 beside t. NULL: there is none. */
static const struct qr_gguf_tensor *find(const struct importance *m, const struct qr_gguf_tensor *t,
                                         const char *suffix, size_t *index)
{
    char name[256];
    snprintf(name, sizeof name, "%.200s.%s", t->name, suffix);
    return qr_gguf_find_tensor(m->file, name, index) ? qr_gguf_tensor(m->file, *index) : NULL;
}

/* Sums become means. */
static quire_status divide(float *values, const float *counts, uint64_t n, uint64_t k,
                           const char *name, struct quire_error *err)
{
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < k; j++) {
            float *v = &values[i * k + j];
            if (!(*v >= 0) || !isfinite(*v) || !(counts[i] >= 0) || !isfinite(counts[i]))
                return qr_fail(err, QUIRE_E_FORMAT,
                               "the importance of tensor %s has a value that is negative or not "
                               "finite",
                               name);
            *v = counts[i] > 0 ? *v / counts[i] : 1;
        }
    return QUIRE_OK;
}

quire_status importance_read(const struct importance *m, const struct qr_gguf_tensor *t,
                             float **values, uint64_t *n_matrices, struct quire_error *err)
{
    size_t sums_at, counts_at;
    const struct qr_gguf_tensor *sums = find(m, t, "in_sum2", &sums_at),
                                *counts = find(m, t, "counts", &counts_at);
    const uint64_t k = t->dims[0];
    *values = NULL;
    if (!sums && !counts)
        return QUIRE_OK;
    if (!sums || !counts || sums->type != QR_WEIGHT_F32 || counts->type != QR_WEIGHT_F32 ||
        sums->dims[0] != k || counts->bytes != sums->bytes / k ||
        (counts->bytes != sizeof(float) && counts->bytes != t->dims[2] * sizeof(float)))
        return qr_fail(err, QUIRE_E_FORMAT, "the importance of tensor %s has other sizes", t->name);
    *n_matrices = counts->bytes / sizeof(float);
    float *v = malloc(sums->bytes), *n = malloc(counts->bytes);
    quire_status s =
        v && n ? QUIRE_OK : qr_fail(err, QUIRE_E_NOMEM, "no memory for tensor %s", t->name);
    if (s == QUIRE_OK)
        s = qr_gguf_read_range(m->file, sums_at, 0, sums->bytes, v, err);
    if (s == QUIRE_OK)
        s = qr_gguf_read_range(m->file, counts_at, 0, counts->bytes, n, err);
    if (s == QUIRE_OK)
        s = divide(v, n, *n_matrices, k, t->name, err);
    free(n);
    if (s != QUIRE_OK) {
        free(v);
        return s;
    }
    *values = v;
    return QUIRE_OK;
}
