/* SPDX-License-Identifier: Apache-2.0 */
/* mixed_batch.c - prefill, chunked prefill and decode in one call, with a sliding window of 8
 * tokens over an fp8 KV cache. The decoding sequence has freed the blocks that fell out of its
 * window. */
#include <math.h>
#include <quire/attention.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 4, KV_HEADS = 2, D = 32, BLOCK = 16, WINDOW = 8 };
enum { SEQS = 3, TOKENS = 6 + 4 + 1, LONGEST = 60 };

static const int lens[SEQS] = { 6, 30, LONGEST }, new_tokens[SEQS] = { 6, 4, 1 };

static void check(quire_status s, const struct quire_error *err)
{
    if (s != QUIRE_OK) {
        fprintf(stderr, "%s\n", err->msg);
        exit(1);
    }
}

/* Queries are 0, so all scores are equal and each output is the mean of the values in
 * its window. */
static int count_wrong(float (*v)[KV_HEADS][D], float (*out)[HEADS][D], const int32_t *starts)
{
    int wrong = 0;
    for (int i = 0; i < SEQS; i++)
        for (int t = 0; t < new_tokens[i]; t++) {
            const int pos = lens[i] - new_tokens[i] + t;
            const int first = pos < WINDOW ? 0 : pos - WINDOW + 1;
            double mean = 0;
            for (int j = first; j <= pos; j++)
                mean += (double)v[j][0][0] / (pos - first + 1);
            const double got = (double)out[starts[i] + t][HEADS - 1][D - 1];
            printf("sequence %d token %2d attends to %2d .. %2d: %6.3f (expect %6.3f)\n", i, pos,
                   first, pos, got, mean);
            wrong += !(fabs(got - mean) < 1e-2);
        }
    return wrong;
}

int main(void)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    /* one scale per KV head: a value x is stored as x / scale, rounded */
    const float scales[KV_HEADS] = { 0.5f, 2 };
    struct quire_kv_group_config group = { .n_layers = 1, .n_kv_heads = KV_HEADS, .head_size = D,
                                           .n_blocks = 8, .k_dtype = QUIRE_KV_FP8_E4M3,
                                           .v_dtype = QUIRE_KV_FP8_E4M3, .k_scale = scales,
                                           .v_scale = scales, .n_k_scales = KV_HEADS,
                                           .n_v_scales = KV_HEADS, .sliding_window = WINDOW };
    struct quire_kv_params config = { .struct_size = sizeof config, .block_size = BLOCK,
                                      .groups = &group, .n_groups = 1 };
    struct quire_kv_cache *kv;
    check(quire_kv_create(&config, &kv, &err), &err);

    int32_t table[SEQS][LONGEST / BLOCK + 1] = { { 0 } }, starts[SEQS + 1] = { 0 }, seq_lens[SEQS];
    uint32_t first_block[SEQS];
    static float k[LONGEST][KV_HEADS][D], v[LONGEST][KV_HEADS][D];
    static float q[TOKENS][HEADS][D], out[TOKENS][HEADS][D];
    for (int i = 0; i < LONGEST; i++)
        for (int h = 0; h < KV_HEADS; h++)
            for (int d = 0; d < D; d++)
                v[i][h][d] = (float)(i / 4); /* representable in fp8 */
    for (int i = 0; i < SEQS; i++) {
        const int n_past = lens[i] - new_tokens[i];
        first_block[i] = quire_kv_first_block(BLOCK, WINDOW, (uint32_t)n_past);
        const int first = (int)first_block[i] * BLOCK, n = lens[i] - first;
        check(quire_kv_alloc(kv, 0, -1, (size_t)(n + BLOCK - 1) / BLOCK, table[i], &err), &err);
        int64_t slots[LONGEST];
        for (int j = 0; j < n; j++)
            slots[j] = (int64_t)table[i][j / BLOCK] * BLOCK + j % BLOCK;
        struct quire_kv_write_args write = { .struct_size = sizeof write, .dtype = QUIRE_KV_F32,
                                             .k = k[first], .v = v[first], .slot_mapping = slots,
                                             .n_tokens = (size_t)n };
        check(quire_kv_write(kv, &write, NULL, &err), &err);
        starts[i + 1] = starts[i] + new_tokens[i];
        seq_lens[i] = lens[i];
    }

    struct quire_attention_config attention;
    quire_attention_config_init(&attention, sizeof attention, HEADS, KV_HEADS, D);
    attention.window_left = WINDOW - 1; /* a token and the 7 before it */
    struct quire_plan_group layer = { &attention, 0, 0 };
    struct quire_plan_params pp = { .struct_size = sizeof pp, .kv = kv, .groups = &layer,
                                    .n_groups = 1, .max_tokens = TOKENS, .max_seqs = SEQS,
                                    .max_seq_len = LONGEST, .n_threads = 1 };
    struct quire_plan *plan;
    check(quire_plan_create(&pp, &plan, &err), &err);
    struct quire_attention_batch_group tables = { .block_table = table[0],
                                                  .max_blocks = LONGEST / BLOCK + 1,
                                                  .first_block = first_block };
    struct quire_attention_batch batch = { .struct_size = sizeof batch, .n_seqs = SEQS,
                                           .n_groups = 1, .groups = &tables,
                                           .query_start_loc = starts, .seq_lens = seq_lens };
    check(quire_plan_build(plan, &batch, &err), &err);
    struct quire_attention_args args = { .struct_size = sizeof args, .q = q, .out = out };
    check(quire_attention_forward(plan, &args, NULL, &err), &err);

    const int wrong = count_wrong(v, out, starts);
    quire_plan_destroy(plan);
    quire_kv_destroy(kv);
    return wrong != 0;
}
