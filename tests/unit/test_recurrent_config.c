/* SPDX-License-Identifier: Apache-2.0 */
/* test_recurrent_config.c - recurrent layers in config.json: patterns of layers, sizes that do not
 * fit, options that are not supported. */
#include "test_hf.h"

#define M2_KEYS                                                                                    \
    "\"model_type\":\"mamba2\",\"vocab_size\":320,\"hidden_size\":64,\"num_hidden_layers\":3,"     \
    "\"num_heads\":8,\"head_dim\":16,\"state_size\":16,\"n_groups\":2,\"conv_kernel\":4,"          \
    "\"expand\":2"
#define M2(more) "{" M2_KEYS more "}"
#define M1_KEYS                                                                                    \
    "\"model_type\":\"mamba\",\"vocab_size\":320,\"hidden_size\":64,\"num_hidden_layers\":3,"      \
    "\"state_size\":16,\"conv_kernel\":4,\"expand\":2"
#define M1(more) "{" M1_KEYS more "}"
#define GDN_KEYS                                                                                   \
    ",\"linear_num_value_heads\":4,\"linear_num_key_heads\":2,\"linear_key_head_dim\":16,"         \
    "\"linear_value_head_dim\":24,\"linear_conv_kernel_dim\":4,\"head_dim\":16"
#define GDN(more) MODEL("qwen3_5_text", GDN_KEYS more)
#define LFM(more) MODEL("lfm2", more)
#define RWKV(more)                                                                                 \
    "{\"model_type\":\"rwkv\",\"vocab_size\":320,\"hidden_size\":64,\"num_hidden_layers\":3,"      \
    "\"context_length\":512" more "}"
#define RWKV6(more)                                                                                \
    "{\"model_type\":\"rwkv6\",\"vocab_size\":320,\"hidden_size\":128,\"num_hidden_layers\":"      \
    "3" more "}"
#define RWKV7(more)                                                                                \
    "{\"model_type\":\"rwkv7\",\"vocab_size\":320,\"hidden_size\":128,\"num_hidden_layers\":3,"    \
    "\"hidden_act\":\"sqrelu\"" more "}"
#define PLAMO(more)                                                                                \
    MODEL("plamo2", ",\"hidden_size_per_head\":16,\"mamba_num_heads\":4,"                          \
                    "\"attention_window_size\":8" more)
#define ZAMBA_LAYERS ",\"layers_block_type\":[\"mamba\",\"hybrid\",\"hybrid\",\"hybrid\"]"
#define ZAMBA(more)  MODEL("zamba2", more)
#define NEMO(more)                                                                                 \
    "{\"model_type\":\"nemotron_h\",\"vocab_size\":320,\"hidden_size\":64,"                        \
    "\"intermediate_size\":160,\"num_attention_heads\":4,\"mamba_num_heads\":4,"                   \
    "\"mamba_head_dim\":16,\"ssm_state_size\":16,\"n_groups\":1,\"conv_kernel\":4" more "}"

static void expect_mixers(const struct qr_model_config *c, const char *pattern)
{
    assert_int_equal(c->n_layers, strlen(pattern));
    for (uint32_t i = 0; i < c->n_layers; i++) {
        const struct qr_layer_config *l = &c->layers[i];
        const char is = l->mixer == QR_MIXER_ATTENTION      ? 'a'
                        : l->mixer == QR_MIXER_RECURRENT    ? 'r'
                        : l->mixer == QR_MIXER_BOTH         ? 'b'
                        : l->mixer == QR_MIXER_SHARED_BLOCK ? 's'
                        : l->moe                            ? 'e'
                                                            : 'f';
        assert_int_equal(is, pattern[i]);
    }
}

static void expect(const char *json, const char *pattern)
{
    struct qr_model_config c = good(json);
    expect_mixers(&c, pattern);
    qr_model_config_free(&c);
}

