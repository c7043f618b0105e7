/* SPDX-License-Identifier: Apache-2.0 */
/* test_tensor_shapes.c - models of which a tensor has another type, number of dimensions or name:
 * recurrent weights, experts, tables, matrices stored as [in][out], heads of multi-token
 * prediction, and tensors that no weight uses. */
#include "base/alloc.h"
#include "model/config/unknown.h"
#include "model/load/tensor_map.h"
#include "model/load/weights.h"
#include "test_mtp.h"
#include "test_raw_folder.h"
#include <quire/model.h>

static struct raw_folder f;

static quire_status open_weights(bool mtp, struct qr_weights **w, struct quire_error *err)
{
    const struct qr_weights_params p = { .path = dir, .strict = true, .mtp = mtp };
    return qr_weights_open(&p, w, err);
}

/* The folder's status, and a part of the message. */
static void expect_weights(quire_status status, const char *text)
{
    struct qr_weights *w;
    struct quire_error err = QUIRE_ERROR_INIT;
    raw_write(&f);
    const quire_status s = open_weights(false, &w, &err);
    if (s != status || (text && !strstr(err.msg, text)))
        fail_msg("got %s \"%s\", expected %s \"%s\"", quire_status_name(s), err.msg,
                 quire_status_name(status), text ? text : "");
    qr_weights_close(w);
}

/* ---- One tensor with another type or shape */

struct shape {
    const char *model, *tensor, *dtype;
    uint32_t n_dims;
    uint64_t shape[5];
    quire_status status;
    const char *text;
};

#define LAYER  "model.layers.0."
#define MAMBA  "backbone.layers.0.mixer."
#define EXPERT LAYER "block_sparse_moe.experts.1.w1.weight"

static const struct shape shapes[] = {
    /* recurrent matrices may have dimensions of size 1 in any place */
    { "mamba2",
      MAMBA "conv1d.weight",
      "F32",
      5,
      { 1, 160, 1, 4, 1 },
      QUIRE_E_FORMAT,
      "conv1d.weight has 5 dimensions" },
    { "mamba2", MAMBA "conv1d.weight", "F32", 4, { 1, 160, 1, 4 }, QUIRE_OK, NULL },
    { "mamba2",
      MAMBA "conv1d.weight",
      "F32",
      4,
      { 5, 8, 4, 4 },
      QUIRE_E_FORMAT,
      "conv1d.weight has 4 dimensions" },
    { "mamba2",
      MAMBA "conv1d.weight",
      "F32",
      3,
      { 4, 1, 160 },
      QUIRE_E_FORMAT,
      "conv1d.weight has 3 dimensions (4 x 1 x 160)" },
    { "mamba2", MAMBA "conv1d.weight", "F32", 1, { 640 }, QUIRE_E_FORMAT, "conv1d.weight has 1" },
    { "mamba2", MAMBA "A_log", "F32", 2, { 2, 4 }, QUIRE_OK, NULL },
    { "mamba2", MAMBA "A_log", "F32", 1, { 9 }, QUIRE_E_FORMAT, "A_log has 1 dimensions" },
    { "mamba2", MAMBA "A_log", "F32", 1, { 7 }, QUIRE_E_FORMAT, "A_log has 1 dimensions" },
    { "mamba2", MAMBA "A_log", "F32", 3, { 4, 4, 4 }, QUIRE_E_FORMAT, "A_log has 3 dimensions" },
    { "mamba2", MAMBA "A_log", "F32", 5, { 1, 1, 1, 1, 8 }, QUIRE_E_FORMAT, "A_log has 5" },
    { "llama",
      LAYER "self_attn.q_proj.weight",
      "F32",
      4,
      { 2, 1, 64, 64 },
      QUIRE_E_FORMAT,
      "q_proj.weight has 4 dimensions" },
    { "llama", LAYER "self_attn.q_proj.weight", "F32", 4, { 1, 1, 64, 64 }, QUIRE_OK, NULL },
    { "llama",
      LAYER "self_attn.q_proj.weight",
      "F32",
      5,
      { 1, 1, 1, 64, 64 },
      QUIRE_E_FORMAT,
      "q_proj.weight has 5 dimensions" },
    { "llama",
      LAYER "self_attn.q_proj.weight",
      "I64",
      2,
      { 64, 64 },
      QUIRE_E_UNSUPPORTED,
      "q_proj.weight has type I64, which is not supported" },
    { "mixtral", EXPERT, "BF16", 2, { 96, 64 }, QUIRE_E_FORMAT, "differs from expert 0" },
    { "mixtral", EXPERT, "F32", 3, { 1, 96, 64 }, QUIRE_E_FORMAT, "differs from expert 0" },
    { "mixtral", EXPERT, "F32", 2, { 64, 96 }, QUIRE_E_FORMAT, "differs from expert 0" },
    { "deepseek_v4",
      LAYER "ffn.gate.tid2eid",
      "I64",
      2,
      { 2, 320 },
      QUIRE_E_FORMAT,
      "gate.tid2eid has 2 dimensions (2 x 320)" },
    { "qwen4_exp",
      "model.layers.1.ple.ple_embedding.layer_multipliers",
      "I64",
      1,
      { 4 },
      QUIRE_E_UNSUPPORTED,
      "layer_multipliers has numbers that do not follow" },
};

