/* SPDX-License-Identifier: Apache-2.0 */
/* eval_kv.c - `quire-eval calibrate` writes the scales that an fp8 cache needs for a text;
 * `quire-eval kv` compares the logits of all KV dtypes with those of an f32 cache. */
#include "eval_run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 512, MAX_GROUPS = 64 };

/* A tokenized text. */
struct text {
    int32_t *ids;
    size_t n;
};

static int read_text(const struct eval_options *o, const char *command, struct text *t)
{
    size_t size = 0;
    int code = 0;
    if (!o->model || !o->input) {
        fprintf(stderr, "quire-eval %s: needs -m and -f\n", command);
        return 64;
    }
    char *text = eval_read_file(o->input, &size);
    if (!text)
        return 66;
    t->ids = eval_tokens(o, text, size, &t->n, &code);
    free(text);
    return code;
}

/* ---- calibration */

/* Scales of one KV group, [n_layers][n_kv_heads]; during calibration, the largest magnitudes. */
struct group_scales {
    struct quire_kv_group_config config;
    size_t n;
    float *k, *v;
};

struct calibration {
    uint32_t n_groups;
    struct group_scales groups[MAX_GROUPS];
};

static void free_calibration(struct calibration *c)
{
    for (uint32_t g = 0; g < c->n_groups; g++)
        free(c->groups[g].k), free(c->groups[g].v);
}

static bool init_calibration(struct calibration *c, const struct quire_model *model)
{
    struct quire_kv_group_config configs[MAX_GROUPS];
    bool ok = quire_model_kv_groups(model, configs, MAX_GROUPS, &c->n_groups) == QUIRE_OK;
    for (uint32_t g = 0; ok && g < c->n_groups; g++) {
        struct group_scales *s = &c->groups[g];
        s->config = configs[g];
        s->n = (size_t)configs[g].n_layers * configs[g].n_kv_heads;
        s->k = calloc(s->n, sizeof *s->k);
        s->v = calloc(s->n, sizeof *s->v);
        ok = s->k && s->v;
    }
    return ok;
}

/* Raises the magnitudes of one group by the cached rows of the last n tokens. */
static quire_status observe_group(const struct eval_run *r, uint32_t group, struct group_scales *s,
                                  uint32_t n, struct quire_error *err)
{
    const struct quire_kv_group_config *c = &s->config;
    const size_t rows = (size_t)n * c->n_kv_heads;
    const bool latent = c->flags & QUIRE_KV_LATENT;
    const uint32_t v_size = c->v_head_size ? c->v_head_size : c->head_size;
    float *k = malloc(rows * c->head_size * sizeof *k), *v = malloc(rows * v_size * sizeof *v);
    quire_status status = k && v ? QUIRE_OK : QUIRE_E_NOMEM;
    for (uint32_t layer = 0; layer < c->n_layers && status == QUIRE_OK; layer++) {
        const struct quire_kv_calibrate_args args = { .struct_size = sizeof args,
                                                      .n_kv_heads = c->n_kv_heads,
                                                      .head_size = c->head_size,
                                                      .v_head_size = v_size,
                                                      .dtype = QUIRE_KV_F32,
                                                      .k = k,
                                                      .v = latent ? NULL : v,
                                                      .n_tokens = n };
        const size_t at = (size_t)layer * c->n_kv_heads;
        status = eval_run_read_kv(r, group, layer, n, k, latent ? NULL : v, err);
        if (status == QUIRE_OK)
            status = quire_kv_calibrate(&args, s->k + at, s->v + at, err);
    }
    free(k), free(v);
    return status;
}

