/* SPDX-License-Identifier: Apache-2.0 */
/* eval_encoder.c - encoders and encoder-decoders against reference tensors: states, pooled
 * vectors, logits, batches. */
#include "eval_encoder.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROWS = 324 };

/* Input and outputs of one encoder pass. */
struct pass {
    int32_t starts[EVAL_MAX_SEQS + 1], ids[MAX_ROWS], types[MAX_ROWS];
    struct eval_sources sources;
    struct eval_encoded out;
};

static quire_status mismatch(struct quire_error *err, const char *what)
{
    snprintf(err->msg, sizeof err->msg, "%s: the shape of the reference does not match the model",
             what);
    return QUIRE_E_MISMATCH;
}

static void free_pass(struct pass *p)
{
    free(p->out.hidden);
    free(p->out.pooled);
    free(p->out.scores);
    free(p->out.logits);
}

/* Allocates what the model computes; the other outputs stay NULL. */
static bool init_pass(struct pass *p, const struct eval_run *r)
{
    const struct quire_model_info *info = eval_run_info(r);
    const bool encoder = info->kind == QUIRE_MODEL_ENCODER, logits = encoder && info->has_logits,
               labels = encoder && info->n_labels;
    struct eval_encoded *o = &p->out;
    memset(p, 0, sizeof *p);
    p->sources.starts = p->starts;
    p->sources.ids = p->ids;
    o->hidden = malloc(MAX_ROWS * info->hidden_size * sizeof(float));
    if (info->has_pooler)
        o->pooled = malloc(EVAL_MAX_SEQS * info->hidden_size * sizeof(float));
    if (labels)
        o->scores = malloc(EVAL_MAX_SEQS * info->n_labels * sizeof(float));
    if (logits)
        o->logits = malloc(MAX_ROWS * info->vocab_size * sizeof(float));
    return o->hidden && (o->pooled || !info->has_pooler) && (o->scores || !labels) &&
           (o->logits || !logits);
}

/* Adds a sequence of n ids. Returns false if the pass is full. */
static bool add_source(struct pass *p, const struct tensor *ids, size_t first, size_t n)
{
    const size_t begin = (size_t)p->starts[p->sources.n];
    if (p->sources.n == EVAL_MAX_SEQS || begin + n > MAX_ROWS || first + n > ids->n)
        return false;
    for (size_t i = 0; i < n; i++)
        p->ids[begin + i] = (int32_t)tensor_i64(ids, first + i);
    p->starts[++p->sources.n] = (int32_t)(begin + n);
    return true;
}

/* Compares `got` with the rows of a padded reference tensor [sequences][length][width], without
 * the padding. */
static quire_status tally_padded(struct tally *t, const struct pass *p, const float *got,
                                 const struct tensor *want, size_t width, struct quire_error *err)
{
    if (want->n_dims != 3 || want->dims[0] != p->sources.n || want->dims[2] != width)
        return mismatch(err, "batch");
    for (uint32_t i = 0; i < p->sources.n; i++) {
        const size_t n = (size_t)(p->starts[i + 1] - p->starts[i]);
        tally_values(t, got + (size_t)p->starts[i] * width,
                     (const float *)want->data + i * want->dims[1] * width, n * width);
    }
    return QUIRE_OK;
}

/* Compares n rows with the stored ones: all, or the first two and the last eight. */
static quire_status tally_rows(struct tally *t, const float *got, const struct tensor *want,
                               size_t n, size_t width, bool logits, struct quire_error *err)
{
    const size_t stored = want->n_dims == 2 ? want->dims[0] : 0;
    if (want->n_dims != 2 || want->dims[1] != width || (stored != n && (stored != 10 || n < 10)))
        return mismatch(err, logits ? "logits" : "hidden");
    for (size_t i = 0; i < stored; i++) {
        const size_t row = stored == n || i < 2 ? i : n - stored + i;
        const float *a = got + row * width, *b = (const float *)want->data + i * width;
        if (logits)
            tally_logits(t, a, b, 1, width);
        else
            tally_values(t, a, b, width);
    }
    return QUIRE_OK;
}

