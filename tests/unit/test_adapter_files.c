/* SPDX-License-Identifier: Apache-2.0 */
/* test_adapter_files.c - files of adapters: what is refused, with the tensor or field. */
#include "test_adapter.h"
#include <math.h>

/* One option of adapter_config.json replaced. */
static void config_options(void **state)
{
    static const struct {
        const char *from, *to;
        quire_status status;
        const char *text;
    } cases[] = {
        { "\"r\": 4", "\"r\": 0", QUIRE_E_FORMAT, "r is 0" },
        { "\"r\": 4", "\"r\": 1000000", QUIRE_E_FORMAT, "r is 1000000" },
        { "\"r\": 4", "\"r\": -1", QUIRE_E_FORMAT, "r" },
        { "\"r\": 4", "\"r\": 5", QUIRE_E_FORMAT, "has 4 rows" },
        { "\"r\": 4", "\"r\": \"4\"", QUIRE_E_FORMAT, "r" },
        { "\"lora_alpha\": 8", "\"lora_alpha\": NaN", QUIRE_E_FORMAT, "adapter_config.json" },
        { "\"lora_alpha\": 8", "\"lora_alpha\": 1e300", QUIRE_E_FORMAT, "not finite" },
        { "\"lora_alpha\": 8", "\"lora_alpha\": null", QUIRE_E_FORMAT, "lora_alpha" },
        { "\"use_dora\": false", "\"use_dora\": true", QUIRE_E_UNSUPPORTED, "use_dora" },
        { "\"lora_bias\": false", "\"lora_bias\": true", QUIRE_E_UNSUPPORTED, "lora_bias" },
        { "\"bias\": \"none\"", "\"bias\": \"all\"", QUIRE_E_UNSUPPORTED, "bias is \"all\"" },
        { "\"peft_type\": \"LORA\"", "\"peft_type\": \"IA3\"", QUIRE_E_UNSUPPORTED, "peft_type" },
        { "\"modules_to_save\": null", "\"modules_to_save\": [\"lm_head\"]", QUIRE_E_UNSUPPORTED,
          "modules_to_save" },
        { "\"layer_replication\": null", "\"layer_replication\": [[0, 2]]", QUIRE_E_UNSUPPORTED,
          "layer_replication" },
        { "\"alora_invocation_tokens\": null", "\"alora_invocation_tokens\": [1]",
          QUIRE_E_UNSUPPORTED, "alora_invocation_tokens" },
        { "\"use_bdlora\": null", "\"use_bdlora\": true", QUIRE_E_UNSUPPORTED, "use_bdlora" },
        { "\"use_qalora\": false", "\"use_qalora\": true", QUIRE_E_UNSUPPORTED, "use_qalora" },
        { "\"trainable_token_indices\": null", "\"trainable_token_indices\": [3]",
          QUIRE_E_UNSUPPORTED, "trainable_token_indices" },
        { "\"revision\": null", "\"new_method\": 3", QUIRE_E_UNSUPPORTED, "new_method" },
        { "\"revision\": null", "\"new_method\": false", QUIRE_OK, NULL },
        { "\"rank_pattern\": {}", "\"rank_pattern\": {\"q_proj\": 8}", QUIRE_E_FORMAT,
          "gives rank 8" },
        { "\"rank_pattern\": {}", "\"rank_pattern\": {\"q_proj\": 0}", QUIRE_E_FORMAT, "q_proj" },
        { "\"rank_pattern\": {}", "\"rank_pattern\": {\".*q_proj\": 4}", QUIRE_E_UNSUPPORTED,
          ".*q_proj" },
        { "\"rank_pattern\": {}", "\"rank_pattern\": {\"q_proj\": 4, \"x\\\\.y\": 9}", QUIRE_OK,
          NULL },
        { "\"alpha_pattern\": {}", "\"alpha_pattern\": []", QUIRE_OK, NULL },
        { "\"alpha_pattern\": {}", "\"alpha_pattern\": 3", QUIRE_E_FORMAT, "alpha_pattern" },
        { "\"alpha_pattern\": {}", "\"alpha_pattern\": {\"q_proj\": 1e39}", QUIRE_E_FORMAT,
          "q_proj" },
        { "{", "[", QUIRE_E_FORMAT, "adapter_config.json" },
    };
    (void)state;
    if (!need_shared())
        skip();
    struct quire_model *m = open_base("llama");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct folder f;
        read_adapter(&f, "lora_llama_r4");
        assert_non_null(strstr(f.config, cases[i].from));
        replace(f.config, 1 << 16, cases[i].from, cases[i].to);
        write_adapter(&f);
        if (strstr(cases[i].to, "[]")) /* is no object */
            expect_adapter(m, NULL, QUIRE_E_FORMAT, "alpha_pattern");
        else
            expect_adapter(m, NULL, cases[i].status, cases[i].text);
        free_folder(&f);
    }
    assert_status(QUIRE_OK, quire_model_close(m));
}

