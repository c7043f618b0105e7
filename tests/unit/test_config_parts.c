/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_parts.c - parts of the model configuration on their own: stacks that are joined,
 * tables of n-grams, heads of multi-token prediction, a YaRN range without width, and allocations
 * that fail. */
#include "model/arch/arch.h"
#include "model/config/gguf_keys.h"
#include "model/config/hf_stacks.h"
#include "model/config/mtp.h"
#include "model/config/ngram_tables.h"
#include "model/config/rope.h"
#include "test_hf.h"

/* ---- Encoder and decoder */

/* Joins two stacks of one layer with a window of 8. */
static quire_status join(const struct qr_arch *arch, const char *file,
                         const struct qr_rope_config *encoder, const struct qr_rope_config *decoder,
                         uint32_t *window, struct quire_error *err)
{
    struct qr_layer_config of_encoder = { .window = 8 }, layers[2] = { { .window = 8 }, { 0 } };
    struct qr_model_config e = { .causal = true, .n_layers = 1, .layers = &of_encoder }, d = {
        .causal = true, .n_layers = 1, .n_encoder_layers = 1, .layers = layers
    };
    struct qr_json *json;
    e.rope[0] = *encoder;
    d.rope[0] = *decoder;
    assert_status(QUIRE_OK, qr_json_parse_object(file, strlen(file), "file", 0, NULL, &json, err));
    const struct qr_hf_source h = { .outer = json, .arch = arch, .cfg = &d, .err = err };
    const quire_status s = qr_hf_join_stacks(&h, &e);
    qr_json_free(json);
    *window = layers[1].window;
    if (s == QUIRE_OK)
        assert_true(layers[1].encoder && layers[1].kv_source == 1);
    return s;
}

/* The window of the encoder grows by one from a version of the writer on, in families that say
 * so. */
static void test_wider_windows(void **state)
{
    (void)state;
    static const struct qr_rope_config rope = { .dim = 4 };
    struct qr_arch arch = *qr_arch_by_name("t5gemma");
    struct quire_error err = QUIRE_ERROR_INIT;
    uint32_t window;
    assert_status(QUIRE_OK,
                  join(&arch, "{\"transformers_version\":\"4.9\"}", &rope, &rope, &window, &err));
    assert_int_equal(window, 8);
    assert_status(QUIRE_OK,
                  join(&arch, "{\"transformers_version\":\"5.0\"}", &rope, &rope, &window, &err));
    assert_int_equal(window, 9);
    arch.hf_wider_encoder_since = 0;
    assert_status(QUIRE_OK,
                  join(&arch, "{\"transformers_version\":\"5.0\"}", &rope, &rope, &window, &err));
    assert_int_equal(window, 8);
}

/* Stacks whose RoPE parameters differ in one field. */
static void test_unlike_ropes(void **state)
{
    (void)state;
    static const float ones[2] = { 1, 1 }, same[2] = { 1, 1 }, other[2] = { 1, 2 };
    const struct qr_rope_config plain = { .dim = 4 },
                                unlike[] = {
                                    { .dim = 4, .scaling = QR_ROPE_SCALING_LINEAR },
                                    { .dim = 8 },
                                    { .dim = 4, .original_context = 1 },
                                    { .dim = 4, .theta = 1 },
                                    { .dim = 4, .factor = 1 },
                                    { .dim = 4, .low_freq_factor = 1 },
                                    { .dim = 4, .high_freq_factor = 1 },
                                    { .dim = 4, .beta_fast = 1 },
                                    { .dim = 4, .beta_slow = 1 },
                                    { .dim = 4, .truncate = true },
                                    { .dim = 4, .cos_sin_scale = 1 },
                                    { .dim = 4, .factors_short = ones },
                                    { .dim = 4, .factors_long = ones },
                                },
                                factors = { .dim = 4, .factors_short = ones, .factors_long = ones },
                                copy = { .dim = 4, .factors_short = same, .factors_long = same },
                                changed[] = {
                                    { .dim = 4, .factors_short = other, .factors_long = same },
                                    { .dim = 4, .factors_short = same, .factors_long = other },
                                };
    const struct qr_arch *arch = qr_arch_by_name("t5gemma");
    struct quire_error err = QUIRE_ERROR_INIT;
    uint32_t window;
    for (size_t i = 0; i < sizeof unlike / sizeof *unlike; i++) {
        assert_status(QUIRE_E_UNSUPPORTED, join(arch, "{}", &unlike[i], &plain, &window, &err));
        assert_non_null(strstr(err.msg, "encoder.rope_parameters differ"));
        assert_status(QUIRE_E_UNSUPPORTED, join(arch, "{}", &plain, &unlike[i], &window, &err));
        assert_status(QUIRE_OK, join(arch, "{}", &unlike[i], &unlike[i], &window, &err));
    }
    assert_status(QUIRE_OK, join(arch, "{}", &factors, &copy, &window, &err));
    for (size_t i = 0; i < 2; i++)
        assert_status(QUIRE_E_UNSUPPORTED, join(arch, "{}", &factors, &changed[i], &window, &err));
}

