/* SPDX-License-Identifier: Apache-2.0 */
/* test_hf_encoder.c - config.json of encoders and encoder-decoders: keys, defaults, rejections. */
#include "model/config/hf_pooling.h"
#include "test_config.h"
#include "test_hf.h"
#include <math.h>
#include <quire/model.h>

static void test_bert(void **state)
{
    (void)state;
    struct qr_model_config c = good("{\"model_type\":\"bert\"}"); /* all defaults: bert-base */
    assert_true(c.kind == QR_MODEL_ENCODER && !c.causal && c.n_encoder_layers == 0);
    assert_true(c.n_layers == 12 && c.hidden_size == 768 && c.vocab_size == 30522);
    assert_true(c.context_length == 512 && c.position_offset == 0 && c.learned_positions);
    assert_true(c.n_token_types == 2 && c.embedding_norm && c.norm_eps == 1e-12f);
    assert_true(c.block == QR_BLOCK_POST_NORM && c.activation == QR_ACT_GELU_ERF && !c.ffn_gated);
    assert_true(c.attention_scale == 0.125f && c.layers[11].rope == QR_LAYER_NO_ROPE);
    qr_model_config_free(&c);
    c = good(
        MODEL("bert", ",\"type_vocab_size\":5,\"hidden_act\":\"relu\",\"layer_norm_eps\":0.5"));
    assert_true(c.n_token_types == 5 && c.activation == QR_ACT_RELU && c.norm_eps == 0.5f);
    qr_model_config_free(&c);
    bad(MODEL("bert", ",\"is_decoder\":true"), QUIRE_E_UNSUPPORTED, "is_decoder");
    bad(MODEL("bert", ",\"add_cross_attention\":true"), QUIRE_E_UNSUPPORTED, "add_cross_attention");
    bad(MODEL("bert", ",\"position_embedding_type\":\"relative_key\""), QUIRE_E_UNSUPPORTED,
        "position_embedding_type relative_key");
    bad(MODEL("bert", ",\"position_embedding_type\":3"), QUIRE_E_FORMAT, "position_embedding_type");
    bad(MODEL("bert", ",\"type_vocab_size\":70000"), QUIRE_E_FORMAT, "token types is 70000");
    bad(MODEL("bert", ",\"type_vocab_size\":-1"), QUIRE_E_FORMAT, "type_vocab_size");
}

/* Positions start after the padding token's row of the position table. */
static void test_roberta(void **state)
{
    (void)state;
    static const char *const types[] = { "roberta", "xlm-roberta", "camembert" };
    for (int i = 0; i < 3; i++) {
        char json[400];
        snprintf(json, sizeof json,
                 "{\"model_type\":\"%s\"," SIZES ",\"max_position_embeddings\":514}", types[i]);
        struct qr_model_config c = good(json);
        assert_true(c.kind == QR_MODEL_ENCODER && c.context_length == 512 &&
                    c.position_offset == 2);
        qr_model_config_free(&c);
    }
    struct qr_model_config c =
        good(MODEL("roberta", ",\"max_position_embeddings\":20,\"pad_token_id\":7"));
    assert_true(c.context_length == 12 && c.position_offset == 8);
    qr_model_config_free(&c);
    bad(MODEL("roberta", ",\"max_position_embeddings\":2"), QUIRE_E_FORMAT, "pad_token_id 1");
    bad(MODEL("roberta", ",\"max_position_embeddings\":8,\"pad_token_id\":7"), QUIRE_E_FORMAT,
        "pad_token_id 7");
    bad(MODEL("roberta", ",\"pad_token_id\":4294967295"), QUIRE_E_FORMAT, "pad_token_id");
}

