/* SPDX-License-Identifier: Apache-2.0 */
/* test_family_options.c - options of config.json that few families have: values and errors. */
#include "test_hf.h"
#include <math.h>
#include <quire/model.h>

static void test_layer_rope_theta(void **state)
{
    (void)state;
#define SWA(more)                                                                                  \
    MODEL("granite_swa",                                                                           \
          ",\"sliding_window\":8,\"layer_types\":[\"full_attention\",\"sliding_attention\","       \
          "\"sliding_attention\",\"full_attention\"]" more)
    struct qr_model_config c = good(SWA(",\"layer_rope_theta\":[0,10000,2e4,5e5]"));
    assert_int_equal(c.n_rope, 3);
    assert_int_equal(c.layers[0].rope, QR_LAYER_NO_ROPE);
    assert_int_equal(c.layers[1].rope, 0);
    assert_true(c.rope[c.layers[2].rope].theta == 2e4 && c.rope[c.layers[3].rope].theta == 5e5);
    assert_true(c.layers[0].window == 0 && c.layers[1].window == 8 && c.layers[0].sinks &&
                c.layers[1].sinks);
    qr_model_config_free(&c);
    c = good(SWA(""));
    assert_true(c.n_rope == 1 && c.layers[0].rope == 0);
    qr_model_config_free(&c);
    bad(SWA(",\"layer_rope_theta\":[0,1,2]"), QUIRE_E_FORMAT, "layer_rope_theta must list 4");
    bad(SWA(",\"layer_rope_theta\":10000"), QUIRE_E_FORMAT, "layer_rope_theta must list 4");
    bad(SWA(",\"layer_rope_theta\":[0,-1,2,3]"), QUIRE_E_FORMAT, "layer_rope_theta[1]");
    bad(SWA(",\"layer_rope_theta\":[0,\"1\",2,3]"), QUIRE_E_FORMAT, "layer_rope_theta[1]");
    bad(SWA(",\"layer_rope_theta\":[1e300,1,2,3]"), QUIRE_E_FORMAT, "RoPE base");
    bad(SWA(",\"layer_rope_theta\":[1e4,1e4,1e4,1e4],\"rope_scaling\":{\"type\":\"linear\","
            "\"factor\":2}"),
        QUIRE_E_UNSUPPORTED, "layer_rope_theta together with RoPE scaling");
    bad(MODEL("granite_swa", ",\"sliding_window\":8"), QUIRE_E_FORMAT, "layer_types is missing");
    bad("{\"model_type\":\"granite_swa\",\"vocab_size\":320,\"hidden_size\":64,"
        "\"intermediate_size\":160,\"num_hidden_layers\":9,\"num_attention_heads\":4,"
        "\"layer_rope_theta\":[1,2,3,4,5,6,7,8,9]}",
        QUIRE_E_LIMIT, "layer_rope_theta has more than 8");
    bad(MODEL("granite", ",\"layer_rope_theta\":[0,1,2,3]"), QUIRE_E_UNSUPPORTED,
        "layer_rope_theta");
}

static void test_rope_alpha(void **state)
{
    (void)state;
#define ALPHA(more) MODEL("hunyuan_v1_dense", ",\"rope_scaling\":{\"type\":\"dynamic\"" more "}")
    struct qr_model_config c = good(ALPHA(",\"alpha\":1000,\"factor\":1"));
    assert_int_equal(c.rope[0].scaling, QR_ROPE_SCALING_NONE);
    assert_true(fabs(c.rope[0].theta / (10000 * pow(1000, 16 / 14.0)) - 1) < 1e-12);
    qr_model_config_free(&c);
    c = good(ALPHA(",\"factor\":2"));
    assert_true(c.rope[0].scaling == QR_ROPE_SCALING_DYNAMIC && c.rope[0].factor == 2);
    qr_model_config_free(&c);
    bad(ALPHA(",\"alpha\":-1"), QUIRE_E_FORMAT, "alpha -1");
    bad(ALPHA(",\"alpha\":\"x\""), QUIRE_E_FORMAT, "alpha");
    bad(ALPHA(",\"alpha\":1e300"), QUIRE_E_FORMAT, "RoPE base");
    bad(ALPHA(""), QUIRE_E_FORMAT, "factor is missing");
}

