/* SPDX-License-Identifier: Apache-2.0 */
/* eval_attention.c - `quire-eval attention`: stored paged-attention cases, with the stored and
 * other block sizes, at every ISA level of this CPU. */
#include "eval.h"
#include "tensor_file.h"
#include "json/parse.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One stored case. The tensor file owns the arrays. */
struct attention_case {
    const char *name;
    enum quire_kv_dtype dtype;
    uint32_t n_seqs, n_heads, n_kv_heads, head_size, block_size, num_blocks, max_blocks, n_tokens;
    float k_scale, v_scale;
    struct quire_attention_config config;
    struct tensor q, k, v, table, query_lens, seq_lens, out, lse;
};

/* KV blocks and block table of a case. */
struct paged {
    uint32_t block_size, num_blocks, max_blocks;
    unsigned char *plain; /* [2][num_blocks][block_size][n_kv_heads][row bytes] */
    size_t bytes;
    int32_t *table; /* [n_seqs][max_blocks] */
};

/* Largest errors of a run as fractions of the tolerance. */
struct verdict {
    double out, lse;
    bool passed;
};

static uint32_t number(const struct qr_json *c, const char *key)
{
    return (uint32_t)qr_json_integer(qr_json_get(c, key));
}
static float real(const struct qr_json *c, const char *key)
{
    return (float)qr_json_number(qr_json_get(c, key));
}

static size_t element_bytes(enum quire_kv_dtype dtype)
{
    return dtype == QUIRE_KV_F32 ? 4 : dtype == QUIRE_KV_F16 || dtype == QUIRE_KV_BF16 ? 2 : 1;
}

static bool read_case(const struct qr_json *j, const struct tensor_file *f,
                      struct attention_case *c)
{
    const char *dtype = qr_json_string(qr_json_get(j, "kv_dtype"));
    struct tensor slopes, sinks;
    memset(c, 0, sizeof *c);
    c->name = qr_json_string(qr_json_get(j, "name"));
    if (!c->name || !dtype || quire_kv_dtype_parse(dtype, &c->dtype, NULL) != QUIRE_OK)
        return false;
    c->n_seqs = number(j, "num_seqs");
    c->n_heads = number(j, "num_heads");
    c->n_kv_heads = number(j, "num_kv_heads");
    c->head_size = number(j, "head_size");
    c->block_size = number(j, "block_size");
    c->num_blocks = number(j, "num_blocks");
    c->max_blocks = number(j, "max_blocks_per_seq");
    c->k_scale = real(j, "k_scale");
    c->v_scale = real(j, "v_scale");
    quire_attention_config_init(&c->config, sizeof c->config, c->n_heads, c->n_kv_heads,
                                c->head_size);
    c->config.scale = real(j, "scale");
    c->config.logits_soft_cap = real(j, "softcap");
    c->config.window_left = (int32_t)qr_json_integer(qr_json_get(j, "window_left"));
    c->config.window_right = (int32_t)qr_json_integer(qr_json_get(j, "window_right"));
    c->config.causal = qr_json_is_true(qr_json_get(j, "causal"));
    if (qr_json_is_true(qr_json_get(j, "alibi"))) {
        if (!tensor_file_get(f, "F32", &slopes, "%s.alibi_slopes", c->name))
            return false;
        c->config.alibi_slopes = slopes.data;
    }
    if (qr_json_is_true(qr_json_get(j, "sinks"))) {
        if (!tensor_file_get(f, "F32", &sinks, "%s.sinks", c->name))
            return false;
        c->config.sinks = sinks.data;
    }
    const size_t row = (size_t)c->n_kv_heads * c->head_size * element_bytes(c->dtype);
    const size_t cache = (size_t)c->num_blocks * c->block_size * row;
    bool ok = tensor_file_get(f, "F32", &c->q, "%s.q", c->name) &&
              tensor_file_get(f, "U8", &c->k, "%s.k_cache", c->name) &&
              tensor_file_get(f, "U8", &c->v, "%s.v_cache", c->name) && c->k.n == cache &&
              c->v.n == cache && tensor_file_get(f, "I32", &c->table, "%s.block_table", c->name) &&
              tensor_file_get(f, "I32", &c->query_lens, "%s.query_lens", c->name) &&
              tensor_file_get(f, "I32", &c->seq_lens, "%s.seq_lens", c->name) &&
              tensor_file_get(f, "F32", &c->out, "%s.out", c->name) &&
              tensor_file_get(f, "F32", &c->lse, "%s.lse", c->name);
    ok = ok && c->query_lens.n == c->n_seqs && c->seq_lens.n == c->n_seqs &&
         c->table.n == (size_t)c->n_seqs * c->max_blocks;
    for (uint32_t i = 0; ok && i < c->n_seqs; i++) {
        const int32_t len = ((const int32_t *)c->seq_lens.data)[i],
                      n = ((const int32_t *)c->query_lens.data)[i];
        ok = n >= 0 && len >= n && (uint32_t)len <= c->max_blocks * c->block_size;
        c->n_tokens += (uint32_t)n;
    }
    return ok && c->lse.n == (size_t)c->n_tokens * c->n_heads &&
           c->out.n == c->lse.n * c->head_size && c->q.n == c->out.n;
}

