/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_bind.c - finds the quantized matrices of a checkpoint by the names and dtypes of their
 * main tensors. */
#include "model/load/quantized_bind.h"
#include "base/error.h"
#include "model/load/quantized_float.h"
#include "model/load/quantized_fp4.h"
#include "model/load/quantized_integer.h"
#include <stdio.h>
#include <string.h>

enum { ANY_NAME_MAX = 512 }; /* longer names belong to no matrix */

/* ---- Parts of a matrix */

static bool find_part(const struct qr_quantized_build *b, const char *ending, size_t *number)
{
    char name[ANY_NAME_MAX];
    const int n = snprintf(name, sizeof name, "%.*s%s", (int)b->base_size, b->base, ending);
    return n > 0 && n < ANY_NAME_MAX && qr_safetensors_find(b->w->safetensors, name, number);
}

const struct qr_safetensor *qr_quantized_part(const struct qr_quantized_build *b,
                                              const char *ending, int64_t *number)
{
    size_t i;
    *number = QR_NO_TENSOR;
    if (!find_part(b, ending, &i))
        return NULL;
    b->hidden[i] = 1;
    *number = (int64_t)i;
    return qr_safetensors_tensor(b->w->safetensors, i);
}

void qr_quantized_hide(const struct qr_quantized_build *b, const char *ending)
{
    int64_t number;
    (void)qr_quantized_part(b, ending, &number);
}

quire_status qr_quantized_need(const struct qr_quantized_build *b, const char *ending,
                               uint32_t dtypes, int64_t *number, const struct qr_safetensor **t)
{
    *t = qr_quantized_part(b, ending, number);
    if (!*t)
        return qr_fail(b->err, QUIRE_E_FORMAT, "tensor %.*s%s is missing",
                       b->base_size < 80 ? (int)b->base_size : 80, b->base, ending);
    if (!(dtypes >> (*t)->dtype & 1))
        return qr_fail(b->err, QUIRE_E_UNSUPPORTED,
                       "tensor %.80s has type %s, which quire does not read for this method",
                       (*t)->name, qr_dtype_name((enum qr_dtype)(*t)->dtype));
    return QUIRE_OK;
}

quire_status qr_quantized_shape(const struct qr_quantized_build *b, const struct qr_safetensor *t,
                                uint64_t rows, uint64_t columns)
{
    if (t->n_dims == 2 && t->shape[0] == rows && t->shape[1] == columns)
        return QUIRE_OK;
    return qr_fail(b->err, QUIRE_E_FORMAT,
                   "tensor %.80s has %u dimensions (%llu x %llu), its matrix needs %llu x %llu",
                   t->name, t->n_dims, (unsigned long long)(t->n_dims > 0 ? t->shape[0] : 1),
                   (unsigned long long)(t->n_dims > 1 ? t->shape[1] : 1), (unsigned long long)rows,
                   (unsigned long long)columns);
}

quire_status qr_quantized_bad(const struct qr_quantized_build *b, const struct qr_safetensor *t,
                              const char *why)
{
    return qr_fail(b->err, QUIRE_E_FORMAT, "tensor %.80s %s", t->name, why);
}

quire_status qr_quantized_integer_type(struct qr_quantized_build *b, unsigned bits)
{
    static const struct {
        uint8_t bits, elems;
        uint32_t type;
    } types[] = {
        { 4, 128, QR_WEIGHT_INT4_128 }, { 4, 64, QR_WEIGHT_INT4_64 }, { 4, 32, QR_WEIGHT_INT4_32 },
        { 8, 128, QR_WEIGHT_INT8_128 }, { 8, 32, QR_WEIGHT_INT8_32 },
    };
    struct qr_quantized_tensor *t = b->out;
    t->bits = (uint8_t)bits;
    /* GCOVR_EXCL_BR_LINE: no dimension of a tensor is 0, and no method sets a group of 0 */
    if (t->group == 0 || t->columns % t->group != 0)
        return qr_fail(b->err, QUIRE_E_FORMAT,
                       "tensor %.80s: groups of %llu do not divide rows of %llu", t->name,
                       (unsigned long long)t->group, (unsigned long long)t->columns);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].bits == bits && t->group % types[i].elems == 0) {
            t->type = types[i].type;
            return QUIRE_OK;
        }
    return qr_fail(b->err, QUIRE_E_UNSUPPORTED,
                   "tensor %.80s: groups of %llu columns are not supported, multiples of 32 are",
                   t->name, (unsigned long long)t->group);
}

/* ---- Act-order */

