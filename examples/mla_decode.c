/* SPDX-License-Identifier: Apache-2.0 */
/* mla_decode.c - multi-head latent attention (MLA): one decode step over a latent KV cache,
 * compared with plain C attention over the expanded keys and values of every head. */
#include <math.h>
#include <quire/mla.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEADS = 4, RANK = 64, NOPE = 32, ROPE = 16, V = 24, LATENT = RANK + ROPE };
enum { LEN = 50, BLOCK = 64 };

static float kv_b[HEADS][NOPE + V][RANK], latent[LEN][LATENT], q[HEADS][NOPE + ROPE], out[HEADS][V];

static void check(quire_status s, const struct quire_error *err)
{
    if (s != QUIRE_OK) {
        fprintf(stderr, "%s\n", err->msg);
        exit(1);
    }
}

static void fill(float *x, size_t n, double step)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)sin((double)(i + 1) * step);
}

/* Element d of W_UK c (d < NOPE) or of W_UV c (d >= NOPE) of head h, for the latent c
 * of token j. */
static double up_projected(int h, int d, int j)
{
    double x = 0;
    for (int r = 0; r < RANK; r++)
        x += (double)kv_b[h][d][r] * (double)latent[j][r];
    return x;
}

/* Element d of the attention output of head h over expanded keys and values. */
static double expanded(int h, int d, double scale)
{
    double sum = 0, x = 0;
    for (int j = 0; j < LEN; j++) {
        double s = 0;
        for (int i = 0; i < NOPE; i++)
            s += (double)q[h][i] * up_projected(h, i, j);
        for (int i = 0; i < ROPE; i++)
            s += (double)q[h][NOPE + i] * (double)latent[j][RANK + i];
        const double p = exp(s * scale);
        sum += p;
        x += p * up_projected(h, NOPE + d, j);
    }
    return x / sum;
}

int main(void)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_mla_dims dims = { .struct_size = sizeof dims, .n_heads = HEADS,
                                   .kv_lora_rank = RANK, .qk_nope_head_dim = NOPE,
                                   .qk_rope_head_dim = ROPE, .v_head_dim = V };
    fill(&kv_b[0][0][0], sizeof kv_b / sizeof(float), 0.7);
    fill(&latent[0][0], sizeof latent / sizeof(float), 1.3);
    fill(&q[0][0], sizeof q / sizeof(float), 2.1);

    struct quire_kv_group_config group;
    check(quire_mla_kv_group(&dims, QUIRE_KV_F32, 1, 1, &group, &err), &err);
    struct quire_kv_params config = { .struct_size = sizeof config, .block_size = BLOCK,
                                      .groups = &group, .n_groups = 1 };
    struct quire_kv_cache *kv;
    check(quire_kv_create(&config, &kv, &err), &err);
    int32_t block;
    check(quire_kv_alloc(kv, 0, -1, 1, &block, &err), &err);
    int64_t slots[LEN];
    for (int j = 0; j < LEN; j++)
        slots[j] = (int64_t)block * BLOCK + j;
    struct quire_kv_write_args write = { .struct_size = sizeof write, .dtype = QUIRE_KV_F32,
                                         .k = latent, .slot_mapping = slots, .n_tokens = LEN };
    check(quire_kv_write(kv, &write, NULL, &err), &err);

    struct quire_attention_config attention = { .struct_size = sizeof attention };
    check(quire_mla_absorbed_config(&dims, 1, &attention, &err), &err);
    struct quire_plan_group layer = { &attention, 0, 0 };
    struct quire_plan_params pp = { .struct_size = sizeof pp, .kv = kv, .groups = &layer,
                                    .n_groups = 1, .max_tokens = 1, .max_seqs = 1,
                                    .max_seq_len = LEN, .n_threads = 1 };
    struct quire_plan *plan;
    check(quire_plan_create(&pp, &plan, &err), &err);
    const int32_t starts[] = { 0, 1 }, lens[] = { LEN };
    struct quire_attention_batch_group tables = { .block_table = &block, .max_blocks = 1 };
    struct quire_attention_batch batch = { .struct_size = sizeof batch, .n_seqs = 1,
                                           .n_groups = 1, .groups = &tables,
                                           .query_start_loc = starts, .seq_lens = lens };
    check(quire_plan_build(plan, &batch, &err), &err);

    struct quire_mla_weights_params wp = { .struct_size = sizeof wp, .dims = &dims, .kv_b = kv_b,
                                           .dtype = QUIRE_KV_F32 };
    struct quire_mla_weights *weights;
    check(quire_mla_weights_create(&wp, &weights, &err), &err);
    static float absorbed[HEADS][LATENT], mixed[HEADS][RANK];
    struct quire_mla_args in = { .struct_size = sizeof in, .in = q[0], .out = absorbed[0],
                                 .n_tokens = 1 };
    struct quire_attention_args attend = { .struct_size = sizeof attend, .q = absorbed,
                                           .out = mixed };
    struct quire_mla_args back = { .struct_size = sizeof back, .in = mixed[0], .out = out[0],
                                   .n_tokens = 1 };
    check(quire_mla_absorb(weights, &in, NULL, &err), &err);
    check(quire_attention_forward(plan, &attend, NULL, &err), &err);
    check(quire_mla_v_up_proj(weights, &back, NULL, &err), &err);

    double worst = 0;
    for (int h = 0; h < HEADS; h++)
        for (int d = 0; d < V; d++)
            worst = fmax(worst, fabs((double)out[h][d] - expanded(h, d, (double)attention.scale)));
    printf("a cached token takes %d floats instead of %d\n", LATENT, HEADS * (NOPE + ROPE + V));
    printf("head 0: %.5f %.5f %.5f ..., maximum difference from expanded attention %.1e\n",
           (double)out[0][0], (double)out[0][1], (double)out[0][2], worst);
    quire_mla_weights_destroy(weights);
    quire_plan_destroy(plan);
    quire_kv_destroy(kv);
    return !(worst < 1e-4);
}