/* ---- Tables of n-grams */

static void test_ngram_tables(void **state)
{
    (void)state;
    enum { ARENA = 4096, HEADER = 32, SIZE = 8 }; /* bytes; n-grams */
    static const struct {
        uint32_t heads, vocab_size;
        quire_status status;
        const char *text;
    } cases[] = {
        { 8, 320, QUIRE_OK, "" },
        { 8, 0, QUIRE_E_FORMAT, "vocab_size is 0" },
        /* the sizes leave no room for the multipliers, or do not fit themselves */
        { (ARENA - HEADER) / 4 / (SIZE - 1), 320, QUIRE_E_NOMEM, "no memory for the tables" },
        { ARENA / 4 / (SIZE - 1) + 1, 320, QUIRE_E_NOMEM, "no memory for the tables" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct qr_ngram_tables t = { .base = 2, .divisor = 1, .seed = 1 };
        struct qr_layer_config layer = { .ngram = 1 };
        struct qr_model_config c = {
            .vocab_size = cases[i].vocab_size,
            .n_layers = 1,
            .layers = &layer,
            .ngram = { .size = SIZE, .heads = cases[i].heads, .n_parts = 1, .n_layers = 1 }
        };
        struct quire_error err = QUIRE_ERROR_INIT;
        qr_arena_init(&c.memory, NULL, ARENA);
        assert_status(cases[i].status, qr_ngram_tables_fill(&c, &t, &err));
        assert_non_null(strstr(err.msg, cases[i].text));
        assert_true((c.ngram.sizes != NULL) == (cases[i].status == QUIRE_OK));
        if (c.ngram.sizes)
            assert_true(c.ngram.sizes[0] == 2 && c.ngram.sizes[2] == 5 && layer.ngram_rows > 0);
        qr_arena_free(&c.memory);
    }
}

/* ---- Heads of multi-token prediction */

/* Layers with attention ('a', 'w': with a window) and recurrent ones ('r'). */
static void set_up(const char *family, const char *mixers, uint32_t n_heads,
                   struct qr_layer_config layers[4], struct qr_model_config *c)
{
    *c = (struct qr_model_config){ .n_layers = (uint32_t)strlen(mixers),
                                   .n_mtp_layers = n_heads,
                                   .moe.n_experts = 4,
                                   .layers = layers };
    snprintf(c->arch, sizeof c->arch, "%s", family);
    for (uint32_t i = 0; i < c->n_layers; i++)
        layers[i] = (struct qr_layer_config){
            .mixer = (uint8_t)(mixers[i] == 'r' ? QR_MIXER_RECURRENT : QR_MIXER_ATTENTION),
            .n_heads = i + 1,
            .window = mixers[i] == 'w' ? 16 : 0,
            .ffn_limit = 1,
            .kv_source = i,
            .no_ffn = true
        };
}

static quire_status select_head(const char *family, bool gguf, const char *mixers, uint32_t n_heads,
                                struct qr_layer_config layers[4], struct qr_model_config *c,
                                struct quire_error *err)
{
    set_up(family, mixers, n_heads, layers, c);
    return qr_model_config_select_mtp(c, qr_arch_by_name(family), gguf, err);
}

static void test_mtp(void **state)
{
    (void)state;
    struct qr_layer_config layers[4];
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, select_head("qwen3_5", false, "arar", 0, layers, &c, &err));
    assert_true(c.mtp.kind == QR_MTP_LAYER && c.mtp.layer == 0 && c.n_layers == 1);
    assert_true(layers[0].n_heads == 3 && layers[0].kv_source == 0);
    assert_true(layers[0].no_ffn && !layers[0].moe);
    /* a head of two layers, of which the second has experts */
    assert_status(QUIRE_OK, select_head("nemotron_h", false, "rar", 0, layers, &c, &err));
    assert_true(layers[0].n_heads == 2 && !layers[0].no_ffn && layers[0].moe);
    assert_status(QUIRE_OK, select_head("qwen3_5", true, "arr", 1, layers, &c, &err));
    assert_true(c.mtp.layer == 3 && layers[0].n_heads == 1);
    assert_status(QUIRE_E_UNSUPPORTED, select_head("qwen3_5", false, "rrr", 0, layers, &c, &err));
    assert_string_equal(err.msg, "family qwen3_5: no layer has attention alone");
    assert_status(QUIRE_E_UNSUPPORTED, select_head("qwen3_5", true, "aa", 0, layers, &c, &err));
    assert_non_null(strstr(err.msg, "prediction: nextn_predict_layers is 0 or missing"));
    assert_status(QUIRE_E_UNSUPPORTED,
                  select_head("deepseek_v3", false, "aa", 0, layers, &c, &err));
    assert_non_null(strstr(err.msg, "prediction: num_nextn_predict_layers is 0 or missing"));
    assert_status(QUIRE_E_UNSUPPORTED, select_head("llama", false, "aa", 1, layers, &c, &err));
    assert_non_null(strstr(err.msg, "knows no heads of multi-token prediction of family llama"));
}

