/* SPDX-License-Identifier: Apache-2.0 */
/* test_draft_heads.h - heads of multi-token prediction in folders of their own, with random
 * weights, and engines that draft with them. */
#ifndef QUIRE_TEST_DRAFT_HEADS_H
#define QUIRE_TEST_DRAFT_HEADS_H
#include "test_draft_requests.h"
#include "test_mtp.h"
#include <sys/stat.h>

static char head_path[80]; /* a folder in `dir` */

/* Adds a matrix, or with 0 rows the vector of a norm. */
static inline void add_weights(struct folder *f, const char *name, uint64_t rows, uint64_t cols)
{
    struct tensor *t = add(f, name, rows, cols);
    for (size_t i = 0; i < t->n; i++)
        t->data[i] = (rows ? 0 : 1) + 0.4f * next_uniform();
}

/* Writes a model of the reference data to `dir`, with outputs for four tokens. */
static inline void write_base(const char *golden)
{
    struct folder f;
    read_folder(&f, golden);
    seed = 7;
    narrow_output(&f);
    write_with_tokenizer(&f);
    free_folder(&f);
}

/* Writes the tensors of a head, which it frees, and its config.json to head_path. */
static inline void write_head(struct folder *f, const char *config)
{
    char base[64];
    f->config = strdup(config);
    assert_non_null(f->config);
    snprintf(head_path, sizeof head_path, "%s/head", dir);
    (void)mkdir(head_path, 0700);
    strcpy(base, dir);
    snprintf(dir, sizeof dir, "%.50s/head", base);
    write_with_tokenizer(f);
    strcpy(dir, base);
    free_folder(f);
}

/* Parameters of an engine over the model in `dir` with the head in head_path. */
static inline struct quire_engine_params head_params(void)
{
    struct quire_engine_params p = mtp_params();
    p.draft_model_path = head_path;
    p.flags = 0;
    return p;
}

#endif