/* Names, shapes and values of tensors. */
static void tensors(void **state)
{
    static const char q_a[] = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight";
    static const struct {
        const char *to; /* the name instead of q_a */
        quire_status status;
        const char *text;
    } names[] = {
        { "base_model.model.model.layers.7.self_attn.q_proj.lora_A.weight", QUIRE_E_FORMAT,
          "no partner" },
        { "model.layers.0.self_attn.q_proj.lora_A.weight", QUIRE_E_FORMAT, "base_model.model." },
        { "base_model.model.model.layers.0.self_attn.q_proj.lora_magnitude_vector",
          QUIRE_E_UNSUPPORTED, "lora_magnitude_vector" },
        { "base_model.model.lm_head.weight", QUIRE_E_MISMATCH, "lm_head" },
        { "base_model.model.model.norm.weight", QUIRE_E_UNSUPPORTED, "norm" },
    };
    (void)state;
    if (!need_shared())
        skip();
    struct quire_model *m = open_base("llama");
    struct folder f;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        read_adapter(&f, "lora_llama_r4");
        rename_all(&f, q_a, names[i].to);
        write_adapter(&f);
        expect_adapter(m, NULL, names[i].status, names[i].text);
        free_folder(&f);
    }
    static const char *const modules[][2] = { { "layers.0.self_attn.q_proj", "no module" },
                                              { "layers.00.self_attn.q_proj", "no module" },
                                              { "layers.3.self_attn.q_proj", "no layer" } };
    static const char *const renamed[] = { "layers.0.self_attn.x_proj",
                                           "layers.00.self_attn.q_proj",
                                           "layers.3.self_attn.q_proj" };
    for (size_t i = 0; i < 3; i++) {
        read_adapter(&f, "lora_llama_r4");
        rename_all(&f, "layers.0.self_attn.q_proj", renamed[i]);
        write_adapter(&f);
        expect_adapter(m, NULL, QUIRE_E_MISMATCH, modules[i][1]);
        free_folder(&f);
    }
    read_adapter(&f, "lora_llama_r4");
    find(&f, q_a)->data[17] = NAN;
    write_adapter(&f);
    expect_adapter(m, NULL, QUIRE_E_FORMAT, "value 17 is not finite");
    find(&f, q_a)->data[17] = -INFINITY;
    write_adapter(&f);
    expect_adapter(m, NULL, QUIRE_E_FORMAT, q_a);
    free_folder(&f);
    read_adapter(&f, "lora_llama_r4");
    struct tensor *a = find(&f, q_a);
    a->shape[0] = 8, a->shape[1] = 32; /* a rank that B does not have */
    write_adapter(&f);
    expect_adapter(m, NULL, QUIRE_E_FORMAT, "[rank, in]");
    free_folder(&f);
    read_adapter(&f, "lora_llama_r4");
    rename_all(&f, "layers.0.self_attn.q_proj", "layers.0.mlp.tmp");
    rename_all(&f, "layers.0.mlp.down_proj", "layers.0.self_attn.q_proj");
    rename_all(&f, "layers.0.mlp.tmp", "layers.0.mlp.down_proj");
    write_adapter(&f);
    expect_adapter(m, NULL, QUIRE_E_MISMATCH, "in the model");
    const size_t n = f.n;
    f.n = 0;
    write_adapter(&f);
    expect_adapter(m, NULL, QUIRE_E_FORMAT, "no tensors");
    f.n = n;
    free_folder(&f);
    assert_status(QUIRE_OK, quire_model_close(m));
}