static void patterns(void **state)
{
    (void)state;
    expect(M1(""), "rrr");
    expect(M2(""), "rrr");
    expect(GDN(""), "rrra");
    expect(GDN(",\"full_attention_interval\":2"), "rara");
    expect(GDN(",\"full_attention_interval\":2,\"layer_types\":[\"full_attention\","
               "\"linear_attention\",\"linear_attention\",\"linear_attention\"]"),
           "arrr");
    expect(LFM(",\"full_attn_idxs\":[1,3]"), "rara");
    expect(LFM(",\"layer_types\":[\"conv\",\"conv\",\"full_attention\",\"conv\"]"), "rrar");
    expect(MODEL("jamba", ",\"attn_layer_period\":2,\"attn_layer_offset\":0"), "arar");
    expect(NEMO(",\"hybrid_override_pattern\":\"M-*E\",\"n_routed_experts\":4,"
                "\"num_experts_per_tok\":2,\"moe_intermediate_size\":32"),
           "rfae");
    expect(NEMO(",\"layers_block_type\":[\"mamba\",\"mlp\",\"attention\"]"), "rfa");
    expect(PLAMO(""), "rara");
    expect(PLAMO(",\"mamba_step\":3"), "rarr");
    expect(PLAMO(",\"mamba_step\":1"), "aaaa");
    expect(PLAMO(",\"mamba_step\":8"), "rrra"); /* no more layers than half of it */
    expect(PLAMO(",\"mamba_step\":1000000000"), "rrra");
}

static void bad_patterns(void **state)
{
    (void)state;
    bad(LFM(",\"layer_types\":[\"conv\",\"conv\",\"full_attention\"]"), QUIRE_E_FORMAT,
        "layer_types must list 4 layers");
    bad(LFM(",\"layer_types\":[\"conv\",\"conv\",\"full_attention\",\"conv\",\"conv\"]"),
        QUIRE_E_FORMAT, "layer_types must list 4 layers");
    bad(LFM(",\"layer_types\":\"conv\""), QUIRE_E_FORMAT, "layer_types must list 4 layers");
    bad(LFM(",\"layer_types\":[\"conv\",\"conv\",\"wavelet\",\"conv\"]"), QUIRE_E_UNSUPPORTED,
        "layer_types[2] is wavelet");
    bad(LFM(",\"layer_types\":[\"conv\",1,\"conv\",\"conv\"]"), QUIRE_E_FORMAT, "layer_types[1]");
    bad(LFM(",\"layer_types\":[\"conv\",\"mlp\",\"conv\",\"conv\"]"), QUIRE_E_UNSUPPORTED,
        "layer 1 has no mixer");
    bad(LFM(",\"full_attn_idxs\":[4]"), QUIRE_E_FORMAT, "full_attn_idxs[0]");
    bad(LFM(",\"full_attn_idxs\":[0,-1]"), QUIRE_E_FORMAT, "full_attn_idxs[1]");
    bad(LFM(""), QUIRE_E_FORMAT, "layer_types is missing");
    bad(MODEL("recurrent_gemma", ""), QUIRE_E_FORMAT, "layer_types is missing");
    bad(MODEL("recurrent_gemma", ",\"block_types\":[]"), QUIRE_E_FORMAT, "block_types must list");
    bad(MODEL("recurrent_gemma", ",\"block_types\":[\"recurrent\",\"x\"]"), QUIRE_E_UNSUPPORTED,
        "block_types[1] is x");
    bad(MODEL("recurrent_gemma", ",\"block_types\":[\"recurrent\"],\"lru_width\":66"),
        QUIRE_E_FORMAT, "lru_width 66 is not a multiple");
    bad(MODEL("recurrent_gemma", ",\"block_types\":[\"recurrent\"],\"conv1d_width\":0"),
        QUIRE_E_FORMAT, "taps of the convolution is 0");
    bad(MODEL("recurrent_gemma",
              ",\"block_types\":[\"recurrent\"],\"embeddings_scale_by_sqrt_dim\":false"),
        QUIRE_E_UNSUPPORTED, "embeddings_scale_by_sqrt_dim");
    bad(GDN(",\"full_attention_interval\":0"), QUIRE_E_FORMAT, "full_attention_interval is 0");
    bad(MODEL("jamba", ",\"attn_layer_period\":2,\"attn_layer_offset\":2"), QUIRE_E_FORMAT,
        "attn_layer_period is 2, with offset 2");
    bad(MODEL("jamba", ",\"expert_layer_period\":0"), QUIRE_E_FORMAT, "expert_layer_period is 0");
    bad(NEMO(",\"num_hidden_layers\":4,\"hybrid_override_pattern\":\"M-*\""), QUIRE_E_FORMAT,
        "hybrid_override_pattern has 3 letters for 4 layers");
    bad(NEMO(",\"hybrid_override_pattern\":\"M-X\""), QUIRE_E_UNSUPPORTED,
        "hybrid_override_pattern[2] is 'X'");
    bad(NEMO(""), QUIRE_E_FORMAT, "num_hidden_layers is missing");
    bad(NEMO(",\"layers_block_type\":[]"), QUIRE_E_FORMAT, "num_hidden_layers is missing");
}