/* Runs windows of the text and turns the magnitudes into scales. */
static quire_status observe(struct eval_run *r, const struct text *t, struct calibration *c,
                            struct quire_error *err)
{
    quire_status s = QUIRE_OK;
    for (size_t begin = 0; begin < t->n && s == QUIRE_OK; begin += WINDOW) {
        const uint32_t n = t->n - begin < WINDOW ? (uint32_t)(t->n - begin) : WINDOW;
        s = eval_run_prompt(r, t->ids + begin, n, NULL, 0, NULL, NULL, err);
        for (uint32_t g = 0; g < c->n_groups && s == QUIRE_OK; g++)
            s = observe_group(r, g, &c->groups[g], n, err);
    }
    for (uint32_t g = 0; g < c->n_groups && s == QUIRE_OK; g++) {
        struct group_scales *x = &c->groups[g];
        s = quire_kv_calibrate_scales(QUIRE_KV_FP8_E4M3, x->k, x->n, x->k, x->n, err);
        if (s == QUIRE_OK)
            s = quire_kv_calibrate_scales(QUIRE_KV_FP8_E4M3, x->v, x->n, x->v, x->n, err);
    }
    return s;
}

/* Writes the scales as a safetensors file: docs/kv-scales.md. */
static bool write_scales(FILE *f, const struct calibration *c, uint64_t fingerprint)
{
    char header[MAX_GROUPS * 320];
    size_t used = 0, offset = 8;
    used += (size_t)snprintf(header, sizeof header,
                             "{\"fingerprint\":{\"dtype\":\"U64\",\"shape\":[1],"
                             "\"data_offsets\":[0,8]}");
    for (uint32_t g = 0; g < c->n_groups; g++)
        for (int j = 0; j < 2; j++) {
            const struct group_scales *s = &c->groups[g];
            const size_t end = offset + s->n * sizeof(float);
            used += (size_t)snprintf(header + used, sizeof header - used,
                                     ",\"kv_group.%u.%c_scale\":{\"dtype\":\"F32\",\"shape\":[%u,"
                                     "%u],\"data_offsets\":[%zu,%zu]}",
                                     g, "kv"[j], s -> config.n_layers, s->config.n_kv_heads, offset,
                                     end);
            offset = end;
        }
    used += (size_t)snprintf(header + used, sizeof header - used, "}");
    while (used % 8)
        header[used++] = ' ';
    const uint64_t size = used;
    bool ok = fwrite(&size, sizeof size, 1, f) == 1 && fwrite(header, used, 1, f) == 1 &&
              fwrite(&fingerprint, sizeof fingerprint, 1, f) == 1;
    for (uint32_t g = 0; g < c->n_groups; g++) {
        const struct group_scales *s = &c->groups[g];
        ok = ok && fwrite(s->k, sizeof *s->k, s->n, f) == s->n &&
             fwrite(s->v, sizeof *s->v, s->n, f) == s->n;
    }
    return ok;
}

static int calibrate_text(const struct eval_options *o, const struct text *t, const char *path)
{
    struct eval_options plain = *o;
    struct calibration c = { 0 };
    struct quire_error err = QUIRE_ERROR_INIT;
    int code = 0;
    plain.k_dtype = plain.v_dtype = QUIRE_KV_F32;
    plain.kv_scales = NULL;
    struct eval_run *r = eval_run_open_decoder(&plain, WINDOW, &code);
    if (!r)
        return code;
    const quire_status s =
        init_calibration(&c, eval_run_model(r)) ? observe(r, t, &c, &err) : QUIRE_E_NOMEM;
    if (s != QUIRE_OK) {
        code = eval_fail(o->model, s, &err);
    } else {
        FILE *f = fopen(path, "wb");
        bool ok = f && write_scales(f, &c, eval_run_info(r)->fingerprint);
        ok = f && fclose(f) == 0 && ok;
        if (!ok)
            fprintf(stderr, "quire-eval calibrate: cannot write %s\n", path);
        code = ok ? 0 : 74;
    }
    free_calibration(&c);
    eval_run_close(r);
    return code;
}