static void test_longrope_mscale(void **state)
{
    (void)state;
#define MSCALE(more)                                                                               \
    MODEL("phimoe", ",\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[1,1,1,1,1,1,1,1]," \
                    "\"original_max_position_embeddings\":4096,"                                   \
                    "\"long_factor\":[2,2,2,2,2,2,2,2]" more "}")
    struct qr_model_config c = good(MSCALE(",\"short_mscale\":1.25,\"long_mscale\":1.25"));
    assert_true(c.rope[0].cos_sin_scale == 1.25f);
    qr_model_config_free(&c);
    bad(MSCALE(",\"short_mscale\":1.25,\"long_mscale\":1.5"), QUIRE_E_UNSUPPORTED,
        "short_mscale 1.25 and long_mscale 1.5");
    bad(MSCALE(",\"short_mscale\":1.25"), QUIRE_E_FORMAT, "long_mscale is missing");
    bad(MODEL("phimoe", ",\"router_jitter_noise\":2"), QUIRE_E_FORMAT, "router jitter");
    bad(MODEL("phi3", ",\"rope_scaling\":{\"type\":\"longrope\",\"short_factor\":[1,1,1,1,1,1,1,1],"
                      "\"long_factor\":[2,2,2,2,2,2,2,2],\"long_mscale\":1.5}"),
        QUIRE_E_UNSUPPORTED, "rope_scaling.long_mscale = 1.5");
}

static void test_no_rope_layers(void **state)
{
    (void)state;
    struct qr_model_config c = good(MODEL("smollm3", ""));
    assert_true(c.layers[2].rope == 0 && c.layers[3].rope == QR_LAYER_NO_ROPE);
    qr_model_config_free(&c);
    c = good(MODEL("smollm3", ",\"no_rope_layers\":null,\"no_rope_layer_interval\":3"));
    assert_true(c.layers[2].rope == QR_LAYER_NO_ROPE && c.layers[3].rope == 0);
    qr_model_config_free(&c);
    c = good(MODEL("smollm3", ",\"no_rope_layers\":[0,1,1,1]"));
    assert_true(c.layers[0].rope == QR_LAYER_NO_ROPE && c.layers[3].rope == 0);
    qr_model_config_free(&c);
    bad(MODEL("smollm3", ",\"no_rope_layers\":[0,1,1]"), QUIRE_E_FORMAT,
        "no_rope_layers must list 4");
    bad(MODEL("smollm3", ",\"no_rope_layers\":4"), QUIRE_E_FORMAT, "no_rope_layers must list 4");
    bad(MODEL("smollm3", ",\"no_rope_layers\":[0,2,1,1]"), QUIRE_E_FORMAT, "no_rope_layers[1]");
    bad(MODEL("smollm3", ",\"no_rope_layers\":[0,1,1,\"1\"]"), QUIRE_E_FORMAT, "no_rope_layers[3]");
    bad(MODEL("smollm3", ",\"no_rope_layer_interval\":0"), QUIRE_E_FORMAT,
        "no_rope_layer_interval is 0");
    bad(MODEL("smollm3", ",\"use_sliding_window\":true"), QUIRE_E_UNSUPPORTED,
        "use_sliding_window = true");
}

/* SmallThinker: rope_layout and sliding_window_layout have a flag per layer. */
static void test_layouts(void **state)
{
    (void)state;
#define SMALL(more)                                                                                \
    MODEL("smallthinker", ",\"moe_num_primary_experts\":8,\"moe_num_active_primary_experts\":2,"   \
                          "\"moe_ffn_hidden_size\":32,\"sliding_window_size\":8" more)
#define LAYOUT(more) SMALL(",\"sliding_window_layout\":[0,1,1,1]" more)
    struct qr_model_config c = good(LAYOUT(",\"rope_layout\":[1,0,1,0]"));
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(c.layers[i].window, i ? 8 : 0);
        assert_int_equal(c.layers[i].rope, i % 2 ? QR_LAYER_NO_ROPE : 0);
    }
    assert_true(c.moe.router_before_mixer && c.moe.gating == QR_GATING_SIGMOID);
    qr_model_config_free(&c);
    c = good(LAYOUT(",\"moe_primary_router_apply_softmax\":true"));
    assert_true(c.layers[0].rope == 0 && c.layers[3].rope == 0);
    assert_int_equal(c.moe.gating, QR_GATING_SOFTMAX_TOPK);
    qr_model_config_free(&c);
    bad(LAYOUT(",\"rope_layout\":[1,0,1]"), QUIRE_E_FORMAT, "rope_layout must list 4");
    bad(LAYOUT(",\"rope_layout\":[1,0,1,2]"), QUIRE_E_FORMAT, "rope_layout[3] must be 0 or 1");
    bad(SMALL(",\"sliding_window_layout\":[1,0,1]"), QUIRE_E_FORMAT,
        "sliding_window_layout must list 4");
    bad(SMALL(",\"sliding_window_layout\":[1,0,2,1]"), QUIRE_E_FORMAT,
        "sliding_window_layout[2] must be 0 or 1");
    bad(SMALL(""), QUIRE_E_FORMAT, "sliding_window_layout is missing");
    bad(LAYOUT(",\"moe_primary_router_apply_softmax\":1"), QUIRE_E_FORMAT,
        "moe_primary_router_apply_softmax");
    bad(LAYOUT(",\"norm_topk_prob\":false"), QUIRE_E_UNSUPPORTED, "norm_topk_prob = false");
}

