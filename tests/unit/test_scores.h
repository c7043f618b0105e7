/* SPDX-License-Identifier: Apache-2.0 */
/* test_scores.h - classification heads with generated weights, in double precision. */
#ifndef QR_TEST_SCORES_H
#define QR_TEST_SCORES_H
#include "engine_heads.h"

enum { MAX_LABELS = 5 };

static const uint32_t lengths[] = { 1, 7, 33, 100 };

static inline void make_modernbert(struct folder *f, uint32_t labels, bool mean)
{
    read_folder(f, "modernbert");
    find(f, "decoder.bias")->name[0] = 0;
    for (size_t i = 0; i < f->n; i++)
        if (!f->t[i].name[0]) { /* the last tensor takes its place */
            free(f->t[i].data);
            f->t[i] = f->t[--f->n];
        }
    set_labels(f, "ModernBertForSequenceClassification", labels);
    if (mean)
        replace(f->config, 1 << 16, "\"classifier_pooling\": \"cls\"",
                "\"classifier_pooling\": \"mean\"");
    add_seeded(f, "classifier.weight", labels, WIDTH, 5);
    add_seeded(f, "classifier.bias", 0, labels, 9);
}

static inline void linear(const struct tensor *w, const struct tensor *bias, const double *x,
                          double *out)
{
    for (size_t i = 0; i < w->shape[0]; i++) {
        out[i] = bias ? bias->data[i] : 0;
        for (size_t k = 0; k < WIDTH; k++)
            out[i] += (double)w->data[i * WIDTH + k] * x[k];
    }
}

static inline void modernbert_head(struct folder *f, const double *x, double *out)
{
    double mid[WIDTH], mean = 0, square = 0;
    linear(find(f, "head.dense.weight"), NULL, x, mid);
    for (int i = 0; i < WIDTH; i++) {
        mid[i] *= 0.5 * (1 + erf(mid[i] / sqrt(2)));
        mean += mid[i] / WIDTH;
    }
    for (int i = 0; i < WIDTH; i++)
        square += (mid[i] - mean) * (mid[i] - mean) / WIDTH;
    for (int i = 0; i < WIDTH; i++)
        mid[i] = (mid[i] - mean) / sqrt(square + 1e-5) * find(f, "head.norm.weight")->data[i];
    linear(find(f, "classifier.weight"), find(f, "classifier.bias"), mid, out);
}

/* Reference states of the first token or, with mean, of all tokens. */
static inline void golden_state(const char *folder, uint32_t n, bool mean, double out[WIDTH])
{
    static float hidden[100 * WIDTH];
    char name[32];
    snprintf(name, sizeof name, "last_hidden.%u", n);
    assert_true(read_golden(folder, name, hidden, n * WIDTH * sizeof(float)));
    for (uint32_t i = 0; i < WIDTH; i++) {
        out[i] = hidden[i];
        for (uint32_t r = 1; r < n && mean; r++)
            out[i] += hidden[r * WIDTH + i];
        out[i] /= mean ? n : 1;
    }
}

/* Reference state of the last token. */
static inline void golden_last_state(const char *folder, uint32_t n, double out[WIDTH])
{
    static float hidden[100 * WIDTH];
    char name[32];
    snprintf(name, sizeof name, "last_hidden.%u", n);
    assert_true(read_golden(folder, name, hidden, n * WIDTH * sizeof(float)));
    for (uint32_t i = 0; i < WIDTH; i++)
        out[i] = hidden[(n - 1) * WIDTH + i];
}

/* Scores with and without the activation. */
static inline void check_scores(struct bench *b, struct quire_request_params p,
                                const double *outputs, size_t labels, bool sigmoid)
{
    struct vector got;
    p.raw_scores = true;
    must_compute(b->engine, &p, &got);
    assert_int_equal(got.n, labels);
    assert_near(got.values, outputs, labels, 1e-3);
    double want[MAX_LABELS];
    for (size_t i = 0; i < labels; i++)
        want[i] = sigmoid ? 1 / (1 + exp(-outputs[i])) : outputs[i];
    p.raw_scores = false;
    must_compute(b->engine, &p, &got);
    assert_near(got.values, want, labels, 1e-3);
}

#endif
