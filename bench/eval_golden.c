/* SPDX-License-Identifier: Apache-2.0 */
/* eval_golden.c - `quire-eval golden`: compares logits and greedy continuations with reference
 * tensors. */
#include "eval_encoder.h"
#include "eval_mtp.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PROMPT = 300, GREEDY_STEPS = 24, MAX_TOKENS = MAX_PROMPT + GREEDY_STEPS };

/* Gets the rows of a prompt of n tokens that the reference stores: all, or the first two and the
 * last eight. */
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
        tokens[i] = (int32_t)tensor_i64(&ids, i);
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
        tally_logits(t, logits, want.data, n_rows, vocab);
    free(logits);
    return s;
}

/* Hidden states after the final norm, where the reference has them instead of logits (models for
 * embeddings). */
static quire_status check_states(struct eval_run *r, const struct tensor_file *golden, uint32_t n,
                                 struct tally *t, struct quire_error *err)
{
    const struct quire_model_info *info = eval_run_info(r);
    struct tensor ids, want;
    if (tensor_file_get(golden, "F32", &want, "logits.%u", n) ||
        !tensor_file_get(golden, "I64", &ids, "ids.%u", n) ||
        !tensor_file_get(golden, "F32", &want, "last_hidden.%u", n))
        return QUIRE_OK;
    const size_t rows = (size_t)n * info->hidden_size;
    if (ids.n != n || want.n_dims != 2 || want.n != rows) {
        snprintf(err->msg, sizeof err->msg, "last_hidden.%u does not match the model", n);
        return QUIRE_E_MISMATCH;
    }
    int32_t tokens[MAX_PROMPT];
    for (uint32_t i = 0; i < n; i++)
        tokens[i] = (int32_t)tensor_i64(&ids, i);
    float *hidden = malloc((info->n_layers + 1) * rows * sizeof *hidden);
    if (!hidden)
        return QUIRE_E_NOMEM;
    const quire_status s = eval_run_prompt(r, tokens, n, NULL, 0, NULL, hidden, err);
    if (s == QUIRE_OK)
        tally_values(t, hidden + info->n_layers * rows, want.data, rows);
    free(hidden);
    return s;
}

static quire_status check_greedy(struct eval_run *r, const struct tensor_file *golden, uint32_t n,
                                 const struct tolerance *tolerance, struct tally *t,
                                 struct quire_error *err)
{
    struct tensor ids, greedy;
    if (!tensor_file_get(golden, "I64", &ids, "ids.%u", n) ||
        !tensor_file_get(golden, "I64", &greedy, "greedy.%u", n) || greedy.n > GREEDY_STEPS ||
        ids.n != n)
        return QUIRE_OK;
    const uint32_t last = n - 1;
    int32_t tokens[MAX_PROMPT];
    for (uint32_t i = 0; i < n; i++)
        tokens[i] = (int32_t)tensor_i64(&ids, i);
    float *logits = malloc(eval_run_info(r)->vocab_size * sizeof *logits);
    if (!logits)
        return QUIRE_E_NOMEM;
    quire_status s = eval_run_prompt(r, tokens, n, &last, 1, logits, NULL, err);
    if (s == QUIRE_OK)
        s = tally_greedy(t, r, golden, n, tolerance, logits, err);
    free(logits);
    return s;
}

static quire_status check_decoder(struct eval_run *r, const struct eval_options *o,
                                  const char *model, const struct tensor_file *golden,
                                  const struct tolerance *tolerance, struct tally *t,
                                  struct quire_error *err)
{
    static const uint32_t prompts[] = { 1, 7, 33, 100, 300 };
    quire_status s = QUIRE_OK;
    for (size_t i = 0; i < sizeof prompts / sizeof prompts[0] && s == QUIRE_OK; i++) {
        s = check_prompt(r, golden, prompts[i], t, err);
        if (s == QUIRE_OK)
            s = check_states(r, golden, prompts[i], t, err);
        if (s == QUIRE_OK)
            s = check_greedy(r, golden, prompts[i], tolerance, t, err);
        if (s == QUIRE_OK)
            s = tally_mtp(t, r, o, model, golden, prompts[i], err);
    }
    return s;
}

static quire_status check_all(struct eval_run *r, const struct eval_options *o, const char *model,
                              const struct tensor_file *golden, const struct tolerance *tolerance,
                              struct tally *t, struct quire_error *err)
{
    switch (eval_run_info(r)->kind) {
    case QUIRE_MODEL_ENCODER:
        return tally_encoder(t, r, golden, err);
    case QUIRE_MODEL_ENCODER_DECODER:
        return tally_seq2seq(t, r, golden, tolerance, err);
    default:
        return check_decoder(r, o, model, golden, tolerance, t, err);
    }
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
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct tolerance tolerance = tally_tolerance(o, eval_run_info(r)->weight_type);
    struct tally t = { .digest = DIGEST_SEED };
    const quire_status s = check_all(r, o, model, golden, &tolerance, &t, &err);
    const double rms = t.n_values ? sqrt(t.sum_squares / (double)t.n_values) : NAN;
    /* encoders without a head have no logits, references of decoders for embeddings neither */
    const struct quire_model_info *info = eval_run_info(r);
    const bool states_only = !info->has_logits || info->kind == QUIRE_MODEL_DECODER;
    const double kl = t.n_rows ? t.kl / (double)t.n_rows : states_only && t.n_values ? 0 : NAN;
    const bool passed = s == QUIRE_OK && t.max <= tolerance.max && rms <= tolerance.rms &&
                        kl <= tolerance.kl && t.greedy_wrong == 0;
    if (s == QUIRE_OK)
        printf("%s %s  %s %s  max %.3g  rms %.3g  KL %.3g  greedy %d/%d  digest %016" PRIx64 "\n",
               passed ? "ok  " : "FAIL", model, eval_run_info(r)->isa,
               eval_run_info(r)->weight_type, t.max, rms, kl, t.greedy_checked - t.greedy_wrong,
               t.greedy_checked, t.digest);
    else
        code = eval_fail(model, s, &err);
    eval_run_close(r);
    tensor_file_close(golden);
    return code ? code : !passed;
}

/* golden --lora ADAPTER -m MODEL [DIR]: the reference is that of DIR, else beside the adapter.
 * golden DIR...: the model and reference of each folder. --gguf FILE [DIR]: the reference is
 * FILE.golden.safetensors where it exists (quantized files), else that of DIR. */
int eval_golden(const struct eval_options *o)
{
    int worst = 0;
    if ((!o->n_args && !o->gguf && !o->lora) || (o->lora && !o->model)) {
        fprintf(stderr,
                "usage: quire-eval golden [options] DIR...   or   golden --gguf FILE [DIR]   or   "
                "golden --lora ADAPTER -m MODEL [DIR]\n");
        return 64;
    }
    char path[4096];
    if (o->lora) {
        snprintf(path, sizeof path, "%s/golden.safetensors", o->n_args ? o->args[0] : o->lora);
        return check_folder(o, o->model, path);
    }
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
