/* SPDX-License-Identifier: Apache-2.0 */
/* eval_golden.c - `quire-eval golden`: logits and greedy continuations against reference tensors. */
#include "eval_run.h"
#include "tensor_file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PROMPT = 300, GREEDY_STEPS = 24, MAX_TOKENS = MAX_PROMPT + GREEDY_STEPS };

/* Largest difference, root mean square difference and KL divergence (nats, mean over rows) that may be seen. */
struct gate {
    double max, rms, kl;
};

/* Sums over the rows of all prompts of a folder. */
struct tally {
    double max, sum_squares, kl;
    size_t n_values, n_rows;
    int greedy_checked, greedy_wrong;
};

static bool is_quantised(const char *weight_type)
{
    return strcmp(weight_type, "F32") != 0 && strcmp(weight_type, "F16") != 0 &&
           strcmp(weight_type, "BF16") != 0;
}

static double kv_rms(enum quire_kv_dtype dtype)
{
    switch (dtype) {
    case QUIRE_KV_F16:
        return 0.006;
    case QUIRE_KV_BF16:
        return 0.05;
    case QUIRE_KV_FP8_E4M3:
        return 0.6;
    case QUIRE_KV_FP8_E5M2:
        return 1.2;
    default:
        return 0;
    }
}

/* The gates of docs/numerics.md; a rounded cache adds its own to that of the arithmetic. */
static struct gate gate_for(const struct eval_options *o, const char *weight_type)
{
    struct gate g = { 3e-3, INFINITY, INFINITY };
    if (o->compute == QUIRE_COMPUTE_NATIVE && strcmp(weight_type, "F32") != 0 &&
        strcmp(weight_type, "F16") != 0)
        g = is_quantised(weight_type) ? (struct gate){ INFINITY, 0.15, 8e-3 }
                                      : (struct gate){ INFINITY, 0.06, 1e-3 };
    const double k = kv_rms(o->k_dtype), v = kv_rms(o->v_dtype), kv = k > v ? k : v;
    if (kv > 0)
        g = (struct gate){ INFINITY, (isinf(g.rms) ? 0 : g.rms) + kv, INFINITY };
    return g;
}

static bool exact_mode(const struct gate *g) { return !isinf(g->max); }

static double row_kl(const float *got, const float *want, size_t n)
{
    double mg = got[0], mw = want[0], sg = 0, sw = 0, kl = 0;
    for (size_t i = 1; i < n; i++) {
        mg = got[i] > mg ? got[i] : mg;
        mw = want[i] > mw ? want[i] : mw;
    }
    for (size_t i = 0; i < n; i++) {
        sg += exp(got[i] - mg);
        sw += exp(want[i] - mw);
    }
    for (size_t i = 0; i < n; i++) {
        const double lw = want[i] - mw - log(sw), lg = got[i] - mg - log(sg);
        kl += exp(lw) * (lw - lg);
    }
    return kl;
}

static size_t argmax(const float *x, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

static void compare(struct tally *t, const float *got, const float *want, size_t n_rows,
                    size_t vocab)
{
    for (size_t r = 0; r < n_rows; r++) {
        for (size_t i = 0; i < vocab; i++) {
            const double d = fabs((double)got[r * vocab + i] - want[r * vocab + i]);
            t->max = d > t->max || isnan(d) ? d : t->max;
            t->sum_squares += d * d;
        }
        t->kl += row_kl(got + r * vocab, want + r * vocab, vocab);
    }
    t->n_values += n_rows * vocab;
    t->n_rows += n_rows;
}

/* Which rows of a prompt of n tokens are stored: all, or the first two and the last eight. */
static uint32_t stored_rows(uint32_t n, size_t n_stored, uint32_t *rows)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        if (n_stored == n || i < 2 || i + 8 >= n)
            rows[count++] = i;
    return count;
}

static quire_status check_prompt(struct eval_run *r, const struct tensor_file *golden, uint32_t n,
                                 struct tally *t, struct quire_error *err)
{
    struct tensor ids, want;
    if (!tensor_file_get(golden, "I64", &ids, "ids.%u", n) ||
        !tensor_file_get(golden, "F32", &want, "logits.%u", n))
        return QUIRE_OK;
    const uint32_t vocab = eval_run_info(r)->vocab_size;
    if (ids.n != n || want.n_dims != 2 || want.dims[1] != vocab) {
        snprintf(err->msg, sizeof err->msg, "logits.%u has %zu columns, the model has %u tokens", n,
                 want.dims[1], vocab);
        return QUIRE_E_MISMATCH;
    }
    int32_t tokens[MAX_PROMPT];
    uint32_t rows[MAX_PROMPT];
    for (uint32_t i = 0; i < n; i++)
        tokens[i] = (int32_t)((const int64_t *)ids.data)[i];
    const uint32_t n_rows = stored_rows(n, want.dims[0], rows);
    float *logits = malloc((size_t)n_rows * vocab * sizeof *logits);
    if (!logits || n_rows != want.dims[0]) {
        free(logits);
        snprintf(err->msg, sizeof err->msg, "logits.%u holds %zu rows, %u were expected", n,
                 want.dims[0], n_rows);
        return QUIRE_E_MISMATCH;
    }
    const quire_status s = eval_run_prompt(r, tokens, n, rows, n_rows, logits, NULL, err);
    if (s == QUIRE_OK)
        compare(t, logits, want.data, n_rows, vocab);
    free(logits);
    return s;
}