/* Layers of heads that take turns are like the last one with a window, with a dense network without
 * limits. Without their number in the file there is room for the largest. */
static void test_mtp_heads(void **state)
{
    (void)state;
    struct qr_layer_config layers[4];
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    static const uint32_t written[] = { 1, 3, 7, 9 }, want[] = { 1, 3, 7, QR_MTP_MAX_HEADS };
    for (size_t i = 0; i < 4; i++) {
        assert_status(QUIRE_OK,
                      select_head("step3p5", false, "awwa", written[i], layers, &c, &err));
        assert_int_equal(c.n_layers, want[i]);
        assert_true(c.mtp.heads == QR_MTP_HEADS_CHAINED && c.mtp.layer == 4);
        for (uint32_t k = 0; k < c.n_layers; k++) {
            const struct qr_layer_config *l = &c.layers[k];
            assert_true(l->n_heads == 3 && l->window == 16 && l->kv_source == k);
            assert_true(!l->moe && l->ffn_limit == 0);
        }
        qr_arena_free(&c.memory);
    }
    assert_status(QUIRE_OK, select_head("mimo_v2_flash", false, "aw", 0, layers, &c, &err));
    assert_true(c.n_layers == QR_MTP_MAX_HEADS && c.mtp.layer == 0);
    qr_arena_free(&c.memory);
    assert_status(QUIRE_E_UNSUPPORTED, select_head("step3p5", true, "aa", 3, layers, &c, &err));
    assert_string_equal(err.msg, "family step3p5: no layer has attention alone and a window");
    struct fail_alloc f;
    fail_alloc_init(&f, 1, true);
    set_up("step3p5", "aw", 3, layers, &c);
    qr_arena_init(&c.memory, &f.hooks, 0);
    assert_status(QUIRE_E_NOMEM,
                  qr_model_config_select_mtp(&c, qr_arch_by_name("step3p5"), false, &err));
    assert_string_equal(err.msg, "no memory for 3 heads");
    qr_arena_free(&c.memory);
}

/* ---- Defaults */

