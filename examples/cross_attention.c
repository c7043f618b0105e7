/* SPDX-License-Identifier: Apache-2.0 */
/* cross_attention.c - decoder tokens of two sequences attend to the encoder output of their
 * sequence, which has its own length and its own KV group. */
#include <math.h>
#include <quire/attention.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 4, D = 32, BLOCK = 16, SEQS = 2, LONGEST = 24, TOKENS = 5 };

static const int32_t encoder_lens[SEQS] = { 24, 10 }, decoder_lens[SEQS] = { 3, 7 };
static const int32_t starts[SEQS + 1] = { 0, 3, 5 };

static void check(quire_status s, const struct quire_error *err)
{
    if (s != QUIRE_OK) {
        fprintf(stderr, "%s\n", err->msg);
        exit(1);
    }
}

/* Key j of an encoder is unit vector j; its value is 100 * sequence + j. */
static void write_encoders(struct quire_kv_cache *kv, int32_t (*table)[LONGEST / BLOCK + 1])
{
    struct quire_error err = QUIRE_ERROR_INIT;
    static float k[LONGEST][HEADS][D], v[LONGEST][HEADS][D];
    for (int i = 0; i < SEQS; i++) {
        int64_t slots[LONGEST];
        const size_t n_blocks = (size_t)(encoder_lens[i] + BLOCK - 1) / BLOCK;
        check(quire_kv_alloc(kv, 0, -1, n_blocks, table[i], &err), &err);
        for (int j = 0; j < encoder_lens[i]; j++) {
            slots[j] = (int64_t)table[i][j / BLOCK] * BLOCK + j % BLOCK;
            for (int h = 0; h < HEADS; h++) {
                k[j][h][j] = 1;
                for (int d = 0; d < D; d++)
                    v[j][h][d] = (float)(100 * i + j);
            }
        }
        struct quire_kv_write_args write = { .struct_size = sizeof write, .dtype = QUIRE_KV_F32,
                                             .k = k, .v = v, .slot_mapping = slots,
                                             .n_tokens = (size_t)encoder_lens[i] };
        check(quire_kv_write(kv, &write, NULL, &err), &err);
    }
}

int main(void)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_kv_group_config group = { .n_layers = 1, .n_kv_heads = HEADS, .head_size = D,
                                           .n_blocks = 4, .k_dtype = QUIRE_KV_F32,
                                           .v_dtype = QUIRE_KV_F32 };
    struct quire_kv_params config = { .struct_size = sizeof config, .block_size = BLOCK,
                                      .groups = &group, .n_groups = 1 };
    struct quire_kv_cache *kv;
    check(quire_kv_create(&config, &kv, &err), &err);

    int32_t table[SEQS][LONGEST / BLOCK + 1];
    write_encoders(kv, table);

    struct quire_attention_config attention;
    quire_attention_config_init(&attention, sizeof attention, HEADS, HEADS, D);
    attention.kind = QUIRE_ATTENTION_CROSS;
    attention.causal = 0;
    attention.scale = 1;
    struct quire_plan_group layer = { &attention, 0, 0 };
    struct quire_plan_params pp = { .struct_size = sizeof pp, .kv = kv, .groups = &layer,
                                    .n_groups = 1, .max_tokens = TOKENS, .max_seqs = SEQS,
                                    .max_seq_len = LONGEST, .n_threads = 1 };
    struct quire_plan *plan;
    check(quire_plan_create(&pp, &plan, &err), &err);
    struct quire_attention_batch_group tables = { .block_table = table[0],
                                                  .max_blocks = LONGEST / BLOCK + 1 };
    struct quire_attention_batch batch = { .struct_size = sizeof batch, .n_seqs = SEQS,
                                           .n_groups = 1, .groups = &tables,
                                           .query_start_loc = starts, .seq_lens = decoder_lens,
                                           .encoder_seq_lens = encoder_lens };
    check(quire_plan_build(plan, &batch, &err), &err);

    /* the query of head h of token t matches key 3 t + h of its encoder, which may not exist */
    static float q[TOKENS][HEADS][D], out[TOKENS][HEADS][D];
    for (int t = 0; t < TOKENS; t++)
        for (int h = 0; h < HEADS; h++)
            q[t][h][3 * t + h] = 50;
    struct quire_attention_args args = { .struct_size = sizeof args, .q = q, .out = out };
    check(quire_attention_forward(plan, &args, NULL, &err), &err);

    int wrong = 0;
    for (int t = 0; t < TOKENS; t++) {
        const int i = t >= starts[1];
        printf("sequence %d:", i);
        for (int h = 0; h < HEADS; h++) {
            const int j = 3 * t + h;
            /* if no key matches, all scores are equal */
            const double want = 100 * i + (j < encoder_lens[i] ? j : (encoder_lens[i] - 1) / 2.0);
            printf("  %6.2f (expect %6.2f)", (double)out[t][h][0], want);
            wrong += !(fabs((double)out[t][h][0] - want) < 1e-3);
        }
        printf("\n");
    }
    quire_plan_destroy(plan);
    quire_kv_destroy(kv);
    return wrong != 0;
}
