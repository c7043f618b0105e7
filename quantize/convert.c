/* SPDX-License-Identifier: Apache-2.0 */
#include "convert.h"
#include "base/error.h"
#include "base/weight_type.h"
#include "bench_gguf.h"
#include "encode.h"
#include "format/gguf_meta.h"
#include "linear/dequantize.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK_VALUES = 4 << 20 }; /* at least one row */

/* ---- Metadata */

static bool has_prefix(const struct qr_gguf_str *key, const char *prefix)
{
    const size_t n = strlen(prefix);
    return key->size >= n && memcmp(key->data, prefix, n) == 0;
}

/* Copies the keys as they are, but for those that the new file answers otherwise. */
static void copy_metadata(const struct conversion *c, struct gguf_writer *w)
{
    static const char *const replaced[] = { "split.", "general.file_type",
                                            "general.quantization_version", "general.alignment" };
    for (size_t i = 0; i < qr_gguf_key_count(c->source); i++) {
        const struct qr_gguf_str key = qr_gguf_key(c->source, i);
        bool copy = true;
        for (size_t k = 0; k < sizeof replaced / sizeof replaced[0]; k++)
            copy = copy && !has_prefix(&key, replaced[k]);
        if (!copy)
            continue;
        size_t size;
        const uint8_t *bytes = qr_gguf_key_bytes(c->source, i, &size);
        fwrite(bytes, 1, size, w->meta);
        w->n_keys++;
    }
    gguf_u32(w, "general.quantization_version", 2);
    gguf_u32(w, "general.file_type", c->plan.scheme->file_type);
}

/* ---- Tensors */

/* One chunk of rows of a tensor. */
struct chunk {
    const struct qr_gguf_tensor *tensor;
    uint32_t type; /* of the new file */
    size_t k, row_before, row_after, n_rows;
    uint8_t *before, *after;
    const float *importance; /* [matrices][k]; NULL: all columns alike */
    uint64_t n_matrices, matrix_rows, first_row;
    float *rows; /* [team size][2 k] */
    atomic_size_t next;
    atomic_bool not_finite;
    double *sums; /* [team size][2]: of squared errors, of squares */
};

/* Of a row of the chunk. */
static const float *importance_of(const struct chunk *c, size_t row)
{
    if (!c->importance || c->n_matrices == 1)
        return c->importance;
    return c->importance + (c->first_row + row) / c->matrix_rows * c->k;
}

static void encode_rows(void *user, const struct quire_team *team)
{
    struct chunk *c = user;
    const uint32_t rank = quire_team_rank(team);
    float *x = c->rows + 2 * c->k * rank, *y = x + c->k;
    for (size_t row; (row = atomic_fetch_add(&c->next, 1)) < c->n_rows;) {
        uint8_t *after = c->after + row * c->row_after;
        qr_weight_dequantize(c->tensor->type, c->before + row * c->row_before, c->k, x);
        for (size_t i = 0; i < c->k; i++)
            if (!isfinite(x[i]))
                atomic_store(&c->not_finite, true);
        if (atomic_load(&c->not_finite))
            return;
        encode_row(c->type, x, c->k, importance_of(c, row), after);
        qr_weight_dequantize(c->type, after, c->k, y);
        for (size_t i = 0; i < c->k; i++) {
            c->sums[2 * rank] += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
            c->sums[2 * rank + 1] += (double)x[i] * x[i];
        }
    }
}

/* Memory of one tensor's chunks. */
struct buffers {
    uint8_t *before, *after;
    float *rows;
    double *sums;
};

static void free_buffers(struct buffers *b)
{
    free(b->before);
    free(b->after);
    free(b->rows);
    free(b->sums);
}

static bool alloc_buffers(struct buffers *b, const struct chunk *c, size_t max_rows, uint32_t team)
{
    *b = (struct buffers){ .before = malloc(max_rows * c->row_before),
                           .after = malloc(max_rows * c->row_after),
                           .rows = calloc(2 * c->k, team * sizeof(float)),
                           .sums = calloc(2 * (size_t)team, sizeof(double)) };
    return b->before && b->after && b->rows && b->sums;
}

/* Copies or rounds rows [row, row + n) of a tensor. */
static quire_status write_rows(const struct conversion *c, struct chunk *k, size_t index,
                               uint64_t row, struct gguf_writer *w, struct quire_error *err)
{
    const bool copies = k->type == k->tensor->type;
    quire_status s = qr_gguf_read_range(c->source, index, row * k->row_before,
                                        (uint64_t)k->n_rows * k->row_before, k->before, err);
    if (s == QUIRE_OK && !copies)
        s = quire_threads_run(c->threads, encode_rows, k);
    if (s == QUIRE_OK && atomic_load(&k->not_finite))
        s = qr_fail(err, QUIRE_E_FORMAT, "tensor %s: a weight is not finite", k->tensor->name);
    if (s == QUIRE_OK)
        gguf_data(w, copies ? k->before : k->after, k->n_rows * k->row_after);
    return s;
}

static void report(const struct conversion *c, const struct chunk *k, size_t index)
{
    double error = 0, sum = 0;
    for (uint32_t i = 0; i < quire_threads_count(c->threads); i++) {
        error += k->sums[2 * i];
        sum += k->sums[2 * i + 1];
    }
    if (c->quiet)
        return;
    printf("[%4zu/%zu] %-40s %-8s", index + 1, qr_gguf_tensor_count(c->source), k->tensor->name,
           qr_weight_type_info(k->tensor->type)->name);
    if (k->type == k->tensor->type)
        printf(" kept\n");
    else
        printf(" -> %-8s error %.3f %%\n", qr_weight_type_info(k->type)->name,
               100 * sqrt(error / (sum > 0 ? sum : 1)));
    fflush(stdout);
}