/* ---- blocks */

/* Copies the stored blocks. */
static bool keep_blocks(const struct attention_case *c, struct paged *p)
{
    *p = (struct paged){ c->block_size,      c->num_blocks, c->max_blocks,
                         malloc(2 * c->k.n), 2 * c->k.n,    malloc(c->table.n * sizeof(int32_t)) };
    if (!p->plain || !p->table)
        return false;
    memcpy(p->plain, c->k.data, c->k.n);
    memcpy(p->plain + c->k.n, c->v.data, c->v.n);
    memcpy(p->table, c->table.data, c->table.n * sizeof(int32_t));
    return true;
}

/* Copies the sequences to blocks of another size, with ids in falling order. Unused slots and
 * one unused block hold 0xff bytes, NaN in every float dtype. */
static bool repage(const struct attention_case *c, uint32_t block_size, struct paged *p)
{
    const int32_t *lens = c->seq_lens.data, *old = c->table.data;
    const size_t row = (size_t)c->n_kv_heads * c->head_size * element_bytes(c->dtype);
    *p = (struct paged){ .block_size = block_size, .num_blocks = 1, .max_blocks = 1 };
    for (uint32_t i = 0; i < c->n_seqs; i++) {
        const uint32_t n = ((uint32_t)lens[i] + block_size - 1) / block_size;
        p->num_blocks += n;
        p->max_blocks = n > p->max_blocks ? n : p->max_blocks;
    }
    const size_t side = (size_t)p->num_blocks * block_size * row;
    p->bytes = 2 * side;
    p->plain = malloc(p->bytes);
    p->table = malloc((size_t)c->n_seqs * p->max_blocks * sizeof *p->table);
    if (!p->plain || !p->table)
        return false;
    memset(p->plain, 0xff, p->bytes);
    memset(p->table, 0xff, (size_t)c->n_seqs * p->max_blocks * sizeof *p->table);
    int32_t next = (int32_t)p->num_blocks - 1;
    for (uint32_t i = 0; i < c->n_seqs; i++)
        for (uint32_t t = 0; t < (uint32_t)lens[i]; t++) {
            int32_t *id = &p->table[i * p->max_blocks + t / block_size];
            const int32_t from = old[i * c->max_blocks + t / c->block_size];
            if (t % block_size == 0)
                *id = next--;
            const size_t src = ((size_t)from * c->block_size + t % c->block_size) * row;
            const size_t dst = ((size_t)*id * block_size + t % block_size) * row;
            memcpy(p->plain + dst, (const char *)c->k.data + src, row);
            memcpy(p->plain + side + dst, (const char *)c->v.data + src, row);
        }
    return true;
}

