/* SPDX-License-Identifier: Apache-2.0 */
/* test_token_tables.c - whole numbers among the tensors of a model: experts of each token (DeepSeek
 * V4), and the tables of n-gram embeddings (Qwen4-Exp), which follow from config.json. Files with
 * other ones are refused with the name of the tensor. */
#include "test_dir.h"
#include <quire/model.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE = 8 << 20 };

struct file {
    char *data;
    size_t n, body; /* offset of the first tensor */
};

static void read_whole(struct file *f, const char *model, const char *name)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/goldens/%s/%s", shared_dir(), model, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    f->data = calloc(1, MAX_FILE);
    f->n = fread(f->data, 1, MAX_FILE, file);
    fclose(file);
    assert_true(f->n > 8 && f->n < MAX_FILE);
    uint64_t header;
    memcpy(&header, f->data, sizeof header);
    f->body = 8 + (size_t)header;
}

static void write_whole(const struct file *f, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "wb");
    assert_true(file && fwrite(f->data, 1, f->n, file) == f->n);
    fclose(file);
}

/* The entry of a tensor in the header. */
static char *entry(const struct file *f, const char *tensor)
{
    for (size_t i = 8; i + strlen(tensor) < f->body; i++)
        if (memcmp(f->data + i, tensor, strlen(tensor)) == 0)
            return f->data + i;
    fail_msg("no tensor %s", tensor);
    return NULL;
}

static size_t number_at(const struct file *f, const char *tensor)
{
    const char *at = strstr(entry(f, tensor), "data_offsets");
    unsigned long long begin = 0;
    assert_true(at && sscanf(strchr(at, '['), "[%llu", &begin) == 1);
    return f->body + (size_t)begin;
}

/* Loads the model with number `at` of the tensor set to `value`, then restores it. */
static void check(struct file *f, const char *tensor, size_t at, int64_t value, quire_status want)
{
    char *const place = f->data + number_at(f, tensor) + at * sizeof value;
    int64_t was;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model_params p;
    struct quire_model *m = NULL;
    memcpy(&was, place, sizeof was);
    memcpy(place, &value, sizeof value);
    write_whole(f, "model.safetensors");
    quire_model_params_init(&p, sizeof p);
    p.path = dir;
    assert_status(want, quire_model_open(&p, &m, &err));
    if (want != QUIRE_OK && !strstr(err.msg, tensor))
        fail_msg("\"%s\" does not name %s", err.msg, tensor);
    quire_model_close(m);
    memcpy(place, &was, sizeof was);
}

static void open_model(struct file *f, const char *model)
{
    struct file config;
    read_whole(&config, model, "config.json");
    write_whole(&config, "config.json");
    free(config.data);
    read_whole(f, model, "model.safetensors");
}

static void experts_of_tokens(void **state)
{
    (void)state;
    static const char tensor[] = "layers.0.ffn.gate.tid2eid";
    struct file f;
    if (!need_shared())
        skip();
    open_model(&f, "deepseek_v4");
    int64_t experts[2];
    memcpy(experts, f.data + number_at(&f, tensor), sizeof experts);
    check(&f, tensor, 0, experts[0], QUIRE_OK);
    check(&f, tensor, 0, experts[1], QUIRE_E_FORMAT);
    check(&f, tensor, 0, -1, QUIRE_E_FORMAT);
    check(&f, tensor, 639, 1 << 20, QUIRE_E_FORMAT);
    check(&f, tensor, 639, (int64_t)1 << 32, QUIRE_E_FORMAT);
    char *type = strstr(entry(&f, tensor), "I64");
    assert_non_null(type);
    memcpy(type, "F64", 3);
    check(&f, tensor, 0, experts[0], QUIRE_E_UNSUPPORTED);
    free(f.data);
}

static void tables_of_ngrams(void **state)
{
    (void)state;
    static const char *const tensors[] = { "layers.1.ple.ple_embedding.layer_multipliers",
                                           "layers.1.ple.ple_embedding.ngram_heads_offsets",
                                           "layers.1.ple.ple_embedding.ngram_heads_vocab_sizes" };
    struct file f;
    if (!need_shared())
        skip();
    open_model(&f, "qwen4_exp");
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
        int64_t number;
        memcpy(&number, f.data + number_at(&f, tensors[i]) + sizeof number, sizeof number);
        check(&f, tensors[i], 1, number, QUIRE_OK);
        check(&f, tensors[i], 1, number + 2, QUIRE_E_UNSUPPORTED);
        char *type = strstr(entry(&f, tensors[i]), "I64");
        assert_non_null(type);
        memcpy(type, "F64", 3);
        check(&f, tensors[i], 1, number, QUIRE_E_UNSUPPORTED);
        memcpy(type, "I64", 3);
    }
    free(f.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(experts_of_tokens),
                                        cmocka_unit_test(tables_of_ngrams) };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
