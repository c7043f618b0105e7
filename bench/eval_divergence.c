/* SPDX-License-Identifier: Apache-2.0 */
/* eval_divergence.c - `quire-eval divergence`, and the same for quire-quantize. */
#include "eval_divergence.h"
#include "eval_run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WINDOW = 512 };

/* log(sum(exp(logits))), and the index of the largest. */
static double log_sum(const float *logits, uint32_t n, uint32_t *top)
{
    double sum = 0;
    *top = 0;
    for (uint32_t i = 1; i < n; i++)
        *top = logits[i] > logits[*top] ? i : *top;
    for (uint32_t i = 0; i < n; i++)
        sum += exp((double)logits[i] - logits[*top]);
    /* cppcheck-suppress invalidFunctionArg ; the largest logit adds 1 */
    return log(sum) + logits[*top];
}

/* next < 0: the position is the last of its window. */
static void add_position(const float *model, const float *reference, uint32_t n, int32_t next,
                         struct divergence *out)
{
    uint32_t top, ref_top;
    const double z = log_sum(model, n, &top), ref_z = log_sum(reference, n, &ref_top);
    double kl = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double log_p = reference[i] - ref_z;
        kl += exp(log_p) * (log_p - (model[i] - z));
    }
    out->n++;
    out->sum += kl;
    out->largest = kl > out->largest ? kl : out->largest;
    out->same_top += top == ref_top;
    if (next >= 0) {
        out->loss += z - model[next];
        out->ref_loss += ref_z - reference[next];
    }
}

static quire_status compare(struct eval_run *model, struct eval_run *reference, const int32_t *ids,
                            size_t n, float *logits, struct divergence *out,
                            struct quire_error *err)
{
    const uint32_t vocab = eval_run_info(model)->vocab_size;
    float *ref_logits = logits + (size_t)WINDOW * vocab;
    uint32_t rows[WINDOW];
    quire_status s = QUIRE_OK;
    for (uint32_t i = 0; i < WINDOW; i++)
        rows[i] = i;
    for (size_t begin = 0; begin < n && s == QUIRE_OK; begin += WINDOW) {
        const uint32_t len = n - begin < WINDOW ? (uint32_t)(n - begin) : WINDOW;
        s = eval_run_prompt(model, ids + begin, len, rows, len, logits, NULL, err);
        if (s == QUIRE_OK)
            s = eval_run_prompt(reference, ids + begin, len, rows, len, ref_logits, NULL, err);
        for (uint32_t i = 0; i < len && s == QUIRE_OK; i++)
            add_position(logits + (size_t)i * vocab, ref_logits + (size_t)i * vocab, vocab,
                         i + 1 < len ? ids[begin + i + 1] : -1, out);
    }
    return s;
}

static int run(const struct eval_options *o, const int32_t *ids, size_t n, struct divergence *out)
{
    struct eval_options other = *o;
    struct quire_error err = QUIRE_ERROR_INIT;
    int code = 0;
    other.model = o->reference;
    struct eval_run *model = eval_run_open_decoder(o, WINDOW, &code),
                    *reference = model ? eval_run_open_decoder(&other, WINDOW, &code) : NULL;
    if (reference) {
        const uint32_t vocab = eval_run_info(model)->vocab_size;
        float *logits = malloc(2 * (size_t)WINDOW * vocab * sizeof *logits);
        quire_status s = logits ? QUIRE_OK : QUIRE_E_NOMEM;
        if (vocab != eval_run_info(reference)->vocab_size) {
            s = QUIRE_E_MISMATCH;
            snprintf(err.msg, sizeof err.msg, "it has %u tokens, the reference %u", vocab,
                     eval_run_info(reference)->vocab_size);
        }
        if (s == QUIRE_OK)
            s = compare(model, reference, ids, n, logits, out, &err);
        code = s == QUIRE_OK ? 0 : eval_fail(o->model, s, &err);
        free(logits);
    }
    eval_run_close(reference);
    eval_run_close(model);
    return code;
}

int eval_measure_divergence(const struct eval_options *o, struct divergence *out)
{
    size_t size = 0, n = 0;
    int code = 66;
    char *text = eval_read_file(o->input, &size);
    int32_t *ids = text ? eval_tokens(o, text, size, &n, &code) : NULL;
    *out = (struct divergence){ 0 };
    if (ids)
        code = run(o, ids, n, out);
    free(ids);
    free(text);
    return code;
}

void eval_print_divergence(const struct divergence *d)
{
    const double n = d->n ? (double)d->n : NAN;
    printf("KL divergence %.6f (largest %.4f), same top token %.2f %%, perplexity %.4f against "
           "%.4f, over %zu tokens\n",
           d->sum / n, d->largest, 100 * (double)d->same_top / n, exp(d->loss / n),
           exp(d->ref_loss / n), d->n);
}

int eval_divergence(const struct eval_options *o)
{
    struct divergence d;
    if (!o->model || !o->reference || !o->input) {
        fprintf(stderr, "quire-eval divergence: needs -m, --reference and -f\n");
        return 64;
    }
    const int code = eval_measure_divergence(o, &d);
    if (code == 0)
        eval_print_divergence(&d);
    return code;
}