/* Feeds the reference's own continuation: with exact arithmetic the argmax must be the next token at every step;
 * otherwise wherever the reference's margin is larger than 8 times the rms bound. */
static quire_status check_greedy(struct eval_run *r, const struct tensor_file *golden, uint32_t n,
                                 const struct gate *g, struct tally *t, struct quire_error *err)
{
    struct tensor ids, greedy, margin;
    if (!tensor_file_get(golden, "I64", &ids, "ids.%u", n) ||
        !tensor_file_get(golden, "I64", &greedy, "greedy.%u", n) ||
        !tensor_file_get(golden, "F32", &margin, "greedy_margin.%u", n) ||
        greedy.n > GREEDY_STEPS || ids.n != n)
        return QUIRE_OK;
    const uint32_t vocab = eval_run_info(r)->vocab_size, last = n - 1;
    int32_t tokens[MAX_PROMPT];
    for (uint32_t i = 0; i < n; i++)
        tokens[i] = (int32_t)((const int64_t *)ids.data)[i];
    float *logits = malloc(vocab * sizeof *logits);
    if (!logits)
        return QUIRE_E_NOMEM;
    quire_status s = eval_run_prompt(r, tokens, n, &last, 1, logits, NULL, err);
    for (size_t i = 0; i < greedy.n && s == QUIRE_OK; i++) {
        const int64_t want = ((const int64_t *)greedy.data)[i];
        const bool sure = exact_mode(g) || ((const float *)margin.data)[i] > 8 * g->rms;
        t->greedy_checked += sure;
        t->greedy_wrong += sure && (int64_t)argmax(logits, vocab) != want;
        if (i + 1 < greedy.n)
            s = eval_run_next(r, (int32_t)want, logits, err);
    }
    free(logits);
    return s;
}

static int check_folder(const struct eval_options *o, const char *model, const char *golden_path)
{
    int code = 0;
    struct tensor_file *golden = tensor_file_open(golden_path);
    struct eval_run *r = golden ? eval_run_open(o, model, MAX_TOKENS, &code) : NULL;
    if (!r) {
        tensor_file_close(golden);
        return code ? code : 66;
    }
    static const uint32_t prompts[] = { 1, 7, 33, 100, 300 };
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct gate g = gate_for(o, eval_run_info(r)->weight_type);
    struct tally t = { 0 };
    quire_status s = QUIRE_OK;
    for (size_t i = 0; i < sizeof prompts / sizeof prompts[0] && s == QUIRE_OK; i++) {
        s = check_prompt(r, golden, prompts[i], &t, &err);
        if (s == QUIRE_OK)
            s = check_greedy(r, golden, prompts[i], &g, &t, &err);
    }
    const double rms = t.n_values ? sqrt(t.sum_squares / (double)t.n_values) : NAN;
    const double kl = t.n_rows ? t.kl / (double)t.n_rows : NAN;
    const bool passed =
        s == QUIRE_OK && t.max <= g.max && rms <= g.rms && kl <= g.kl && t.greedy_wrong == 0;
    if (s == QUIRE_OK)
        printf("%s %s  %s %s  max %.3g  rms %.3g  KL %.3g  greedy %d/%d\n",
               passed ? "ok  " : "FAIL", model, eval_run_info(r)->isa,
               eval_run_info(r)->weight_type, t.max, rms, kl, t.greedy_checked - t.greedy_wrong,
               t.greedy_checked);
    else
        code = eval_fail(model, s, &err);
    eval_run_close(r);
    tensor_file_close(golden);
    return code ? code : !passed;
}

/* golden DIR...: the folder's own model; with --gguf FILE that file against FILE's own reference when there is one
 * beside it (quantised files), else against DIR's. */
int eval_golden(const struct eval_options *o)
{
    int worst = 0;
    if (!o->n_args && !o->gguf) {
        fprintf(stderr,
                "usage: quire-eval golden [options] DIR...   or   golden --gguf FILE [DIR]\n");
        return 64;
    }
    char path[4096];
    if (o->gguf) {
        const size_t stem = strlen(o->gguf) > 5 ? strlen(o->gguf) - 5 : 0;
        snprintf(path, sizeof path, "%.*s.golden.safetensors", (int)stem, o->gguf);
        FILE *own = fopen(path, "rb");
        if (own)
            fclose(own);
        else
            snprintf(path, sizeof path, "%s/golden.safetensors", o->n_args ? o->args[0] : ".");
        return check_folder(o, o->gguf, path);
    }
    for (int i = 0; i < o->n_args; i++) {
        snprintf(path, sizeof path, "%s/golden.safetensors", o->args[i]);
        const int code = check_folder(o, o->args[i], path);
        worst = code > worst ? code : worst;
    }
    return worst;
}
