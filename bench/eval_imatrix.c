/* SPDX-License-Identifier: Apache-2.0 */
/* eval_imatrix.c - `quire-eval imatrix` writes the importance of the columns of all matrices for a
 * text, which quire-quantize weighs errors with: a GGUF file of type imatrix (docs/quantize.md). */
#include "bench_gguf.h"
#include "eval_run.h"
#include "format/gguf.h"
#include "model/forward/input_sums.h"
#include "model/load/weights.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 512, TYPE_F32 = 0 };

/* A tensor of the model, whose matrices (one, or experts) have `n` entries in the table. */
struct matrices {
    const char *name; /* of the tensor */
    struct qr_packed *const *list;
    uint32_t n;
    uint64_t k;
};

struct table {
    struct matrices *list;
    size_t n, capacity;
    bool failed;
};

static void add(struct table *t, const struct qr_gguf *g, size_t tensor,
                struct qr_packed *const *list, uint32_t n, uint64_t k)
{
    const struct qr_gguf_tensor *info = qr_gguf_tensor(g, tensor);
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->list[i].name, info->name) == 0)
            return; /* parts of a tensor have the same input */
    if (t->n == t->capacity) {
        const size_t capacity = t->capacity ? 2 * t->capacity : 64;
        struct matrices *grown = realloc(t->list, capacity * sizeof *grown);
        if (!grown) {
            t->failed = true;
            return;
        }
        t->list = grown;
        t->capacity = capacity;
    }
    t->list[t->n++] = (struct matrices){ info->name, list, n, k };
}

/* Adds the tensors of a layer, as far as their rows are those of the file. */
static void add_layer(struct table *t, const struct qr_weights *w, const struct qr_model_layer *l,
                      uint32_t layer, int first, int end)
{
    for (int r = first; r < end; r++) {
        struct qr_weight source;
        if ((!l->mat[r] && !l->experts[r]) ||
            !qr_weights_find(w, (enum qr_weight_role)r, layer, &source) || source.column_bytes)
            continue;
        const struct qr_gguf *g = qr_weights_gguf(w);
        if (l->mat[r])
            add(t, g, source.tensor, &l->mat[r], 1, source.n_cols);
        else if (!source.expert_tensors)
            add(t, g, source.tensor, l->experts[r], source.n_experts, source.n_cols);
        else
            for (uint32_t i = 0; i < source.n_experts; i++)
                add(t, g, source.expert_tensors[i], &l->experts[r][i], 1, source.n_cols);
    }
}

/* The tensors of matrices that tokens reached. */
static bool list_tensors(struct table *t, const struct qr_weights *w, const struct quire_model *m,
                         const struct qr_input_sums *sums)
{
    add_layer(t, w, &m->global, 0, 0, QR_W_FIRST_LAYER_ROLE);
    for (uint32_t i = 0; i < qr_model_total_layers(m->config); i++)
        add_layer(t, w, &m->layers[i], i, QR_W_FIRST_LAYER_ROLE, QR_W_N_ROLES);
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        uint64_t rows = 0, all = 0;
        for (uint32_t j = 0; j < t->list[i].n; j++) {
            qr_input_sums_get(sums, t->list[i].list[j], &rows);
            all += rows;
        }
        if (all > 0)
            t->list[n++] = t->list[i];
    }
    t->n = n;
    return !t->failed;
}

static void list_pair(struct gguf_writer *w, const struct matrices *m)
{
    char name[256];
    const uint64_t sums[] = { m->k, m->n }, counts[] = { 1, m->n };
    snprintf(name, sizeof name, "%.200s.in_sum2", m->name);
    gguf_tensor_dims(w, name, TYPE_F32, sums, 2, m->k * m->n * sizeof(float));
    snprintf(name, sizeof name, "%.200s.counts", m->name);
    gguf_tensor_dims(w, name, TYPE_F32, counts, 2, m->n * sizeof(float));
}

static void write_pair(struct gguf_writer *w, const struct matrices *m,
                       const struct qr_input_sums *sums)
{
    uint64_t rows;
    for (uint32_t i = 0; i < m->n; i++)
        gguf_data(w, qr_input_sums_get(sums, m->list[i], &rows), m->k * sizeof(float));
    gguf_pad(w);
    for (uint32_t i = 0; i < m->n; i++) {
        qr_input_sums_get(sums, m->list[i], &rows);
        const float count = (float)rows;
        gguf_data(w, &count, sizeof count);
    }
    gguf_pad(w);
}

