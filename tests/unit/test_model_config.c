/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_config.c - configurations from GGUF metadata: same as from config.json; rope. */
#include "model/config/config.h"
#include "model/config/gguf.h"
#include "model/config/hf.h"
#include "model/config/rope.h"
#include "test_config.h"
#include "test_gguf.h"
#include <math.h>
#include <quire/model.h>

/* ---- A GGUF file against the directory it was converted from */

static const char *const pairs[][2] = {
    { "bert-bf16", "bert" },
    { "deepseek_v2-bf16", "deepseek_v2" },
    { "deepseek_v2_lite-bf16", "deepseek_v2_lite" },
    { "gemma-bf16", "gemma" },
    { "gemma2_q32-bf16", "gemma2_q32" },
    { "gemma2_q32-q8_0", "gemma2_q32" },
    { "llama-f32", "llama" },
    { "llama-f16", "llama" },
    { "llama-q8_0", "llama" },
    { "llama3_rope-bf16", "llama3_rope" },
    { "llama_h256-q4_k_s", "llama_h256" },
    { "llama_linear_rope-bf16", "llama_linear_rope" },
    { "phi3-bf16", "phi3" },
    { "qwen2-bf16", "qwen2" },
    { "qwen2_yarn-bf16", "qwen2_yarn" },
    { "qwen3-bf16", "qwen3" },
    { "../gguf_2026/afmoe-bf16", "afmoe" },
    { "../gguf_2026/apertus-bf16", "apertus" },
    { "../gguf_2026/arcee-bf16", "arcee" },
    { "../gguf_2026/deepseek_v32-bf16", "deepseek_v32" },
    { "../gguf_2026/deepseek_v4-bf16", "deepseek_v4" },
    { "../gguf_2026/ernie4_5_moe-bf16", "ernie4_5_moe" },
    { "../gguf_2026/exaone_moe-bf16", "exaone_moe" },
    { "../gguf_2026/gemma4_text-bf16", "gemma4_text" },
    { "../gguf_2026/gemma4_text_moe-bf16", "gemma4_text_moe" },
    { "../gguf_2026/glm_moe_dsa-bf16", "glm_moe_dsa" },
    { "../gguf_2026/hunyuan_v1_moe-bf16", "hunyuan_v1_moe" },
    { "../gguf_2026/jais2-bf16", "jais2" },
    { "../gguf_2026/laguna-bf16", "laguna" },
    { "../gguf_2026/mimo_v2_flash-bf16", "mimo_v2_flash" },
    { "../gguf_2026/minimax_m2-bf16", "minimax_m2" },
    { "../gguf_2026/minimax_m3_text-bf16", "minimax_m3_text" },
    { "../gguf_2026/ministral3-bf16", "ministral3" },
    { "../gguf_2026/mistral4-bf16", "mistral4" },
    { "../gguf_2026/modernbert-bf16", "modernbert" },
    { "../gguf_2026/nomic_bert-bf16", "nomic_bert" },
    { "../gguf_2026/qwen3_embedding-bf16", "qwen3_embedding" },
};

static void same_frequencies(const struct qr_rope_config *a, const struct qr_rope_config *b)
{
    float fa[512], fb[512];
    qr_rope_inv_freq(a, 100, fa);
    qr_rope_inv_freq(b, 100, fb);
    for (uint32_t i = 0; i < a->dim / 2; i++)
        assert_true(fabsf(fa[i] - fb[i]) <= 1e-6f * fb[i]);
}