static void other_shapes(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        raw_read(&f, shapes[i].model);
        raw_set(&f, shapes[i].tensor, shapes[i].dtype, shapes[i].n_dims, shapes[i].shape);
        expect_weights(shapes[i].status, shapes[i].text);
        raw_clear(&f);
    }
}

/* ---- Convolutions of recurrent layers in three tensors */

static void convolutions(void **state)
{
    (void)state;
#define CONV LAYER "linear_attn.q_conv1d.weight"
    if (!need_shared())
        skip();
    raw_read(&f, "olmo_hybrid");
    expect_weights(QUIRE_OK, NULL);
    raw_set(&f, CONV, "F32", SHAPE(65, 1, 4));
    expect_weights(QUIRE_E_FORMAT, "q_conv1d.weight has 3 dimensions");
    raw_set(&f, CONV, "F32", SHAPE(64, 4));
    expect_weights(QUIRE_E_FORMAT, "q_conv1d.weight has 2 dimensions");
    raw_remove(&f, CONV);
    expect_weights(QUIRE_E_FORMAT, "q_conv1d.weight is missing");
    raw_clear(&f);
    raw_read(&f, "olmo_hybrid"); /* channels that are no multiple of three */
    raw_config(&f, "\"linear_value_head_dim\": 24", "\"linear_value_head_dim\": 25");
    expect_weights(QUIRE_E_FORMAT, "the model description needs 100 x 64");
    raw_clear(&f);
}

/* ---- Matrices that are stored as [in][out], quantized */

static void transposed(void **state)
{
    (void)state;
#define H "transformer.h.0.attn."
    if (!need_shared())
        skip();
    raw_read(&f, "gpt2");
    raw_config(&f, "{", "{\"quantization_config\":{\"quant_method\":\"fp8\"},");
    expect_weights(QUIRE_OK, NULL);
    raw_set(&f, H "c_proj.weight", "F8_E4M3", SHAPE(64, 64));
    expect_weights(QUIRE_E_FORMAT, "c_proj.weight_scale is missing");
    raw_add(&f, H "c_proj.weight_scale_inv", "F32", SHAPE(1));
    expect_weights(QUIRE_OK, NULL);
    raw_set(&f, H "c_attn.weight", "F8_E4M3", SHAPE(64, 192));
    raw_add(&f, H "c_attn.weight_scale_inv", "F32", SHAPE(1));
    expect_weights(QUIRE_E_UNSUPPORTED,
                   "type F8_E4M3_32, a part of which cannot be read transposed");
    raw_clear(&f);
    for (int ordered = 0; ordered < 2; ordered++) {
        raw_read(&f, "gpt2");
        raw_config(&f, "{",
                   "{\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":4,"
                   "\"group_size\":32},");
        raw_remove(&f, H "c_proj.weight");
        raw_add(&f, H "c_proj.qweight", "I32", SHAPE(8, 64));
        raw_add(&f, H "c_proj.qzeros", "I32", SHAPE(2, 8));
        raw_add(&f, H "c_proj.scales", "F16", SHAPE(2, 64));
        const struct raw *g = raw_add(&f, H "c_proj.g_idx", "I32", SHAPE(64));
        for (size_t k = 0; k < 64; k++)
            g->data[4 * k] = (uint8_t)(ordered ? k / 32 : k % 2);
        expect_weights(ordered ? QUIRE_OK : QUIRE_E_UNSUPPORTED,
                       ordered ? NULL : "has act-order and cannot be read transposed");
        raw_clear(&f);
    }
}

/* ---- Tensors that no weight uses */

