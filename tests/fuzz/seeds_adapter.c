/* SPDX-License-Identifier: Apache-2.0 */
/* seeds_adapter.c - seeds of fuzz_adapter.c, whose model is tiny_running. */
#include "seeds_adapter.h"
#include "tiny_model.h"
#include <math.h>

static void gguf_adapters(save_seed_fn *save)
{
    static const struct {
        const char *name, *tensor;
        uint32_t rank, in, out;
        float alpha;
    } files[] = {
        { "gguf-q", "blk.0.attn_q.weight", 4, 32, 32, 8 },
        { "gguf-down", "blk.1.ffn_down.weight", 2, 64, 32, 0 },
        { "gguf-shape", "blk.0.attn_k.weight", 4, 32, 32, 8 },
        { "gguf-layer", "blk.9.attn_k.weight", 4, 32, 16, 8 },
        { "gguf-alpha", "blk.0.attn_q.weight", 4, 32, 32, INFINITY },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct gguf_image g = { 0 };
        struct fuzz_buffer b = { 0 };
        char name[64];
        gguf_text(&g, "general.architecture", "llama");
        gguf_text(&g, "general.type", "adapter");
        gguf_text(&g, "adapter.type", "lora");
        gguf_f32(&g, "adapter.lora.alpha", files[i].alpha);
        snprintf(name, sizeof name, "%s.lora_a", files[i].tensor);
        gguf_tensor(&g, name, 0, files[i].in, files[i].rank);
        snprintf(name, sizeof name, "%s.lora_b", files[i].tensor);
        gguf_tensor(&g, name, 0, files[i].rank, files[i].out);
        gguf_finish(&g, &b);
        save("adapter", files[i].name, &b);
    }
}

static void peft_adapters(save_seed_fn *save)
{
    static const struct {
        const char *name, *config, *module;
        uint32_t rows;
    } files[] = {
        { "peft-q", "\"r\":2,\"lora_alpha\":4", "model.layers.0.self_attn.q_proj", 32 },
        { "peft-rs", "\"r\":2,\"lora_alpha\":4,\"use_rslora\":true", "lm_head", 32 },
        { "peft-rank", "\"r\":3,\"lora_alpha\":4", "model.layers.0.self_attn.q_proj", 32 },
        { "peft-dora", "\"r\":2,\"lora_alpha\":4,\"use_dora\":true", "model.norm", 32 },
        { "peft-pattern",
          "\"r\":8,\"lora_alpha\":4,\"rank_pattern\":{\"o_proj\":2},\"alpha_pattern\":{\"^x\":1}",
          "model.layers.1.self_attn.o_proj", 32 },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct fuzz_buffer b = { 0 };
        char text[1024];
        snprintf(text, sizeof text,
                 "{\"peft_type\":\"LORA\",%s}\n----\n"
                 "{\"base_model.model.%s.lora_A.weight\":{\"dtype\":\"F32\",\"shape\":[2,32],"
                 "\"data_offsets\":[0,256]},\"base_model.model.%s.lora_B.weight\":{\"dtype\":"
                 "\"F32\",\"shape\":[%u,2],\"data_offsets\":[256,%u]}}\n----\n",
                 files[i].config, files[i].module, files[i].module, files[i].rows,
                 256 + files[i].rows * 8);
        fuzz_put_text(&b, text);
        for (uint32_t j = 0; j < 64 + files[i].rows * 2; j++) {
            const float x = 0.01f * (float)(j % 17) - 0.05f;
            fuzz_put(&b, &x, sizeof x);
        }
        save("adapter", files[i].name, &b);
    }
}

void adapter_seeds(save_seed_fn *save)
{
    gguf_adapters(save);
    peft_adapters(save);
}
