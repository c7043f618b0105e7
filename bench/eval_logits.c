/* SPDX-License-Identifier: Apache-2.0 */
/* eval_logits.c - `quire-eval logits` and `quire-eval perplexity`. */
#include "eval_tally.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_top(const struct eval_options *o, const float *logits, uint32_t vocab)
{
    struct quire_tokenizer *tok = NULL;
    if (quire_tokenizer_open(o->model, NULL, &tok, NULL) != QUIRE_OK)
        tok = NULL;
    float below = INFINITY;
    for (int rank = 0; rank < 10; rank++) {
        uint32_t best = UINT32_MAX;
        for (uint32_t i = 0; i < vocab; i++)
            if (logits[i] < below && (best == UINT32_MAX || logits[i] > logits[best]))
                best = i;
        if (best == UINT32_MAX)
            break;
        size_t size = 0;
        const char *text = tok ? quire_tokenizer_token_text(tok, (int32_t)best, &size) : NULL;
        printf("%10.5f  %6u  %.*s\n", logits[best], best, (int)size, text ? text : "");
        below = logits[best];
    }
    quire_tokenizer_close(tok);
}

int eval_logits(const struct eval_options *o)
{
    if (!o->model || !o->prompt) {
        fprintf(stderr, "quire-eval logits: needs -m and -p\n");
        return 64;
    }
    int code = 0;
    size_t n = 0;
    int32_t *ids = eval_tokens(o, o->prompt, strlen(o->prompt), &n, &code);
    struct eval_run *r = ids && n ? eval_run_open_decoder(o, (uint32_t)n, &code) : NULL;
    if (r) {
        const uint32_t vocab = eval_run_info(r)->vocab_size, last = (uint32_t)n - 1;
        struct quire_error err = QUIRE_ERROR_INIT;
        float *logits = malloc(vocab * sizeof *logits);
        const quire_status s =
            logits ? eval_run_prompt(r, ids, (uint32_t)n, &last, 1, logits, NULL, &err)
                   : QUIRE_E_NOMEM;
        if (s == QUIRE_OK)
            print_top(o, logits, vocab);
        else
            code = eval_fail(o->model, s, &err);
        free(logits);
    }
    eval_run_close(r);
    free(ids);
    return code;
}

/* Negative log-likelihood of token `next` in nats. */
static double negative_log_likelihood(const float *logits, uint32_t vocab, int32_t next)
{
    double max = logits[0], sum = 0;
    for (uint32_t i = 1; i < vocab; i++)
        max = logits[i] > max ? logits[i] : max;
    for (uint32_t i = 0; i < vocab; i++)
        sum += exp(logits[i] - max);
    /* cppcheck-suppress invalidFunctionArg ; the largest logit adds 1 */
    return log(sum) + max - logits[next];
}

enum { WINDOW = 512 };

struct score {
    double total;    /* negative log-likelihood in nats */
    size_t count;    /* tokens scored */
    uint64_t digest; /* of the logits, as digest_floats() */
};

/* Scores windows of 512 tokens independently and adds their tokens to *out. */
static quire_status score(struct eval_run *r, const int32_t *ids, size_t n, struct score *out,
                          struct quire_error *err)
{
    const uint32_t vocab = eval_run_info(r)->vocab_size;
    uint32_t rows[WINDOW];
    float *logits = malloc((size_t)WINDOW * vocab * sizeof *logits);
    quire_status s = logits ? QUIRE_OK : QUIRE_E_NOMEM;
    for (uint32_t i = 0; i < WINDOW; i++)
        rows[i] = i;
    for (size_t begin = 0; begin + 1 < n && s == QUIRE_OK; begin += WINDOW) {
        const uint32_t len = n - begin < WINDOW ? (uint32_t)(n - begin) : WINDOW;
        s = eval_run_prompt(r, ids + begin, len, rows, len, logits, NULL, err);
        for (uint32_t i = 0; i + 1 < len && s == QUIRE_OK; i++) {
            out->total +=
                negative_log_likelihood(logits + (size_t)i * vocab, vocab, ids[begin + i + 1]);
            out->count++;
        }
        if (s == QUIRE_OK)
            out->digest = digest_floats(out->digest, logits, (size_t)len * vocab);
    }
    free(logits);
    return s;
}

int eval_perplexity(const struct eval_options *o)
{
    size_t size = 0, n = 0;
    struct score sum = { .digest = DIGEST_SEED };
    int code = 0;
    if (!o->model || !o->input) {
        fprintf(stderr, "quire-eval perplexity: needs -m and -f\n");
        return 64;
    }
    char *text = eval_read_file(o->input, &size);
    int32_t *ids = text ? eval_tokens(o, text, size, &n, &code) : NULL;
    struct eval_run *r = ids ? eval_run_open_decoder(o, WINDOW, &code) : NULL;
    if (r) {
        struct quire_error err = QUIRE_ERROR_INIT;
        const quire_status s = score(r, ids, n, &sum, &err);
        if (s != QUIRE_OK)
            code = eval_fail(o->model, s, &err);
        else
            printf("perplexity %.4f over %zu tokens  digest %016" PRIx64 "\n",
                   sum.count ? exp(sum.total / (double)sum.count) : NAN, sum.count, sum.digest);
    }
    eval_run_close(r);
    free(ids);
    free(text);
    return text ? code : 66;
}