static void bad_mamba(void **state)
{
    (void)state;
    bad(M2(",\"time_step_limit\":[0.0,1.5]"), QUIRE_E_UNSUPPORTED,
        "config.json: time_step_limit other than 0 to Infinity is not supported");
    bad(M2(",\"num_heads\":7"), QUIRE_E_FORMAT, "is not the inner size 128");
    bad(M2(",\"num_heads\":0"), QUIRE_E_FORMAT, "is not the inner size 128");
    bad(M2(",\"head_dim\":8"), QUIRE_E_FORMAT, "head_dim 8 is not the inner size 128");
    bad(M2(",\"n_groups\":3"), QUIRE_E_FORMAT, "8 recurrent heads, not a multiple of the 3");
    bad(M2(",\"n_groups\":0"), QUIRE_E_FORMAT, "number of recurrent key heads or groups is 0");
    bad(M2(",\"state_size\":0"), QUIRE_E_FORMAT, "recurrent key or state size is 0");
    bad(M2(",\"state_size\":4096"), QUIRE_E_FORMAT, "recurrent key or state size is 4096");
    bad(M2(",\"conv_kernel\":0"), QUIRE_E_FORMAT, "taps of the convolution is 0");
    bad(M2(",\"conv_kernel\":33"), QUIRE_E_FORMAT, "taps of the convolution is 33, 1 to 32");
    bad(M2(",\"conv_kernel\":4294967295"), QUIRE_E_FORMAT, "taps of the convolution");
    bad(M2(",\"time_step_limit\":[0.1,1.0]"), QUIRE_E_UNSUPPORTED, "time_step_limit");
    bad(M2(",\"time_step_limit\":[0.0]"), QUIRE_E_UNSUPPORTED, "time_step_limit");
    bad(M2(",\"time_step_limit\":[0.0,\"Infinity\"]"), QUIRE_E_UNSUPPORTED, "time_step_limit");
    bad(M2(",\"time_step_limit\":[0.0,{}]"), QUIRE_E_UNSUPPORTED, "time_step_limit");
    expect(M2(",\"time_step_limit\":[0.0,Infinity]"), "rrr");
    expect(M2(",\"time_step_limit\":[0.0,{\"__float__\":\"Infinity\"}]"), "rrr");
    bad(M2(",\"time_step_limit\":[0.0,Infinit]"), QUIRE_E_FORMAT, "config.json");
    bad(M2(",\"num_heads\":-Infinity"), QUIRE_E_FORMAT, "num_heads is missing");
    bad(M2(",\"use_bias\":true"), QUIRE_E_UNSUPPORTED, "use_bias = true");
    bad(M2(",\"hidden_act\":\"gelu\""), QUIRE_E_UNSUPPORTED, "hidden_act gelu");
    bad(M1(",\"intermediate_size\":100"), QUIRE_E_FORMAT, "intermediate_size 100");
    bad(M1(",\"time_step_rank\":0"), QUIRE_E_FORMAT, "recurrent dt rank is 0");
    bad(M1(",\"time_step_rank\":\"x\""), QUIRE_E_FORMAT, "time_step_rank");
    struct qr_model_config c = good(M1(",\"time_step_rank\":\"auto\""));
    assert_int_equal(c.recurrent.dt_rank, 4);
    qr_model_config_free(&c);
    bad(M1(",\"expand\":1000000"), QUIRE_E_FORMAT, "recurrent heads");
    bad(M1(",\"conv_kernel\":64"), QUIRE_E_FORMAT, "taps of the convolution is 64");
}

