/* SPDX-License-Identifier: Apache-2.0 */
/* attention.c - scenarios of the attention API: cache, plan, attention, dense, merge, bias, MLA. */
#include "scenarios.h"
#include <string.h>

enum { HEADS = 4, KV_HEADS = 2, D = 32, BLOCK = 16, TOKENS = 70, BLOCKS = 5, NEW = 3 };

struct paged {
    struct quire_kv_cache *kv;
    struct quire_plan *plan;
    struct quire_threads *threads;
    struct quire_host_team *team;
    int32_t table[BLOCKS];
    int64_t slots[TOKENS];
    float k[TOKENS][KV_HEADS][D], v[TOKENS][KV_HEADS][D];
    float q[NEW][HEADS][D], out[NEW][HEADS][D], lse[NEW][HEADS];
    float k_scale, v_scale;
    float plain[BLOCKS * 2 * BLOCK * KV_HEADS * D];
};

static quire_status calibrate(struct run *run, struct paged *p, enum quire_kv_dtype dtype)
{
    quire_status s;
    float k_amax[KV_HEADS] = { 0 }, v_amax[KV_HEADS] = { 0 };
    const struct quire_kv_calibrate_args args = { .struct_size = sizeof args,
                                                  .n_kv_heads = KV_HEADS,
                                                  .head_size = D,
                                                  .dtype = QUIRE_KV_F32,
                                                  .k = p->k,
                                                  .v = p->v,
                                                  .n_tokens = TOKENS };
    CALL(quire_kv_calibrate(&args, k_amax, v_amax, &run->err));
    CALL(quire_kv_calibrate_scales(dtype, k_amax, KV_HEADS, &p->k_scale, 1, &run->err));
    CALL(quire_kv_calibrate_scales(dtype, v_amax, KV_HEADS, &p->v_scale, 1, &run->err));
    add_result(run, &p->k_scale, sizeof p->k_scale);
end:
    return s;
}

static quire_status create_cache(struct run *run, struct paged *p, enum quire_kv_dtype dtype)
{
    quire_status s;
    struct quire_kv_group_config group = { .n_layers = 1,
                                           .n_kv_heads = KV_HEADS,
                                           .head_size = D,
                                           .k_dtype = dtype,
                                           .v_dtype = dtype,
                                           .n_blocks = BLOCKS,
                                           .k_scale = &p->k_scale,
                                           .v_scale = &p->v_scale,
                                           .n_k_scales = 1,
                                           .n_v_scales = 1 };
    const struct quire_kv_params params = { .struct_size = sizeof params,
                                            .block_size = BLOCK,
                                            .groups = &group,
                                            .n_groups = 1,
                                            .allocator = run->allocator };
    struct quire_kv_memory memory = { .struct_size = sizeof memory };
    CALL(quire_kv_bytes(&params, &memory, &run->err));
    CALL(quire_kv_create(&params, &p->kv, &run->err));
    CALL(quire_kv_alloc(p->kv, 0, -1, BLOCKS, p->table, &run->err));
end:
    return s;
}

static quire_status fill_cache(struct run *run, struct paged *p)
{
    quire_status s;
    const struct quire_kv_slot_args slots = { .struct_size = sizeof slots,
                                              .block_size = BLOCK,
                                              .block_table = p->table,
                                              .n_entries = BLOCKS,
                                              .n_tokens = TOKENS };
    CALL(quire_kv_map_slots(&slots, p->slots, &run->err));
    struct quire_kv_write_args w = { .struct_size = sizeof w,
                                     .dtype = QUIRE_KV_F32,
                                     .k = p->k,
                                     .v = p->v,
                                     .slot_mapping = p->slots,
                                     .n_tokens = TOKENS };
    CALL(quire_kv_write(p->kv, &w, p->threads, &run->err));
    CALL(quire_kv_write_check(p->kv, &w, &run->err));
    DO(quire_kv_write_part(p->kv, &w, quire_host_team_member(p->team, 0)));
    const struct quire_kv_read_args r = { .struct_size = sizeof r,
                                          .k = &p->plain[0],
                                          .v = &p->plain[TOKENS * KV_HEADS * D],
                                          .slots = p->slots,
                                          .n_tokens = TOKENS };
    CALL(quire_kv_read(p->kv, &r, &run->err));
    add_result(run, p->plain, 2 * TOKENS * KV_HEADS * D * sizeof(float));
    const struct quire_kv_plain_args plain = {
        .struct_size = sizeof plain,
        .blocks = p->table,
        .n_blocks = BLOCKS - 1, /* the last one has slots that were never written */
        .layout = quire_kv_plain_block_major(QUIRE_KV_F32, BLOCK, KV_HEADS, D),
        .size = sizeof p->plain,
    };
    CALL(quire_kv_export(p->kv, &plain, p->plain, &run->err));
    add_result(run, p->plain, (BLOCKS - 1) * 2 * BLOCK * KV_HEADS * D * sizeof(float));
    CALL(quire_kv_import(p->kv, &plain, p->plain, &run->err));
end:
    return s;
}