int eval_calibrate(const struct eval_options *o)
{
    struct text t = { 0 };
    if (!o->output) {
        fprintf(stderr, "quire-eval calibrate: needs --out\n");
        return 64;
    }
    int code = read_text(o, "calibrate", &t);
    if (!code)
        code = calibrate_text(o, &t, o->output);
    if (!code)
        printf("%s: scales of %zu tokens\n", o->output, t.n);
    free(t.ids);
    return code;
}

/* ---- comparison of KV dtypes */

struct divergence {
    double sum, worst; /* KL in nats */
    size_t n, same;    /* positions; those with the same top token */
};

static double log_sum(const float *x, uint32_t n, uint32_t *top)
{
    double sum = 0;
    *top = 0;
    for (uint32_t i = 1; i < n; i++)
        *top = x[i] > x[*top] ? i : *top;
    for (uint32_t i = 0; i < n; i++)
        sum += exp((double)x[i] - (double)x[*top]);
    /* cppcheck-suppress invalidFunctionArg ; the largest logit adds 1 */
    return log(sum) + (double)x[*top];
}

static void compare(const float *want, const float *got, uint32_t vocab, struct divergence *d)
{
    uint32_t want_top, got_top;
    const double lp = log_sum(want, vocab, &want_top), lq = log_sum(got, vocab, &got_top);
    double kl = 0;
    for (uint32_t i = 0; i < vocab; i++) {
        const double p = (double)want[i] - lp;
        kl += exp(p) * (p - ((double)got[i] - lq));
    }
    d->sum += kl;
    d->worst = kl > d->worst ? kl : d->worst;
    d->same += want_top == got_top;
    d->n++;
}

/* Runs the text with o's cache and keeps the logits of all tokens, [n][vocab]. */
static int run_text(const struct eval_options *o, const struct text *t, float *logits,
                    uint32_t *vocab)
{
    uint32_t rows[WINDOW];
    struct quire_error err = QUIRE_ERROR_INIT;
    int code = 0;
    struct eval_run *r = eval_run_open_decoder(o, WINDOW, &code);
    if (!r)
        return code;
    *vocab = eval_run_info(r)->vocab_size;
    for (uint32_t i = 0; i < WINDOW; i++)
        rows[i] = i;
    quire_status s = QUIRE_OK;
    for (size_t begin = 0; begin < t->n && s == QUIRE_OK; begin += WINDOW) {
        const uint32_t n = t->n - begin < WINDOW ? (uint32_t)(t->n - begin) : WINDOW;
        s = eval_run_prompt(r, t->ids + begin, n, rows, n, logits + begin * *vocab, NULL, &err);
    }
    if (s != QUIRE_OK)
        code = eval_fail(o->model, s, &err);
    eval_run_close(r);
    return code;
}

/* Finds the size of the vocabulary, and whether the model's keys and values can be int4. */
static int probe(const struct eval_options *o, uint32_t *vocab, bool *int4)
{
    struct quire_kv_group_config groups[MAX_GROUPS];
    uint32_t n = 0;
    int code = 0;
    struct eval_run *r = eval_run_open_decoder(o, WINDOW, &code);
    if (!r)
        return code;
    *vocab = eval_run_info(r)->vocab_size;
    *int4 = quire_model_kv_groups(eval_run_model(r), groups, MAX_GROUPS, &n) == QUIRE_OK;
    for (uint32_t g = 0; *int4 && g < n; g++) {
        const uint32_t v_size = groups[g].v_head_size ? groups[g].v_head_size : groups[g].head_size;
        *int4 = !(groups[g].flags & QUIRE_KV_LATENT) && groups[g].head_size % 32 == 0 &&
                v_size % 32 == 0;
    }
    eval_run_close(r);
    return code;
}

