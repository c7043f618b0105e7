/* SPDX-License-Identifier: Apache-2.0 */
/* test_mtp_heads.h - models with three random heads of multi-token prediction that take turns: MiMo
 * V2 of the reference data, and a small Step 3.5. */
#ifndef QUIRE_TEST_MTP_HEADS_H
#define QUIRE_TEST_MTP_HEADS_H
#include "test_draft_requests.h"
#include "test_mtp.h"

enum { N_HEADS = 3, HIDDEN = 64, VOCAB = 320 };
enum turns_family { MIMO_V2, STEP, N_TURNS };

static const char step_config[] =
    "{\"model_type\": \"step3p5\", \"hidden_size\": 64, \"intermediate_size\": 96,"
    "\"num_attention_heads\": 4, \"num_attention_groups\": 2, \"head_dim\": 16,"
    "\"num_hidden_layers\": 3, \"vocab_size\": 320, \"max_position_embeddings\": 512,"
    "\"rms_norm_eps\": 1e-5, \"sliding_window\": 16, \"num_nextn_predict_layers\": 3,"
    "\"layer_types\": [\"full_attention\", \"sliding_attention\", \"full_attention\","
    "\"sliding_attention\", \"sliding_attention\", \"sliding_attention\"],"
    "\"rope_theta\": [5e6, 1e4, 5e6, 1e4, 1e4, 1e4],"
    "\"partial_rotary_factors\": [0.5, 1.0, 0.5, 1.0, 1.0, 1.0],"
    "\"use_head_wise_attn_gate\": true, \"moe_layers_enum\": \"1\", \"moe_num_experts\": 4,"
    "\"moe_top_k\": 2, \"moe_intermediate_size\": 32, \"share_expert_dim\": 32,"
    "\"norm_expert_weight\": true, \"moe_router_activation\": \"sigmoid\","
    "\"use_moe_router_bias\": true, \"use_moe\": true, \"use_qk_norm\": true,"
    "\"zero_centered\": true, \"swiglu_limits\": [0, 0.5, 0, 0, 0, 0],"
    "\"swiglu_limits_shared\": [0, 0.5, 0.4, 0, 0, 0]}";

static inline void add_named(struct folder *f, const char *prefix, const char *name, uint64_t rows,
                             uint64_t cols, float mean, float scale)
{
    char full[160];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    struct tensor *t = add(f, full, rows, cols);
    for (size_t i = 0; i < t->n; i++)
        t->data[i] = mean + scale * next_uniform();
}

static inline void add_step_mlp(struct folder *f, const char *prefix, const char *mlp, uint64_t ffn)
{
    char at[120];
    snprintf(at, sizeof at, "%s%s", prefix, mlp);
    add_named(f, at, "gate_proj.weight", ffn, HIDDEN, 0, 0.4f);
    add_named(f, at, "up_proj.weight", ffn, HIDDEN, 0, 0.4f);
    add_named(f, at, "down_proj.weight", HIDDEN, ffn, 0, 0.4f);
}

static inline void add_step_layer(struct folder *f, uint32_t layer)
{
    char at[80], expert[40];
    snprintf(at, sizeof at, "model.layers.%u.", layer);
    add_named(f, at, "input_layernorm.weight", 0, HIDDEN, 0, 0.2f);
    add_named(f, at, "post_attention_layernorm.weight", 0, HIDDEN, 0, 0.2f);
    add_named(f, at, "self_attn.q_proj.weight", 64, HIDDEN, 0, 0.4f);
    add_named(f, at, "self_attn.k_proj.weight", 32, HIDDEN, 0, 0.4f);
    add_named(f, at, "self_attn.v_proj.weight", 32, HIDDEN, 0, 0.4f);
    add_named(f, at, "self_attn.o_proj.weight", HIDDEN, 64, 0, 0.4f);
    add_named(f, at, "self_attn.g_proj.weight", 4, HIDDEN, 0, 0.4f);
    add_named(f, at, "self_attn.q_norm.weight", 0, 16, 0, 0.2f);
    add_named(f, at, "self_attn.k_norm.weight", 0, 16, 0, 0.2f);
    if (layer != 1) {
        add_step_mlp(f, at, "mlp.", 96);
        return;
    }
    add_named(f, at, "moe.gate.weight", 4, HIDDEN, 0, 0.4f);
    add_named(f, at, "moe.router_bias", 0, 4, 0, 0.2f);
    for (int e = 0; e < 4; e++) {
        snprintf(expert, sizeof expert, "moe.experts.%d.", e);
        add_step_mlp(f, at, expert, 32);
    }
    add_step_mlp(f, at, "share_expert.", 32);
}

static inline void make_step(struct folder *f)
{
    memset(f, 0, sizeof *f);
    seed = 11;
    f->config = calloc(1, 1 << 16);
    strcpy(f->config, step_config);
    add_named(f, "model.", "embed_tokens.weight", VOCAB, HIDDEN, 0, 1);
    add_named(f, "model.", "norm.weight", 0, HIDDEN, 0, 0.2f);
    narrow_output(f);
    for (uint32_t i = 0; i < 3 + N_HEADS; i++)
        add_step_layer(f, i);
    for (uint32_t i = 3; i < 3 + N_HEADS; i++) {
        char at[80];
        snprintf(at, sizeof at, "model.layers.%u.", i);
        add_named(f, at, "enorm.weight", 0, HIDDEN, 0, 0.2f);
        add_named(f, at, "hnorm.weight", 0, HIDDEN, 0, 0.2f);
        add_named(f, at, "eh_proj.weight", HIDDEN, 2 * HIDDEN, 0, 0.4f);
        add_named(f, at, "transformer.shared_head.norm.weight", 0, HIDDEN, 0, 0.2f);
        add_named(f, at, "transformer.shared_head.output.weight", VOCAB, HIDDEN, 0, 0);
        struct tensor *t = &f->t[f->n - 1]; /* as narrow_output() */
        for (size_t j = 40 * HIDDEN; j < 44 * (size_t)HIDDEN; j++)
            t->data[j] = next_uniform();
    }
}