static quire_status attend(struct run *run, struct paged *p)
{
    quire_status s;
    struct quire_attention_config c;
    DO(quire_attention_config_init(&c, sizeof c, HEADS, KV_HEADS, D));
    add_result(run, &c.scale, sizeof c.scale);
    c.logits_soft_cap = 30;
    const struct quire_plan_group group = { &c, 0, 0 };
    const struct quire_plan_params params = { .struct_size = sizeof params,
                                              .kv = p->kv,
                                              .groups = &group,
                                              .n_groups = 1,
                                              .max_tokens = NEW,
                                              .max_seqs = 1,
                                              .max_seq_len = TOKENS,
                                              .n_threads = 2,
                                              .allocator = run->allocator };
    uint64_t bytes;
    CALL(quire_plan_bytes(&params, &bytes, &run->err));
    CALL(quire_plan_create(&params, &p->plan, &run->err));
    const struct quire_attention_batch_group table = { .block_table = p->table,
                                                       .max_blocks = BLOCKS };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .n_groups = 1,
                                                 .groups = &table,
                                                 .query_start_loc = (int32_t[]){ 0, NEW },
                                                 .seq_lens = (int32_t[]){ TOKENS } };
    CALL(quire_plan_build(p->plan, &batch, &run->err));
    const struct quire_attention_args args = { .struct_size = sizeof args,
                                               .q = &p->q[0][0][0],
                                               .out = &p->out[0][0][0],
                                               .lse = &p->lse[0][0] };
    CALL(quire_attention_forward(p->plan, &args, p->threads, &run->err));
    add_result(run, p->out, sizeof p->out);
    add_result(run, p->lse, sizeof p->lse);
    memset(p->out, 0, sizeof p->out);
    CALL(quire_attention_check(p->plan, &args, &run->err));
    DO(quire_attention_part(p->plan, &args, quire_host_team_member(p->team, 0)));
    add_result(run, p->out, sizeof p->out);
end:
    return s;
}

static quire_status run_dtype(struct run *run, struct paged *p, enum quire_kv_dtype dtype)
{
    quire_status s = calibrate(run, p, dtype);
    if (s == QUIRE_OK)
        s = create_cache(run, p, dtype);
    if (s == QUIRE_OK)
        s = fill_cache(run, p);
    if (s == QUIRE_OK)
        s = attend(run, p);
    DO(quire_plan_destroy(p->plan));
    DO(quire_kv_destroy(p->kv));
    p->plan = NULL;
    p->kv = NULL;
    return s;
}

quire_status run_paged(struct run *run)
{
    static struct paged p; /* larger than a small stack */
    quire_status s;
    memset(&p, 0, sizeof p);
    fill_floats(&p.k[0][0][0], sizeof p.k / sizeof(float), 1);
    fill_floats(&p.v[0][0][0], sizeof p.v / sizeof(float), 2);
    fill_floats(&p.q[0][0][0], sizeof p.q / sizeof(float), 3);
    struct quire_threads_params tp;
    quire_threads_params_init(&tp, sizeof tp);
    tp.n_threads = 2;
    tp.allocator = run->allocator;
    CALL(quire_threads_create(&tp, &p.threads, &run->err));
    CALL(quire_host_team_create(1, run->allocator, &p.team, &run->err));
    for (int dtype = QUIRE_KV_F32; s == QUIRE_OK && dtype <= QUIRE_KV_INT8; dtype++)
        s = run_dtype(run, &p, (enum quire_kv_dtype)dtype);
end:
    DO(quire_host_team_destroy(p.team));
    DO(quire_threads_destroy(p.threads));
    return s;
}