static void test_modernbert(void **state)
{
    (void)state;
    struct qr_model_config c = good(MODEL("modernbert", ",\"local_attention\":16"));
    assert_true(c.kind == QR_MODEL_ENCODER && c.block == QR_BLOCK_PRE_NORM && c.ffn_gated);
    assert_true(c.layers[0].skip_attn_norm && !c.layers[1].skip_attn_norm);
    /* half of the window in each direction plus the token; every third layer from 0 is full */
    assert_true(c.layers[0].window == 0 && c.layers[1].window == 9 && c.layers[2].window == 9 &&
                c.layers[3].window == 0);
    assert_true(c.layers[0].rope == 0 && c.layers[1].rope == 1 && c.rope[0].theta == 160000 &&
                c.rope[1].theta == 10000);
    assert_true(!c.bias.q && !c.bias.ffn_in && !c.bias.norm);
    qr_model_config_free(&c);
    c = good(MODEL("modernbert", ",\"global_attn_every_n_layers\":2,\"norm_bias\":true,"
                                 "\"attention_bias\":true,\"mlp_bias\":true,"
                                 "\"global_rope_theta\":5000,\"local_rope_theta\":500"));
    assert_true(c.layers[0].window == 0 && c.layers[1].window == 65 && c.layers[2].window == 0 &&
                c.layers[3].window == 65);
    assert_true(c.rope[0].theta == 5000 && c.rope[1].theta == 500);
    assert_true(c.bias.q && c.bias.o && c.bias.ffn_in && c.bias.ffn_down && c.bias.norm);
    qr_model_config_free(&c);
    bad(MODEL("modernbert", ",\"global_attn_every_n_layers\":0"), QUIRE_E_FORMAT,
        "sliding_window_pattern is 0");
}

#define T5 "{\"model_type\":\"t5\",\"d_model\":64,\"num_heads\":4,\"vocab_size\":320"

/* The encoder of T5 alone: `architectures` says so. */
static void test_t5_encoder(void **state)
{
    (void)state;
#define ALONE T5 ",\"num_layers\":3,\"architectures\":[\"T5EncoderModel\"]"
    struct qr_model_config c =
        good(ALONE ",\"num_decoder_layers\":7,\"is_encoder_decoder\":true,"
                   "\"decoder_start_token_id\":0,\"tie_word_embeddings\":"
                   "false,\"scale_decoder_outputs\":true,\"n_positions\":96}");
    assert_true(c.kind == QR_MODEL_ENCODER && !c.causal && c.n_layers == 3);
    assert_true(c.n_encoder_layers == 0 && !c.layers[0].encoder && c.context_length == 96);
    assert_true(c.relative_buckets == 32 && c.attention_scale == 1 && !c.ffn_gated);
    qr_model_config_free(&c);
    c = good(ALONE ",\"feed_forward_proj\":\"gated-gelu\"}");
    assert_true(c.ffn_gated && c.activation == QR_ACT_GELU_TANH);
    qr_model_config_free(&c);
    static const char *const others[] = { "[\"T5ForConditionalGeneration\"]", "[]", "[5,null]", "7",
                                          "{\"T5EncoderModel\":1}" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char json[256];
        snprintf(json, sizeof json, "{\"model_type\":\"t5\",\"architectures\":%s}", others[i]);
        c = good(json);
        assert_int_equal(c.kind, QR_MODEL_ENCODER_DECODER);
        qr_model_config_free(&c);
    }
    bad(ALONE ",\"relative_attention_num_buckets\":0}", QUIRE_E_FORMAT, "num_buckets is 0");
    bad(ALONE ",\"num_heads\":0}", QUIRE_E_FORMAT, "heads");
    bad(ALONE ",\"sliding_window\":8}", QUIRE_E_UNSUPPORTED, "sliding_window");
}