/* Cohere 2 with experts: the norm, shared experts and RoPE of its dense layers. */
static void test_cohere_experts(void **state)
{
    (void)state;
#define COHERE(types, more)                                                                        \
    MODEL("cohere2_moe", ",\"num_experts\":8,\"num_experts_per_tok\":2,\"head_dim\":16,"           \
                         "\"first_k_dense_replace\":2,\"sliding_window\":8" types more)
#define FULL(type)   "\"full_attention\"" type
#define WINDOW(type) "\"sliding_attention\"" type
#define TYPES        ",\"layer_types\":[" FULL(",") WINDOW(",") WINDOW(",") FULL("]")
    struct qr_model_config c = good(COHERE(TYPES, ""));
    assert_true(c.norm == QR_NORM_LAYER && c.norm_eps == 1e-5f && c.logit_scale == 0.0625f);
    assert_true(c.layers[0].rope == 0 && c.layers[1].rope == 0 && c.layers[2].rope == 0);
    assert_true(c.layers[3].rope == QR_LAYER_NO_ROPE && !c.layers[1].moe && c.layers[2].moe);
    assert_true(c.moe.gating == QR_GATING_SOFTMAX_TOPK && !c.moe.average_shared);
    qr_model_config_free(&c);
    c = good(COHERE(TYPES, ",\"prefix_dense_sliding_window_pattern\":4,\"rms_norm_eps\":1e-6,"
                           "\"num_shared_experts\":1,\"prefix_dense_intermediate_size\":48,"
                           "\"expert_selection_fn\":\"sigmoid\",\"norm_topk_prob\":false"));
    assert_true(c.norm == QR_NORM_RMS && c.norm_eps == 1e-6f && c.layers[0].ffn_size == 48);
    assert_true(c.layers[0].rope == QR_LAYER_NO_ROPE && c.layers[1].rope == 0);
    assert_true(c.moe.gating == QR_GATING_SIGMOID && !c.moe.renormalize && c.moe.average_shared);
    qr_model_config_free(&c);
    c = good(COHERE(TYPES, ",\"num_shared_experts\":1,"
                           "\"shared_expert_combination_strategy\":\"sum\""));
    assert_false(c.moe.average_shared);
    qr_model_config_free(&c);
    bad(COHERE("", ""), QUIRE_E_FORMAT, "layer_types is missing");
    bad(COHERE(TYPES, ",\"shared_expert_combination_strategy\":\"max\""), QUIRE_E_UNSUPPORTED,
        "shared_expert_combination_strategy max is not supported");
    bad(COHERE(TYPES, ",\"shared_expert_combination_strategy\":1"), QUIRE_E_FORMAT,
        "shared_expert_combination_strategy");
    bad(COHERE(TYPES, ",\"expert_selection_fn\":\"max\""), QUIRE_E_UNSUPPORTED, "max");
    bad(COHERE(TYPES, ",\"prefix_dense_sliding_window_pattern\":\"1\""), QUIRE_E_FORMAT,
        "prefix_dense_sliding_window_pattern");
    bad(COHERE(TYPES, ",\"rms_norm_eps\":\"1\""), QUIRE_E_FORMAT, "rms_norm_eps");
    bad(COHERE(TYPES, ",\"layer_switch\":5"), QUIRE_E_UNSUPPORTED, "layer_switch = 5");
}

/* Nemotron 3: experts in a latent space. */
static void test_latent_experts(void **state)
{
    (void)state;
#define NEMOTRON(more)                                                                             \
    MODEL("nemotron_h", ",\"hybrid_override_pattern\":\"M*E-\",\"n_routed_experts\":8,"            \
                        "\"num_experts_per_tok\":2,\"moe_intermediate_size\":32,"                  \
                        "\"mamba_num_heads\":4,\"mamba_head_dim\":8,\"n_groups\":2" more)
    struct qr_model_config c = good(NEMOTRON(",\"moe_latent_size\":16"));
    assert_true(c.moe.latent_size == 16 && qr_expert_width(&c) == 16);
    qr_model_config_free(&c);
    c = good(NEMOTRON(",\"moe_latent_size\":null"));
    assert_true(c.moe.latent_size == 0 && qr_expert_width(&c) == c.hidden_size);
    qr_model_config_free(&c);
    bad(NEMOTRON(",\"moe_latent_size\":\"16\""), QUIRE_E_FORMAT, "moe_latent_size");
    bad(NEMOTRON(",\"moe_latent_size\":4294967295"), QUIRE_E_FORMAT, "latent size of the experts");
    bad(MODEL("qwen3_moe", ",\"num_experts\":8,\"num_experts_per_tok\":2,\"moe_latent_size\":16"),
        QUIRE_E_UNSUPPORTED, "moe_latent_size = 16");
}

