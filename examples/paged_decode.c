/* SPDX-License-Identifier: Apache-2.0 */
/* paged_decode.c - attention without a model: KV cache, plan, one decode step of two sequences. */
#include <math.h>
#include <quire/attention.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 8, KV_HEADS = 2, D = 64, BLOCK = 16, LEN0 = 40, LEN1 = 7 };

static void check(quire_status s, const struct quire_error *err)
{
    if (s != QUIRE_OK) {
        fprintf(stderr, "%s\n", err->msg);
        exit(1);
    }
}

int main(void)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_kv_group_config group = { .n_layers = 1, .n_kv_heads = KV_HEADS, .head_size = D,
                                           .k_dtype = QUIRE_KV_BF16, .v_dtype = QUIRE_KV_BF16,
                                           .n_blocks = 4 };
    struct quire_kv_params config = { .struct_size = sizeof config, .block_size = BLOCK,
                                      .groups = &group, .n_groups = 1 };
    struct quire_kv_cache *kv;
    check(quire_kv_create(&config, &kv, &err), &err);
    int32_t table[2][3] = { { 0 } };
    check(quire_kv_alloc(kv, 0, -1, 3, table[0], &err), &err);
    check(quire_kv_alloc(kv, 0, -1, 1, table[1], &err), &err);

    static float k[LEN0 + LEN1][KV_HEADS][D], v[LEN0 + LEN1][KV_HEADS][D];
    static float q[2][HEADS][D], out[2][HEADS][D];
    int64_t slots[LEN0 + LEN1];
    for (int i = 0; i < LEN0 + LEN1; i++) { /* slot = block id * block size + offset */
        const int seq = i >= LEN0, pos = seq ? i - LEN0 : i;
        slots[i] = (int64_t)table[seq][pos / BLOCK] * BLOCK + pos % BLOCK;
        for (int h = 0; h < KV_HEADS; h++)
            for (int d = 0; d < D; d++)
                v[i][h][d] = (float)pos;
    }
    struct quire_kv_write_args write = { .struct_size = sizeof write, .dtype = QUIRE_KV_F32, .k = k,
                                         .v = v, .slot_mapping = slots, .n_tokens = LEN0 + LEN1 };
    check(quire_kv_write(kv, &write, NULL, &err), &err);

    struct quire_attention_config attention;
    quire_attention_config_init(&attention, sizeof attention, HEADS, KV_HEADS, D);
    struct quire_plan_group shared = { &attention, 0, 0 };
    struct quire_plan_params pp = { .struct_size = sizeof pp, .kv = kv, .groups = &shared,
                                    .n_groups = 1, .max_tokens = 2, .max_seqs = 2,
                                    .max_seq_len = 48, .n_threads = 1 };
    struct quire_plan *plan;
    check(quire_plan_create(&pp, &plan, &err), &err);
    struct quire_attention_batch_group tables = { .block_table = &table[0][0], .max_blocks = 3 };
    struct quire_attention_batch batch = { .struct_size = sizeof batch, .n_seqs = 2,
                                           .n_groups = 1, .groups = &tables,
                                           .query_start_loc = (int32_t[]){ 0, 1, 2 },
                                           .seq_lens = (int32_t[]){ LEN0, LEN1 } };
    check(quire_plan_build(plan, &batch, &err), &err);
    struct quire_attention_args args = { .struct_size = sizeof args, .q = &q[0][0][0],
                                         .out = &out[0][0][0] };
    check(quire_attention_forward(plan, &args, NULL, &err), &err);
    /* all scores are equal, so each output is the mean of the values */
    const double means[2] = { (double)out[0][0][0], (double)out[1][HEADS - 1][D - 1] };
    printf("%.3f (expect 19.500)  %.3f (expect 3.000)\n", means[0], means[1]);
    quire_plan_destroy(plan);
    quire_kv_destroy(kv);
    return !(fabs(means[0] - 19.5) < 1e-3 && fabs(means[1] - 3) < 1e-3);
}
