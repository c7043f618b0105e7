/* SPDX-License-Identifier: Apache-2.0 */
/* seeds_quantized.c - seeds of fuzz_safetensors.c: a model per method of quantization. */
#include "seeds_quantized.h"
#include "kernels/kernels_linear.h"
#include "packed_files.h"
#include <stdio.h>
#include <string.h>

enum { CONFIG, MODEL, HF_QUANT_CONFIG = 6 }; /* places in the table of fuzz_safetensors.c */

#define SIZES                                                                                      \
    "\"vocab_size\":8,\"hidden_size\":64,\"intermediate_size\":64,\"num_hidden_layers\":1,"        \
    "\"num_attention_heads\":2,\"num_key_value_heads\":2,\"max_position_embeddings\":64,"          \
    "\"rms_norm_eps\":1e-5,\"tie_word_embeddings\":true"

static const char *const modules[] = { "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                                       "self_attn.o_proj", "mlp.gate_proj",    "mlp.up_proj",
                                       "mlp.down_proj" };

/* A tensor of each module, 64 x 64. */
struct part {
    const char *ending, *dtype, *shape;
    uint32_t bytes;
};

static const char nf4_state[] = "{\"quant_type\":\"nf4\",\"blocksize\":64,\"shape\":[64,64],"
                                "\"nested_blocksize\":256,\"nested_offset\":0.01}";

static const struct method {
    const char *name, *config;
    struct part parts[6];
} methods[] = {
    { "fp8",
      "\"quant_method\":\"fp8\",\"weight_block_size\":[32,32]",
      { { "weight", "F8_E4M3", "64,64", 4096 }, { "weight_scale_inv", "F32", "2,2", 16 } } },
    { "gptq",
      "\"quant_method\":\"gptq\",\"bits\":4,\"group_size\":32,\"desc_act\":true,"
      "\"checkpoint_format\":\"gptq_v2\"",
      { { "qweight", "I32", "8,64", 2048 },
        { "qzeros", "I32", "2,8", 64 },
        { "scales", "F16", "2,64", 256 },
        { "g_idx", "I32", "64", 256 } } },
    { "gptq-8",
      "\"quant_method\":\"gptq\",\"bits\":8,\"group_size\":-1,\"checkpoint_format\":\"gptq_v2\"",
      { { "qweight", "I32", "16,64", 4096 },
        { "qzeros", "I32", "1,16", 64 },
        { "scales", "F16", "1,64", 128 } } },
    { "auto-round",
      "\"quant_method\":\"auto-round\",\"bits\":8,\"packing_format\":\"auto_round:auto_gptq\","
      "\"extra_config\":{\"a\":{\"bits\":4}}",
      { { "qweight", "I32", "8,64", 2048 },
        { "qzeros", "I32", "2,8", 64 },
        { "scales", "F16", "2,64", 256 } } },
    { "awq",
      "\"quant_method\":\"awq\",\"bits\":4,\"group_size\":64,\"version\":\"gemm\"",
      { { "qweight", "I32", "64,8", 2048 },
        { "qzeros", "I32", "1,8", 32 },
        { "scales", "F16", "1,64", 128 } } },
    { "packed",
      "\"quant_method\":\"compressed-tensors\",\"format\":\"pack-quantized\",\"config_groups\":"
      "{\"group_0\":{\"weights\":{\"num_bits\":4,\"type\":\"int\",\"strategy\":\"group\"}}}",
      { { "weight_packed", "I32", "64,8", 2048 },
        { "weight_scale", "BF16", "64,2", 256 },
        { "weight_shape", "I64", "2", 16 },
        { "weight_zero_point", "I32", "8,2", 64 },
        { "weight_g_idx", "I32", "64", 256 } } },
    { "int8",
      "\"quant_method\":\"compressed-tensors\",\"format\":\"int-quantized\",\"config_groups\":"
      "{\"group_0\":{\"weights\":{\"num_bits\":8,\"type\":\"int\",\"strategy\":\"channel\"}}}",
      { { "weight", "I8", "64,64", 4096 },
        { "weight_scale", "F32", "64,1", 256 },
        { "weight_zero_point", "I8", "64,1", 64 } } },
    { "modelopt",
      "\"quant_method\":\"modelopt\",\"quant_algo\":\"NVFP4\"",
      { { "weight", "U8", "64,32", 2048 },
        { "weight_scale", "F8_E4M3", "64,4", 256 },
        { "weight_scale_2", "F32", "1", 4 },
        { "input_scale", "F32", "1", 4 } } },
    { "modelopt-file",
      "\"quant_algo\":\"FP8\",\"exclude_modules\":[\"lm_head\"]",
      { { "weight", "F8_E4M3", "64,64", 4096 }, { "weight_scale", "F32", "1", 4 } } },
    { "nvfp4-packed",
      "\"quant_method\":\"compressed-tensors\",\"format\":\"nvfp4-pack-quantized\",\"config_"
      "groups\":"
      "{\"group_0\":{\"weights\":{\"num_bits\":4,\"type\":\"float\",\"strategy\":\"tensor_group\"}}"
      "}",
      { { "weight_packed", "U8", "64,32", 2048 },
        { "weight_scale", "F8_E4M3", "64,4", 256 },
        { "weight_global_scale", "F32", "1", 4 } } },
    { "nf4",
      "\"load_in_4bit\":true,\"bnb_4bit_quant_type\":\"nf4\"",
      { { "weight", "U8", "2048,1", 2048 },
        { "weight.absmax", "U8", "64", 64 },
        { "weight.quant_map", "F32", "16", 64 },
        { "weight.nested_absmax", "F32", "1", 4 },
        { "weight.nested_quant_map", "F32", "256", 1024 },
        { "weight.quant_state.bitsandbytes__nf4", "U8", NULL, sizeof nf4_state - 1 } } },
    { "llm-int8",
      "\"quant_method\":\"bitsandbytes\",\"load_in_8bit\":true",
      { { "weight", "I8", "64,64", 4096 },
        { "SCB", "F32", "64", 256 },
        { "weight_format", "U8", "1", 1 } } },
};