static quire_status write_tensor(const struct conversion *c, size_t index, struct gguf_writer *w,
                                 struct quire_error *err)
{
    const struct qr_gguf_tensor *t = qr_gguf_tensor(c->source, index);
    const uint64_t n_rows = t->dims[1] * t->dims[2] * t->dims[3];
    const size_t per_chunk = CHUNK_VALUES / t->dims[0] ? (size_t)(CHUNK_VALUES / t->dims[0]) : 1,
                 max_rows = n_rows < per_chunk ? (size_t)n_rows : per_chunk;
    struct chunk k = { .tensor = t, .type = plan_type(&c->plan, t), .k = (size_t)t->dims[0] };
    struct buffers b = { 0 };
    float *importance = NULL;
    quire_status s = QUIRE_OK;
    if (c->importance && k.type != t->type)
        s = importance_read(c->importance, t, &importance, &k.n_matrices, err);
    if (s != QUIRE_OK)
        return s;
    k.importance = importance;
    k.matrix_rows = t->dims[1];
    if (!qr_weight_row_bytes(t->type, k.k, &k.row_before) ||
        !qr_weight_row_bytes(k.type, k.k, &k.row_after) ||
        !alloc_buffers(&b, &k, max_rows, quire_threads_count(c->threads)))
        s = qr_fail(err, QUIRE_E_NOMEM, "no memory for a row of tensor %s", t->name);
    k.before = b.before;
    k.after = b.after;
    k.rows = b.rows;
    k.sums = b.sums;
    for (uint64_t row = 0; s == QUIRE_OK && row < n_rows; row += k.n_rows) {
        k.n_rows = n_rows - row < max_rows ? (size_t)(n_rows - row) : max_rows;
        k.first_row = row;
        atomic_store(&k.next, 0);
        s = write_rows(c, &k, index, row, w, err);
    }
    if (s == QUIRE_OK)
        report(c, &k, index);
    free_buffers(&b);
    free(importance);
    gguf_pad(w);
    return s;
}

/* ---- The file */

/* Whether "X.scale" multiplies the tensor "X.weight". NVFP4 alone has such scales, so the values
 * cannot get another type without it. */
static bool has_scale(const struct qr_gguf *source, const struct qr_gguf_tensor *t)
{
    char name[128];
    size_t index;
    const size_t n = strlen(t->name);
    if (t->type != QR_WEIGHT_NVFP4 || n < 7 || strcmp(t->name + n - 7, ".weight") != 0)
        return false;
    const int size = snprintf(name, sizeof name, "%.*s.scale", (int)(n - 7), t->name);
    return size > 0 && size < (int)sizeof name && qr_gguf_find_tensor(source, name, &index);
}

/* Adds a tensor to the directory and to the sizes. */
static quire_status plan_tensor(struct conversion *c, size_t index, struct gguf_writer *w,
                                struct quire_error *err)
{
    const struct qr_gguf_tensor *t = qr_gguf_tensor(c->source, index);
    const uint32_t type = plan_type(&c->plan, t);
    const uint64_t n_rows = t->dims[1] * t->dims[2] * t->dims[3];
    size_t row_bytes;
    if (type != t->type && !qr_weight_type_info(t->type)->supported)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "tensor %s: weights of type %s cannot be read",
                       t->name, qr_weight_type_info(t->type)->name);
    if (type != t->type && has_scale(c->source, t))
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "tensor %s has a scale of its own and cannot get another type; quantize the "
                       "original model",
                       t->name);
    if (!qr_weight_row_bytes(type, t->dims[0], &row_bytes))
        return qr_fail(err, QUIRE_E_FORMAT, "tensor %s: rows of %llu values", t->name,
                       (unsigned long long)t->dims[0]);
    gguf_tensor_dims(w, t->name, type, t->dims, t->n_dims, n_rows * row_bytes);
    const uint32_t block = qr_weight_type_info(c->plan.scheme->type)->block_elems;
    c->n_odd += t->n_dims > 1 && t->dims[0] % block;
    c->n_values += n_rows * t->dims[0];
    c->bytes_before += t->bytes;
    c->bytes_after += n_rows * row_bytes;
    return QUIRE_OK;
}

quire_status convert(struct conversion *c, const char *path, struct quire_error *err)
{
    const size_t n = qr_gguf_tensor_count(c->source);
    struct gguf_writer w;
    quire_status s = QUIRE_OK;
    if (!gguf_open(&w, path))
        return qr_fail(err, QUIRE_E_IO, "%s cannot be written: it must be a regular file", path);
    copy_metadata(c, &w);
    for (size_t i = 0; i < n && s == QUIRE_OK; i++)
        s = plan_tensor(c, i, &w, err);
    gguf_begin_data(&w);
    for (size_t i = 0; i < n && s == QUIRE_OK; i++)
        s = write_tensor(c, i, &w, err);
    if (!gguf_finish(&w) && s == QUIRE_OK)
        s = qr_fail(err, QUIRE_E_IO, "%s cannot be written", path);
    if (s != QUIRE_OK)
        (void)unlink(path);
    return s;
}