/* Zamba2: the layers take the blocks in turns. */
static void shared_blocks(void **state)
{
    (void)state;
    struct qr_model_config c = good(ZAMBA(ZAMBA_LAYERS ",\"num_mem_blocks\":2"));
    expect_mixers(&c, "rsss");
    assert_int_equal(c.head_dim, 2 * c.hidden_size / c.layers[1].n_heads);
    assert_int_equal(c.layers[1].block_owner, 1);
    assert_int_equal(c.layers[2].block_owner, 2);
    assert_int_equal(c.layers[3].block_owner, 1);
    assert_int_equal(c.layers[3].block_use, 2);
    assert_true(c.layers[0].no_ffn && !c.layers[1].no_ffn);
    assert_int_equal(c.n_rope, 0);
    qr_model_config_free(&c);
    c = good(ZAMBA(ZAMBA_LAYERS ",\"use_mem_rope\":true"));
    assert_int_equal(c.n_rope, 1);
    assert_int_equal(c.rope[0].dim, c.head_dim);
    assert_int_equal(c.layers[3].block_owner, 1);
    qr_model_config_free(&c);
    bad(ZAMBA(""), QUIRE_E_FORMAT, "layer_types is missing");
    bad(ZAMBA(ZAMBA_LAYERS ",\"num_mem_blocks\":0"), QUIRE_E_FORMAT, "num_mem_blocks is 0");
    bad(ZAMBA(ZAMBA_LAYERS ",\"num_mem_blocks\":65"), QUIRE_E_FORMAT, "num_mem_blocks is 65");
    bad(ZAMBA(ZAMBA_LAYERS ",\"adapter_rank\":0"), QUIRE_E_FORMAT,
        "rank of the shared block's updates is 0");
    bad(ZAMBA(ZAMBA_LAYERS ",\"attention_hidden_size\":64"), QUIRE_E_FORMAT,
        "attention_hidden_size is 64, not twice hidden_size 64");
    bad(ZAMBA(ZAMBA_LAYERS ",\"use_long_context\":true"), QUIRE_E_UNSUPPORTED,
        "use_long_context = true");
    bad(ZAMBA(ZAMBA_LAYERS ",\"add_bias_linear\":true"), QUIRE_E_UNSUPPORTED,
        "add_bias_linear = true");
    bad(LFM(",\"layer_types\":[\"conv\",\"hybrid\",\"conv\",\"conv\"]"), QUIRE_E_UNSUPPORTED,
        "layer_types[1] is hybrid");
}

/* RWKV-4: channels and feed-forward sizes default to those of the hidden size. */
static void wkv(void **state)
{
    (void)state;
    struct qr_model_config c = good(RWKV(""));
    expect_mixers(&c, "rrr");
    assert_true(c.recurrent.n_heads == 64 && c.layers[2].ffn_size == 256 && !c.layers[2].no_ffn);
    assert_true(c.embedding_norm && c.bias.norm && c.n_rope == 0);
    qr_model_config_free(&c);
    c = good(RWKV(",\"attention_hidden_size\":96,\"intermediate_size\":80,\"rescale_every\":6"));
    assert_true(c.recurrent.n_heads == 96 && c.layers[0].ffn_size == 80);
    qr_model_config_free(&c);
    bad(RWKV(",\"attention_hidden_size\":0"), QUIRE_E_FORMAT, "number of recurrent heads is 0");
    bad(RWKV(",\"attention_hidden_size\":4294967295"), QUIRE_E_FORMAT, "number of recurrent heads");
    bad(RWKV(",\"intermediate_size\":0"), QUIRE_E_FORMAT, "feed-forward size is 0");
    bad(RWKV(",\"layer_norm_epsilon\":2"), QUIRE_E_FORMAT, "norm epsilon");
    bad("{\"model_type\":\"rwkv\",\"vocab_size\":320,\"hidden_size\":2000000,"
        "\"num_hidden_layers\":3}",
        QUIRE_E_FORMAT, "hidden size is 2000000");
}

