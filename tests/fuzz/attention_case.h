/* SPDX-License-Identifier: Apache-2.0 */
/* attention_case.h - an attention call drawn from bytes: mostly valid, with single wild fields. */
#ifndef QUIRE_FUZZ_ATTENTION_CASE_H
#define QUIRE_FUZZ_ATTENTION_CASE_H
#include "fuzz.h"
#include <quire/attention.h>

enum { CASE_SEQS = 4, CASE_HEADS = 16, CASE_BLOCKS = 8, CASE_SPANS = 2, CASE_GROUPS = 2 };

/* Arrays are allocated with their exact sizes, so that a sanitizer detects reads past them. */
struct attention_case {
    bool wild; /* some field is arbitrary: results may be infinite */

    struct quire_attention_config config;
    float *slopes, *sinks, *relative;

    struct quire_kv_params kv;
    struct quire_kv_group_config groups[CASE_GROUPS];
    float *k_scales, *v_scales;

    struct quire_plan_params plan;
    struct quire_plan_group plan_group;

    struct quire_attention_batch batch;
    struct quire_attention_batch_group tables[CASE_GROUPS];
    int32_t *starts, *lens, *encoder_lens, *span_loc, *table;
    uint32_t *first_block;
    bool *causal;
    struct quire_token_range *spans;
    uint64_t *tree;
    struct quire_sparse_list *lists;
    const struct quire_sparse_list *list_of_group[CASE_GROUPS];
    int32_t *listed;
    uint32_t n_rows; /* before a field became wild */

    struct quire_attention_args args; /* without buffers */
};

void attention_case_draw(struct attention_case *c, struct fuzz_input *in);
void attention_case_free(struct attention_case *c);

#endif