static void compare_pair(const char *gguf, const char *dir)
{
    char path[8192];
    struct qr_gguf *g;
    struct qr_model_config a, b;
    struct quire_error err = QUIRE_ERROR_INIT;
    snprintf(path, sizeof path, "%s/goldens/gguf/%s.gguf", shared_dir(), gguf);
    assert_status(QUIRE_OK, qr_gguf_open(path, NULL, NULL, &g, &err));
    assert_status(QUIRE_OK, qr_model_config_from_gguf(g, NULL, NULL, &a, &err));
    char *json = slurp(dir, "config.json");
    assert_non_null(json);
    assert_status(QUIRE_OK,
                  qr_model_config_from_hf(json, strlen(json), NULL, 0, NULL, NULL, &b, &err));
    same_frequencies(&a.rope[0], &b.rope[0]);
    b.rope[0].theta = a.rope[0].theta; /* files have f32 */
    /* the converter stores 1 + w, permutes q/k rows of Llama, stores llama3 scaling as factors */
    if (b.norm == QR_NORM_RMS_PLUS1)
        b.norm = QR_NORM_RMS;
    if (strcmp(a.arch, "llama") == 0 || strcmp(a.arch, "arcee") == 0 ||
        strcmp(a.arch, "ministral3") == 0)
        b.rope[0].kind = QR_ROPE_INTERLEAVED;
    if (b.rope[0].scaling == QR_ROPE_SCALING_LLAMA3) {
        assert_int_equal(a.rope[0].scaling, QR_ROPE_SCALING_FREQ_FACTORS);
        a.rope[0] = b.rope[0];
    }
    if (b.moe.n_groups == 1) /* of no effect */
        b.moe.group_top2 = a.moe.group_top2;
    if (b.mla.kv_lora_rank) { /* the converter drops expert groups */
        b.moe.n_groups = a.moe.n_groups;
        b.moe.topk_groups = a.moe.topk_groups;
    }
    /* the converter added tokens (gemma) or had no tokenizer (phi3) */
    a.bos_id = b.bos_id;
    a.pad_id = b.pad_id;
    a.n_eos = b.n_eos;
    a.eos_ids[0] = b.eos_ids[0];
    assert_same_config(&a, &b);
    free(json);
    qr_model_config_free(&a);
    qr_model_config_free(&b);
    qr_gguf_close(g);
}

static void test_gguf_equals_directory(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        compare_pair(pairs[i][0], pairs[i][1]);
}

/* ---- Rotary frequencies against the formulas in double precision */

static void expect_frequencies(const struct qr_rope_config *r, uint64_t length,
                               double (*expected)(uint32_t i))
{
    float f[512];
    qr_rope_inv_freq(r, length, f);
    for (uint32_t i = 0; i < r->dim / 2; i++)
        if (fabs((double)f[i] - expected(i)) > 1e-6 * expected(i))
            fail_msg("frequency %u is %.9g, expected %.9g", i, (double)f[i], expected(i));
}

static double plain(uint32_t i) { return pow(10000, -2.0 * i / 32); }
static double linear(uint32_t i) { return plain(i) / 4; }
static double dynamic(uint32_t i)
{
    return pow(10000 * pow(2.0 * 1000 / 500 - 1, 32 / 30.0), -2.0 * i / 32);
}

static double llama3(uint32_t i)
{
    const double wavelength = 2 * M_PI / plain(i), smooth = (64 / wavelength - 1) / (4 - 1);
    return wavelength < 64 / 4.0   ? plain(i)
           : wavelength > 64 / 1.0 ? plain(i) / 8
                                   : (1 - smooth) * plain(i) / 8 + smooth * plain(i);
}

static double yarn(uint32_t i)
{
    const double low = floor(32 * log(128 / (32 * 2 * M_PI)) / (2 * log(10000)));
    const double high = ceil(32 * log(128 / (1 * 2 * M_PI)) / (2 * log(10000)));
    const double from = low < 0 ? 0 : low, ramp = fmin(fmax((i - from) / (high - from), 0), 1);
    return plain(i) / 4 * ramp + plain(i) * (1 - ramp);
}

static void test_frequencies(void **state)
{
    (void)state;
    struct qr_rope_config r = { .kind = QR_ROPE_NEOX, .dim = 32, .theta = 10000, .factor = 4 };
    expect_frequencies(&r, 1, plain);
    r.scaling = QR_ROPE_SCALING_LINEAR;
    expect_frequencies(&r, 1, linear);
    r.scaling = QR_ROPE_SCALING_YARN;
    r.original_context = 128;
    r.beta_fast = 32;
    r.beta_slow = 1;
    r.truncate = true;
    expect_frequencies(&r, 1, yarn);
    r.scaling = QR_ROPE_SCALING_LLAMA3;
    r.original_context = 64;
    r.factor = 8;
    r.low_freq_factor = 1;
    r.high_freq_factor = 4;
    expect_frequencies(&r, 1, llama3);
    r.scaling = QR_ROPE_SCALING_DYNAMIC;
    r.original_context = 500;
    r.factor = 2;
    expect_frequencies(&r, 500, plain);
    expect_frequencies(&r, 1000, dynamic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gguf_equals_directory),
        cmocka_unit_test(test_frequencies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