quire_status run_dense(struct run *run)
{
    static float k[TOKENS][KV_HEADS][D], v[TOKENS][KV_HEADS][D], q[NEW][HEADS][D],
        out[NEW][HEADS][D];
    quire_status s;
    struct quire_dense *dense = NULL;
    struct quire_host_team *team = NULL;
    fill_floats(&k[0][0][0], sizeof k / sizeof(float), 4);
    fill_floats(&v[0][0][0], sizeof v / sizeof(float), 5);
    fill_floats(&q[0][0][0], sizeof q / sizeof(float), 6);
    struct quire_attention_config c;
    quire_attention_config_init(&c, sizeof c, HEADS, KV_HEADS, D);
    const struct quire_dense_params params = { .struct_size = sizeof params,
                                               .dtype = QUIRE_KV_BF16,
                                               .config = &c,
                                               .max_tokens = NEW,
                                               .max_kv_tokens = TOKENS,
                                               .max_seqs = 1,
                                               .n_threads = 1,
                                               .allocator = run->allocator };
    uint64_t bytes;
    CALL(quire_dense_bytes(&params, &bytes, &run->err));
    CALL(quire_dense_create(&params, &dense, &run->err));
    CALL(quire_host_team_create(1, run->allocator, &team, &run->err));
    const struct quire_dense_batch batch = { .struct_size = sizeof batch,
                                             .n_seqs = 1,
                                             .query_start_loc = (int32_t[]){ 0, NEW },
                                             .kv_start_loc = (int32_t[]){ 0, TOKENS },
                                             .dtype = QUIRE_KV_F32,
                                             .k = k,
                                             .v = v };
    const struct quire_attention_args args = { .struct_size = sizeof args,
                                               .q = &q[0][0][0],
                                               .out = &out[0][0][0] };
    CALL(quire_attention_dense(dense, &batch, &args, NULL, &run->err));
    add_result(run, out, sizeof out);
    CALL(quire_dense_prepare(dense, &batch, &run->err));
    CALL(quire_dense_check(dense, &batch, &args, &run->err));
    DO(quire_dense_part(dense, &batch, &args, quire_host_team_member(team, 0)));
    add_result(run, out, sizeof out);
end:
    DO(quire_host_team_destroy(team));
    DO(quire_dense_destroy(dense));
    return s;
}

quire_status run_merge(struct run *run)
{
    static float parts[2][NEW][HEADS][D], lse[2][NEW][HEADS], out[NEW][HEADS][D];
    quire_status s;
    struct quire_host_team *team = NULL;
    fill_floats(&parts[0][0][0][0], sizeof parts / sizeof(float), 7);
    fill_floats(&lse[0][0][0], sizeof lse / sizeof(float), 8);
    const struct quire_attention_partial partials[2] = {
        { .out = &parts[0][0][0][0], .lse = &lse[0][0][0] },
        { .out = &parts[1][0][0][0], .lse = &lse[1][0][0] },
    };
    const struct quire_attention_merge_args args = { .struct_size = sizeof args,
                                                     .n_parts = 2,
                                                     .parts = partials,
                                                     .n_tokens = NEW,
                                                     .n_heads = HEADS,
                                                     .v_head_size = D,
                                                     .out = &out[0][0][0] };
    CALL(quire_attention_merge(&args, NULL, &run->err));
    add_result(run, out, sizeof out);
    CALL(quire_host_team_create(1, run->allocator, &team, &run->err));
    CALL(quire_attention_merge_check(&args, &run->err));
    DO(quire_attention_merge_part(&args, quire_host_team_member(team, 0)));
    add_result(run, out, sizeof out);
end:
    DO(quire_host_team_destroy(team));
    return s;
}

