/* SPDX-License-Identifier: Apache-2.0 */
/* engine_heads.h - checkpoints of the reference data with generated classification heads. */
#ifndef QUIRE_ENGINE_HEADS_H
#define QUIRE_ENGINE_HEADS_H
#include "engine_vectors.h"
#include "test_folder.h"

enum { WIDTH = 64 };

/* Adds a tensor of generated values, multiples of 1/64 below 0.3: exact in bf16. */
static inline struct tensor *add_seeded(struct folder *f, const char *name, uint64_t rows,
                                        uint64_t cols, uint32_t seed)
{
    struct tensor *t = add(f, name, rows, cols);
    for (size_t i = 0; i < t->n; i++)
        t->data[i] = (float)((i * 37 + i / 64 * 11 + seed) % 37) / 64 - 0.28f;
    return t;
}

static inline void set_labels(struct folder *f, const char *class, uint32_t n)
{
    char text[400] = "\"id2label\": {", from[64];
    for (uint32_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\"%u\": \"LABEL_%u\"",
                 i ? ", " : "", i, i);
    snprintf(text + strlen(text), sizeof text - strlen(text), "},\n  \"hidden_size\"");
    replace(f->config, 1 << 16, "\"hidden_size\"", text);
    char *at = strstr(f->config, "\"architectures\"");
    assert_true(at && sscanf(at, "\"architectures\": [ \"%40[^\"]", from) == 1);
    replace(f->config, 1 << 16, from, class);
}

static inline void make_bert(struct folder *f, uint32_t labels)
{
    read_folder(f, "bert");
    rename_all(f, "", "bert.");
    set_labels(f, "BertForSequenceClassification", labels);
    add_seeded(f, "classifier.weight", labels, WIDTH, 5);
    add_seeded(f, "classifier.bias", 0, labels, 9);
}

#endif
