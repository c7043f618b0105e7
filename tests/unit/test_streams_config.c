/* SPDX-License-Identifier: Apache-2.0 */
/* test_streams_config.c - hyper-connections, n-gram embeddings and compressed index keys in
 * config.json: sizes, tables, options that are not supported. */
#include "test_config.h"
#include "test_hf.h"

#define KEYS                                                                                       \
    ",\"eos_token_id\":2,\"head_dim\":16,\"linear_num_value_heads\":4,\"linear_num_key_heads\":2," \
    "\"linear_key_head_dim\":16,\"linear_value_head_dim\":16,\"num_experts\":4,"                   \
    "\"num_experts_per_tok\":2,\"partial_rotary_factor\":0.5"
#define INDEX                                                                                      \
    ",\"indexer_n_heads\":4,\"indexer_head_dim\":16,\"indexer_kv_heads\":1,\"indexer_budget\":16," \
    "\"indexer_compress_ratio\":4"
#define NGRAMS                                                                                     \
    ",\"ple_layer_ids\":[3,1],\"ple_embed_dim\":32,\"heads_per_ngram\":2,"                         \
    "\"ngram_vocab_size_base\":100,\"make_ngram_vocab_size_divisible_by\":8,"                      \
    "\"split_ngram_parts\":1"
#define QWEN4(more) MODEL("qwen4_exp_text", KEYS more)

static void test_hyper(void **state)
{
    (void)state;
    struct qr_model_config c = good(QWEN4(INDEX));
    assert_int_equal(c.hyper.kind, QR_HYPER_GATED);
    assert_int_equal(c.hyper.n_streams, 4);
    assert_int_equal(c.hyper.rank, 320);
    assert_int_equal(c.ngram.size, 0);
    qr_model_config_free(&c);
    bad(QWEN4(INDEX ",\"hc_count\":1"), QUIRE_E_FORMAT, "residual streams is 1");
    bad(QWEN4(INDEX ",\"hc_count\":17"), QUIRE_E_FORMAT, "residual streams is 17");
    bad(QWEN4(INDEX ",\"hc_count\":null"), QUIRE_E_FORMAT, "hc_count");
    bad(QWEN4(INDEX ",\"hc_lowrank\":0"), QUIRE_E_FORMAT, "rank of hyper-connections is 0");
    bad(QWEN4(INDEX ",\"hc_lowrank\":\"x\""), QUIRE_E_FORMAT, "hc_lowrank");
}

static void test_index(void **state)
{
    (void)state;
    struct qr_model_config c = good(QWEN4(INDEX));
    assert_int_equal(c.index.top_k, 4);
    assert_int_equal(c.index.block_size, 4);
    assert_true(c.index.compressed && c.index.weighted && c.index.unit_weights);
    assert_int_equal(c.layers[2].index, QR_INDEX_NONE);
    assert_int_equal(c.layers[3].index, QR_INDEX_OWN);
    qr_model_config_free(&c);
    c = good(QWEN4(INDEX ",\"layer_types\":[\"linear_attention\",\"hybrid_indexed\","
                         "\"linear_attention\",\"qwen_sparse_attention\"]"));
    assert_true(c.layers[1].index == QR_INDEX_OWN && c.layers[2].index == QR_INDEX_NONE);
    qr_model_config_free(&c);
    bad(QWEN4(""), QUIRE_E_FORMAT, "indexer_n_heads is missing");
    bad(QWEN4(INDEX ",\"indexer_n_heads\":0"), QUIRE_E_FORMAT, "indexer_n_heads is 0");
    bad(QWEN4(INDEX ",\"indexer_head_dim\":null"), QUIRE_E_FORMAT, "indexer_head_dim");
    bad(QWEN4(INDEX ",\"indexer_head_dim\":4"), QUIRE_E_FORMAT, "index heads of 4");
    bad(QWEN4(INDEX ",\"indexer_kv_heads\":2"), QUIRE_E_UNSUPPORTED, "indexer_kv_heads is 2");
    bad(QWEN4(INDEX ",\"indexer_budget\":18"), QUIRE_E_FORMAT, "indexer_budget is 18");
    bad(QWEN4(INDEX ",\"indexer_budget\":0"), QUIRE_E_FORMAT, "selected keys or blocks is 0");
    bad(QWEN4(INDEX ",\"indexer_compress_ratio\":0"), QUIRE_E_FORMAT, "indexer_compress_ratio 0");
    bad(QWEN4(INDEX ",\"layer_types\":[\"linear_attention\",\"full_attention\",\"mamba\","
                    "\"sliding_attention\"]"),
        QUIRE_E_UNSUPPORTED, "layer_types[3] is sliding_attention");
    /* other hybrids have no indexer */
    bad(MODEL("qwen3_5_text", KEYS ",\"layer_types\":[\"linear_attention\",\"linear_attention\","
                                   "\"linear_attention\",\"qwen_sparse_attention\"]"),
        QUIRE_E_UNSUPPORTED, "layer_types[3] is qwen_sparse_attention");
    bad(QWEN4(INDEX ",\"output_gate_type\":\"tanh\""), QUIRE_E_UNSUPPORTED,
        "output_gate_type tanh");
    bad(QWEN4(INDEX ",\"hidden_act\":\"gelu\""), QUIRE_E_UNSUPPORTED, "output_gate_type of hidden");
    c = good(QWEN4(INDEX ",\"output_gate_type\":\"sigmoid\""));
    assert_true(c.recurrent.sigmoid_gate);
    qr_model_config_free(&c);
}

