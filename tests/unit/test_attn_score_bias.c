/* SPDX-License-Identifier: Apache-2.0 */
/* test_attn_score_bias.c - a bias of every score gives the bits of a relative bias with the same
 * values, at every ISA level and for every KV dtype. */
#include "attention/forward.h"
#include "base/threads.h"
#include "kernels/dispatch.h"
#include "test_attn.h"

enum {
    SEQS = 3,
    HEADS = 4,
    KV_HEADS = 2,
    D = 32,
    BLOCK = 64,
    LONGEST = 150,
    BLOCKS = 3, /* of the longest sequence */
    TOKENS = 1 + 40 + LONGEST,
    RANGE = LONGEST, /* no distance is clamped */
    STRIDE = BLOCKS * BLOCK
};

static const int32_t starts[SEQS + 1] = { 0, 1, 41, TOKENS }, lens[SEQS] = { 1, 40, LONGEST };

/* Random keys, values, queries and biases: the same for every cache. */
static struct {
    float q[TOKENS * HEADS * D], k[TOKENS * KV_HEADS * D], v[TOKENS * KV_HEADS * D];
    float relative[HEADS * (2 * RANGE + 1)], rows[TOKENS][HEADS][STRIDE];
    int32_t blocks[SEQS * BLOCKS];
} data;

static void fill(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = problem_uniform(-1, 1);
}

static void fill_data(void)
{
    fill(data.q, TOKENS * HEADS * D);
    fill(data.k, TOKENS * KV_HEADS * D);
    fill(data.v, TOKENS * KV_HEADS * D);
    fill(data.relative, HEADS * (2 * RANGE + 1));
    for (int s = 0; s < SEQS; s++)
        for (int i = 0; i < lens[s]; i++)
            for (int h = 0; h < HEADS; h++)
                for (int j = 0; j < STRIDE; j++)
                    data.rows[starts[s] + i][h][j] =
                        j < lens[s] ? data.relative[h * (2 * RANGE + 1) + RANGE + j - i] : 0;
}

static struct quire_kv_cache *open_cache(enum quire_kv_dtype dtype)
{
    struct quire_kv_cache *kv;
    const struct quire_kv_group_config group = { .n_layers = 1,
                                                 .n_kv_heads = KV_HEADS,
                                                 .head_size = D,
                                                 .n_blocks = SEQS * BLOCKS,
                                                 .k_dtype = dtype,
                                                 .v_dtype = dtype };
    const struct quire_kv_params params = {
        .struct_size = sizeof params, .block_size = BLOCK, .groups = &group, .n_groups = 1
    };
    int64_t slots[TOKENS];
    must(quire_kv_create(&params, &kv, &err));
    must(quire_kv_alloc(kv, 0, -1, SEQS * BLOCKS, data.blocks, &err));
    for (int s = 0; s < SEQS; s++)
        for (int i = 0; i < lens[s]; i++)
            slots[starts[s] + i] = (int64_t)data.blocks[s * BLOCKS + i / BLOCK] * BLOCK + i % BLOCK;
    const struct quire_kv_write_args write = { .struct_size = sizeof write,
                                               .k = data.k,
                                               .v = data.v,
                                               .slot_mapping = slots,
                                               .n_tokens = TOKENS };
    must(quire_kv_write(kv, &write, NULL, &err));
    return kv;
}

/* Attention of all tokens; both biases, one of which is NULL. */
static void attend(struct quire_kv_cache *kv, const char *level, enum quire_compute compute,
                   const float *relative, const struct qr_score_bias *bias, float *out)
{
    struct quire_attention_config config;
    quire_attention_config_init(&config, sizeof config, HEADS, KV_HEADS, D);
    config.kind = QUIRE_ATTENTION_ENCODER;
    config.causal = false;
    config.compute = compute;
    config.relative_bias = relative;
    config.relative_range = relative ? RANGE : 0;
    const struct quire_plan_group group = { .config = &config };
    const struct quire_plan_params params = { .struct_size = sizeof params,
                                              .kv = kv,
                                              .groups = &group,
                                              .n_groups = 1,
                                              .max_tokens = TOKENS,
                                              .max_seqs = SEQS,
                                              .max_seq_len = LONGEST,
                                              .n_threads = 1,
                                              .isa = level };
    const struct quire_attention_batch_group tables = { .block_table = data.blocks,
                                                        .max_blocks = BLOCKS };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = SEQS,
                                                 .query_start_loc = starts,
                                                 .seq_lens = lens,
                                                 .n_groups = 1,
                                                 .groups = &tables,
                                                 .encoder_seq_lens = lens };
    const struct quire_attention_args args = { .struct_size = sizeof args,
                                               .q = data.q,
                                               .out = out };
    struct quire_plan *plan;
    must(quire_plan_create(&params, &plan, &err));
    must(quire_plan_build(plan, &batch, &err));
    must(quire_attention_check(plan, &args, &err));
    qr_attention_part_with(plan, &args, NULL, bias, &(struct quire_team){ .size = 1 });
    quire_plan_destroy(plan);
}

static void same_bits_as_relative(void **state)
{
    (void)state;
    static const enum quire_kv_dtype dtypes[] = { QUIRE_KV_F32,      QUIRE_KV_BF16, QUIRE_KV_F16,
                                                  QUIRE_KV_FP8_E4M3, QUIRE_KV_INT8, QUIRE_KV_INT4 };
    static float want[TOKENS * HEADS * D], got[TOKENS * HEADS * D], none[TOKENS * HEADS * D];
    const struct qr_score_bias bias = { data.rows[0][0], STRIDE };
    fill_data();
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        struct quire_kv_cache *kv = open_cache(dtypes[d]);
        for (int level = 0; qr_level_name(level); level++)
            for (int compute = QUIRE_COMPUTE_NATIVE; compute <= QUIRE_COMPUTE_F32; compute++) {
                if (!qr_level_table(level))
                    continue;
                const char *name = qr_level_name(level);
                attend(kv, name, (enum quire_compute)compute, data.relative, NULL, want);
                attend(kv, name, (enum quire_compute)compute, NULL, &bias, got);
                attend(kv, name, (enum quire_compute)compute, NULL, NULL, none);
                assert_memory_equal(got, want, sizeof want);
                assert_memory_not_equal(none, want, sizeof want);
            }
        quire_kv_destroy(kv);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(same_bits_as_relative) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