static void test_t5(void **state)
{
    (void)state;
    struct qr_model_config c = good("{\"model_type\":\"t5\"}"); /* t5-small */
    assert_true(c.kind == QR_MODEL_ENCODER_DECODER && c.causal && c.n_layers == 6 &&
                c.n_encoder_layers == 6);
    assert_true(c.hidden_size == 512 && c.head_dim == 64 && c.layers[0].ffn_size == 2048);
    assert_true(c.relative_buckets == 32 && c.relative_distance == 128 && c.attention_scale == 1);
    assert_true(c.activation == QR_ACT_RELU && !c.ffn_gated && c.norm == QR_NORM_RMS);
    assert_true(!c.layers[5].encoder && c.layers[6].encoder && c.layers[11].encoder);
    assert_true(fabsf(c.logit_scale - 1 / sqrtf(512)) < 1e-9f); /* tied */
    qr_model_config_free(&c);
    c = good(T5 ",\"num_layers\":3,\"num_decoder_layers\":2,\"d_kv\":8,\"d_ff\":96,"
                "\"feed_forward_proj\":\"gated-gelu\",\"tie_word_embeddings\":false,"
                "\"decoder_start_token_id\":5}");
    assert_true(c.n_layers == 2 && c.n_encoder_layers == 3 && c.head_dim == 8);
    assert_true(c.ffn_gated && c.activation == QR_ACT_GELU_TANH && c.decoder_start_id == 5);
    assert_true(c.logit_scale == 1 && !c.tied_embeddings && c.layers[4].ffn_size == 96);
    qr_model_config_free(&c);
    c = good(T5 ",\"num_layers\":4,\"feed_forward_proj\":\"gated-silu\","
                "\"tie_word_embeddings\":true,\"scale_decoder_outputs\":false}");
    assert_true(c.n_layers == 4 && c.n_encoder_layers == 4 && c.ffn_gated);
    assert_true(c.activation == QR_ACT_SILU && c.logit_scale == 1 && c.decoder_start_id == -1);
    qr_model_config_free(&c);
    c = good(T5 ",\"feed_forward_proj\":\"gelu\",\"tie_word_embeddings\":false,"
                "\"scale_decoder_outputs\":true}");
    assert_true(c.activation == QR_ACT_GELU_ERF && !c.ffn_gated && c.logit_scale == 0.125f);
    qr_model_config_free(&c);
    bad(T5 ",\"feed_forward_proj\":\"gated-mystery\"}", QUIRE_E_UNSUPPORTED, "mystery");
    bad(T5 ",\"num_layers\":0,\"num_decoder_layers\":2}", QUIRE_E_FORMAT, "encoder layers is 0");
    bad(T5 ",\"num_decoder_layers\":0}", QUIRE_E_FORMAT, "number of layers is 0");
    bad(T5 ",\"num_layers\":2000}", QUIRE_E_FORMAT, "layers is 2000");
    bad(T5 ",\"relative_attention_num_buckets\":0}", QUIRE_E_FORMAT, "num_buckets is 0");
    bad(T5 ",\"relative_attention_num_buckets\":2}", QUIRE_E_FORMAT, "buckets is 2");
    bad(T5 ",\"relative_attention_max_distance\":16}", QUIRE_E_FORMAT, "distance is 16");
    bad(T5 ",\"relative_attention_max_distance\":9999999}", QUIRE_E_FORMAT, "distance is 9999999");
    bad(T5 ",\"decoder_start_token_id\":320}", QUIRE_E_FORMAT, "decoder start token id 320");
}

#define BART                                                                                       \
    "{\"model_type\":\"bart\",\"d_model\":64,\"vocab_size\":320,\"decoder_attention_heads\":4,"    \
    "\"decoder_layers\":2,\"decoder_ffn_dim\":96"

static void test_bart(void **state)
{
    (void)state;
    struct qr_model_config c =
        good(BART ",\"encoder_layers\":3,\"encoder_ffn_dim\":160,\"encoder_attention_heads\":4,"
                  "\"num_hidden_layers\":9,\"scale_embedding\":true}");
    assert_true(c.n_layers == 2 && c.n_encoder_layers == 3 && c.embedding_scale == 8);
    assert_true(c.layers[1].ffn_size == 96 && c.layers[2].ffn_size == 160 && c.max_ffn_size == 160);
    assert_true(c.block == QR_BLOCK_POST_NORM && c.position_offset == 2 && c.embedding_norm);
    assert_true(c.bias.q && c.bias.k && c.bias.norm && c.norm_eps == 1e-5f && c.logit_scale == 1);
    qr_model_config_free(&c);
    c = good(BART "}"); /* the encoder defaults to the decoder's sizes */
    assert_true(c.n_encoder_layers == 2 && c.layers[3].ffn_size == 96 && c.embedding_scale == 1);
    qr_model_config_free(&c);
    bad(BART ",\"encoder_attention_heads\":2}", QUIRE_E_UNSUPPORTED, "2 heads in the encoder");
    bad(BART ",\"encoder_layers\":0}", QUIRE_E_FORMAT, "encoder layers is 0");
    bad(BART ",\"encoder_ffn_dim\":0}", QUIRE_E_FORMAT, "feed-forward size is 0");
}