/* Compares one cache with the reference logits and prints a line. */
static int compare_cache(const struct eval_options *o, const struct text *t, const char *label,
                         const float *want, float *got)
{
    struct divergence d = { 0 };
    uint32_t vocab = 0;
    char name[64];
    const int code = run_text(o, t, got, &vocab);
    for (size_t i = 0; i < t->n && !code; i++)
        compare(want + i * vocab, got + i * vocab, vocab, &d);
    snprintf(name, sizeof name, o->k_dtype == o->v_dtype ? "%s" : "%s/%s",
             quire_kv_dtype_name(o->k_dtype), quire_kv_dtype_name(o->v_dtype));
    if (!code)
        printf("%-14s %-10s %12.3e %12.3e %8.2f\n", name, label, d.sum / (double)d.n, d.worst,
               100 * (double)d.same / (double)d.n);
    return code;
}

/* Caches whose keys and values have different types, and int4 with and without transforms. */
static int compare_int4(const struct eval_options *o, const struct text *t, const float *want,
                        float *got)
{
    static const struct {
        enum quire_kv_dtype k, v;
        uint32_t rotation;
        const char *label;
    } caches[] = {
        { QUIRE_KV_INT4, QUIRE_KV_INT4, 0, "" },
        { QUIRE_KV_INT4, QUIRE_KV_INT4, QUIRE_KV_ROTATE_K, "rotate k" },
        { QUIRE_KV_INT4, QUIRE_KV_INT4, QUIRE_KV_ROTATE_K | QUIRE_KV_ROTATE_V, "rotate kv" },
        { QUIRE_KV_INT8, QUIRE_KV_INT4, QUIRE_KV_ROTATE_V, "rotate v" },
        { QUIRE_KV_INT4, QUIRE_KV_INT8, QUIRE_KV_ROTATE_K, "rotate k" },
    };
    struct eval_options x = *o;
    int code = 0;
    x.kv_scales = NULL;
    for (size_t i = 0; !code && i < sizeof caches / sizeof *caches; i++) {
        x.k_dtype = caches[i].k;
        x.v_dtype = caches[i].v;
        x.rotation = caches[i].rotation;
        code = compare_cache(&x, t, caches[i].label, want, got);
    }
    return code;
}

static int compare_caches(const struct eval_options *o, const char *scales, const struct text *t,
                          bool int4, const float *want, float *got)
{
    struct eval_options x = *o;
    int code = 0;
    printf("%-14s %-10s %12s %12s %8s\n", "KV dtype", "scales", "mean KL", "largest KL", "same %");
    for (int type = 0; !code && quire_kv_dtype_name((enum quire_kv_dtype)type); type++) {
        const bool fp8 = type == QUIRE_KV_FP8_E4M3 || type == QUIRE_KV_FP8_E5M2;
        if (type == (int)o->k_dtype || type == QUIRE_KV_INT4)
            continue;
        x.k_dtype = x.v_dtype = (enum quire_kv_dtype)type;
        x.kv_scales = NULL;
        code = compare_cache(&x, t, fp8 ? "model's" : "", want, got);
        x.kv_scales = scales;
        if (!code && fp8 && scales)
            code = compare_cache(&x, t, "file", want, got);
    }
    return code || !int4 ? code : compare_int4(o, t, want, got);
}

int eval_kv(const struct eval_options *o)
{
    struct text t = { 0 };
    struct eval_options x = *o;
    uint32_t vocab = 0;
    bool int4 = false;
    float *want = NULL, *got = NULL;
    int code = read_text(o, "kv", &t);
    x.v_dtype = x.k_dtype;
    x.kv_scales = NULL;
    if (!code)
        code = probe(&x, &vocab, &int4);
    if (!code) {
        /* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): probe has set vocab */
        want = calloc(t.n * vocab, sizeof *want);
        got = calloc(t.n * vocab, sizeof *got);
        code = want && got ? run_text(&x, &t, want, &vocab) : eval_fail("kv", QUIRE_E_NOMEM, NULL);
    }
    if (!code && want && got)
        code = compare_caches(&x, o->kv_scales, &t, int4, want, got);
    free(want), free(got), free(t.ids);
    return code;
}