static void test_loops(void **state)
{
    (void)state;
    struct qr_model_config c = good(MODEL("nanbeige", ",\"num_loops\":2,\"head_dim\":32"));
    assert_true(c.n_layers == 8 && c.loop_layers == 4 && c.loop_norm && c.head_dim == 32);
    qr_model_config_free(&c);
    c = good(MODEL("nanbeige", ",\"head_dim\":16,\"kv_channels\":32"));
    assert_true(c.n_layers == 4 && c.loop_layers == 0 && c.head_dim == 16);
    qr_model_config_free(&c);
    bad(MODEL("nanbeige", ",\"num_loops\":0"), QUIRE_E_FORMAT, "num_loops is 0, with 4 layers");
    bad(MODEL("nanbeige", ",\"num_loops\":1000000"), QUIRE_E_FORMAT, "num_loops is 1000000");
    bad(MODEL("nanbeige", ",\"num_loops\":\"2\""), QUIRE_E_FORMAT, "num_loops");
    bad(MODEL("nanbeige", ",\"skip_loop_final_norm\":2"), QUIRE_E_FORMAT, "skip_loop_final_norm");
    bad(MODEL("nanbeige", ",\"loop_loss_weights\":[0.5]"), QUIRE_E_UNSUPPORTED,
        "loop_loss_weights");
    bad(MODEL("nanbeige", ",\"loop_share_kv\":true"), QUIRE_E_UNSUPPORTED, "loop_share_kv = true");
    bad(MODEL("nanbeige", ",\"qk_layernorm\":true"), QUIRE_E_UNSUPPORTED, "qk_layernorm = true");
}

/* Four layers; `last` is the last one. */
#define NAS(last)                                                                                  \
    MODEL("nemotron-nas",                                                                          \
          ",\"block_configs\":[{\"attention\":{\"n_heads_in_group\":2,\"sparsify\":null},"         \
          "\"ffn\":{\"ffn_mult\":6.1}},{\"attention\":{\"no_op\":true},\"ffn\":{\"ffn_mult\":1,"   \
          "\"replace_with_linear\":false}},{\"attention\":{\"n_heads_in_group\":4},"               \
          "\"ffn\":{\"no_op\":true}}," last "]")
#define NAS_ATTENTION(keys) NAS("{\"attention\":{" keys "},\"ffn\":{\"ffn_mult\":1}}")
#define NAS_FFN(keys)       NAS("{\"attention\":{\"n_heads_in_group\":1},\"ffn\":{" keys "}}")

static void test_block_configs(void **state)
{
    (void)state;
    struct qr_model_config c = good(NAS_FFN("\"ffn_mult\":null,\"no_op\":true"));
    const struct qr_layer_config *l = c.layers;
    assert_true(l[0].mixer == QR_MIXER_ATTENTION && l[0].n_kv_heads == 2 && !l[0].no_ffn);
    assert_true(l[1].mixer == QR_MIXER_NONE && l[1].ffn_size == 256 && !l[1].no_ffn);
    assert_true(l[2].n_kv_heads == 1 && l[2].no_ffn && l[3].n_kv_heads == 4 && l[3].no_ffn);
    assert_int_equal(l[0].ffn_size, 512); /* 2 * 6.1 * 64 / 3 = 260 */
    qr_model_config_free(&c);
    bad(MODEL("nemotron-nas", ""), QUIRE_E_FORMAT, "block_configs must list 4 layers");
    bad(MODEL("nemotron-nas", ",\"block_configs\":[{}]"), QUIRE_E_FORMAT, "must list 4 layers");
    bad(MODEL("llama", ",\"block_configs\":[{}]"), QUIRE_E_UNSUPPORTED, "block_configs");
    bad(NAS("7"), QUIRE_E_FORMAT, "block_configs[3].attention must be an object");
    bad(NAS("{\"attention\":{\"no_op\":true}}"), QUIRE_E_FORMAT, "block_configs[3].ffn must be an");
    bad(NAS_ATTENTION(""), QUIRE_E_FORMAT, "[3].attention.n_heads_in_group must be a positive");
    bad(NAS_ATTENTION("\"n_heads_in_group\":3"), QUIRE_E_FORMAT, "is 3, with 4 heads");
    bad(NAS_ATTENTION("\"n_heads_in_group\":8"), QUIRE_E_FORMAT, "is 8, with 4 heads");
    bad(NAS_ATTENTION("\"n_heads_in_group\":1.5"), QUIRE_E_FORMAT, "is 1.5, with 4 heads");
    bad(NAS_ATTENTION("\"n_heads_in_group\":true"), QUIRE_E_UNSUPPORTED, "n_heads_in_group is not");
    bad(NAS_ATTENTION("\"no_op\":1"), QUIRE_E_UNSUPPORTED, "attention.no_op is not supported");
    bad(NAS_ATTENTION("\"replace_with_linear\":true"), QUIRE_E_UNSUPPORTED,
        "block_configs[3].attention.replace_with_linear is not supported");
    bad(NAS_FFN(""), QUIRE_E_FORMAT, "[3].ffn.ffn_mult must be a positive number");
    bad(NAS_FFN("\"ffn_mult\":1e300"), QUIRE_E_FORMAT, "ffn_mult is 1e+300, with a hidden size");
    bad(NAS_FFN("\"ffn_mult\":1,\"sparsify\":[1]"), QUIRE_E_UNSUPPORTED, "[3].ffn.sparsify");
}