/* RWKV-6: heads of 64, and ranks that follow from the hidden size. */
static void wkv6(void **state)
{
    (void)state;
    struct qr_model_config c = good(RWKV6(""));
    const struct qr_recurrent_config *r = &c.recurrent;
    expect_mixers(&c, "rrr");
    assert_true(r->n_heads == 2 && r->key_dim == 64 && r->value_dim == 64 && r->norm_dim == 64);
    assert_true(r->mix_rank == 32 && r->dt_rank == 64 && r->norm_eps == 64e-5f);
    assert_true(c.layers[2].ffn_size == 448 && c.activation == QR_ACT_RELU2);
    assert_true(c.embedding_norm && c.norm_eps == 1e-5f);
    qr_model_config_free(&c);
    c = good("{\"model_type\":\"rwkv6\",\"vocab_size\":320,\"hidden_size\":4096,"
             "\"num_hidden_layers\":3,\"intermediate_size\":null}");
    assert_true(r->mix_rank == 64 && r->dt_rank == 128 && c.layers[0].ffn_size == 14336);
    qr_model_config_free(&c);
    c = good(RWKV6(",\"head_size\":32,\"attention_hidden_size\":128,\"intermediate_size\":80,"
                   "\"head_size_divisor\":4,\"layer_norm_epsilon\":1e-4,\"rescale_every\":2,"
                   "\"num_attention_heads\":64,\"model_version\":\"6_0\""));
    assert_true(r->n_heads == 4 && c.layers[0].ffn_size == 80 && r->norm_eps == 16e-5f);
    assert_true(c.norm_eps == 1e-4f && qr_recurrent_rescale(r, 2) == 1);
    qr_model_config_free(&c);
}

static void bad_wkv6(void **state)
{
    (void)state;
    bad(RWKV6(",\"head_size\":0"), QUIRE_E_FORMAT, "not a multiple of head_size 0");
    bad(RWKV6(",\"head_size\":48"), QUIRE_E_FORMAT,
        "hidden_size 128 is not a multiple of head_size 48");
    bad(RWKV6(",\"attention_hidden_size\":64"), QUIRE_E_UNSUPPORTED,
        "attention_hidden_size 64 in a hidden size of 128");
    bad(RWKV6(",\"intermediate_size\":0"), QUIRE_E_FORMAT, "feed-forward size is 0");
    bad(RWKV6(",\"head_size_divisor\":1000"), QUIRE_E_FORMAT, "recurrent norm epsilon");
    bad(RWKV6(",\"head_size_divisor\":\"8\""), QUIRE_E_FORMAT, "head_size_divisor");
    bad(RWKV6(",\"model_version\":\"5_2\""), QUIRE_E_UNSUPPORTED, "model_version");
    bad(RWKV6(",\"expand_k\":0.5"), QUIRE_E_UNSUPPORTED, "expand_k");
    bad(RWKV6(",\"proj_low_rank_dim\":32"), QUIRE_E_UNSUPPORTED, "proj_low_rank_dim");
    bad("{\"model_type\":\"rwkv6\",\"vocab_size\":320,\"hidden_size\":2000000,"
        "\"num_hidden_layers\":3}",
        QUIRE_E_FORMAT, "hidden size is 2000000");
}

/* RWKV-7: heads of 64, and ranks that follow from the hidden size. */
static void wkv7(void **state)
{
    (void)state;
    struct qr_model_config c = good(RWKV7(""));
    const struct qr_recurrent_config *r = &c.recurrent;
    expect_mixers(&c, "rrr");
    assert_true(r->n_heads == 2 && r->key_dim == 64 && r->value_dim == 64 && r->norm_dim == 64);
    assert_true(r->dt_rank == 32 && r->rate_rank == 32 && r->value_rank == 32);
    assert_true(r->gate_rank == 32 && r->norm_eps == 64 * 1e-5f);
    assert_true(c.layers[2].ffn_size == 512 && c.activation == QR_ACT_RELU2);
    qr_model_config_free(&c);
    c = good("{\"model_type\":\"rwkv7\",\"vocab_size\":320,\"hidden_size\":4096,"
             "\"num_hidden_layers\":3,\"hidden_act\":\"sqrelu\"}");
    assert_true(r->dt_rank == 128 && r->rate_rank == 128 && r->value_rank == 96);
    assert_true(r->gate_rank == 480);
    qr_model_config_free(&c);
    c = good(RWKV7(",\"head_dim\":32,\"num_heads\":4,\"intermediate_size\":80,\"norm_eps\":1e-4,"
                   "\"decay_low_rank_dim\":8,\"a_low_rank_dim\":9,\"v_low_rank_dim\":10,"
                   "\"gate_low_rank_dim\":11,\"hidden_ratio\":4.0,\"attn\":null"));
    assert_true(r->n_heads == 4 && r->dt_rank == 8 && r->rate_rank == 9 && r->value_rank == 10);
    assert_true(r->gate_rank == 11 && c.layers[0].ffn_size == 80 && r->norm_eps == 32 * 1e-4f);
    qr_model_config_free(&c);
}