/* A stack of T5Gemma with the keys of published files and small sizes. */
#define STACK                                                                                      \
    "\"attention_bias\":false,\"attention_dropout\":0.0,\"attn_logit_softcapping\":50.0,"          \
    "\"bos_token_id\":2,\"cross_attention_hidden_size\":64,\"dropout_rate\":0.0,"                  \
    "\"eos_token_id\":1,\"final_logit_softcapping\":30.0,\"head_dim\":16,"                         \
    "\"hidden_act\":\"gelu_pytorch_tanh\",\"hidden_activation\":\"gelu_pytorch_tanh\","            \
    "\"hidden_size\":64,\"initializer_range\":0.02,\"is_decoder\":false,"                          \
    "\"model_type\":\"t5_gemma_module\",\"num_attention_heads\":4,\"num_hidden_layers\":3,"        \
    "\"num_key_value_heads\":2,\"pad_token_id\":0,\"query_pre_attn_scalar\":16,"                   \
    "\"rms_norm_eps\":1e-06,\"rope_theta\":10000.0,\"tie_word_embeddings\":false,"                 \
    "\"torch_dtype\":\"bfloat16\",\"use_cache\":true,\"vocab_size\":320"

/* more: members of the file, of the encoder and of the decoder, each with a comma before. */
static char *t5gemma(const char *file, const char *encoder, const char *decoder)
{
    static char text[8192];
    static const char stack[] = STACK;
    char of[2][4096];
    snprintf(of[0], sizeof of[0], "{%s%s}", stack, encoder);
    snprintf(of[1], sizeof of[1], "{%s%s}", stack, decoder);
    char *e = last_keys_win(of[0]), *d = last_keys_win(of[1]);
    snprintf(text, sizeof text,
             "{\"model_type\":\"t5gemma\",\"architectures\":[\"T5GemmaForConditionalGeneration\"],"
             "\"attention_dropout\":0.0,\"classifier_dropout_rate\":0.1,\"dropout_rate\":0.0,"
             "\"eos_token_id\":[1,107],\"is_encoder_decoder\":true,\"vocab_size\":256000,"
             "\"encoder\":%s,\"decoder\":%s%s}",
             e, d, file);
    free(e);
    free(d);
    return text;
}

static void test_stacks(void **state)
{
    (void)state;
    struct qr_model_config c = good(
        t5gemma("", ",\"num_hidden_layers\":2,\"intermediate_size\":96,\"sliding_window\":8",
                ",\"intermediate_size\":160,\"sliding_window\":24,\"max_position_embeddings\":99"));
    assert_true(c.kind == QR_MODEL_ENCODER_DECODER && c.causal &&
                c.block == QR_BLOCK_SANDWICH_NORM);
    assert_true(c.n_layers == 3 && c.n_encoder_layers == 2 && c.vocab_size == 320);
    assert_true(c.layers[2].ffn_size == 160 && c.layers[3].ffn_size == 96 && c.layers[3].encoder);
    assert_true(c.layers[0].window == 24 && c.layers[1].window == 0 && c.layers[3].window == 8);
    assert_true(c.layers[4].window == 0 && c.layers[4].rope == 0 && c.layers[4].kv_source == 4);
    assert_true(c.encoder_embedding && c.tied_embeddings && c.context_length == 99);
    assert_true(c.final_softcap == 30 && c.attention_softcap == 50 && c.embedding_scale == 8);
    assert_true(c.n_eos == 2 && c.bos_id == 2 && c.decoder_start_id == 2 && c.pad_id == 0);
    qr_model_config_free(&c);
    /* keys of the file, and a window that newer releases of the reference count differently */
    c = good(t5gemma(",\"tie_word_embeddings\":false,\"decoder_start_token_id\":5,"
                     "\"transformers_version\":\"5.0.1\"",
                     ",\"final_logit_softcapping\":7,\"max_position_embeddings\":77", ""));
    assert_true(!c.tied_embeddings && c.decoder_start_id == 5 && c.final_softcap == 30);
    assert_true(c.layers[0].window == 4096 && c.layers[3].window == 4097 && !c.layers[4].window);
    assert_true(c.context_length == 77 && c.layers[3].ffn_size == 9216);
    qr_model_config_free(&c);
    /* two equal stacks; defaults of the 2B model */
    c = good("{\"model_type\":\"t5gemma\",\"encoder\":{\"num_hidden_layers\":4}}");
    assert_true(c.n_layers == 4 && c.n_encoder_layers == 4 && c.hidden_size == 2304);
    assert_true(c.decoder_start_id == -1);
    qr_model_config_free(&c);
}