/* Sorts the columns by group, stably: each group gets `group` consecutive places. */
static quire_status sort_by_group(struct qr_quantized_build *b, const struct qr_safetensor *t,
                                  const int32_t *groups, uint32_t *order, uint64_t *next)
{
    const struct qr_quantized_tensor *q = b->out;
    const uint64_t n_groups = q->columns / q->group;
    bool ascends = true;
    for (uint64_t g = 0; g < n_groups; g++)
        next[g] = g * q->group;
    for (uint64_t k = 0; k < q->columns; k++) {
        if (groups[k] < 0 || (uint64_t)groups[k] >= n_groups)
            return qr_fail(b->err, QUIRE_E_FORMAT, "tensor %.80s: entry %llu is %d, of %llu groups",
                           t->name, (unsigned long long)k, groups[k], (unsigned long long)n_groups);
        uint64_t *at = &next[groups[k]];
        if (*at == ((uint64_t)groups[k] + 1) * q->group)
            return qr_fail(b->err, QUIRE_E_FORMAT,
                           "tensor %.80s: group %d has more than %llu columns", t->name, groups[k],
                           (unsigned long long)q->group);
        ascends = ascends && *at == k;
        order[(*at)++] = (uint32_t)k;
    }
    if (!ascends)
        b->out->order = order;
    return QUIRE_OK;
}

quire_status qr_quantized_order(struct qr_quantized_build *b, int64_t number)
{
    struct qr_quantized_tensor *q = b->out;
    struct qr_weights *w = b->w;
    const struct qr_safetensor *t = qr_safetensors_tensor(w->safetensors, (size_t)number);
    if (t->dtype != QR_DTYPE_I32 || t->n_dims != 1 || t->shape[0] != q->columns)
        return qr_fail(b->err, QUIRE_E_FORMAT, "tensor %.80s is not a list of %llu I32", t->name,
                       (unsigned long long)q->columns);
    const size_t n = (size_t)q->columns, n_groups = (size_t)(q->columns / q->group);
    int32_t *groups = qr_alloc(w->allocator, n, sizeof *groups);
    uint64_t *next = qr_alloc(w->allocator, n_groups, sizeof *next);
    /* GCOVR_EXCL_BR_LINE: a list of so many columns has 16 GiB */
    uint32_t *order = n < UINT32_MAX ? qr_arena_alloc(&w->lists, n, sizeof *order) : NULL;
    quire_status s;
    if (!groups || !next || !order)
        s = qr_fail(b->err, QUIRE_E_NOMEM, "no memory for %.80s", t->name);
    else
        s = qr_safetensors_read_range(w->safetensors, (size_t)number, 0, t->bytes, groups, b->err);
    if (s == QUIRE_OK)
        s = sort_by_group(b, t, groups, order, next);
    qr_free(w->allocator, groups, n, sizeof *groups);
    qr_free(w->allocator, next, n_groups, sizeof *next);
    return s;
}

/* ---- Main tensors */

typedef quire_status bind_fn(struct qr_quantized_build *b, const struct qr_safetensor *main);

/* The main tensor of a matrix has a name that ends with `ending` and one of the dtypes. The matrix
 * has that name, with `replace` for the ending. */
static const struct {
    enum qr_quantization_method method;
    const char *ending, *replace;
    uint32_t dtypes;
    bind_fn *bind;
} mains[] = {
    { QR_QUANTIZATION_FP8, ".weight", ".weight", QR_DTYPE_BIT(F8_E4M3), qr_quantized_fp8 },
    { QR_QUANTIZATION_GPTQ, ".qweight", ".weight", QR_DTYPE_BIT(I32), qr_quantized_gptq },
    { QR_QUANTIZATION_AWQ, ".qweight", ".weight", QR_DTYPE_BIT(I32), qr_quantized_awq },
    { QR_QUANTIZATION_COMPRESSED, ".weight_packed", ".weight", QR_DTYPE_BIT(I32),
      qr_quantized_packed },
    { QR_QUANTIZATION_COMPRESSED, ".weight_packed", ".weight", QR_DTYPE_BIT(U8),
      qr_quantized_packed_fp4 },
    { QR_QUANTIZATION_COMPRESSED, ".weight", ".weight", QR_DTYPE_BIT(I8), qr_quantized_int8 },
    { QR_QUANTIZATION_COMPRESSED, ".weight", ".weight", QR_DTYPE_BIT(F8_E4M3), qr_quantized_fp8 },
    { QR_QUANTIZATION_MODELOPT, ".weight", ".weight", QR_DTYPE_BIT(U8), qr_quantized_modelopt_fp4 },
    { QR_QUANTIZATION_MODELOPT, ".weight", ".weight", QR_DTYPE_BIT(F8_E4M3), qr_quantized_fp8 },
    { QR_QUANTIZATION_MXFP4, "_blocks", "_blocks", QR_DTYPE_BIT(U8), qr_quantized_mxfp4 },
    { QR_QUANTIZATION_NF4, ".weight.quant_state.bitsandbytes__nf4", ".weight", QR_DTYPE_BIT(U8),
      qr_quantized_nf4 },
    { QR_QUANTIZATION_LLM_INT8, ".SCB", ".weight", QR_DTYPE_BIT(F32), qr_quantized_llm_int8 },
};
enum { N_MAINS = sizeof mains / sizeof *mains };