static void bad_wkv7(void **state)
{
    (void)state;
    bad(RWKV7(",\"head_dim\":0"), QUIRE_E_FORMAT, "not a multiple of head_dim 0");
    bad(RWKV7(",\"head_dim\":48"), QUIRE_E_FORMAT,
        "hidden_size 128 is not a multiple of head_dim 48");
    bad(RWKV7(",\"num_heads\":4"), QUIRE_E_UNSUPPORTED, "4 heads of 64 in a hidden size of 128");
    bad(RWKV7(",\"decay_low_rank_dim\":0"), QUIRE_E_FORMAT, "recurrent dt rank is 0");
    bad(RWKV7(",\"a_low_rank_dim\":0"), QUIRE_E_FORMAT, "recurrent rate rank is 0");
    bad(RWKV7(",\"v_low_rank_dim\":0"), QUIRE_E_FORMAT, "recurrent value rank is 0");
    bad(RWKV7(",\"gate_low_rank_dim\":4000000000"), QUIRE_E_FORMAT, "recurrent gate rank is");
    bad(RWKV7(",\"intermediate_size\":0"), QUIRE_E_FORMAT, "feed-forward size is 0");
    bad(RWKV7(",\"norm_first\":false"), QUIRE_E_UNSUPPORTED, "norm_first");
    bad(RWKV7(",\"norm_bias\":false"), QUIRE_E_UNSUPPORTED, "norm_bias");
    bad(RWKV7(",\"attn\":{\"layers\":[1]}"), QUIRE_E_UNSUPPORTED, "attn");
    bad(RWKV7(",\"hidden_ratio\":3"), QUIRE_E_UNSUPPORTED, "hidden_ratio");
    bad("{\"model_type\":\"rwkv7\",\"vocab_size\":320,\"hidden_size\":128,"
        "\"num_hidden_layers\":3,\"hidden_act\":\"silu\"}",
        QUIRE_E_UNSUPPORTED, "hidden_act");
    bad("{\"model_type\":\"rwkv7\",\"vocab_size\":320,\"hidden_size\":2000000,"
        "\"num_hidden_layers\":3,\"hidden_act\":\"sqrelu\"}",
        QUIRE_E_FORMAT, "hidden size is 2000000");
}

/* PLaMo 2: sizes, and windows that count the tokens before the query's own. */
static void mamba_mix(void **state)
{
    (void)state;
    struct qr_model_config c = good(PLAMO(",\"full_attention_idx\":[3],\"rope_theta\":5000"));
    const struct qr_recurrent_config *r = &c.recurrent;
    assert_true(r->n_heads == 4 && r->n_key_heads == 1 && r->key_dim == 64 && r->value_dim == 16);
    assert_true(r->dt_rank == 64 && r->conv_taps == 4 && !r->conv_bias && r->dt_norms);
    assert_true(c.layers[1].window == 9 && c.layers[3].window == 0);
    assert_true(c.rope[0].theta == 5000 && c.rope[1].theta == 10000);
    assert_true(c.layers[1].rope == 1 && c.layers[3].rope == 0 && c.tied_embeddings);
    qr_model_config_free(&c);
    bad(PLAMO(",\"mamba_step\":0"), QUIRE_E_FORMAT, "mamba_step is 0");
    bad(PLAMO(",\"mamba_enabled\":false"), QUIRE_E_UNSUPPORTED, "mamba_enabled");
    bad(PLAMO(",\"use_predefined_initial_state\":true"), QUIRE_E_UNSUPPORTED,
        "use_predefined_initial_state");
    bad(PLAMO(",\"full_attention_idx\":[3,4]"), QUIRE_E_FORMAT,
        "full_attention_idx[1] is not one of the 4 layers");
    bad(PLAMO(",\"full_attention_idx\":[\"1\"]"), QUIRE_E_FORMAT, "full_attention_idx[0]");
    bad(PLAMO(",\"full_attention_idx\":3"), QUIRE_E_FORMAT, "full_attention_idx must be a list");
    bad(PLAMO(",\"mamba_d_conv\":0"), QUIRE_E_FORMAT, "taps");
    bad(PLAMO(",\"mamba_d_state\":0"), QUIRE_E_FORMAT, "state size");
    bad(PLAMO(",\"linear_type\":\"fp8\""), QUIRE_E_UNSUPPORTED, "linear_type");
    bad(MODEL("plamo2", ",\"mamba_num_heads\":4,\"attention_window_size\":4294967295"),
        QUIRE_E_FORMAT, "sliding window");
    bad(MODEL("plamo2", ""), QUIRE_E_FORMAT, "mamba_num_heads");
}