static void test_bad_stacks(void **state)
{
    (void)state;
    static const struct {
        const char *member, *said;
    } unlike[] = {
        { ",\"vocab_size\":321", "encoder.vocab_size" },
        { ",\"hidden_size\":128", "encoder.hidden_size" },
        { ",\"num_attention_heads\":8", "encoder.num_attention_heads" },
        { ",\"num_key_value_heads\":4", "encoder.num_key_value_heads" },
        { ",\"head_dim\":32", "encoder.head_dim" },
        { ",\"hidden_activation\":\"silu\"", "encoder.hidden_activation" },
        { ",\"attention_bias\":true", "encoder.attention_bias" },
        { ",\"rms_norm_eps\":1e-5", "encoder.rms_norm_eps" },
        { ",\"query_pre_attn_scalar\":20", "encoder.query_pre_attn_scalar" },
        { ",\"attn_logit_softcapping\":null", "encoder.attn_logit_softcapping" },
        { ",\"rope_theta\":20000", "encoder.rope_parameters" },
        { ",\"rope_scaling\":{\"rope_type\":\"linear\",\"factor\":2}", "encoder.rope_parameters" },
    };
    for (size_t i = 0; i < sizeof unlike / sizeof *unlike; i++) {
        bad(t5gemma("", unlike[i].member, ""), QUIRE_E_UNSUPPORTED, unlike[i].said);
        bad(t5gemma("", "", unlike[i].member), QUIRE_E_UNSUPPORTED, unlike[i].said);
        struct qr_model_config c = good(t5gemma("", unlike[i].member, unlike[i].member));
        qr_model_config_free(&c);
    }
    bad(t5gemma(",\"warp_factor\":2", "", ""), QUIRE_E_UNSUPPORTED, "config.json: warp_factor");
    bad(t5gemma("", ",\"warp_factor\":2", ""), QUIRE_E_UNSUPPORTED, "encoder.warp_factor = 2");
    bad(t5gemma("", "", ",\"warp_factor\":2"), QUIRE_E_UNSUPPORTED, "decoder.warp_factor = 2");
    bad(t5gemma(",\"is_encoder_decoder\":false", "", ""), QUIRE_E_UNSUPPORTED,
        "is_encoder_decoder = false");
    bad(t5gemma(",\"is_encoder_decoder\":3", "", ""), QUIRE_E_FORMAT, "is_encoder_decoder");
    bad(t5gemma(",\"tie_word_embeddings\":3", "", ""), QUIRE_E_FORMAT, "tie_word_embeddings");
    bad(t5gemma("", ",\"use_bidirectional_attention\":true", ""), QUIRE_E_UNSUPPORTED,
        "use_bidirectional_attention");
    bad(t5gemma("", "", ",\"use_bidirectional_attention\":true"), QUIRE_E_UNSUPPORTED,
        "use_bidirectional_attention");
    bad(t5gemma("", ",\"num_hidden_layers\":0", ""), QUIRE_E_FORMAT, "layers is 0");
    bad(t5gemma("", "", ",\"num_hidden_layers\":0"), QUIRE_E_FORMAT, "layers is 0");
    bad(t5gemma("", ",\"layer_types\":[\"sliding_attention\"]", ""), QUIRE_E_FORMAT, "layer_types");
    bad("{\"model_type\":\"t5gemma\"}", QUIRE_E_FORMAT, "encoder must be an object");
    bad("{\"model_type\":\"t5gemma\",\"encoder\":3}", QUIRE_E_FORMAT, "encoder must be an object");
    bad("{\"model_type\":\"t5gemma\",\"encoder\":{},\"decoder\":3}", QUIRE_E_FORMAT,
        "decoder must be an object");
}