static void test_pooling(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        uint8_t pooling;
    } cases[] = { { MODEL("llama_bidirec", ",\"temperature\":0.02"), QUIRE_POOLING_MEAN },
                  { MODEL("llama_bidirec", ",\"pooling\":\"avg\""), QUIRE_POOLING_MEAN },
                  { MODEL("llama_bidirec", ",\"pooling\":\"cls\""), QUIRE_POOLING_CLS },
                  { MODEL("llama_bidirec", ",\"pooling\":\"last\""), QUIRE_POOLING_LAST } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct qr_model_config c = good(cases[i].keys);
        assert_true(c.kind == QR_MODEL_ENCODER && !c.causal && c.pooling == cases[i].pooling);
        qr_model_config_free(&c);
    }
    bad(MODEL("llama_bidirec", ",\"pooling\":\"weighted_avg\""), QUIRE_E_UNSUPPORTED,
        "pooling weighted_avg is not supported");
    bad(MODEL("llama_bidirec", ",\"pooling\":1"), QUIRE_E_FORMAT, "pooling");
    bad(MODEL("llama", ",\"pooling\":\"cls\""), QUIRE_E_UNSUPPORTED, "pooling");
}

static void test_fixed_options(void **state)
{
    (void)state;
    bad(MODEL("bailing_moe", ",\"norm_head\":true"), QUIRE_E_UNSUPPORTED, "norm_head = true");
#define LING(more) MODEL("bailing_moe", ",\"num_experts\":8,\"num_experts_per_tok\":2" more)
    bad(LING(",\"score_function\":\"sigmoid\""), QUIRE_E_UNSUPPORTED,
        "moe_router_enable_expert_bias = false");
    bad(LING(",\"moe_router_enable_expert_bias\":true"), QUIRE_E_UNSUPPORTED,
        "moe_router_enable_expert_bias = true");
    bad(MODEL("internlm2", ",\"bias\":true"), QUIRE_E_UNSUPPORTED, "bias = true");
    bad(MODEL("hunyuan_v1_moe", ",\"use_cla\":true"), QUIRE_E_UNSUPPORTED, "use_cla = true");
    bad(MODEL("exaone4", ",\"sliding_window_pattern\":\"LLLG\""), QUIRE_E_FORMAT,
        "sliding_window_pattern");
}

/* Numbers of experts as lists with an element per layer. */
static void test_layer_counts(void **state)
{
    (void)state;
#define COUNTS(more) MODEL("hunyuan_v1_moe", ",\"num_experts\":8" more)
    struct qr_model_config c = good(COUNTS(
        ",\"moe_topk\":[2,2,2,2],\"num_shared_expert\":[1,1,1,1],\"moe_intermediate_size\":48"));
    assert_true(c.moe.top_k == 2 && c.moe.n_experts == 8 && c.moe.shared_ffn_size == 48);
    qr_model_config_free(&c);
    bad(COUNTS(",\"moe_topk\":[2,2,2,3]"), QUIRE_E_UNSUPPORTED, "moe_topk[3] differs");
    bad(COUNTS(",\"moe_topk\":[2,2,2,\"2\"]"), QUIRE_E_UNSUPPORTED, "moe_topk[3] differs");
    bad(COUNTS(",\"moe_topk\":[2,2,2]"), QUIRE_E_FORMAT, "moe_topk must be a number or");
    bad(COUNTS(",\"moe_topk\":[]"), QUIRE_E_FORMAT, "moe_topk must be a number or");
    bad(COUNTS(",\"moe_topk\":[2.5,2,2,2]"), QUIRE_E_FORMAT, "moe_topk must be a number or");
}