static void unused(void **state)
{
    (void)state;
    static const struct {
        const char *model, *tensor;
        quire_status status;
    } cases[] = {
        /* experts 4 and 5 return their input */
        { "longcat_flash", LAYER "mlp.experts.5.down_proj.weight", QUIRE_OK },
        { "longcat_flash", LAYER "mlp.experts.6.down_proj.weight", QUIRE_E_UNSUPPORTED },
        { "longcat_flash", LAYER "mlp.experts.5.mystery", QUIRE_E_UNSUPPORTED },
        { "longcat_flash", "model.layers.9.mlp.experts.3.up_proj.weight", QUIRE_E_UNSUPPORTED },
        /* layer 3 predicts further tokens */
        { "deepseek_v3", "model.layers.3.mystery", QUIRE_OK },
        { "deepseek_v3", "mystery", QUIRE_E_UNSUPPORTED },
        { "deepseek_v3", "mystery.layers.3", QUIRE_E_UNSUPPORTED },
        /* layers 3 and 4 read the keys and values of earlier ones */
        { "gemma3n_text", "model.layers.4.self_attn.k_proj.weight", QUIRE_OK },
        { "gemma3n_text", "model.layers.4.self_attn.v_proj.weight", QUIRE_OK },
        { "gemma3n_text", "model.layers.4.self_attn.w_proj.weight", QUIRE_E_UNSUPPORTED },
    };
    if (!need_shared())
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        raw_read(&f, cases[i].model);
        raw_add(&f, cases[i].tensor, "F32", SHAPE(2, 3));
        expect_weights(cases[i].status, cases[i].status == QUIRE_OK ? NULL : cases[i].tensor);
        raw_clear(&f);
    }
}

/* A head's copies of the embedding and the output matrix are known, other tensors of its layer are
 * not. */
static void unused_by_heads(void **state)
{
    (void)state;
    static const struct {
        int family;
        const char *tensor;
        quire_status status;
    } cases[] = {
        { DEEPSEEK, "model.layers.3.embed_tokens.weight", QUIRE_OK },
        { DEEPSEEK, "model.layers.3.shared_head.head.weight", QUIRE_OK },
        { DEEPSEEK, "model.layers.3.mystery.weight", QUIRE_E_UNSUPPORTED },
        { DEEPSEEK, "model.layers.1.mystery.weight", QUIRE_OK }, /* of the model */
        { QWEN, "mtp.layers.0.mystery.weight", QUIRE_E_UNSUPPORTED },
        { NEMOTRON, "mtp.layers.1.mystery.weight", QUIRE_E_UNSUPPORTED },
        { NEMOTRON, "mtp.layers.2.mystery.weight", QUIRE_OK }, /* of another head */
    };
    if (!need_shared())
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct folder head;
        struct qr_weights *w;
        struct quire_error err = QUIRE_ERROR_INIT;
        read_family(&head, &families[cases[i].family]);
        add(&head, cases[i].tensor, 320, 64);
        write_folder(&head, none, none);
        const quire_status s = open_weights(true, &w, &err);
        if (s != cases[i].status || (s != QUIRE_OK && !strstr(err.msg, cases[i].tensor)))
            fail_msg("%s: %s \"%s\"", cases[i].tensor, quire_status_name(s), err.msg);
        qr_weights_close(w);
        free_folder(&head);
    }
}

/* ---- The model as a whole */

static void whole_models(void **state)
{
    (void)state;
    struct qr_weights *w;
    struct quire_error err = QUIRE_ERROR_INIT;
    if (!need_shared())
        skip();
    raw_read(&f, "llama");
    raw_config(&f, "\"num_hidden_layers\": 3", "\"num_hidden_layers\": 300");
    expect_weights(QUIRE_E_FORMAT, "the model has 300 layers, and only ");
    raw_clear(&f);
    /* an output matrix of an encoder's own */
    raw_read(&f, "bert");
    for (int own = 0; own < 2; own++) {
        if (own)
            raw_add(&f, "cls.predictions.decoder.weight", "F32", SHAPE(320, 64));
        raw_write(&f);
        assert_status(QUIRE_OK, open_weights(false, &w, &err));
        assert_int_equal(qr_weights_config(w)->no_lm_head, !own);
        assert_int_equal(qr_weights_config(w)->tied_embeddings, !own);
        qr_weights_close(w);
    }
    raw_clear(&f);
}

/* A weight that the family has no name for is missing by the name of its role. */
static void role_without_name(void **state)
{
    (void)state;
    struct qr_weights *w;
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct qr_unknown_policy policy = { 0 };
    if (!need_shared())
        skip();
    raw_read(&f, "llama");
    raw_write(&f);
    raw_clear(&f);
    assert_status(QUIRE_OK, open_weights(false, &w, &err));
    struct qr_weights other = *w;
    other.config.learned_positions = true;
    qr_arena_init(&other.lists, NULL, 0);
    assert_status(QUIRE_E_FORMAT, qr_tensor_map_build(&other, &policy, &err));
    assert_string_equal(err.msg, "tensor pos_embd is missing");
    qr_free(NULL, other.tensor_map, other.tensor_map_size, sizeof *other.tensor_map);
    qr_arena_free(&other.lists);
    qr_weights_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_shapes),      cmocka_unit_test(convolutions),
        cmocka_unit_test(transposed),        cmocka_unit_test(unused),
        cmocka_unit_test(unused_by_heads),   cmocka_unit_test(whole_models),
        cmocka_unit_test(role_without_name),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