static void test_defaults(void **state)
{
    (void)state;
    const struct qr_arch without = { 0 };
    struct qr_gguf_source s = { .arch = &without };
    assert_true(qr_gguf_source_default(&s, "final_logit_softcapping") == 0);
    s.arch = &qr_arch_gemma2;
    assert_true(qr_gguf_source_default(&s, "final_logit_softcapping") == 30);
    assert_true(qr_gguf_source_default(&s, "final") == 0);
}

/* ---- RoPE */

/* With a context shorter than a turn both ends of YaRN's range are dimension 0: only the first
 * frequency stays. */
static void test_yarn_without_range(void **state)
{
    (void)state;
    const struct qr_rope_config r = { .kind = QR_ROPE_NEOX,
                                      .scaling = QR_ROPE_SCALING_YARN,
                                      .dim = 4,
                                      .original_context = 6,
                                      .theta = 100,
                                      .factor = 4,
                                      .beta_fast = 32,
                                      .beta_slow = 1,
                                      .truncate = true };
    float f[2];
    qr_rope_inv_freq(&r, 1, f);
    assert_true(f[0] == 1 && f[1] > 0.0249f && f[1] < 0.0251f); /* 0.1 / factor */
}

/* ---- Allocations that fail */

/* Reads the files with each allocation failing in turn; *n: how many of the failures say `text`.
 * generation: NULL, or generation_config.json. */
static void count_failures(const char *text_of_file, const char *generation, const char *text,
                           unsigned *n)
{
    const size_t n_generation = generation ? strlen(generation) : 0;
    char *json = last_keys_win(text_of_file);
    *n = 0;
    for (size_t at = 1;; at++) {
        struct qr_model_config c;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct fail_alloc f;
        fail_alloc_init(&f, at, false);
        const quire_status s = qr_model_config_from_hf(json, strlen(json), generation, n_generation,
                                                       NULL, &f.hooks, &c, &err);
        qr_model_config_free(&c);
        assert_int_equal(f.live_count, 0);
        if (f.calls < at) {
            assert_status(QUIRE_OK, s);
            break;
        }
        assert_status(QUIRE_E_NOMEM, s);
        *n += strstr(err.msg, text) != NULL;
    }
    free(json);
}

/* So many layers fill the first chunk of the configuration's memory: what is next needs another. */
#define MANY ",\"num_hidden_layers\":64"

static void test_memory(void **state)
{
    (void)state;
    enum { LONG = 40000 };
    static char name[LONG + 1], json[LONG + 1000];
    unsigned n;
    count_failures(MODEL("llama", MANY ",\"rope_scaling\":{\"rope_type\":\"longrope\",\"factor\":2,"
                                       "\"short_factor\":[1,1,1,1,1,1,1,1],"
                                       "\"long_factor\":[1,1,1,1,1,1,1,1]}"),
                   NULL, "no memory for short_factor", &n);
    assert_int_equal(n, 1);
    count_failures(MODEL("llama", MANY), "{\"suppress_tokens\":[1,2,3,4,5,6,7,8]}",
                   "no memory for suppress_tokens", &n);
    assert_int_equal(n, 1);
    count_failures(MODEL("nanbeige", ",\"num_loops\":200,\"head_dim\":32"), NULL,
                   "no memory for 800 layers", &n);
    assert_int_equal(n, 1);
    count_failures(MODEL("gemma4_text", MANY ",\"hidden_size_per_layer_input\":0"), NULL,
                   "no memory for 256 RoPE factors", &n);
    assert_int_equal(n, 1);
    memset(name, 'a', LONG);
    snprintf(json, sizeof json,
             MODEL("llama", MANY ",\"quantization_config\":{\"quant_method\":\"fp8\","
                                 "\"modules_to_not_convert\":[\"%s\",\"b\"]}"),
             name);
    count_failures(json, NULL, "no memory for a list of 2 modules", &n);
    assert_int_equal(n, 3); /* the list and each name: the long one fills a chunk of its own */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wider_windows), cmocka_unit_test(test_unlike_ropes),
        cmocka_unit_test(test_ngram_tables),  cmocka_unit_test(test_mtp),
        cmocka_unit_test(test_mtp_heads),     cmocka_unit_test(test_yarn_without_range),
        cmocka_unit_test(test_memory),        cmocka_unit_test(test_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