/* Checks one sequence, tensors <prefix>ids<suffix> etc.; prefix "tt." or "", suffix ".7" or "". */
static quire_status check_sequence(struct tally *t, struct eval_run *r,
                                   const struct tensor_file *golden, const char *prefix,
                                   const char *suffix, struct pass *p, struct quire_error *err)
{
    const struct quire_model_info *info = eval_run_info(r);
    struct tensor ids, types, want;
    if (!tensor_file_get(golden, "I64", &ids, "%sids%s", prefix, suffix))
        return QUIRE_OK;
    p->sources.n = 0;
    p->sources.types = NULL;
    if (!add_source(p, &ids, 0, ids.n))
        return mismatch(err, "ids");
    if (tensor_file_get(golden, "I64", &types, "%stoken_type_ids%s", prefix, suffix) &&
        types.n == ids.n) {
        for (size_t i = 0; i < types.n; i++)
            p->types[i] = (int32_t)tensor_i64(&types, i);
        p->sources.types = p->types;
    }
    quire_status s = eval_run_encode(r, &p->sources, &p->out, err);
    if (s == QUIRE_OK && tensor_file_get(golden, "F32", &want, "%slast_hidden%s", prefix, suffix))
        s = tally_rows(t, p->out.hidden, &want, ids.n, info->hidden_size, false, err);
    if (s == QUIRE_OK && p->out.logits &&
        tensor_file_get(golden, "F32", &want, "%slogits%s", prefix, suffix))
        s = tally_rows(t, p->out.logits, &want, ids.n, info->vocab_size, true, err);
    if (s == QUIRE_OK && p->out.pooled &&
        tensor_file_get(golden, "F32", &want, "%spooler%s", prefix, suffix) &&
        want.n == info->hidden_size)
        tally_values(t, p->out.pooled, want.data, want.n);
    if (s == QUIRE_OK && tensor_file_get(golden, "F32", &want, "%sscores%s", prefix, suffix)) {
        if (!p->out.scores || want.n != info->n_labels)
            return mismatch(err, "scores");
        tally_values(t, p->out.scores, want.data, want.n);
    }
    return s;
}

/* Adds the sequences of a padded batch; the mask gives their lengths. */
static bool add_batch(struct pass *p, const struct tensor *ids, const struct tensor *mask)
{
    p->sources.n = 0;
    p->sources.types = NULL;
    if (ids->n_dims != 2 || mask->n != ids->n)
        return false;
    for (size_t i = 0; i < ids->dims[0]; i++) {
        size_t n = 0;
        while (n < ids->dims[1] && tensor_i64(mask, i * ids->dims[1] + n))
            n++;
        if (!add_source(p, ids, i * ids->dims[1], n))
            return false;
    }
    return true;
}

static quire_status check_batch(struct tally *t, struct eval_run *r,
                                const struct tensor_file *golden, struct pass *p,
                                struct quire_error *err)
{
    const size_t width = eval_run_info(r)->hidden_size;
    struct tensor ids, mask, want;
    if (!tensor_file_get(golden, "I64", &ids, "batch.ids") ||
        !tensor_file_get(golden, "I64", &mask, "batch.mask"))
        return QUIRE_OK;
    if (!add_batch(p, &ids, &mask))
        return mismatch(err, "batch.ids");
    quire_status s = eval_run_encode(r, &p->sources, &p->out, err);
    if (s == QUIRE_OK && tensor_file_get(golden, "F32", &want, "batch.last_hidden"))
        s = tally_padded(t, p, p->out.hidden, &want, width, err);
    if (s == QUIRE_OK && p->out.pooled && tensor_file_get(golden, "F32", &want, "batch.pooler") &&
        want.n == p->sources.n * width)
        tally_values(t, p->out.pooled, want.data, want.n);
    return s;
}

quire_status tally_encoder(struct tally *t, struct eval_run *r, const struct tensor_file *golden,
                           struct quire_error *err)
{
    static const char *const prompts[] = { ".1", ".7", ".33", ".100", ".300" };
    struct pass p;
    quire_status s = init_pass(&p, r) ? QUIRE_OK : QUIRE_E_NOMEM;
    for (size_t i = 0; i < sizeof prompts / sizeof prompts[0] && s == QUIRE_OK; i++)
        s = check_sequence(t, r, golden, "", prompts[i], &p, err);
    if (s == QUIRE_OK && eval_run_info(r)->n_token_types)
        s = check_sequence(t, r, golden, "tt.", "", &p, err);
    if (s == QUIRE_OK)
        s = check_batch(t, r, golden, &p, err);
    free_pass(&p);
    return s;
}

/* ---- Encoder-decoders */

struct decode {
    int32_t ids[MAX_ROWS];
    uint32_t rows[MAX_ROWS], n;
    float *logits; /* [MAX_ROWS][vocab] */
};

