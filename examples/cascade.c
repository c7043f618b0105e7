/* SPDX-License-Identifier: Apache-2.0 */
/* cascade.c - sequences with a shared system prompt: its KV blocks are stored once, and cascade
 * attention reads them once for all sequences. The output is bit-identical. */
#include <quire/attention.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 8, KV_HEADS = 2, D = 64, BLOCK = 64, SEQS = 6 };
enum { PREFIX = 1024, SUFFIX = 40, LEN = PREFIX + SUFFIX }; /* tokens */
enum { PREFIX_BLOCKS = PREFIX / BLOCK, BLOCKS = PREFIX_BLOCKS + 1 };

static float k[LEN][KV_HEADS][D], v[LEN][KV_HEADS][D], q[SEQS][HEADS][D], out[2][SEQS][HEADS][D];
static int32_t table[SEQS][BLOCKS];

static void check(quire_status s, const struct quire_error *err)
{
    if (s != QUIRE_OK) {
        fprintf(stderr, "%s\n", err->msg);
        exit(1);
    }
}

static void fill(float *x, size_t n)
{
    static uint32_t seed = 1;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        x[i] = (float)(seed >> 8) / (1 << 23) - 1;
    }
}

/* Writes keys and values of tokens [from, to) of a sequence. */
static void write_kv(struct quire_kv_cache *kv, const int32_t *blocks, int from, int to)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    static int64_t slots[LEN];
    for (int i = from; i < to; i++)
        slots[i] = (int64_t)blocks[i / BLOCK] * BLOCK + i % BLOCK;
    fill(k[from][0], (size_t)(to - from) * KV_HEADS * D);
    fill(v[from][0], (size_t)(to - from) * KV_HEADS * D);
    struct quire_kv_write_args write = { .struct_size = sizeof write, .dtype = QUIRE_KV_F32,
                                         .k = k[from], .v = v[from], .slot_mapping = slots + from,
                                         .n_tokens = (size_t)(to - from) };
    check(quire_kv_write(kv, &write, NULL, &err), &err);
}

/* Runs one decode step of all sequences. Returns the number of work items that serve several
 * sequences. */
static uint32_t attend(const struct quire_kv_cache *kv, uint32_t flags, void *result)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_attention_config attention;
    quire_attention_config_init(&attention, sizeof attention, HEADS, KV_HEADS, D);
    struct quire_plan_group layer = { &attention, 0, 0 };
    struct quire_plan_params pp = { .struct_size = sizeof pp, .kv = kv, .groups = &layer,
                                    .n_groups = 1, .max_tokens = SEQS, .max_seqs = SEQS,
                                    .max_seq_len = LEN, .n_threads = 1, .flags = flags };
    struct quire_plan *plan;
    check(quire_plan_create(&pp, &plan, &err), &err);
    int32_t starts[SEQS + 1], lens[SEQS];
    for (int i = 0; i <= SEQS; i++)
        starts[i] = i;
    for (int i = 0; i < SEQS; i++)
        lens[i] = LEN;
    struct quire_attention_batch_group tables = { .block_table = table[0], .max_blocks = BLOCKS };
    struct quire_attention_batch batch = { .struct_size = sizeof batch, .n_seqs = SEQS,
                                           .n_groups = 1, .groups = &tables,
                                           .query_start_loc = starts, .seq_lens = lens };
    check(quire_plan_build(plan, &batch, &err), &err);
    struct quire_attention_args args = { .struct_size = sizeof args, .q = q, .out = result };
    check(quire_attention_forward(plan, &args, NULL, &err), &err);
    struct quire_plan_info info = { .struct_size = sizeof info };
    check(quire_plan_get_info(plan, 0, &info), &err);
    quire_plan_destroy(plan);
    return info.n_cascades;
}

int main(void)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_kv_group_config group = { .n_layers = 1, .n_kv_heads = KV_HEADS, .head_size = D,
                                           .k_dtype = QUIRE_KV_BF16, .v_dtype = QUIRE_KV_BF16,
                                           .n_blocks = PREFIX_BLOCKS + SEQS };
    struct quire_kv_params config = { .struct_size = sizeof config, .block_size = BLOCK,
                                      .groups = &group, .n_groups = 1 };
    struct quire_kv_cache *kv;
    check(quire_kv_create(&config, &kv, &err), &err);
    check(quire_kv_alloc(kv, 0, -1, PREFIX_BLOCKS, table[0], &err), &err);
    write_kv(kv, table[0], 0, PREFIX);
    for (int i = 0; i < SEQS; i++) {
        if (i > 0) { /* one more reference to every block of the prefix */
            memcpy(table[i], table[0], PREFIX_BLOCKS * sizeof table[0][0]);
            check(quire_kv_retain(kv, 0, table[i], PREFIX_BLOCKS, &err), &err);
        }
        check(quire_kv_alloc(kv, 0, -1, 1, &table[i][PREFIX_BLOCKS], &err), &err);
        write_kv(kv, table[i], PREFIX, LEN);
    }
    fill(q[0][0], sizeof q / sizeof(float));

    const uint32_t plain = attend(kv, QUIRE_PLAN_NO_CASCADE, out[0]);
    const uint32_t cascade = attend(kv, QUIRE_PLAN_CASCADE, out[1]);
    const int same = memcmp(out[0], out[1], sizeof out[0]) == 0;
    printf("%d sequences of %d tokens in %d blocks instead of %d\n", SEQS, LEN,
           PREFIX_BLOCKS + SEQS, SEQS * BLOCKS);
    printf("work items that serve several sequences: %u without cascade, %u with cascade\n", plain,
           cascade);
    printf("output: %.6f %.6f ..., %s\n", (double)out[1][0][0][0], (double)out[1][0][0][1],
           same ? "bit-identical" : "DIFFERENT");
    quire_kv_destroy(kv);
    return !(same && plain == 0 && cascade > 0);
}
