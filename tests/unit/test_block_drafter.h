/* SPDX-License-Identifier: Apache-2.0 */
/* test_block_drafter.h - block drafters with random weights, and the models that they draft for. */
#ifndef QUIRE_TEST_BLOCK_DRAFTER_H
#define QUIRE_TEST_BLOCK_DRAFTER_H
#include "test_draft_heads.h"
#include "test_head_step.h"

enum { BASE = 64, HIDDEN = 64, HEADS = 4, KV_HEADS = 2, HEAD = 16, FFN = 96, LAYERS = 2, N = 3 };
enum { FEATURES = 2, ROWS = 6, MASK = 319, RANK = 24 };

static const char head_config[] =
    "{\"architectures\": [\"%s\"], \"model_type\": \"qwen3\", "
    "\"vocab_size\": 320, \"hidden_size\": 64, \"intermediate_size\": 96, "
    "\"num_hidden_layers\": 2, \"num_attention_heads\": 4, \"num_key_value_heads\": 2, "
    "\"head_dim\": 16, \"max_position_embeddings\": 512, \"rms_norm_eps\": 1e-05, "
    "\"block_size\": 6, %s\"dflash_config\": {\"target_layer_ids\": [0, 1], "
    "\"mask_token_id\": 319%s%s}}";
static const char head_of_markov[] =
    ", \"markov_rank\": 24, \"markov_head_type\": \"vanilla\", "
    "\"enable_confidence_head\": true, \"confidence_head_with_markov\": true";
static const char head_of_selector[] = ", \"conv_kernel_size\": 2, \"conv_group_size\": 16, "
                                       "\"selector_rank\": 24, \"selector_top_k\": 5";
static const char windows[] =
    "\"sliding_window\": 20, \"use_sliding_window\": true, \"max_window_layers\": 2, "
    "\"layer_types\": [\"sliding_attention\", \"full_attention\"], ";

/* What the logits of a block pass: nothing (DFlash), a Markov head with confidence (DSpark), or a
 * selector, behind convolutions (DFlash 2). */
enum drafter { PLAIN, MARKOV, SELECTOR };

/* Adds these parts. Behind each of the four tokens another one is likely. */
static inline void add_drafter_head(struct folder *f, enum drafter kind)
{
    const bool selects = kind == SELECTOR;
    char name[96];
    if (kind == PLAIN)
        return;
    add_weights(
        f, selects ? "candidate_selector.predecessor_codebook" : "markov_head.markov_w1.weight",
        320, RANK);
    add_weights(f,
                selects ? "candidate_selector.successor_codebook" : "markov_head.markov_w2.weight",
                320, RANK);
    struct tensor *in = &f->t[f->n - 2], *out = &f->t[f->n - 1];
    for (size_t i = 0; i < out->n; i++)
        out->data[i] = i / RANK >= 40 && i / RANK < 44 ? out->data[i] : 0;
    for (size_t t = 0; t < 4; t++)
        in->data[(40 + t) * RANK + t] = out->data[(40 + (t + 1) % 4) * RANK + t] = 3;
    if (!selects) {
        add_weights(f, "confidence_head.proj.weight", 1, (uint64_t)HIDDEN + RANK);
        add_weights(f, "confidence_head.proj.bias", 0, 1);
        return;
    }
    add_weights(f, "candidate_selector.hidden_projection.weight", RANK, HIDDEN);
    for (int i = 0; i < 2 * LAYERS; i++) {
        const char *part = i % 2 ? "mlp_conv" : "attention_conv";
        snprintf(name, sizeof name, "layers.%d.%s.base_kernel", i / 2, part);
        struct tensor *t = add(f, name, 4, HIDDEN);
        t->n_dims = 3;
        t->shape[0] = t->shape[1] = 2;
        t->shape[2] = HIDDEN;
        for (size_t j = 0; j < t->n; j++)
            t->data[j] = j / HIDDEN % 2 ? 0.3f * next_uniform() : 1;
        snprintf(name, sizeof name, "layers.%d.%s.kernel_projection.weight", i / 2, part);
        add_weights(f, name, 16, HIDDEN);
    }
}

/* Writes the model to `dir` and its drafter to a folder in it. Both have outputs for four tokens;
 * with own_output the drafter has a matrix for that, else the model's. keys, options: of the file
 * and of its dflash_config. */
static inline void write_drafter(const char *golden, bool own_output, const char *keys,
                                 const char *options, enum drafter kind)
{
    static const struct {
        const char *name;
        uint64_t rows, cols;
    } tensors[] = {
        { "input_layernorm.weight", 0, HIDDEN },
        { "post_attention_layernorm.weight", 0, HIDDEN },
        { "self_attn.q_proj.weight", (uint64_t)HEADS * HEAD, HIDDEN },
        { "self_attn.k_proj.weight", (uint64_t)KV_HEADS * HEAD, HIDDEN },
        { "self_attn.v_proj.weight", (uint64_t)KV_HEADS * HEAD, HIDDEN },
        { "self_attn.o_proj.weight", HIDDEN, (uint64_t)HEADS * HEAD },
        { "self_attn.q_norm.weight", 0, HEAD },
        { "self_attn.k_norm.weight", 0, HEAD },
        { "mlp.gate_proj.weight", FFN, HIDDEN },
        { "mlp.up_proj.weight", FFN, HIDDEN },
        { "mlp.down_proj.weight", HIDDEN, FFN },
    };
    struct folder f = { 0 };
    char name[96], config[sizeof head_config + sizeof windows + sizeof head_of_markov + 64];
    write_base(golden);
    for (int layer = 0; layer < LAYERS; layer++)
        for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
            snprintf(name, sizeof name, "layers.%d.%s", layer, tensors[i].name);
            add_weights(&f, name, tensors[i].rows, tensors[i].cols);
        }
    add_weights(&f, "fc.weight", HIDDEN, (uint64_t)FEATURES * BASE);
    add_weights(&f, "hidden_norm.weight", 0, HIDDEN);
    add_weights(&f, "norm.weight", 0, HIDDEN);
    if (own_output)
        narrow_output(&f);
    add_drafter_head(&f, kind);
    static const char *const types[] = { "DFlashDraftModel", "DSparkDraftModel",
                                         "DFlash2DraftModel" };
    const char *const heads[] = { "", head_of_markov, head_of_selector };
    snprintf(config, sizeof config, head_config, types[kind], keys, options, heads[kind]);
    write_head(&f, config);
}

static inline void write_models(const char *golden, bool own_output, const char *keys,
                                const char *options)
{
    write_drafter(golden, own_output, keys, options, PLAIN);
}

static inline void open_models(struct quire_model **base, struct quire_model **head)
{
    struct quire_error err;
    assert_status(QUIRE_OK, open_path(dir, NULL, base, &err));
    assert_status(QUIRE_OK, open_path(head_path, *base, head, &err));
}

static inline void close_models(struct quire_model *base, struct quire_model *head)
{
    assert_status(QUIRE_OK, quire_model_close(head));
    assert_status(QUIRE_OK, quire_model_close(base));
}

#endif