static inline void make_mimo(struct folder *f)
{
    read_folder(f, "mimo_v2_flash");
    seed = 5;
    narrow_output(f);
    for (uint32_t i = 0; i < N_HEADS; i++) {
        char at[40], from[80];
        snprintf(at, sizeof at, "model.mtp.layers.%u.", i);
        snprintf(from, sizeof from, "%sself_attn.", at);
        copy_layer(f, "model.layers.2.self_attn.", from);
        for (size_t j = 0; j < f->n; j++) /* each head has weights of its own */
            for (size_t x = 0; strncmp(f->t[j].name, from, strlen(from)) == 0 && x < f->t[j].n; x++)
                f->t[j].data[x] += 0.1f * next_uniform();
        snprintf(from, sizeof from, "%smlp.", at);
        copy_layer(f, "model.layers.0.mlp.", from);
        add_named(f, at, "input_layernorm.weight", 0, HIDDEN, 1, 0.2f);
        add_named(f, at, "pre_mlp_layernorm.weight", 0, HIDDEN, 1, 0.2f);
        add_named(f, at, "enorm.weight", 0, HIDDEN, 1, 0.2f);
        add_named(f, at, "hnorm.weight", 0, HIDDEN, 1, 0.2f);
        add_named(f, at, "eh_proj.weight", HIDDEN, 2 * HIDDEN, 0, 0.4f);
        add_named(f, at, "final_layernorm.weight", 0, HIDDEN, 1, 0.2f);
    }
}

static inline void make_turns(struct folder *f, enum turns_family family)
{
    (family == STEP ? make_step : make_mimo)(f);
}

/* Prefix of the tensors of a head. */
static inline void name_head(enum turns_family family, uint32_t k, char name[80])
{
    snprintf(name, 80, family == STEP ? "model.layers.%u." : "model.mtp.layers.%u.",
             family == STEP ? 3 + k : k);
}

static inline void write_turns(enum turns_family family)
{
    struct folder f;
    make_turns(&f, family);
    write_with_tokenizer(&f);
    free_folder(&f);
}

/* ---- A context over a model or its heads */

enum { ROWS = 192, BLOCK = 16 };

struct run {
    struct quire_model *model;
    struct quire_kv_cache *kv;
    struct quire_context *context;
    uint32_t n_groups;
    int32_t tables[2][ROWS / BLOCK];
};

static inline void open_run(struct run *s, struct quire_model *m)
{
    struct quire_kv_group_config groups[2] = { 0 };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_context_params cp;
    s->model = m;
    assert_status(QUIRE_OK, quire_model_kv_groups(m, groups, 2, &s->n_groups));
    for (uint32_t g = 0; g < s->n_groups; g++) {
        groups[g].n_blocks = ROWS / BLOCK;
        groups[g].k_dtype = groups[g].v_dtype = QUIRE_KV_F32;
    }
    const struct quire_kv_params kp = {
        .struct_size = sizeof kp, .block_size = BLOCK, .groups = groups, .n_groups = s->n_groups
    };
    assert_status(QUIRE_OK, quire_kv_create(&kp, &s->kv, &err));
    for (uint32_t g = 0; g < s->n_groups; g++)
        assert_status(QUIRE_OK, quire_kv_alloc(s->kv, g, -1, ROWS / BLOCK, s->tables[g], &err));
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = s->kv;
    cp.max_tokens = cp.max_seq_len = ROWS;
    assert_status(QUIRE_OK, quire_context_create(m, &cp, &s->context, &err));
}

static inline void close_run(struct run *s)
{
    quire_context_destroy(s->context);
    quire_kv_destroy(s->kv);
}

/* Runs rows [first, end) of one sequence; arrays of args begin with row `first`. */
static inline quire_status run_rows(const struct run *s, uint32_t first, uint32_t end,
                                    struct quire_forward_args args, struct quire_error *err)
{
    int64_t slots[2][ROWS];
    struct quire_attention_batch_group groups[2];
    const int32_t starts[] = { 0, (int32_t)(end - first) }, len = (int32_t)end;
    for (uint32_t g = 0; g < s->n_groups; g++) {
        for (uint32_t i = first; i < end; i++)
            slots[g][i - first] = (int64_t)s->tables[g][i / BLOCK] * BLOCK + i % BLOCK;
        groups[g] = (struct quire_attention_batch_group){ .block_table = s->tables[g],
                                                          .max_blocks = ROWS / BLOCK,
                                                          .slot_mapping = slots[g] };
    }
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = &len,
                                                 .n_groups = s->n_groups,
                                                 .groups = groups };
    args.struct_size = sizeof args;
    args.batch = &batch;
    *err = (struct quire_error)QUIRE_ERROR_INIT;
    return quire_context_forward(s->context, &args, err);
}

#endif