static void expect_pooling(const char *json, enum quire_pooling pooling)
{
    struct qr_model_config c = good("{\"model_type\":\"bert\"}");
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_int_equal(c.pooling, QUIRE_POOLING_MEAN);
    assert_status(QUIRE_OK, qr_model_config_read_pooling(&c, json, strlen(json), &err));
    assert_int_equal(c.pooling, pooling);
    qr_model_config_free(&c);
}

/* module: what the author's embeddings need besides; "" = nothing. */
static void expect_modules(const char *pooling, const char *modules, const char *module)
{
    struct qr_model_config c = good("{\"model_type\":\"bert\"}");
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, qr_model_config_read_pooling(&c, pooling, strlen(pooling), &err));
    assert_status(QUIRE_OK, qr_model_config_read_modules(&c, modules, strlen(modules), &err));
    assert_string_equal(c.embedding_module, module);
    qr_model_config_free(&c);
}

/* One dense layer of a model with 64 hidden dimensions. */
static quire_status read_dense(struct qr_model_config *c, uint32_t i, const char *json,
                               struct quire_error *err)
{
    return qr_model_config_read_dense(c, i, "2_Dense/config.json", json, strlen(json), err);
}

static void test_dense(void **state)
{
    (void)state;
    struct qr_model_config c = good(MODEL("bert", ""));
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, read_dense(&c, 0, "{\"in_features\":64,\"out_features\":96}", &err));
    assert_true(c.dense[0].bias && c.dense[0].tanh); /* defaults of the reference */
    assert_status(QUIRE_OK, read_dense(&c, 1,
                                       "{\"in_features\":96,\"out_features\":8,\"bias\":false,"
                                       "\"activation_function\":"
                                       "\"torch.nn.modules.linear.Identity\"}",
                                       &err));
    assert_false(c.dense[1].bias || c.dense[1].tanh);
    assert_string_equal(c.embedding_module, "");
    static const char *const wrong[] = { "{\"in_features\":95,\"out_features\":8}",
                                         "{\"in_features\":96,\"out_features\":0}",
                                         "{\"in_features\":96,\"out_features\":2000000}",
                                         "{\"in_features\":96}",
                                         "{\"in_features\":\"x\",\"out_features\":8}",
                                         "{\"in_features\":96,\"out_features\":8,\"bias\":3}",
                                         "[]" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        c.dense[1] = (struct qr_dense_config){ 0 };
        assert_status(QUIRE_E_FORMAT, read_dense(&c, 1, wrong[i], &err));
    }
    static const char *const keys[] = { "in_features", "out_features", "bias",
                                        "activation_function" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"%s\":[]}", keys[i]);
        assert_status(QUIRE_E_FORMAT, read_dense(&c, 1, text, &err));
        assert_non_null(strstr(err.msg, keys[i]));
    }
    assert_status(QUIRE_OK, read_dense(&c, 1,
                                       "{\"in_features\":96,\"out_features\":8,"
                                       "\"activation_function\":\"torch.nn.ReLU\"}",
                                       &err));
    assert_string_equal(c.embedding_module, "2_Dense/config.json: torch.nn.ReLU");
    qr_model_config_free(&c);
}