quire_status run_bias(struct run *run)
{
    quire_status s;
    float slopes[12], table[8 * 2], out[12 * 4 * 6], relative[2 * 33];
    CALL(quire_alibi_slopes(12, slopes, &run->err));
    add_result(run, slopes, sizeof slopes);
    CALL(quire_alibi_bias(slopes, 12, 4, 6, true, out, 6, 0, &run->err));
    add_result(run, out, sizeof out);
    CALL(quire_sliding_window_bias(4, 6, 2, 0, out, 6, &run->err));
    add_result(run, out, 4 * 6 * sizeof *out);
    fill_floats(table, 16, 9);
    CALL(quire_relative_bias(table, 8, 2, true, 16, 16, relative, &run->err));
    add_result(run, relative, sizeof relative);
end:
    return s;
}

quire_status run_mla(struct run *run)
{
    enum { RANK = 32, NOPE = 16, ROPE = 8, V = 16 };
    static float kv_b[HEADS][NOPE + V][RANK], q[NEW][HEADS][NOPE + ROPE],
        latent[NEW][HEADS][RANK + ROPE], wide[NEW][HEADS][RANK], up[NEW][HEADS][V];
    quire_status s;
    struct quire_mla_weights *w = NULL;
    struct quire_host_team *team = NULL;
    fill_floats(&kv_b[0][0][0], sizeof kv_b / sizeof(float), 10);
    fill_floats(&q[0][0][0], sizeof q / sizeof(float), 11);
    fill_floats(&wide[0][0][0], sizeof wide / sizeof(float), 12);
    const struct quire_mla_dims dims = { .struct_size = sizeof dims,
                                         .n_heads = HEADS,
                                         .kv_lora_rank = RANK,
                                         .qk_nope_head_dim = NOPE,
                                         .qk_rope_head_dim = ROPE,
                                         .v_head_dim = V };
    float mscale;
    DO(mscale = quire_mla_yarn_mscale(40, 0.707f));
    add_result(run, &mscale, sizeof mscale);
    struct quire_attention_config c;
    quire_attention_config_init(&c, sizeof c, 1, 1, 1);
    CALL(quire_mla_absorbed_config(&dims, mscale, &c, &run->err));
    add_result(run, &c.scale, sizeof c.scale);
    CALL(quire_mla_expanded_config(&dims, mscale, &c, &run->err));
    add_result(run, &c.scale, sizeof c.scale);
    const struct quire_mla_weights_params params = { .struct_size = sizeof params,
                                                     .dims = &dims,
                                                     .kv_b = kv_b,
                                                     .dtype = QUIRE_KV_F32,
                                                     .allocator = run->allocator };
    CALL(quire_mla_weights_create(&params, &w, &run->err));
    CALL(quire_host_team_create(1, run->allocator, &team, &run->err));
    const struct quire_mla_args absorb = {
        .struct_size = sizeof absorb, .in = &q[0][0][0], .out = &latent[0][0][0], .n_tokens = NEW
    };
    const struct quire_mla_args project = {
        .struct_size = sizeof project, .in = &wide[0][0][0], .out = &up[0][0][0], .n_tokens = NEW
    };
    CALL(quire_mla_absorb(w, &absorb, NULL, &run->err));
    CALL(quire_mla_v_up_proj(w, &project, NULL, &run->err));
    add_result(run, latent, sizeof latent);
    add_result(run, up, sizeof up);
    CALL(quire_mla_absorb_check(w, &absorb, &run->err));
    CALL(quire_mla_v_up_proj_check(w, &project, &run->err));
    DO(quire_mla_absorb_part(w, &absorb, quire_host_team_member(team, 0)));
    DO(quire_mla_v_up_proj_part(w, &project, quire_host_team_member(team, 0)));
    add_result(run, latent, sizeof latent);
    add_result(run, up, sizeof up);
end:
    DO(quire_host_team_destroy(team));
    DO(quire_mla_weights_destroy(w));
    return s;
}