static quire_status make_cache(const struct attention_case *c, const struct paged *p,
                               const char *isa, struct quire_kv_cache **kv, struct quire_error *err)
{
    const struct quire_kv_group_config group = { .n_layers = 1,
                                                 .n_kv_heads = c->n_kv_heads,
                                                 .head_size = c->head_size,
                                                 .k_dtype = c->dtype,
                                                 .v_dtype = c->dtype,
                                                 .n_blocks = p->num_blocks,
                                                 .k_scale = &c->k_scale,
                                                 .v_scale = &c->v_scale,
                                                 .n_k_scales = 1,
                                                 .n_v_scales = 1 };
    const struct quire_kv_params config = { .struct_size = sizeof config,
                                            .block_size = p->block_size,
                                            .groups = &group,
                                            .n_groups = 1,
                                            .isa = isa };
    int32_t *ids = malloc(p->num_blocks * sizeof *ids);
    if (!ids)
        return QUIRE_E_NOMEM;
    quire_status status = quire_kv_create(&config, kv, err);
    if (status == QUIRE_OK)
        status = quire_kv_alloc(*kv, 0, -1, p->num_blocks, ids, err); /* all blocks: 0, 1, 2, ... */
    if (status == QUIRE_OK) {
        const struct quire_kv_plain_args args = { .struct_size = sizeof args,
                                                  .blocks = ids,
                                                  .n_blocks = p->num_blocks,
                                                  .size = p->bytes,
                                                  .layout = quire_kv_plain_split(
                                                      c->dtype, p->num_blocks, p->block_size,
                                                      c->n_kv_heads, c->head_size) };
        status = quire_kv_import(*kv, &args, p->plain, err);
    }
    free(ids);
    return status;
}

/* ---- running */

/* Runs the case with blocks p. out [tokens][heads][head_size] and lse [tokens][heads] as stored. */
static quire_status run_case(const struct attention_case *c, const struct paged *p, const char *isa,
                             struct quire_threads *threads, float *out, float *lse,
                             struct quire_error *err)
{
    struct quire_kv_cache *kv = NULL;
    struct quire_plan *plan = NULL;
    int32_t *starts = calloc(c->n_seqs + 1, sizeof *starts);
    const int32_t *query_lens = c->query_lens.data;
    for (uint32_t i = 0; starts && i < c->n_seqs; i++)
        starts[i + 1] = starts[i] + query_lens[i];
    quire_status status = starts ? make_cache(c, p, isa, &kv, err) : QUIRE_E_NOMEM;
    const struct quire_plan_group group = { .config = &c->config };
    const struct quire_plan_params params = { .struct_size = sizeof params,
                                              .kv = kv,
                                              .groups = &group,
                                              .n_groups = 1,
                                              .max_tokens = c->n_tokens ? c->n_tokens : 1,
                                              .max_seqs = c->n_seqs,
                                              .max_seq_len = p->max_blocks * p->block_size,
                                              .n_threads = quire_threads_count(threads),
                                              .isa = isa };
    const struct quire_attention_batch_group tables = { .block_table = p->table,
                                                        .max_blocks = p->max_blocks };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = c->n_seqs,
                                                 .query_start_loc = starts,
                                                 .seq_lens = c->seq_lens.data,
                                                 .n_groups = 1,
                                                 .groups = &tables };
    const struct quire_attention_args args = {
        .struct_size = sizeof args, .q = c->q.data, .out = out, .lse = lse
    };
    if (status == QUIRE_OK)
        status = quire_plan_create(&params, &plan, err);
    if (status == QUIRE_OK)
        status = quire_plan_build(plan, &batch, err);
    if (status == QUIRE_OK)
        status = quire_attention_forward(plan, &args, threads, err);
    quire_plan_destroy(plan);
    quire_kv_destroy(kv);
    free(starts);
    return status;
}