static bool set_ids(struct decode *d, const struct tensor *ids, size_t n)
{
    d->n = (uint32_t)n;
    for (uint32_t i = 0; n <= MAX_ROWS && i < d->n; i++) {
        d->ids[i] = (int32_t)tensor_i64(ids, i);
        d->rows[i] = i;
    }
    return n <= MAX_ROWS && n <= ids->n;
}

/* Checks case i: encoder states, logits of the decoder tokens, and a greedy continuation, in
 * case 1 of the first decoder token only, otherwise of all. */
static quire_status check_case(struct tally *t, struct eval_run *r,
                               const struct tensor_file *golden, unsigned i,
                               const struct tolerance *tolerance, struct pass *p, struct decode *d,
                               struct quire_error *err)
{
    const struct quire_model_info *info = eval_run_info(r);
    struct tensor source, ids, want;
    if (!tensor_file_get(golden, "I64", &source, "encoder_ids.%u", i) ||
        !tensor_file_get(golden, "I64", &ids, "decoder_ids.%u", i))
        return QUIRE_OK;
    p->sources.n = 0;
    if (!add_source(p, &source, 0, source.n) || !set_ids(d, &ids, ids.n))
        return mismatch(err, "encoder_ids");
    quire_status s = eval_run_encode(r, &p->sources, &p->out, err);
    if (s == QUIRE_OK && tensor_file_get(golden, "F32", &want, "encoder_hidden.%u", i))
        s = tally_rows(t, p->out.hidden, &want, source.n, info->hidden_size, false, err);
    if (s == QUIRE_OK)
        s = eval_run_prompt(r, d->ids, d->n, d->rows, d->n, d->logits, NULL, err);
    if (s == QUIRE_OK && tensor_file_get(golden, "F32", &want, "logits.%u", i))
        s = tally_rows(t, d->logits, &want, ids.n, info->vocab_size, true, err);
    if (s != QUIRE_OK || !tensor_file_get(golden, "I64", &want, "greedy.%u", i))
        return s;
    const uint32_t start = i == 1 ? 1 : d->n, last = start - 1;
    s = eval_run_prompt(r, d->ids, start, &last, 1, d->logits, NULL, err);
    return s == QUIRE_OK ? tally_greedy(t, r, golden, i, tolerance, d->logits, err) : s;
}

static quire_status check_pair(struct tally *t, struct eval_run *r,
                               const struct tensor_file *golden, struct pass *p, struct decode *d,
                               struct quire_error *err)
{
    const struct quire_model_info *info = eval_run_info(r);
    struct tensor source, mask, ids, want;
    if (!tensor_file_get(golden, "I64", &source, "batch.encoder_ids") ||
        !tensor_file_get(golden, "I64", &mask, "batch.mask") ||
        !tensor_file_get(golden, "I64", &ids, "batch.decoder_ids"))
        return QUIRE_OK;
    if (!add_batch(p, &source, &mask) || ids.n_dims != 2 || ids.dims[0] != p->sources.n ||
        !set_ids(d, &ids, ids.n))
        return mismatch(err, "batch.encoder_ids");
    quire_status s = eval_run_encode(r, &p->sources, &p->out, err);
    if (s == QUIRE_OK && tensor_file_get(golden, "F32", &want, "batch.encoder_hidden"))
        s = tally_padded(t, p, p->out.hidden, &want, info->hidden_size, err);
    if (s == QUIRE_OK)
        s = eval_run_batch(r, d->ids, p->sources.n, (uint32_t)ids.dims[1], d->logits, err);
    if (s == QUIRE_OK && tensor_file_get(golden, "F32", &want, "batch.logits") &&
        want.n == ids.n * info->vocab_size)
        tally_logits(t, d->logits, want.data, ids.n, info->vocab_size);
    return s;
}

quire_status tally_seq2seq(struct tally *t, struct eval_run *r, const struct tensor_file *golden,
                           const struct tolerance *tolerance, struct quire_error *err)
{
    struct pass p;
    struct decode d = { .logits = malloc((size_t)MAX_ROWS * eval_run_info(r)->vocab_size *
                                         sizeof(float)) };
    quire_status s = init_pass(&p, r) && d.logits ? QUIRE_OK : QUIRE_E_NOMEM;
    for (unsigned i = 0; i < 3 && s == QUIRE_OK; i++)
        s = check_case(t, r, golden, i, tolerance, &p, &d, err);
    if (s == QUIRE_OK)
        s = check_pair(t, r, golden, &p, &d, err);
    free_pass(&p);
    free(d.logits);
    return s;
}