#define STEP(more)                                                                                 \
    MODEL("step3p5",                                                                               \
          ",\"sliding_window\":8,\"layer_types\":[\"full_attention\",\"sliding_attention\","       \
          "\"sliding_attention\",\"full_attention\",\"sliding_attention\"],"                       \
          "\"num_nextn_predict_layers\":1,\"moe_num_experts\":4,\"moe_top_k\":2,"                  \
          "\"moe_layers_enum\":\"1,3\"" more)

/* Lists whose values belong to layers with a window or without, heads of windows. */
static void test_layer_lists(void **state)
{
    (void)state;
    struct qr_model_config c = good(STEP(
        ",\"rope_theta\":[5e6,1e4,1e4,5e6,1],\"partial_rotary_factors\":[0.5,1,1,0.5],"
        "\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":2,\"low_freq_factor\":1,"
        "\"high_freq_factor\":32,\"original_max_position_embeddings\":64},"
        "\"yarn_only_types\":[\"full_attention\"],\"attention_other_setting\":{"
        "\"num_attention_heads\":8,\"attention_type\":\"sliding_attention\",\"head_dim\":16}"));
    for (uint32_t i = 0; i < 4; i++) {
        const struct qr_layer_config *l = &c.layers[i];
        const struct qr_rope_config *r = &c.rope[l->rope];
        const bool full = i % 3 == 0;
        assert_true(l->window == (full ? 0 : 8) && l->n_heads == (full ? 4 : 8));
        assert_true(r->theta == (full ? 5e6 : 1e4) && r->dim == (full ? 8 : 16));
        assert_int_equal(r->scaling, full ? QR_ROPE_SCALING_LLAMA3 : QR_ROPE_SCALING_NONE);
        assert_true(l->n_kv_heads == 4 && !l->sinks && l->moe == (i == 1 || i == 3));
    }
    assert_true(c.gate_per_head && !c.gate_softplus && c.n_mtp_layers == 1);
    qr_model_config_free(&c);
    c = good(STEP(",\"rope_theta\":7"));
    assert_true(c.rope[0].theta == 7 && c.rope[1].theta == 7 && c.rope[0].dim == 16);
    qr_model_config_free(&c);
    c = good(STEP(",\"query_pre_attn_scalar\":64,\"yarn_only_types\":null,\"swiglu_limits\":null"));
    assert_true(c.rope[1].theta == 10000 && c.attention_scale == 0.125f);
    qr_model_config_free(&c);
    bad(STEP(",\"rope_theta\":[5e6,1e4,1e4]"), QUIRE_E_FORMAT, "rope_theta must list 4 layers");
    bad(STEP(",\"rope_theta\":\"1\""), QUIRE_E_FORMAT, "rope_theta must list 4 layers");
    bad(STEP(",\"rope_theta\":[5e6,1e4,null,5e6]"), QUIRE_E_FORMAT, "rope_theta[2] must be");
    bad(STEP(",\"rope_theta\":[5e6,1e4,1e5,5e6]"), QUIRE_E_UNSUPPORTED,
        "rope_theta[2] is 100000, and 10000 in another layer with a window");
    bad(STEP(",\"partial_rotary_factors\":[0.5,1,1,1]"), QUIRE_E_UNSUPPORTED,
        "partial_rotary_factors[3] is 1, and 0.5 in another layer without a window");
    bad(STEP(",\"partial_rotary_factors\":[2,1,1,2]"), QUIRE_E_FORMAT, "partial_rotary_factor");
    bad(STEP(",\"yarn_only_types\":[\"sliding_attention\"]"), QUIRE_E_UNSUPPORTED,
        "yarn_only_types must be");
    bad(STEP(",\"yarn_only_types\":[1]"), QUIRE_E_UNSUPPORTED, "yarn_only_types must be");
    bad(STEP(",\"attention_other_setting\":{\"attention_type\":\"full_attention\"}"),
        QUIRE_E_UNSUPPORTED, "full_attention is not supported");
    bad(STEP(",\"attention_other_setting\":{\"head_dim\":8}"), QUIRE_E_UNSUPPORTED, "8");
    bad(STEP(",\"num_nextn_predict_layers\":0"), QUIRE_E_FORMAT, "layer_types must list 4");
    bad(STEP(",\"num_nextn_predict_layers\":-1"), QUIRE_E_FORMAT, "num_nextn_predict_layers");
    bad(STEP(",\"moe_layers_enum\":\"1,4\""), QUIRE_E_FORMAT, "moe_layers_enum \"1,4\" must");
    bad(STEP(",\"moe_layers_enum\":\"1;3\""), QUIRE_E_FORMAT, "moe_layers_enum");
    bad(STEP(",\"moe_layers_enum\":\"\""), QUIRE_E_FORMAT, "moe_layers_enum");
    bad(STEP(",\"moe_layers_enum\":\"1,\""), QUIRE_E_FORMAT, "moe_layers_enum");
    bad(STEP(",\"use_head_wise_attn_gate\":false"), QUIRE_E_UNSUPPORTED, "use_head_wise_attn_gate");
}