/* Gets the largest magnitude of a V element of any sequence. */
static quire_status largest_value(const struct attention_case *c, const struct paged *p,
                                  double *out, struct quire_error *err)
{
    struct quire_kv_cache *kv = NULL;
    const size_t row = (size_t)c->n_kv_heads * c->head_size;
    const int32_t *lens = c->seq_lens.data;
    float *v = malloc(row * sizeof *v);
    quire_status status = v ? make_cache(c, p, NULL, &kv, err) : QUIRE_E_NOMEM;
    *out = 0;
    for (uint32_t i = 0; i < c->n_seqs; i++)
        for (uint32_t t = 0; status == QUIRE_OK && t < (uint32_t)lens[i]; t++) {
            const int64_t slot =
                (int64_t)p->table[i * p->max_blocks + t / p->block_size] * p->block_size +
                t % p->block_size;
            const struct quire_kv_read_args args = {
                .struct_size = sizeof args, .v = v, .slots = &slot, .n_tokens = 1
            };
            status = quire_kv_read(kv, &args, err);
            for (size_t d = 0; status == QUIRE_OK && d < row; d++)
                *out = fmax(*out, fabs((double)v[d]));
        }
    quire_kv_destroy(kv);
    free(v);
    return status;
}

/* Compares with the stored result. The native tolerance covers rounding of queries and weights
 * to bf16, the other one f32 sums only. */
static struct verdict judge(const struct attention_case *c, const float *out, const float *lse,
                            double max_v)
{
    const bool native = c->config.compute != QUIRE_COMPUTE_F32 && c->dtype != QUIRE_KV_F32 &&
                        c->dtype != QUIRE_KV_F16;
    const double out_tolerance = (native ? 4e-3 : 2e-5) * max_v,
                 lse_tolerance = native ? 1e-3 : 1e-4;
    const float *want_out = c->out.data, *want_lse = c->lse.data;
    struct verdict v = { 0, 0, true };
    for (size_t i = 0; i < c->out.n; i++) {
        const double d = fabs((double)out[i] - (double)want_out[i]) /
                         (out_tolerance > 0 ? out_tolerance : 1e-30);
        v.passed = v.passed && d <= 1;
        v.out = d > v.out || isnan(d) ? d : v.out;
    }
    for (size_t i = 0; i < c->lse.n; i++) {
        const double d =
            lse[i] == want_lse[i] ? 0 : fabs((double)lse[i] - (double)want_lse[i]) / lse_tolerance;
        v.passed = v.passed && d <= 1;
        v.lse = d > v.lse || isnan(d) ? d : v.lse;
    }
    return v;
}

static int check_case(const struct attention_case *c, uint32_t block_size, const char *isa,
                      struct quire_threads *threads, bool verbose, struct verdict *worst)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct paged p;
    float *out = malloc((c->out.n + 1) * sizeof *out), *lse = malloc((c->lse.n + 1) * sizeof *lse);
    double max_v = 0;
    int code = 0;
    const bool paged = block_size == c->block_size ? keep_blocks(c, &p) : repage(c, block_size, &p);
    quire_status status = out && lse && paged ? largest_value(c, &p, &max_v, &err) : QUIRE_E_NOMEM;
    if (status == QUIRE_OK)
        status = run_case(c, &p, isa, threads, out, lse, &err);
    if (status != QUIRE_OK) {
        code = eval_fail(c->name, status, &err);
    } else {
        const struct verdict v = judge(c, out, lse, max_v);
        if (verbose || !v.passed)
            printf("%s %s, blocks of %u at %s: out %.3f, lse %.3f of the tolerance\n",
                   v.passed ? "ok  " : "FAIL", c->name, block_size, isa, v.out, v.lse);
        worst->out = fmax(worst->out, v.out);
        worst->lse = fmax(worst->lse, v.lse);
        code = !v.passed;
    }
    free(p.plain), free(p.table), free(out), free(lse);
    return code;
}