/* The row of `mains` that a tensor fits, or N_MAINS. */
static size_t main_of(const struct qr_weights *w, const struct qr_safetensor *t)
{
    for (size_t m = 0; m < N_MAINS; m++) {
        const size_t n = strlen(mains[m].ending);
        if (mains[m].method == w->config.quantization.method && t->name_len > n &&
            strcmp(t->name + t->name_len - n, mains[m].ending) == 0 &&
            mains[m].dtypes >> t->dtype & 1)
            return m;
    }
    return N_MAINS;
}

/* Whether the list entry names the module: all of its name, or whole parts between dots. */
static bool names_module(const char *entry, const char *module, size_t size)
{
    const size_t n = strlen(entry);
    if (n == 0 || strncmp(entry, "re:", 3) == 0)
        return false;
    for (size_t i = 0; i + n <= size; i++)
        if (memcmp(module + i, entry, n) == 0 && (i == 0 || module[i - 1] == '.') &&
            (i + n == size || module[i + n] == '.'))
            return true;
    return false;
}

static quire_status check_not_plain(const struct qr_quantized_build *b)
{
    const struct qr_quantization_config *q = &b->w->config.quantization;
    for (size_t i = 0; i < q->n_plain; i++)
        if (names_module(q->plain[i], b->base, b->base_size))
            return qr_fail(b->err, QUIRE_E_FORMAT,
                           "tensor %.80s is quantized, but quantization_config lists %.60s among "
                           "the modules that are not",
                           b->out->name, q->plain[i]);
    return QUIRE_OK;
}

static quire_status bind_main(struct qr_quantized_build *b, size_t i, size_t m)
{
    const struct qr_safetensor *t = qr_safetensors_tensor(b->w->safetensors, i);
    char name[ANY_NAME_MAX];
    b->base = t->name;
    b->base_size = t->name_len - strlen(mains[m].ending);
    const int n =
        snprintf(name, sizeof name, "%.*s%s", (int)b->base_size, b->base, mains[m].replace);
    if (n < 0 || n >= ANY_NAME_MAX)
        return qr_quantized_bad(b, t, "has a name that is too long");
    *b->out = (struct qr_quantized_tensor){ .codes = (int64_t)i,
                                            .scales = QR_NO_TENSOR,
                                            .zeros = QR_NO_TENSOR,
                                            .nested = QR_NO_TENSOR,
                                            .row_block = 1,
                                            .divisor = 1,
                                            .tensor_scale = 1 };
    b->out->name = qr_arena_strndup(&b->w->lists, name, (size_t)n);
    if (!b->out->name)
        return qr_fail(b->err, QUIRE_E_NOMEM, "no memory for the name of %.80s", t->name);
    b->hidden[i] = 1;
    QR_TRY(check_not_plain(b));
    return mains[m].bind(b, t);
}

quire_status qr_quantized_bind(struct qr_weights *w, uint8_t *hidden, struct quire_error *err)
{
    struct qr_quantized *q = w->quantized;
    size_t n = 0;
    for (size_t i = 0; i < q->n_files; i++)
        n += main_of(w, qr_safetensors_tensor(w->safetensors, i)) < N_MAINS;
    q->tensors = qr_arena_alloc(&w->lists, n, sizeof *q->tensors);
    if (!q->tensors)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a table of %zu tensors", n);
    struct qr_quantized_build b = { .w = w, .err = err, .hidden = hidden };
    for (size_t i = 0; i < q->n_files; i++) {
        const size_t m = main_of(w, qr_safetensors_tensor(w->safetensors, i));
        if (m == N_MAINS)
            continue;
        b.out = &q->tensors[q->n_tensors++];
        QR_TRY(bind_main(&b, i, m));
    }
    return QUIRE_OK;
}