/* Adapters of other models, and of models that take none. */
static void other_models(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_model *llama = open_base("llama"), *mixtral = open_base("mixtral"),
                       *bert = open_base("bert"), *qwen = open_base("qwen3");
    struct folder f;
    read_adapter(&f, "lora_mixtral_r4");
    write_adapter(&f);
    expect_adapter(llama, NULL, QUIRE_E_MISMATCH, "block_sparse_moe");
    expect_adapter(mixtral, NULL, QUIRE_OK, NULL);
    expect_adapter(bert, NULL, QUIRE_E_UNSUPPORTED, "encoder");
    rename_all(&f, "experts.3.w1", "experts.4.w1");
    write_adapter(&f);
    expect_adapter(mixtral, NULL, QUIRE_E_MISMATCH, "no layer or expert");
    free_folder(&f);
    read_adapter(&f, "lora_llama_r4");
    write_adapter(&f);
    expect_adapter(qwen, NULL, QUIRE_E_MISMATCH, "in the model");
    expect_adapter(mixtral, NULL, QUIRE_E_MISMATCH, "mlp");
    free_folder(&f);
    read_adapter(&f, "lora_mixtral_r4_params");
    find(&f, "base_model.model.model.layers.1.mlp.experts.lora_A.weight")->shape[0] = 15;
    find(&f, "base_model.model.model.layers.1.mlp.experts.lora_A.weight")->n = 15 * 96;
    find(&f, "base_model.model.model.layers.1.mlp.experts.lora_B.weight")->shape[1] = 15;
    find(&f, "base_model.model.model.layers.1.mlp.experts.lora_B.weight")->n = 15 * 64;
    write_adapter(&f);
    expect_adapter(mixtral, NULL, QUIRE_E_FORMAT, "15 rows");
    free_folder(&f);
    assert_status(QUIRE_OK, quire_model_close(llama));
    assert_status(QUIRE_OK, quire_model_close(mixtral));
    assert_status(QUIRE_OK, quire_model_close(bert));
    assert_status(QUIRE_OK, quire_model_close(qwen));
}

/* Weights of the base model that PEFT stores besides must be those of the model. */
static void base_layers(void **state)
{
    static const char name[] = "base_model.model.lm_head.base_layer.weight";
    (void)state;
    if (!need_shared())
        skip();
    struct quire_model *m = open_base("llama");
    struct folder f;
    read_adapter(&f, "lora_llama_r8_rs_embed");
    write_adapter(&f);
    expect_adapter(m, NULL, QUIRE_OK, NULL);
    find(&f, name)->data[64 * 5] += 0.5f;
    write_adapter(&f);
    expect_adapter(m, NULL, QUIRE_E_UNSUPPORTED, "in row 5");
    find(&f, name)->shape[0]--;
    find(&f, name)->n -= 64;
    write_adapter(&f);
    expect_adapter(m, NULL, QUIRE_E_MISMATCH, "319 x 64");
    free_folder(&f);
    assert_status(QUIRE_OK, quire_model_close(m));
}

/* In a block that layers share: updates of its matrices in the name of a layer that has the block,
 * but not of the low-rank updates that are part of the model. */
static void shared_blocks(void **state)
{
    static const struct {
        const char *module;
        uint64_t out, in;
        quire_status want;
        const char *message;
    } cases[] = {
        { "layers.3.shared_transformer.self_attn.q_proj", 128, 128, QUIRE_OK, NULL },
        { "layers.3.linear", 64, 64, QUIRE_OK, NULL },
        { "layers.2.shared_transformer.self_attn.q_proj", 128, 128, QUIRE_E_MISMATCH,
          "no attn_q weights there" },
        { "layers.1.shared_transformer.feed_forward.gate_up_proj_adapter_list.0.0", 8, 64,
          QUIRE_E_UNSUPPORTED, "weights are not supported" },
    };
    (void)state;
    if (!need_shared())
        skip();
    struct quire_model *m = open_base("zamba2");
    struct folder f;
    read_adapter(&f, "lora_llama_r4");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char name[160];
        for (size_t i = 0; i < f.n; i++)
            free(f.t[i].data);
        f.n = 0;
        snprintf(name, sizeof name, "base_model.model.model.%s.lora_A.weight", cases[c].module);
        add(&f, name, 4, cases[c].in);
        snprintf(name, sizeof name, "base_model.model.model.%s.lora_B.weight", cases[c].module);
        add(&f, name, cases[c].out, 4);
        write_adapter(&f);
        expect_adapter(m, NULL, cases[c].want, cases[c].message);
    }
    free_folder(&f);
    assert_status(QUIRE_OK, quire_model_close(m));
}

