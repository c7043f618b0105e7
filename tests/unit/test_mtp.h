/* SPDX-License-Identifier: Apache-2.0 */
/* test_mtp.h - models of the reference data with a random head of multi-token prediction. */
#ifndef QUIRE_TEST_MTP_H
#define QUIRE_TEST_MTP_H
#include "quire/model.h"
#include "test_folder.h"

/* A family with heads: of a model in the reference data, and the names of a head's tensors. */
struct family {
    const char *golden, *type, *as; /* folder; its model_type, and the one to write */
    const char *from, *layer;       /* prefix of the layer that is copied, and of the head's */
    const char *ffn_from, *ffn;     /* the same of the network, if it is a layer of its own */
    const char *embd, *hidden, *proj, *norm; /* behind `layer`, or whole names with a leading '=' */
    uint64_t inputs;                         /* hidden size */
};
static const struct family families[] = {
    { "qwen2", "qwen2", "mimo", "model.layers.2.", "model.mtp_layers.0.", NULL, NULL,
      "token_layernorm.weight", "hidden_layernorm.weight", "input_proj.weight",
      "final_layernorm.weight", 64 },
    { "deepseek_v3", "deepseek_v3", "deepseek_v3", "model.layers.2.", "model.layers.3.", NULL, NULL,
      "enorm.weight", "hnorm.weight", "eh_proj.weight", "shared_head.norm.weight", 64 },
    { "qwen3_5_text", "qwen3_5_text", "qwen3_5_text", "model.layers.3.", "mtp.layers.0.", NULL,
      NULL, "=mtp.pre_fc_norm_embedding.weight", "=mtp.pre_fc_norm_hidden.weight", "=mtp.fc.weight",
      "=mtp.norm.weight", 64 },
    { "nemotron_h_moe", "nemotron_h", "nemotron_h", "backbone.layers.3.", "mtp.layers.0.",
      "backbone.layers.4.", "mtp.layers.1.", "enorm.weight", "hnorm.weight", "eh_proj.weight",
      "=mtp.layers.1.final_layernorm.weight", 64 },
};
enum { MIMO, DEEPSEEK, QWEN, NEMOTRON, N_FAMILIES };

static uint32_t seed;

static inline float next_uniform(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(seed >> 8) / (float)(1 << 24) - 0.5f;
}

static inline void add_random(struct folder *f, const struct family *of, const char *name,
                              uint64_t rows, uint64_t cols, float mean, float scale)
{
    char full[160];
    snprintf(full, sizeof full, "%s%s", *name == '=' ? "" : of->layer, name + (*name == '='));
    struct tensor *t = add(f, full, rows, cols);
    for (size_t i = 0; i < t->n; i++)
        t->data[i] = mean + scale * next_uniform();
}

/* Copies the tensors of a layer under another prefix. */
static inline void copy_layer(struct folder *f, const char *from, const char *to)
{
    for (size_t i = 0, n = f->n; i < n; i++) {
        if (strncmp(f->t[i].name, from, strlen(from)) != 0)
            continue;
        assert_true(f->n < sizeof f->t / sizeof f->t[0]);
        struct tensor *t = &f->t[f->n++];
        *t = f->t[i];
        snprintf(t->name, sizeof t->name, "%.40s%.110s", to, f->t[i].name + strlen(from));
        t->data = malloc(t->n * sizeof(float));
        memcpy(t->data, f->t[i].data, t->n * sizeof(float));
    }
}

/* The output matrix has rows for a few tokens only: a head often guesses right. */
static inline void narrow_output(struct folder *f)
{
    struct tensor *t = NULL;
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->t[i].name, "lm_head.weight") == 0)
            t = &f->t[i];
    if (!t)
        t = add(f, "lm_head.weight", 320, 64);
    for (size_t i = 0; i < t->n; i++)
        t->data[i] = i / 64 >= 40 && i / 64 < 44 ? next_uniform() : 0;
}

/* Reads a family's model, with a head added. */
static inline void read_family(struct folder *f, const struct family *of)
{
    char from[80], to[80];
    read_folder(f, of->golden);
    seed = 5;
    snprintf(from, sizeof from, "\"model_type\": \"%s\"", of->type);
    snprintf(to, sizeof to, "\"model_type\": \"%s\"", of->as);
    replace(f->config, 1 << 16, from, to);
    narrow_output(f);
    copy_layer(f, of->from, of->layer);
    if (of->ffn)
        copy_layer(f, of->ffn_from, of->ffn);
    add_random(f, of, of->embd, 0, of->inputs, 1, 0.2f);
    add_random(f, of, of->hidden, 0, of->inputs, 1, 0.2f);
    add_random(f, of, of->proj, of->inputs, 2 * of->inputs, 0, 0.4f);
    add_random(f, of, of->norm, 0, of->inputs, 1, 0.2f);
}

static inline quire_status open_path(const char *path, struct quire_model *mtp_of,
                                     struct quire_model **out, struct quire_error *err)
{
    struct quire_model_params p;
    quire_model_params_init(&p, sizeof p);
    p.path = path;
    p.mtp_of = mtp_of;
    *err = (struct quire_error)QUIRE_ERROR_INIT;
    return quire_model_open(&p, out, err);
}

/* Writes a folder to `dir`, with a tokenizer. */
static inline void write_with_tokenizer(const struct folder *f)
{
    char path[4200];
    static char text[1 << 16];
    write_folder(f, none, none);
    snprintf(path, sizeof path, "%s/tokenizers/tokenizer.model", shared_dir());
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t n = fread(text, 1, sizeof text, file);
    fclose(file);
    assert_true(n > 0 && n < sizeof text);
    write_file("tokenizer.model", text, n);
}

static inline void write_family(const struct family *of)
{
    struct folder f;
    read_family(&f, of);
    write_with_tokenizer(&f);
    free_folder(&f);
}

#endif
