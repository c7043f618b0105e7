/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_moe_bad.c - mixture of experts: invalid configurations and files. */
#include "model/config/config.h"
#include "model/config/hf.h"
#include "quire_cmocka.h"
#include <quire/model.h>
#include <unistd.h>

/* ---- configurations */

#define SIZES                                                                                      \
    "\"vocab_size\":320,\"hidden_size\":64,\"intermediate_size\":160,\"num_hidden_layers\":4,"     \
    "\"num_attention_heads\":4,\"num_key_value_heads\":2"
#define MODEL(type, more) "{\"model_type\":\"" type "\"," SIZES "," more "}"

static void expect(const char *json, quire_status status, const char *text)
{
    struct qr_model_config cfg;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s =
        qr_model_config_from_hf(json, strlen(json), NULL, 0, NULL, NULL, &cfg, &err);
    if (s != status || !strstr(err.msg, text))
        print_error("%s\n  got %s \"%s\"\n", json, quire_status_name(s), err.msg);
    assert_int_equal(s, status);
    assert_non_null(strstr(err.msg, text));
}

static void bad_configurations(void **state)
{
    (void)state;
    static const struct {
        const char *json, *text;
    } cases[] = {
        { MODEL("mixtral", "\"num_local_experts\":4,\"num_experts_per_tok\":5"),
          "experts used is 5" },
        { MODEL("mixtral", "\"num_local_experts\":4,\"num_experts_per_tok\":0"),
          "experts used is 0" },
        { MODEL("mixtral", "\"num_local_experts\":4294967295,\"num_experts_per_tok\":2"),
          "number of experts" },
        { MODEL("mixtral", "\"num_local_experts\":-1"), "num_local_experts" },
        { MODEL("qwen3_moe",
                "\"num_experts\":8,\"num_experts_per_tok\":2,\"moe_intermediate_size\":0"),
          "expert feed-forward size" },
        { MODEL("qwen3_moe",
                "\"num_experts\":8,\"num_experts_per_tok\":2,\"moe_intermediate_size\":4294967295"),
          "size 4294967295" },
        { MODEL("qwen3_moe",
                "\"num_experts\":8,\"num_experts_per_tok\":2,\"decoder_sparse_step\":0"),
          "step" },
        { MODEL("qwen3_moe", "\"num_experts\":8,\"num_experts_per_tok\":2,\"n_group\":3"),
          "8 experts in 3 groups" },
        { MODEL("qwen3_moe",
                "\"num_experts\":8,\"num_experts_per_tok\":2,\"n_group\":8,\"topk_group\":9"),
          "expert groups used" },
        { MODEL("qwen3_moe",
                "\"num_experts\":8,\"num_experts_per_tok\":3,\"n_group\":8,\"topk_group\":2"),
          "groups hold fewer" },
        { MODEL("qwen3_moe",
                "\"num_experts\":8,\"num_experts_per_tok\":2,\"routed_scaling_factor\":1e30"),
          "weights scale" },
        { MODEL("qwen2_moe", "\"num_experts\":8,\"shared_expert_intermediate_size\":4294967295"),
          "shared" },
        { MODEL("qwen2_moe", "\"num_experts\":8,\"n_shared_experts\":4294967295"),
          "shared experts" },
        { MODEL("gpt_oss", "\"num_local_experts\":4,\"swiglu_limit\":0"), "activation limit" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i].json, QUIRE_E_FORMAT, cases[i].text);
    expect(MODEL("qwen3_moe", "\"num_experts\":8,\"scoring_func\":\"dice\""), QUIRE_E_UNSUPPORTED,
           "dice");
    expect(MODEL("qwen3_moe", "\"num_experts\":8,\"topk_method\":\"luck\""), QUIRE_E_UNSUPPORTED,
           "luck");
}

static void sparse_layers(void **state)
{
    (void)state;
    static const struct {
        const char *json, *moe;
    } cases[] = {
        { MODEL("qwen3_moe", "\"num_experts\":8,\"decoder_sparse_step\":2"), "0101" },
        { MODEL("qwen3_moe", "\"num_experts\":8,\"mlp_only_layers\":[0,3]"), "0110" },
        { MODEL("qwen3_moe", "\"num_experts\":8,\"first_k_dense_replace\":3"), "0001" },
        { MODEL("qwen3_moe", "\"num_experts\":8,\"moe_layers\":[2]"), "0010" },
        { MODEL("qwen3_moe", "\"num_experts\":0"), "0000" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct qr_model_config cfg;
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_status(QUIRE_OK, qr_model_config_from_hf(cases[i].json, strlen(cases[i].json), NULL,
                                                        0, NULL, NULL, &cfg, &err));
        for (uint32_t l = 0; l < 4; l++)
            assert_int_equal(cfg.layers[l].moe, cases[i].moe[l] == '1');
        qr_model_config_free(&cfg);
    }
}

/* ---- files */

static char *read_whole_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *data = malloc(1 << 22);
    *n = fread(data, 1, 1 << 22, f);
    fclose(f);
    return data;
}

static void write_file(const char *dir, const char *name, const char *data, size_t n)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    fclose(f);
}