static void gguf_metadata(void **state)
{
    const struct gguf_options good = { "llama", "adapter", "lora", NULL, 8, 16, SIZE_MAX };
    (void)state;
    if (!need_shared())
        skip();
    struct quire_model *m = open_base("llama");
    struct folder f;
    read_adapter(&f, "lora_llama_r4");
    for (int i = 0; i < 9; i++) {
        static const struct {
            quire_status status;
            const char *text;
        } want[] = { { QUIRE_OK, NULL },
                     { QUIRE_E_MISMATCH, "qwen2" },
                     { QUIRE_E_UNSUPPORTED, "general.type" },
                     { QUIRE_E_UNSUPPORTED, "adapter.type" },
                     { QUIRE_E_FORMAT, "adapter.lora.alpha" },
                     { QUIRE_E_UNSUPPORTED, "adapter.alora.invocation_tokens" },
                     { QUIRE_E_FORMAT, "no partner" },
                     { QUIRE_E_FORMAT, "no partner" },
                     { QUIRE_E_UNSUPPORTED, "neither" } };
        struct gguf_options o = good;
        o.arch = i == 1 ? "qwen2" : o.arch;
        o.type = i == 2 ? "model" : o.type;
        o.adapter_type = i == 3 ? "dora" : o.adapter_type;
        o.alpha = i == 4 ? NAN : o.alpha;
        o.extra_key = i == 5 ? "adapter.alora.invocation_tokens" : NULL;
        o.skip = i == 6 ? 0 : i == 7 ? 1 : SIZE_MAX;
        if (i == 8)
            snprintf(f.t[0].name, sizeof f.t[0].name, "blk.0.attn_norm.weight");
        struct image image = gguf_adapter(&f, &o);
        expect_adapter(m, &image, want[i].status, want[i].text);
        drop(&image);
    }
    free_folder(&f);
    assert_status(QUIRE_OK, quire_model_close(m));
}

/* Every allocation fails once: an error, and nothing leaks. */
static void no_memory(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_model *m = open_base("mixtral");
    struct folder f;
    read_adapter(&f, "lora_mixtral_r4_params");
    write_adapter(&f);
    for (size_t at = 1;; at++) {
        struct fail_alloc alloc;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_adapter *a;
        struct quire_adapter_params ap;
        quire_adapter_params_init(&ap, sizeof ap);
        fail_alloc_init(&alloc, at, false);
        ap.allocator = &alloc.hooks;
        ap.path = dir;
        const quire_status s = quire_adapter_open(m, &ap, &a, &err);
        assert_true(s == QUIRE_E_NOMEM || (s == QUIRE_OK && alloc.calls < at));
        assert_status(QUIRE_OK, quire_adapter_close(a));
        assert_int_equal(alloc.live_bytes, 0);
        if (s == QUIRE_OK)
            break;
    }
    free_folder(&f);
    assert_status(QUIRE_OK, quire_model_close(m));
}

static void arguments(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_model *m = open_base("llama");
    struct quire_adapter_params ap;
    struct quire_adapter *a = NULL;
    struct quire_error err = QUIRE_ERROR_INIT;
    quire_adapter_params_init(&ap, sizeof ap);
    assert_status(QUIRE_E_INVALID_ARG, quire_adapter_open(m, &ap, NULL, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_adapter_open(m, NULL, &a, &err));
    assert_status(QUIRE_E_INVALID_ARG, quire_adapter_open(m, &ap, &a, &err));
    assert_non_null(strstr(err.msg, "params.path"));
    ap.path = "/nonexistent";
    assert_status(QUIRE_E_INVALID_ARG, quire_adapter_open(NULL, &ap, &a, &err));
    assert_status(QUIRE_E_IO, quire_adapter_open(m, &ap, &a, &err));
    ap.flags = 1u << 9;
    assert_status(QUIRE_E_INVALID_ARG, quire_adapter_open(m, &ap, &a, &err));
    ap.flags = 0;
    ap.struct_size = 4;
    assert_status(QUIRE_E_MISUSE, quire_adapter_open(m, &ap, &a, &err));
    assert_null(a);
    assert_status(QUIRE_OK, quire_adapter_close(NULL));
    assert_status(QUIRE_E_INVALID_ARG, quire_adapter_close((struct quire_adapter *)m));
    a = open_golden_adapter(m, "lora_llama_r4");
    struct quire_adapter_info info;
    quire_adapter_info_init(&info, sizeof info);
    assert_status(QUIRE_E_INVALID_ARG, quire_adapter_get_info(NULL, &info));
    assert_status(QUIRE_E_INVALID_ARG, quire_adapter_get_info(a, NULL));
    assert_status(QUIRE_OK, quire_adapter_get_info(a, &info));
    assert_int_equal(info.rank, 4);
    assert_int_equal(info.n_modules, 21);
    assert_string_equal(info.base_model, "llama");
    assert_int_equal(info.format, QUIRE_ADAPTER_PEFT);
    assert_true(info.bytes > 0 && info.n_parameters > 0 && info.fingerprint);
    assert_status(QUIRE_E_BUSY, quire_model_close(m));
    assert_status(QUIRE_OK, quire_adapter_close(a));
    assert_status(QUIRE_OK, quire_model_close(m));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments),     cmocka_unit_test(config_options),
        cmocka_unit_test(tensors),       cmocka_unit_test(other_models),
        cmocka_unit_test(base_layers),   cmocka_unit_test(gguf_metadata),
        cmocka_unit_test(shared_blocks), cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