static void test_modules(void **state)
{
    static const char plain[] = "[{\"type\":\"sentence_transformers.models.Transformer\"},"
                                "{\"type\":\"sentence_transformers.models.Pooling\"},"
                                "{\"type\":\"sentence_transformers.models.Normalize\"},{},3]",
                      dense[] = "[{\"type\":\"sentence_transformers.models.Dense\"},"
                                "{\"type\":\"sentence_transformers.models.LSTM\"}]";
    (void)state;
    expect_modules("{\"pooling_mode\":\"mean\"}", plain, "");
    expect_modules("{}", dense, "modules.json: sentence_transformers.models.Dense");
    expect_modules("{\"pooling_mode\":\"wombat\"}", plain, "1_Pooling/config.json: wombat");
    expect_modules("{\"pooling_mode_max_tokens\":true}", dense,
                   "1_Pooling/config.json: pooling_mode_max_tokens");
    expect_modules("{\"pooling_mode_cls_token\":true,\"pooling_mode_lasttoken\":true}", plain,
                   "1_Pooling/config.json: pooling_mode_lasttoken");
    /* dense layers behind the pooling, in folders of their own */
#define POOLED      "[{\"type\":\"sentence_transformers.models.Pooling\",\"path\":\"1_Pooling\"},"
#define DENSE(path) "{\"type\":\"sentence_transformers.models.Dense\",\"path\":\"" path "\"}"
    expect_modules("{}", POOLED DENSE("2_Dense") "," DENSE("3_Dense") "]", "");
    expect_modules("{}", "[{\"type\":\"Pooling\"}," DENSE("2_Dense") "]", "");
    expect_modules("{}", POOLED "{\"type\":\"sentence_transformers.models.Dense\"}]",
                   "modules.json: sentence_transformers.models.Dense");
#define TEN "abcdefghij"
    static const char *const paths[] = { "", "..", "a/b", "../2_Dense",
                                         TEN TEN TEN TEN TEN TEN "abcd" };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 POOLED "{\"type\":\"sentence_transformers.models.Dense\",\"path\":\"%s\"}]",
                 paths[i]);
        expect_modules("{}", text, "modules.json: sentence_transformers.models.Dense");
    }
    expect_modules(
        "{}", POOLED DENSE("2") "," DENSE("3") "," DENSE("4") "," DENSE("5") "," DENSE("6") "]",
        "modules.json: sentence_transformers.models.Dense");
    static const char *const wrong[] = { "{}", "[", "3" };
    for (int i = 0; i < 3; i++) {
        struct qr_model_config c = good("{\"model_type\":\"bert\"}");
        struct quire_error err = QUIRE_ERROR_INIT;
        assert_status(QUIRE_E_FORMAT,
                      qr_model_config_read_modules(&c, wrong[i], strlen(wrong[i]), &err));
        assert_non_null(strstr(err.msg, "modules.json"));
        qr_model_config_free(&c);
    }
}

static void test_pooling(void **state)
{
    (void)state;
    expect_pooling("{\"pooling_mode_cls_token\":true,\"pooling_mode_mean_tokens\":false}",
                   QUIRE_POOLING_CLS);
    expect_pooling("{\"pooling_mode_cls_token\":false,\"pooling_mode_lasttoken\":true}",
                   QUIRE_POOLING_LAST);
    expect_pooling("{\"pooling_mode\":\"cls\"}", QUIRE_POOLING_CLS);
    expect_pooling("{\"pooling_mode\":\"weightedmean\",\"pooling_mode_max_tokens\":true}",
                   QUIRE_POOLING_MEAN);
    expect_pooling("{}", QUIRE_POOLING_MEAN);
    struct qr_model_config c = good("{\"model_type\":\"bert\"}");
    struct quire_error err = QUIRE_ERROR_INIT;
    static const char wrong[] = "{\"pooling_mode_cls_token\":3}";
    assert_status(QUIRE_E_FORMAT, qr_model_config_read_pooling(&c, wrong, strlen(wrong), &err));
    assert_non_null(strstr(err.msg, "1_Pooling/config.json"));
    assert_status(QUIRE_E_FORMAT, qr_model_config_read_pooling(&c, "[", 1, &err));
    qr_model_config_free(&c);
}

/* A decoder family with bidirectional attention becomes an encoder with two-sided windows. */
static void test_bidirectional(void **state)
{
    (void)state;
    struct qr_model_config c =
        good(MODEL("gemma3_text", ",\"use_bidirectional_attention\":true,\"sliding_window\":8"));
    assert_true(c.kind == QR_MODEL_ENCODER && !c.causal && c.layers[0].window == 5);
    qr_model_config_free(&c);
    c = good(MODEL("gemma3_text", ",\"sliding_window\":8"));
    assert_true(c.kind == QR_MODEL_DECODER && c.causal && c.layers[0].window == 8);
    qr_model_config_free(&c);
}