static void bad_delta(void **state)
{
    (void)state;
    bad(GDN(",\"linear_num_key_heads\":3"), QUIRE_E_FORMAT, "4 recurrent heads, not a multiple");
    bad(GDN(",\"linear_num_value_heads\":0"), QUIRE_E_FORMAT, "number of recurrent heads is 0");
    bad(GDN(",\"linear_key_head_dim\":0"), QUIRE_E_FORMAT, "recurrent key or state size is 0");
    bad(GDN(",\"linear_value_head_dim\":2000"), QUIRE_E_FORMAT, "recurrent value size is 2000");
    bad(GDN(",\"linear_conv_kernel_dim\":40"), QUIRE_E_FORMAT, "taps of the convolution is 40");
    bad(GDN(",\"attn_output_gate\":false"), QUIRE_E_UNSUPPORTED, "attn_output_gate = false");
    bad(LFM(",\"full_attn_idxs\":[1],\"conv_L_cache\":0"), QUIRE_E_FORMAT, "taps");
    bad(LFM(",\"full_attn_idxs\":[1],\"conv_bias\":true"), QUIRE_E_UNSUPPORTED, "conv_bias");
    struct qr_model_config c = good(LFM(",\"full_attn_idxs\":[1]"));
    assert_int_equal(c.layers[0].ffn_size, 256); /* 2/3 of 160, rounded up */
    qr_model_config_free(&c);
    c = good(LFM(",\"full_attn_idxs\":[1],\"block_auto_adjust_ff_dim\":false"));
    assert_int_equal(c.layers[0].ffn_size, 160);
    qr_model_config_free(&c);
    bad(LFM(",\"full_attn_idxs\":[1],\"block_multiple_of\":0"), QUIRE_E_FORMAT,
        "block_multiple_of");
    bad(LFM(",\"full_attn_idxs\":[1],\"block_ffn_dim_multiplier\":-1"), QUIRE_E_FORMAT,
        "block_ffn_dim_multiplier");
    bad(MODEL("falcon_h1", ",\"ssm_multipliers\":[1,2,3]"), QUIRE_E_FORMAT, "mamba_n_heads");
    bad(MODEL("falcon_h1", ",\"mamba_n_heads\":4,\"mamba_d_head\":16,\"mamba_d_ssm\":64,"
                           "\"ssm_multipliers\":[1,2,3]"),
        QUIRE_E_FORMAT, "ssm_multipliers must list 5 numbers");
    bad(MODEL("falcon_h1", ",\"mamba_n_heads\":4,\"mamba_d_head\":16,\"mamba_d_ssm\":64,"
                           "\"ssm_multipliers\":[1,2,3,4,5],\"mlp_multipliers\":[1]"),
        QUIRE_E_FORMAT, "mlp_multipliers must list 2 numbers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns),  cmocka_unit_test(bad_patterns),
        cmocka_unit_test(bad_mamba), cmocka_unit_test(shared_blocks),
        cmocka_unit_test(wkv),       cmocka_unit_test(wkv6),
        cmocka_unit_test(bad_wkv6),  cmocka_unit_test(wkv7),
        cmocka_unit_test(bad_wkv7),  cmocka_unit_test(mamba_mix),
        cmocka_unit_test(bad_delta),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