static int check_all(const struct qr_json *cases, const struct tensor_file *f, uint32_t block_size,
                     const char *isa, const struct eval_options *o, struct quire_threads *threads)
{
    struct verdict worst = { 0, 0, true };
    size_t n_failed = 0;
    int code = 0;
    for (size_t i = 0; i < qr_json_size(cases); i++) {
        struct attention_case c;
        if (!read_case(qr_json_at(cases, i), f, &c)) {
            fprintf(stderr, "quire-eval: case %zu is malformed\n", i);
            return 65;
        }
        c.config.compute = o->compute;
        const int one = check_case(&c, block_size, isa, threads, o->verbose, &worst);
        n_failed += one != 0;
        code = one > code ? one : code;
    }
    printf("%s %-14s blocks of %3u: %zu of %zu cases, worst out %.3f, lse %.3f of the tolerance\n",
           code ? "FAIL" : "ok  ", isa, block_size, qr_json_size(cases) - n_failed,
           qr_json_size(cases), worst.out, worst.lse);
    return code;
}

static int check_levels(const struct qr_json *cases, const struct tensor_file *f,
                        const struct eval_options *o, struct quire_threads *threads)
{
    static const uint32_t block_sizes[] = { 16, 32, 48, 64, 80, 96, 112, 128 };
    int code = 0, n_levels = 0;
    for (int i = 0; quire_cpu_level_name(i); i++) {
        const char *level = quire_cpu_level_name(i);
        if (o->isa && strcmp(level, o->isa) != 0)
            continue;
        n_levels++;
        if (!quire_cpu_level_usable(i)) {
            fprintf(stderr, "quire-eval: skipping %s: this CPU lacks it\n", level);
            code = o->isa && !code ? 69 : code;
            continue;
        }
        for (size_t b = 0; b < sizeof block_sizes / sizeof *block_sizes; b++) {
            const uint32_t size = o->block_size ? o->block_size : block_sizes[b];
            const int one = check_all(cases, f, size, level, o, threads);
            code = one > code ? one : code;
            if (o->block_size)
                break;
        }
    }
    if (!n_levels)
        fprintf(stderr, "quire-eval: unknown ISA level %s\n", o->isa);
    return n_levels ? code : 64;
}

/* FILE.json -> FILE.safetensors. Returns NULL when out of memory. */
static char *tensor_path(const char *json_path)
{
    static const char suffix[] = ".safetensors";
    const size_t n = strlen(json_path),
                 stem = n > 5 && !strcmp(json_path + n - 5, ".json") ? n - 5 : n;
    char *path = malloc(stem + sizeof suffix);
    if (path) {
        memcpy(path, json_path, stem);
        memcpy(path + stem, suffix, sizeof suffix);
    }
    return path;
}

int eval_attention(const struct eval_options *o)
{
    if (o->n_args != 1) {
        fprintf(stderr, "quire-eval: attention takes one FILE.json\n");
        return 64;
    }
    size_t size;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_threads *threads = NULL;
    struct quire_threads_params params;
    quire_threads_params_init(&params, sizeof params);
    params.n_threads = o->threads;
    char *text = eval_read_file(o->args[0], &size), *path = tensor_path(o->args[0]);
    struct qr_json_error error;
    struct qr_json *root = text ? qr_json_parse(text, size, 0, NULL, &error) : NULL;
    const struct qr_json *cases = qr_json_is_array(root) ? root : qr_json_get(root, "cases");
    struct tensor_file *f = path && text ? tensor_file_open(path) : NULL;
    int code = 65;
    if (text && !qr_json_size(cases))
        fprintf(stderr, "quire-eval: %s has no cases\n", o->args[0]);
    const quire_status status = quire_threads_create(&params, &threads, &err);
    if (status != QUIRE_OK)
        code = eval_fail("threads", status, &err);
    else if (qr_json_size(cases) && f)
        code = check_levels(cases, f, o, threads);
    else if (!text || !f)
        code = 66;
    quire_threads_destroy(threads);
    tensor_file_close(f);
    qr_json_free(root);
    free(text), free(path);
    return code;
}