/* Replaces the first occurrence of `from` with `to`, which has the same length. */
static void replace(char *data, size_t n, const char *from, const char *to)
{
    char *at = memmem(data, n, from, strlen(from));
    assert_int_equal(strlen(from), strlen(to));
    assert_non_null(at);
    memcpy(at, to, strlen(to));
}

/* The model `name` with one change in its tensor directory or its config.json. */
static void expect_folder(const char *name, const char *from, const char *to, bool in_config,
                          const char *text)
{
    char dir[] = "/tmp/quire-moe-XXXXXX", path[8192];
    size_t n_config, n_weights;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/goldens/%s/config.json", shared_dir(), name);
    char *config = read_whole_file(path, &n_config);
    snprintf(path, sizeof path, "%s/goldens/%s/model.safetensors", shared_dir(), name);
    char *weights = read_whole_file(path, &n_weights);
    replace(in_config ? config : weights, in_config ? n_config : n_weights, from, to);
    write_file(dir, "config.json", config, n_config);
    write_file(dir, "model.safetensors", weights, n_weights);
    struct quire_model_params p;
    struct quire_model *m;
    quire_model_params_init(&p, sizeof p);
    p.path = dir;
    const quire_status s = quire_model_open(&p, &m, &err);
    if (s != QUIRE_E_FORMAT || !strstr(err.msg, text))
        print_error("%s -> %s: got %s \"%s\"\n", from, to, quire_status_name(s), err.msg);
    assert_int_equal(s, QUIRE_E_FORMAT);
    assert_non_null(strstr(err.msg, text));
    static const char *const names[] = { "config.json", "model.safetensors" };
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
    rmdir(dir);
    free(config);
    free(weights);
}

static void broken_folders(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    expect_folder("mixtral", "layers.1.block_sparse_moe.experts.3.w2",
                  "layers.1.block_sparse_moe.experts.9.w2", false,
                  "layers.1.block_sparse_moe.experts.3.w2.weight is missing");
    expect_folder("mixtral", "layers.0.block_sparse_moe.experts.0.w1",
                  "layers.0.block_sparse_moe.experts.9.w1", false,
                  "layers.0.block_sparse_moe.experts.0.w1.weight is missing");
    expect_folder("mixtral", "layers.0.block_sparse_moe.gate", "layers.0.block_sparse_moe.gatt",
                  false, "gate.weight is missing");
    expect_folder("mixtral", "\"num_local_experts\": 4", "\"num_local_experts\": 5", true,
                  "gate.weight has 2 dimensions");
    expect_folder("qwen2_moe", "layers.0.mlp.shared_expert.up_proj",
                  "layers.0.mlp.shared_expert.up_prox", false,
                  "shared_expert.up_proj.weight is missing");
    expect_folder("qwen2_moe", "layers.0.mlp.shared_expert_gate", "layers.0.mlp.shared_expert_gatt",
                  false, "shared_expert_gate.weight is missing");
    expect_folder("gpt_oss", "layers.2.mlp.experts.down_proj_bias",
                  "layers.2.mlp.experts.down_proj_bios", false,
                  "layers.2.mlp.experts.down_proj_bias is missing");
    expect_folder("gpt_oss", "layers.2.self_attn.sinks", "layers.2.self_attn.sinky", false,
                  "sinks is missing");
    expect_folder("gpt_oss", "\"intermediate_size\": 64", "\"intermediate_size\": 32", true,
                  "needs 4 x 64 x 64");
}

static void broken_gguf(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        uint32_t value;
        quire_status status;
        const char *text;
    } cases[] = {
        { "llama.expert_used_count", 5, QUIRE_E_FORMAT, "experts used is 5" },
        { "llama.expert_used_count", 0, QUIRE_E_FORMAT, "experts used is 0" },
        { "llama.expert_count", 5, QUIRE_E_FORMAT, "ffn_gate_inp.weight has 2 dimensions" },
        { "llama.expert_count", 0xffffffff, QUIRE_E_FORMAT, "number of experts" },
        { "llama.expert_count", 0, QUIRE_E_FORMAT, "blk.0.ffn_gate.weight is missing" },
    };
    char path[8192];
    if (!need_shared())
        skip();
    snprintf(path, sizeof path, "%s/goldens/gguf/mixtral-bf16.gguf", shared_dir());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n;
        char *data = read_whole_file(path, &n);
        char *at = memmem(data, n, cases[i].key, strlen(cases[i].key));
        assert_non_null(at);
        memcpy(at + strlen(cases[i].key) + 4, &cases[i].value,
               4); /* the key is followed by its type, then the value */
        struct quire_model_params p;
        struct quire_model *m;
        struct quire_error err = QUIRE_ERROR_INIT;
        quire_model_params_init(&p, sizeof p);
        p.data = data;
        p.data_bytes = n;
        const quire_status s = quire_model_open(&p, &m, &err);
        if (s != cases[i].status || !strstr(err.msg, cases[i].text))
            print_error("%s = %u: got %s \"%s\"\n", cases[i].key, cases[i].value,
                        quire_status_name(s), err.msg);
        assert_int_equal(s, cases[i].status);
        assert_non_null(strstr(err.msg, cases[i].text));
        free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_configurations),
        cmocka_unit_test(sparse_layers),
        cmocka_unit_test(broken_folders),
        cmocka_unit_test(broken_gguf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
