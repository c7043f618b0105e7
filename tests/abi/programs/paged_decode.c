/* SPDX-License-Identifier: Apache-2.0 */
/* paged_decode.c - attention API: a decode step of two sequences against a computation in double.
 * Compiled with the headers of an earlier version and linked with the current library. */
#include <math.h>
#include <quire/attention.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 4, KV_HEADS = 2, D = 32, BLOCK = 16, SEQS = 2, MAX_LEN = 40 };
static const int32_t lens[SEQS] = { 40, 7 };

static float k[SEQS][MAX_LEN][KV_HEADS][D], v[SEQS][MAX_LEN][KV_HEADS][D];
static float q[SEQS][HEADS][D], out[SEQS][HEADS][D], lse[SEQS][HEADS];

static void check(quire_status s, const struct quire_error *err)
{
    if (s != QUIRE_OK) {
        fprintf(stderr, "%s: %s\n", quire_status_name(s), err->msg);
        exit(1);
    }
}

static void fill(float *x, size_t n)
{
    static uint32_t state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 8) / (float)(1 << 23) - 1;
    }
}

/* Largest difference between out and lse and softmax(scale * q . k) . v computed in double. */
static double largest_difference(double scale)
{
    double largest = 0;
    for (int s = 0; s < SEQS; s++)
        for (int h = 0; h < HEADS; h++) {
            const int kvh = h / (HEADS / KV_HEADS);
            double sum = 0, o[D] = { 0 };
            for (int i = 0; i < lens[s]; i++) {
                double dot = 0;
                for (int d = 0; d < D; d++)
                    dot += (double)q[s][h][d] * (double)k[s][i][kvh][d];
                const double p = exp(scale * dot);
                sum += p;
                for (int d = 0; d < D; d++)
                    o[d] += p * (double)v[s][i][kvh][d];
            }
            largest = fmax(largest, fabs(log(sum) - (double)lse[s][h]));
            for (int d = 0; d < D; d++)
                largest = fmax(largest, fabs(o[d] / sum - (double)out[s][h][d]));
        }
    return largest;
}

static void write_rows(struct quire_kv_cache *kv, int s, const int32_t *table)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    int64_t slots[MAX_LEN];
    struct quire_kv_slot_args map;
    quire_kv_slot_args_init(&map, sizeof map);
    map.block_size = BLOCK;
    map.block_table = table;
    map.n_entries = 3;
    map.n_tokens = (size_t)lens[s];
    check(quire_kv_map_slots(&map, slots, &err), &err);
    struct quire_kv_write_args write;
    quire_kv_write_args_init(&write, sizeof write);
    write.dtype = QUIRE_KV_F32;
    write.k = k[s];
    write.v = v[s];
    write.slot_mapping = slots;
    write.n_tokens = (size_t)lens[s];
    check(quire_kv_write(kv, &write, NULL, &err), &err);
}

int main(void)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_kv_group_config group = { .n_layers = 1,
                                           .n_kv_heads = KV_HEADS,
                                           .head_size = D,
                                           .k_dtype = QUIRE_KV_F32,
                                           .v_dtype = QUIRE_KV_F32,
                                           .n_blocks = 4 };
    struct quire_kv_params kv_params;
    quire_kv_params_init(&kv_params, sizeof kv_params);
    kv_params.block_size = BLOCK;
    kv_params.groups = &group;
    kv_params.n_groups = 1;
    struct quire_kv_cache *kv;
    check(quire_kv_create(&kv_params, &kv, &err), &err);
    int32_t table[SEQS][3] = { { 0 } };
    check(quire_kv_alloc(kv, 0, -1, 1, table[1], &err), &err);
    check(quire_kv_alloc(kv, 0, -1, 3, table[0], &err), &err);
    fill(&k[0][0][0][0], sizeof k / sizeof(float));
    fill(&v[0][0][0][0], sizeof v / sizeof(float));
    fill(&q[0][0][0], sizeof q / sizeof(float));
    write_rows(kv, 0, table[0]);
    write_rows(kv, 1, table[1]);

    struct quire_attention_config attention;
    quire_attention_config_init(&attention, sizeof attention, HEADS, KV_HEADS, D);
    attention.compute = QUIRE_COMPUTE_F32;
    struct quire_plan_group groups = { &attention, 0, 0 };
    struct quire_plan_params plan_params;
    quire_plan_params_init(&plan_params, sizeof plan_params);
    plan_params.kv = kv;
    plan_params.groups = &groups;
    plan_params.n_groups = 1;
    plan_params.max_tokens = plan_params.max_seqs = SEQS;
    plan_params.max_seq_len = 3 * BLOCK;
    plan_params.n_threads = 2;
    struct quire_plan *plan;
    check(quire_plan_create(&plan_params, &plan, &err), &err);
    struct quire_attention_batch_group tables = { .block_table = &table[0][0], .max_blocks = 3 };
    const int32_t starts[SEQS + 1] = { 0, 1, 2 };
    struct quire_attention_batch batch;
    quire_attention_batch_init(&batch, sizeof batch);
    batch.n_seqs = SEQS;
    batch.query_start_loc = starts;
    batch.seq_lens = lens;
    batch.n_groups = 1;
    batch.groups = &tables;
    check(quire_plan_build(plan, &batch, &err), &err);

    struct quire_threads_params threads_params;
    quire_threads_params_init(&threads_params, sizeof threads_params);
    threads_params.backend = QUIRE_THREADS_PTHREAD;
    threads_params.n_threads = 2;
    struct quire_threads *threads;
    check(quire_threads_create(&threads_params, &threads, &err), &err);
    struct quire_attention_args args;
    quire_attention_args_init(&args, sizeof args);
    args.q = q;
    args.out = out;
    args.lse = &lse[0][0];
    check(quire_attention_forward(plan, &args, threads, &err), &err);
    const double difference = largest_difference((double)attention.scale);
    printf("paged_decode: largest difference %.2g\n", difference);
    quire_threads_destroy(threads);
    quire_plan_destroy(plan);
    quire_kv_destroy(kv);
    return !(difference < 1e-5);
}