static void test_neobert(void **state)
{
    (void)state;
    struct qr_model_config c = good("{\"model_type\":\"neobert\"}"); /* all defaults: the base */
    assert_true(c.kind == QR_MODEL_ENCODER && !c.causal && c.block == QR_BLOCK_PRE_NORM);
    assert_true(c.n_layers == 28 && c.hidden_size == 768 && c.context_length == 1024);
    assert_true(c.layers[27].ffn_size == 2048 && c.ffn_gated && c.activation == QR_ACT_SILU);
    assert_true(c.rope[0].kind == QR_ROPE_INTERLEAVED && c.norm_eps == 1e-6f);
    qr_model_config_free(&c);
    c = good("{\"model_type\":\"neobert\",\"intermediate_size\":70,\"max_length\":4096}");
    assert_true(c.layers[0].ffn_size == 48 && c.context_length == 4096); /* 46, rounded up */
    qr_model_config_free(&c);
    bad("{\"model_type\":\"neobert\",\"hidden_act\":\"gelu\"}", QUIRE_E_UNSUPPORTED, "hidden_act");
    bad("{\"model_type\":\"neobert\",\"hidden_act\":1}", QUIRE_E_FORMAT, "hidden_act");
    bad("{\"model_type\":\"neobert\",\"rope\":false}", QUIRE_E_UNSUPPORTED, "rope");
    bad("{\"model_type\":\"neobert\",\"rms_norm\":false}", QUIRE_E_UNSUPPORTED, "rms_norm");
    bad("{\"model_type\":\"neobert\",\"dim_head\":0}", QUIRE_E_FORMAT, "head");
    bad("{\"model_type\":\"neobert\",\"intermediate_size\":4294967295}", QUIRE_E_FORMAT,
        "intermediate_size 4294967295");
    /* the name of a gated activation, where there is no gate */
    bad(MODEL("gpt_neox", ",\"hidden_act\":\"swiglu\""), QUIRE_E_UNSUPPORTED, "swiglu");
}

/* Defaults of the published base models, and what is refused. */
static void test_bert_like(void **state)
{
    (void)state;
    struct qr_model_config c = good("{\"model_type\":\"mpnet\"}");
    assert_true(c.relative_buckets == 32 && c.relative_distance == 128 && c.position_offset == 2);
    assert_true(c.n_token_types == 0 && c.block == QR_BLOCK_POST_NORM);
    qr_model_config_free(&c);
    c = good("{\"model_type\":\"electra\"}");
    assert_true(c.hidden_size == 256 && c.embedding_size == 128 && c.n_token_types == 2);
    qr_model_config_free(&c);
    c = good(MODEL("electra", ",\"embedding_size\":64")); /* that of hidden_size */
    assert_int_equal(c.embedding_size, 0);
    qr_model_config_free(&c);
    c = good("{\"model_type\":\"albert\",\"num_hidden_layers\":1}");
    assert_true(c.loop_layers == 0 && c.activation == QR_ACT_GELU_TANH);
    qr_model_config_free(&c);
    c = good("{\"model_type\":\"albert\"}");
    assert_true(c.n_layers == 12 && c.loop_layers == 1 && c.embedding_size == 128);
    qr_model_config_free(&c);
    bad(MODEL("albert", ",\"embedding_size\":32,\"num_hidden_groups\":2"), QUIRE_E_UNSUPPORTED,
        "num_hidden_groups is 2");
    bad(MODEL("albert", ",\"embedding_size\":32,\"inner_group_num\":\"x\""), QUIRE_E_FORMAT,
        "inner_group_num");
    bad(MODEL("albert", ",\"embedding_size\":0"), QUIRE_E_FORMAT, "embedding_size is 0");
    bad(MODEL("albert", ",\"embedding_size\":65"), QUIRE_E_UNSUPPORTED, "embedding_size 65");
    c = good(MODEL("new", ",\"rope_scaling\":{\"type\":\"ntk\",\"factor\":8}"));
    assert_true(c.rope[0].scaling == QR_ROPE_SCALING_NTK && c.rope[0].factor == 8);
    qr_model_config_free(&c);
    bad(MODEL("llama", ",\"rope_scaling\":{\"type\":\"ntk\",\"factor\":8}"), QUIRE_E_UNSUPPORTED,
        "RoPE type ntk");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bert),          cmocka_unit_test(test_roberta),
        cmocka_unit_test(test_modernbert),    cmocka_unit_test(test_t5),
        cmocka_unit_test(test_bart),          cmocka_unit_test(test_pooling),
        cmocka_unit_test(test_modules),       cmocka_unit_test(test_dense),
        cmocka_unit_test(test_bidirectional), cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_bad_stacks),    cmocka_unit_test(test_t5_encoder),
        cmocka_unit_test(test_neobert),       cmocka_unit_test(test_bert_like),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