/* Data that the reader accepts: small scales, ascending groups, no NaN. */
static void put_part(struct fuzz_buffer *data, const struct part *p, struct fuzz_random *r)
{
    static const float nf4[16] = { QR_NF4_VALUES };
    static const int64_t shape[2] = { 64, 64 };
    if (strstr(p->ending, "quant_state")) {
        fuzz_put(data, nf4_state, p->bytes);
    } else if (strstr(p->ending, ".quant_map")) {
        fuzz_put(data, nf4, p->bytes);
    } else if (strstr(p->ending, "weight_shape")) {
        fuzz_put(data, shape, p->bytes);
    } else if (strstr(p->ending, "g_idx")) {
        for (uint32_t k = 0; k < 64; k++)
            fuzz_put_number(data, k % 2, 4); /* an order of the columns */
    } else if (strcmp(p->ending, "weight_format") == 0) {
        fuzz_put_number(data, 0, 1);
    } else if (strcmp(p->dtype, "F32") == 0) {
        for (uint32_t i = 0; i < p->bytes; i += 4)
            fuzz_put_number(data, 0x3c000000 + fuzz_random(r, 1 << 20), 4);
    } else if (strcmp(p->dtype, "F16") == 0 || strcmp(p->dtype, "BF16") == 0) {
        for (uint32_t i = 0; i < p->bytes; i += 2)
            fuzz_put_number(data, 0x2000 + fuzz_random(r, 1 << 10), 2);
    } else {
        for (uint32_t i = 0; i < p->bytes; i++)
            fuzz_put_number(data, fuzz_random(r, 127), 1);
    }
}

/* Writes the entry of a tensor to the header. */
static void put_entry(struct fuzz_buffer *header, const char *name, const struct part *p, size_t at)
{
    char line[400], count[16];
    snprintf(count, sizeof count, "%u", p->bytes);
    snprintf(
        line, sizeof line, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
        header->size ? "," : "{", name, p->dtype, p->shape ? p->shape : count, at, at + p->bytes);
    fuzz_put_text(header, line);
}

static void put_model(struct fuzz_buffer *out, const struct method *m)
{
    static const struct {
        const char *name;
        struct part part;
    } plain[] = {
        { "model.embed_tokens.weight", { "", "F32", "8,64", 2048 } },
        { "model.norm.weight", { "", "F32", "64", 256 } },
        { "model.layers.0.input_layernorm.weight", { "", "F32", "64", 256 } },
        { "model.layers.0.post_attention_layernorm.weight", { "", "F32", "64", 256 } },
    };
    struct fuzz_buffer header = { 0 }, data = { 0 }, file = { 0 };
    struct fuzz_random r = { 1 };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        put_entry(&header, plain[i].name, &plain[i].part, data.size);
        put_part(&data, &plain[i].part, &r);
    }
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        for (const struct part *p = m->parts; p < m->parts + 6 && p->ending; p++) {
            char name[160];
            snprintf(name, sizeof name, "model.layers.0.%s.%s", modules[i], p->ending);
            put_entry(&header, name, p, data.size);
            put_part(&data, p, &r);
        }
    fuzz_put_text(&header, "}");
    fuzz_put_number(&file, header.size, 8);
    fuzz_put(&file, header.data, header.size);
    fuzz_put(&file, data.data, data.size);
    packed_put(out, MODEL, file.data, file.size);
    fuzz_buffer_free(&header);
    fuzz_buffer_free(&data);
    fuzz_buffer_free(&file);
}

void quantized_seeds(save_seed_fn *save)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        struct fuzz_buffer b = { 0 };
        char config[1024], name[32];
        /* only hf_quant_config.json has no quant_method and names an algorithm */
        const bool in_own_file = strncmp(methods[i].config, "\"quant_algo", 11) == 0;
        snprintf(config, sizeof config, "{\"model_type\":\"llama\"," SIZES "%s%s%s}",
                 in_own_file ? "" : ",\"quantization_config\":{",
                 in_own_file ? "" : methods[i].config, in_own_file ? "" : "}");
        packed_put(&b, CONFIG, config, strlen(config));
        snprintf(config, sizeof config, "{\"quantization\":{%s}}", methods[i].config);
        if (in_own_file)
            packed_put(&b, HF_QUANT_CONFIG, config, strlen(config));
        put_model(&b, &methods[i]);
        snprintf(name, sizeof name, "quantized-%s", methods[i].name);
        save("safetensors", name, &b);
    }
}