/* Limits of the activations of each layer. */
static void test_layer_limits(void **state)
{
    (void)state;
    struct qr_model_config c =
        good(STEP(",\"swiglu_limits\":[0,null,7,0],\"swiglu_limits_shared\":[16,0,null,0,3]"));
    for (uint32_t i = 0; i < 4; i++)
        assert_true(c.layers[i].expert_limit == (i == 2 ? 7 : 0) &&
                    c.layers[i].ffn_limit == (i == 0 ? 16 : 0));
    qr_model_config_free(&c);
    bad(STEP(",\"swiglu_limits\":7"), QUIRE_E_FORMAT, "swiglu_limits must list 4 layers");
    bad(STEP(",\"swiglu_limits\":[0,0,7]"), QUIRE_E_FORMAT, "swiglu_limits must list 4 layers");
    bad(STEP(",\"swiglu_limits\":[0,0,-7,0]"), QUIRE_E_FORMAT, "swiglu_limits[2]");
    bad(STEP(",\"swiglu_limits_shared\":[0,0,0,\"7\"]"), QUIRE_E_FORMAT, "swiglu_limits_shared[3]");
    bad(STEP(",\"swiglu_limits_shared\":[0,0,0,1e7]"), QUIRE_E_FORMAT,
        "activation limit of a layer is 1e+07");
    bad(STEP(",\"swiglu_limits\":[1e300,0,0,0]"), QUIRE_E_FORMAT,
        "activation limit of experts is inf");
    bad(MODEL("llama", ",\"swiglu_limits\":[0,0,0,7]"), QUIRE_E_UNSUPPORTED, "swiglu_limits");
}

/* Head counts and widths in lists. */
static void test_size_lists(void **state)
{
    (void)state;
#define ELM(more)                                                                                  \
    "{\"model_type\":\"openelm\",\"vocab_size\":320,\"model_dim\":64,\"head_dim\":16,"             \
    "\"num_transformer_layers\":3,\"max_context_length\":256,\"num_query_heads\":[2,4,4],"         \
    "\"num_kv_heads\":[1,2,4],\"ffn_multipliers\":[0.1,1.3,2.0],\"ffn_dim_divisor\":16" more "}"
    struct qr_model_config c = good(ELM(""));
    static const uint32_t widths[] = { 16, 80, 128 }; /* 6.4, 83.2 and 128 */
    for (uint32_t i = 0; i < 3; i++)
        assert_true(c.layers[i].n_heads == (i ? 4 : 2) && c.layers[i].n_kv_heads == 1U << i &&
                    c.layers[i].ffn_size == widths[i]);
    assert_true(c.tied_embeddings && c.max_heads == 4 && c.max_kv_heads == 4);
    qr_model_config_free(&c);
    c = good(ELM(",\"ffn_dim_divisor\":60")); /* 60 is less than nine tenths of 83.2 */
    assert_true(c.layers[1].ffn_size == 120);
    qr_model_config_free(&c);
    static const char *const keys[] = { "num_query_heads", "num_kv_heads", "ffn_multipliers" };
    for (size_t i = 0; i < 3; i++) {
        static const struct {
            const char *value, *text;
        } cases[] = { { "4", "must list 3" },
                      { "[4,4]", "must list 3" },
                      { "null", "must list 3" },
                      { "[4,4,0]", "[2] must be a positive" },
                      { "[4,\"4\",4]", "[1] must be" },
                      { "[4,4,-4]", "[2] must be a positive" },
                      { "[4,4,1e300]", "[2] is 1e+300" } };
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            char json[512], text[96];
            snprintf(json, sizeof json,
                     "{\"model_type\":\"openelm\",\"vocab_size\":320,\"model_dim\":64,"
                     "\"num_transformer_layers\":3,\"num_query_heads\":[4,4,4],\"num_kv_heads\":"
                     "[4,4,4],\"ffn_multipliers\":[1,1,1],\"%s\":%s}",
                     keys[i], cases[k].value);
            snprintf(text, sizeof text, "%s%s%s", keys[i], cases[k].text[0] == '[' ? "" : " ",
                     cases[k].text);
            bad(json, QUIRE_E_FORMAT, text);
        }
    }
    bad(ELM(",\"num_query_heads\":[2,4.5,4]"), QUIRE_E_FORMAT, "num_query_heads[1] is 4.5");
    bad(ELM(",\"num_kv_heads\":[1,3,4]"), QUIRE_E_FORMAT, "kv heads");
    bad(ELM(",\"ffn_dim_divisor\":0"), QUIRE_E_FORMAT, "ffn_dim_divisor is 0");
    bad(ELM(",\"ffn_dim_divisor\":4294967295"), QUIRE_E_FORMAT, "ffn_dim_divisor is 4294967295");
    bad(ELM(",\"ffn_dim_divisor\":\"16\""), QUIRE_E_FORMAT, "ffn_dim_divisor");
    bad(ELM(",\"ffn_with_glu\":false"), QUIRE_E_UNSUPPORTED, "ffn_with_glu");
    bad("{\"model_type\":\"openelm\",\"vocab_size\":320,\"model_dim\":64,"
        "\"num_transformer_layers\":1}",
        QUIRE_E_FORMAT, "num_query_heads is missing");
}

