/* SPDX-License-Identifier: Apache-2.0 */
/* test_gguf_moe_families.c - GGUF metadata of mixtures of experts with options of their own. */
#include "test_gguf_model.h"
#include <math.h>

enum { MAX_KEYS = 8 };

/* Reads a model of 4 layers with 8 experts, of which the first is dense. */
static quire_status read_experts(const char *arch, const struct entry *extra, size_t n_extra,
                                 struct qr_model_config *c, struct quire_error *err)
{
    static const struct entry_tensor tensors[] = { { "blk.1.ffn_gate_inp.weight", 8, 1, 0 },
                                                   { "blk.2.ffn_gate_inp.weight", 8, 1, 0 },
                                                   { "blk.3.ffn_gate_inp.weight", 8, 1, 0 } };
    char count[64], used[64];
    struct entry keys[MAX_KEYS] = { { count, QR_GGUF_U32, 8, NULL },
                                    { used, QR_GGUF_U32, 2, NULL } };
    snprintf(count, sizeof count, "%s.expert_count", arch);
    snprintf(used, sizeof used, "%s.expert_used_count", arch);
    for (size_t i = 0; i < n_extra; i++)
        keys[2 + i] = extra[i];
    return make_with_tensors(arch, keys, 2 + n_extra, tensors, 3, c, err);
}

static struct qr_model_config accepted(const char *arch, const struct entry *extra, size_t n)
{
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = read_experts(arch, extra, n, &c, &err);
    if (s != QUIRE_OK)
        print_error("%s\n", err.msg);
    assert_status(QUIRE_OK, s);
    return c;
}

static void refused(const char *arch, struct entry extra, quire_status status, const char *text)
{
    struct qr_model_config c;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status s = read_experts(arch, &extra, 1, &c, &err);
    if (s != status || !strstr(err.msg, text))
        print_error("%s: got %s \"%s\", expected \"%s\"\n", extra.key, quire_status_name(s),
                    err.msg, text);
    assert_int_equal(s, status);
    assert_non_null(strstr(err.msg, text));
}

static void test_adjugate(void **state)
{
    (void)state;
    static const struct entry keys[] = {
        { "grovemoe.experts_per_group", QR_GGUF_U32, 4, NULL },
        { "grovemoe.expert_chunk_feed_forward_length", QR_GGUF_U32, 24, NULL },
        { "grovemoe.expert_group_scale", QR_GGUF_F32, 0.5, NULL },
    };
    struct qr_model_config c = accepted("grovemoe", keys, 3);
    assert_true(c.moe.adjugate_group == 4 && c.moe.adjugate_ffn_size == 24 &&
                c.moe.adjugate_scale == 0.5f && !c.layers[0].moe && c.layers[1].moe);
    assert_int_equal(qr_adjugate_count(&c.moe), 2);
    qr_model_config_free(&c);
    c = accepted("grovemoe", NULL, 0);
    assert_true(c.moe.adjugate_group == 2 && c.moe.adjugate_ffn_size == 128 &&
                c.moe.adjugate_scale == 0.05f);
    qr_model_config_free(&c);
    static const struct {
        struct entry entry;
        const char *text;
    } cases[] = {
        { { "grovemoe.experts_per_group", QR_GGUF_U32, 0, NULL }, "experts_per_group is 0" },
        { { "grovemoe.experts_per_group", QR_GGUF_U32, 1, NULL }, "per adjugate expert is 1" },
        { { "grovemoe.experts_per_group", QR_GGUF_U32, 3, NULL }, "8 experts, of which each 3" },
        { { "grovemoe.experts_per_group", QR_GGUF_F32, 2, NULL }, "experts_per_group" },
        { { "grovemoe.expert_chunk_feed_forward_length", QR_GGUF_U32, 0, NULL },
          "adjugate feed-forward size is 0" },
        { { "grovemoe.expert_chunk_feed_forward_length", QR_GGUF_BOOL, 1, NULL },
          "expert_chunk_feed_forward_length" },
        { { "grovemoe.expert_group_scale", QR_GGUF_F32, INFINITY, NULL },
          "scale of adjugate experts is inf" },
        { { "grovemoe.expert_group_scale", QR_GGUF_STRING, 0, "x" }, "expert_group_scale" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused("grovemoe", cases[i].entry, QUIRE_E_FORMAT, cases[i].text);
    refused("qwen3moe", (struct entry){ "qwen3moe.experts_per_group", QR_GGUF_U32, 2, NULL },
            QUIRE_E_UNSUPPORTED, "experts_per_group");
}

/* A dense network of hidden_size elements beside the experts. */
static void test_beside(void **state)
{
    (void)state;
    struct qr_model_config c = accepted("arctic", NULL, 0);
    assert_true(c.moe.beside_dense && c.moe.beside_plain && c.moe.ffn_size == 160 &&
                c.rope[0].kind == QR_ROPE_INTERLEAVED);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(c.layers[i].moe == (i > 0) && c.layers[i].ffn_size == (i ? 64 : 160));
    qr_model_config_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adjugate),
        cmocka_unit_test(test_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