static bool write_file(const struct eval_options *o, const struct table *t,
                       const struct qr_input_sums *sums, size_t n_tokens)
{
    struct gguf_writer w;
    if (!gguf_open(&w, o->output))
        return false;
    gguf_text(&w, "general.type", "imatrix");
    gguf_array(&w, "imatrix.datasets", GGUF_STRING, 1);
    gguf_put_string(w.meta, o->input);
    gguf_u32(&w, "imatrix.chunk_count", (uint32_t)((n_tokens + WINDOW - 1) / WINDOW));
    gguf_u32(&w, "imatrix.chunk_size", WINDOW);
    for (size_t i = 0; i < t->n; i++)
        list_pair(&w, &t->list[i]);
    gguf_begin_data(&w);
    for (size_t i = 0; i < t->n; i++)
        write_pair(&w, &t->list[i], sums);
    return gguf_finish(&w);
}

/* Runs windows of the text. */
static quire_status collect(struct eval_run *r, const int32_t *ids, size_t n_tokens,
                            struct quire_error *err)
{
    quire_status s = QUIRE_OK;
    for (size_t begin = 0; begin < n_tokens && s == QUIRE_OK; begin += WINDOW) {
        const uint32_t n = n_tokens - begin < WINDOW ? (uint32_t)(n_tokens - begin) : WINDOW;
        s = eval_run_prompt(r, ids + begin, n, NULL, 0, NULL, NULL, err);
    }
    return s;
}

static int run(const struct eval_options *o, const struct qr_weights *w, const int32_t *ids,
               size_t n)
{
    struct eval_options plain = *o;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_input_sums *sums = NULL;
    struct table t = { 0 };
    int code = 0;
    plain.k_dtype = plain.v_dtype = QUIRE_KV_F32;
    plain.compute = QUIRE_COMPUTE_F32; /* inputs are not rounded */
    plain.linear = QUIRE_LINEAR_QUIRE;
    struct eval_run *r = eval_run_open_decoder(&plain, WINDOW, &code);
    if (!r)
        return code;
    quire_status s = qr_input_sums_create(eval_run_model(r), &sums, &err);
    if (s == QUIRE_OK) {
        qr_input_sums_attach(eval_run_context(r), sums);
        s = collect(r, ids, n, &err);
    }
    if (s == QUIRE_OK && !list_tensors(&t, w, eval_run_model(r), sums))
        s = QUIRE_E_NOMEM;
    if (s != QUIRE_OK)
        code = eval_fail(o->model, s, &err);
    else if (!write_file(o, &t, sums, n)) {
        fprintf(stderr, "quire-eval imatrix: cannot write %s\n", o->output);
        code = 74;
    } else
        printf("%s: importance in %zu tensors, from %zu tokens\n", o->output, t.n, n);
    free(t.list);
    qr_input_sums_free(sums);
    eval_run_close(r);
    return code;
}

static int run_text(const struct eval_options *o, const struct qr_weights *w)
{
    size_t size = 0, n = 0;
    int code = 0;
    char *text = eval_read_file(o->input, &size);
    if (!text)
        return 66;
    int32_t *ids = eval_tokens(o, text, size, &n, &code);
    free(text);
    if (ids)
        code = run(o, w, ids, n);
    free(ids);
    return code;
}

int eval_imatrix(const struct eval_options *o)
{
    const struct qr_weights_params params = { .path = o->model };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_weights *w; /* for the names of the tensors */
    if (!o->model || !o->input || !o->output) {
        fprintf(stderr, "quire-eval imatrix: needs -m, -f and --out\n");
        return 64;
    }
    const quire_status s = qr_weights_open(&params, &w, &err);
    if (s != QUIRE_OK)
        return eval_fail(o->model, s, &err);
    int code = 65;
    if (qr_weights_gguf(w))
        code = run_text(o, w);
    else
        fprintf(stderr, "quire-eval imatrix: %s is no GGUF file: its tensors have other names\n",
                o->model);
    qr_weights_close(w);
    return code;
}