static void test_ngrams(void **state)
{
    (void)state;
    struct qr_model_config c = good(QWEN4(INDEX NGRAMS));
    assert_int_equal(c.ngram.n_layers, 2);
    assert_int_equal(c.layers[0].ngram, 1);
    assert_int_equal(c.layers[1].ngram, 0);
    assert_int_equal(c.layers[2].ngram, 2);
    static const uint32_t primes[] = { 101, 103, 107, 109, 113, 127, 131, 137 };
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(c.ngram.sizes[i], primes[i]);
    assert_int_equal(c.layers[0].ngram_rows, 424); /* 101 + 103 + 107 + 109 = 420 */
    assert_int_equal(c.layers[2].ngram_rows, 512);
    assert_int_equal(c.ngram.boundary, 2);
    qr_model_config_free(&c);
    c = good(QWEN4(INDEX NGRAMS ",\"eos_token_id\":[7,2],\"split_ngram_parts\":4"));
    assert_int_equal(c.ngram.boundary, 7);
    assert_int_equal(c.layers[0].ngram_rows, 106);
    qr_model_config_free(&c);
    bad(QWEN4(INDEX NGRAMS ",\"ple_layer_ids\":[0]"), QUIRE_E_FORMAT, "ple_layer_ids[0]");
    bad(QWEN4(INDEX NGRAMS ",\"ple_layer_ids\":[1,5]"), QUIRE_E_FORMAT, "ple_layer_ids[1]");
    bad(QWEN4(INDEX NGRAMS ",\"ple_layer_ids\":2"), QUIRE_E_FORMAT, "ple_layer_ids must be");
    bad(QWEN4(INDEX NGRAMS ",\"ngram_size\":1"), QUIRE_E_FORMAT, "ngram_size is 1");
    bad(QWEN4(INDEX NGRAMS ",\"ngram_size\":9"), QUIRE_E_FORMAT, "ngram_size is 9");
    bad(QWEN4(INDEX NGRAMS ",\"heads_per_ngram\":0"), QUIRE_E_FORMAT, "heads_per_ngram is 0");
    bad(QWEN4(INDEX NGRAMS ",\"heads_per_ngram\":65"), QUIRE_E_FORMAT, "heads_per_ngram is 65");
    bad(QWEN4(INDEX NGRAMS ",\"ple_embed_dim\":30"), QUIRE_E_FORMAT, "ple_embed_dim is 30");
    bad(QWEN4(INDEX NGRAMS ",\"ple_embed_dim\":0"), QUIRE_E_FORMAT, "ple_embed_dim is 0");
    bad(QWEN4(INDEX NGRAMS ",\"ple_conv_kernel_size\":0"), QUIRE_E_FORMAT, "ple_conv_kernel_size");
    bad(QWEN4(INDEX NGRAMS ",\"split_ngram_parts\":0"), QUIRE_E_FORMAT, "split_ngram_parts is 0");
    bad(QWEN4(INDEX NGRAMS ",\"split_ngram_parts\":5"), QUIRE_E_UNSUPPORTED,
        "split_ngram_parts is 5");
    bad(QWEN4(INDEX NGRAMS ",\"ngram_vocab_size_base\":1"), QUIRE_E_FORMAT, "vocab_size_base is 1");
    bad(QWEN4(INDEX NGRAMS ",\"make_ngram_vocab_size_divisible_by\":0"), QUIRE_E_FORMAT,
        "make_ngram_vocab_size_divisible_by is 0");
    bad(QWEN4(INDEX NGRAMS ",\"seed\":-1"), QUIRE_E_FORMAT, "seed");
    bad(QWEN4(INDEX NGRAMS ",\"num_hidden_layers\":12,\"ple_layer_ids\":[1,2,3,4,5,6,7,8,9,10],"
                           "\"ngram_size\":8,\"heads_per_ngram\":64,\"ple_embed_dim\":448"),
        QUIRE_E_LIMIT, "ple_layer_ids lists 10 layers with 448 heads of n-grams each");
    bad(QWEN4(INDEX NGRAMS ",\"eos_token_id\":null"), QUIRE_E_FORMAT, "eos_token_id must be");
    bad(QWEN4(INDEX NGRAMS ",\"eos_token_id\":320"), QUIRE_E_FORMAT, "eos_token_id must be");
}

/* The tables in the files of the published model, whose rows are 128 parts of 2500012. */
static void test_published_tables(void **state)
{
    (void)state;
    struct qr_model_config c = good(
        QWEN4(INDEX ",\"ple_layer_ids\":[2],\"ple_embed_dim\":2560,\"split_ngram_parts\":128"));
    assert_int_equal(c.layers[1].ngram_rows, 2500012);
    qr_model_config_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hyper),
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_ngrams),
        cmocka_unit_test(test_published_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
