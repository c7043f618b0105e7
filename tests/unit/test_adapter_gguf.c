/* SPDX-License-Identifier: Apache-2.0 */
/* test_adapter_gguf.c - GGUF adapters made from PEFT folders give their bits, on models of either
 * format, also for stacks of experts; families whose formats have different weights. */
#include "model/arch/arch.h"
#include "model/load/adapter_build.h"
#include "test_adapter_world.h"
#include <math.h>

static struct quire_adapter *open_image(struct quire_model *m, const struct image *image)
{
    struct quire_adapter *a;
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct quire_adapter_params ap = { .struct_size = sizeof ap,
                                             .data = image->data,
                                             .data_bytes = image->size };
    const quire_status s = quire_adapter_open(m, &ap, &a, &err);
    if (s != QUIRE_OK)
        print_error("%s\n", err.msg);
    assert_int_equal(s, QUIRE_OK);
    return a;
}

/* A GGUF adapter made from a PEFT folder, both on a model of either format: equal bits. */
static void formats(void **state)
{
    static float want[2 * TOKENS * VOCAB], got[2 * TOKENS * VOCAB];
    static const char *const models[] = { "llama", "gguf/llama-f32.gguf" };
    static const char *const names[] = { "lora_llama_r4", "lora_llama_r8_rs_embed" };
    (void)state;
    if (!need_shared())
        skip();
    for (int i = 0; i < 4; i++) {
        struct lora_world l;
        struct folder f;
        const bool rs = i / 2;
        open_lora_world(&l, models[i % 2], QUIRE_COMPUTE_F32, 1, 8);
        struct quire_adapter *peft = open_golden_adapter(l.w.model, names[i / 2]), *gguf;
        read_adapter(&f, names[i / 2]);
        const struct gguf_options o = { "llama", "adapter", "lora", NULL, rs ? 8 * sqrtf(8) : 8,
                                        16,      SIZE_MAX };
        struct image image = gguf_adapter(&f, &o);
        gguf = open_image(l.w.model, &image);
        const struct use use_peft = { { peft }, 1, { 0, 0 }, { 1, 1 } },
                         use_gguf = { { gguf }, 1, { 0, 0 }, { 1, 1 } };
        run_chunks(&l.w, &use_peft, TOKENS, false, want);
        run_chunks(&l.w, &use_gguf, TOKENS, false, got);
        assert_memory_equal(got, want, sizeof want);
        assert_status(QUIRE_OK, quire_adapter_close(peft));
        assert_status(QUIRE_OK, quire_adapter_close(gguf));
        drop(&image);
        free_folder(&f);
        close_lora_world(&l);
    }
}

/* ---- Experts: [experts][rows][columns] of the tensors of each expert */

static void put_expert_pair(struct image *m, struct folder *f, int pass, uint32_t layer,
                            const char *hf, const char *gguf, uint64_t *offset)
{
    char name[200];
    for (int b = 0; b < 2; b++) {
        const struct tensor *t = NULL;
        for (uint32_t e = 0; e < 4; e++) {
            snprintf(
                name, sizeof name,
                "base_model.model.model.layers.%u.block_sparse_moe.experts.%u.%s.lora_%c.weight",
                layer, e, hf, b ? 'B' : 'A');
            t = find(f, name);
            if (pass == 1)
                put(m, t->data, t->n * sizeof(float));
        }
        snprintf(name, sizeof name, "blk.%u.%s.weight.lora_%c", layer, gguf, b ? 'b' : 'a');
        const uint64_t dims[] = { t->shape[1], t->shape[0], 4 };
        if (pass == 0) {
            put_tensor(m, name, 0, 3, dims, *offset);
            *offset += (4 * t->n * sizeof(float) + 31) / 32 * 32;
        } else {
            pad_to(m, 32);
        }
    }
}

static struct image expert_adapter(struct folder *f)
{
    static const char *const names[][2] = { { "w1", "ffn_gate_exps" },
                                            { "w2", "ffn_down_exps" },
                                            { "w3", "ffn_up_exps" } };
    struct image m;
    uint64_t offset = 0;
    put_head(&m, 3, 12, 4);
    put_kv_str(&m, "general.architecture", "llama");
    put_kv_str(&m, "general.type", "adapter");
    put_kv_str(&m, "adapter.type", "lora");
    put_kv_f32(&m, "adapter.lora.alpha", 8);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t layer = 0; layer < 2; layer++)
            for (int i = 0; i < 3; i++)
                put_expert_pair(&m, f, pass, layer, names[i][0], names[i][1], &offset);
        pad_to(&m, 32);
    }
    return m;
}

static void experts(void **state)
{
    static float want[2 * TOKENS * VOCAB], got[2 * TOKENS * VOCAB];
    static const char *const models[] = { "mixtral", "gguf/mixtral-bf16.gguf" };
    (void)state;
    if (!need_shared())
        skip();
    for (int i = 0; i < 2; i++) {
        struct lora_world l;
        struct folder f;
        open_lora_world(&l, models[i], QUIRE_COMPUTE_F32, 2, 4);
        read_adapter(&f, "lora_mixtral_r4");
        struct image image = expert_adapter(&f);
        size_t n = 0;
        for (size_t k = 0; k < f.n; k++) /* the experts alone */
            if (strstr(f.t[k].name, "experts"))
                f.t[n++] = f.t[k];
            else
                free(f.t[k].data);
        f.n = n;
        write_adapter(&f);
        struct quire_adapter *gguf = open_image(l.w.model, &image),
                             *peft = open_adapter(l.w.model, dir);
        run_chunks(&l.w, &(struct use){ { peft }, 1, { 0, 0 }, { 1, 1 } }, TOKENS, false, want);
        run_chunks(&l.w, &(struct use){ { gguf }, 1, { 0, 0 }, { 1, 1 } }, 7, false, got);
        assert_memory_equal(got, want, sizeof want);
        assert_status(QUIRE_OK, quire_adapter_close(peft));
        assert_status(QUIRE_OK, quire_adapter_close(gguf));
        drop(&image);
        free_folder(&f);
        close_lora_world(&l);
    }
}

/* Families whose GGUF files have other weights than their folders. */
static void scaled_families(void **state)
{
    static const char *const scaled[] = { "falcon_h1", "plamo", "talkie", "rwkv6" },
                             *const equal[] = { "llama", "mamba2", "rwkv7", "rwkv6qwen2" };
    (void)state;
    for (size_t i = 0; i < sizeof scaled / sizeof *scaled; i++) {
        const struct qr_arch *arch = qr_arch_by_name(scaled[i]);
        assert_non_null(arch);
        assert_true(qr_adapter_scales_differ(arch));
    }
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++) {
        const struct qr_arch *arch = qr_arch_by_name(equal[i]);
        assert_non_null(arch);
        assert_false(qr_adapter_scales_differ(arch));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(formats), cmocka_unit_test(experts),
                                        cmocka_unit_test(scaled_families) };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