static void test_sizes_by_other_names(void **state)
{
    (void)state;
#define SHELL(more)                                                                                \
    "{\"model_type\":\"codeshell\",\"vocab_size\":320,\"n_embd\":64,\"n_layer\":2,\"n_head\":4,"   \
    "\"num_query_groups\":2,\"activation_function\":\"gelu_pytorch_tanh\"" more "}"
    struct qr_model_config c = good(SHELL(""));
    assert_true(c.layers[1].n_kv_heads == 2 && c.layers[1].ffn_size == 256 && c.tied_embeddings);
    qr_model_config_free(&c);
    bad(SHELL(",\"group_query_attention\":false"), QUIRE_E_UNSUPPORTED, "group_query_attention");
    bad(SHELL(",\"scale_attn_weights\":false"), QUIRE_E_UNSUPPORTED, "scale_attn_weights");
    bad(SHELL(",\"position_embedding_type\":\"learned_absolute\""), QUIRE_E_UNSUPPORTED,
        "position_embedding_type");
    c = good(MODEL("qwen", ",\"seq_length\":96,\"use_logn_attn\":true"));
    assert_true(c.context_length == 96 && c.layers[1].ffn_size == 80);
    qr_model_config_free(&c);
    bad(MODEL("qwen", ",\"no_bias\":false"), QUIRE_E_UNSUPPORTED, "no_bias");
    bad(MODEL("qwen", ",\"visual\":{\"layers\":4}"), QUIRE_E_UNSUPPORTED, "visual");
}

static void test_minicpm(void **state)
{
    (void)state;
    struct qr_model_config c =
        good(MODEL("minicpm", ",\"scale_emb\":12,\"scale_depth\":1.4,\"dim_model_base\":32"));
    assert_true(c.embedding_scale == 12 && c.residual_scale == (float)(1.4 / 2) &&
                c.logit_scale == 0.5f && c.tied_embeddings);
    qr_model_config_free(&c);
    bad(MODEL("minicpm", ",\"scale_depth\":\"1\""), QUIRE_E_FORMAT, "scale_depth");
    bad(MODEL("minicpm", ",\"num_experts\":8"), QUIRE_E_UNSUPPORTED, "num_experts = 8");
    bad(MODEL("llama", ",\"scale_emb\":12"), QUIRE_E_UNSUPPORTED, "scale_emb = 12");
}

static void test_activations(void **state)
{
    (void)state;
    struct qr_model_config c = good(MODEL("apertus", ",\"hidden_act\":\"xielu\""));
    assert_true(c.activation == QR_ACT_XIELU && !c.ffn_gated);
    qr_model_config_free(&c);
    /* its parameters are tensors that only this family has */
    bad(MODEL("llama", ",\"hidden_act\":\"xielu\""), QUIRE_E_UNSUPPORTED, "activation xielu");
    bad(MODEL("bitnet", ",\"quantization_config\":{\"quant_method\":\"bitnet\"}"),
        QUIRE_E_UNSUPPORTED, "quantization_config");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer_rope_theta),
        cmocka_unit_test(test_rope_alpha),
        cmocka_unit_test(test_longrope_mscale),
        cmocka_unit_test(test_layer_counts),
        cmocka_unit_test(test_no_rope_layers),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_cohere_experts),
        cmocka_unit_test(test_latent_experts),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_block_configs),
        cmocka_unit_test(test_pooling),
        cmocka_unit_test(test_fixed_options),
        cmocka_unit_test(test_layer_lists),
        cmocka_unit_test(test_layer_limits),
        cmocka_unit_test(test_sizes_by_other_names),
        cmocka_unit_test(test_size_lists),
        cmocka_unit_test(test_minicpm),
        cmocka_unit_test(test_activations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
