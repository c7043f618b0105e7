/* SPDX-License-Identifier: Apache-2.0 */
/* test_adapter_shapes.c - tensors of adapters with every wrong name, type and shape, in both
 * formats; modules with two names, stacks of experts, models without RoPE or of another format. */
#include "model/load/tensor_names.h"
#include "test_adapter.h"
#include "test_raw_folder.h"
#include <math.h>

/* ---- PEFT */

struct part {
    const char *name, *dtype;
    uint32_t n_dims;
    uint64_t shape[3];
};

struct peft {
    const char *model;
    bool parameters; /* adapter_config.json has target_parameters */
    struct part parts[4];
    quire_status status;
    const char *text;
    uint32_t n_modules;
};

#define P       "base_model.model."
#define Q       "model.layers.0.self_attn.q_proj"
#define EXPERTS "model.layers.0.mlp.experts"
#define A(module, rows, cols)                                                                      \
    {                                                                                              \
        P module ".lora_A.weight", "F32", 2, { rows, cols }                                        \
    }
#define B(module, rows, cols)                                                                      \
    {                                                                                              \
        P module ".lora_B.weight", "F32", 2, { rows, cols }                                        \
    }

static const struct peft pefts[] = {
    { "llama", false, { A(Q, 4, 64), B(Q, 64, 4) }, QUIRE_OK, NULL, 1 },
    { "llama",
      false,
      { { P Q ".lora_A.weight", "I32", 2, { 4, 64 } }, B(Q, 64, 4) },
      QUIRE_E_UNSUPPORTED,
      "lora_A.weight has type I32, which is not supported",
      0 },
    { "llama",
      false,
      { A(Q, 4, 64), B(Q, 64, 4), A("language_model." Q, 4, 64), B("language_model." Q, 64, 4) },
      QUIRE_E_FORMAT,
      "the module has two updates",
      0 },
    { "llama",
      false,
      { { P Q ".lora_A.weight", "F32", 1, { 64 } }, B(Q, 64, 4) },
      QUIRE_E_FORMAT,
      "[rank, in]",
      0 },
    { "llama",
      false,
      { A(Q, 4, 64), { P Q ".lora_B.weight", "F32", 3, { 1, 64, 4 } } },
      QUIRE_E_FORMAT,
      "[rank, in]",
      0 },
    /* weights of the base model */
    { "llama",
      false,
      { { P "model.embed_tokens.base_layer.weight", "F32", 1, { 320 * 64 } } },
      QUIRE_E_MISMATCH,
      "in the model 320 x 64",
      0 },
    { "llama",
      false,
      { { P "model.embed_tokens.base_layer.weight", "F32", 2, { 320, 32 } } },
      QUIRE_E_MISMATCH,
      "is 320 x 32, in the model 320 x 64",
      0 },
    { "llama",
      false,
      { { P "foo.weight", "F32", 2, { 4, 64 } } },
      QUIRE_E_UNSUPPORTED,
      "foo.weight is neither A nor B",
      0 },
    /* rows of the parameters of 4 experts */
    { "mixtral", true, { A(EXPERTS, 16, 64), B(EXPERTS, 192, 16) }, QUIRE_OK, NULL, 8 },
    { "mixtral", true, { A(EXPERTS, 16, 96), B(EXPERTS, 64, 16) }, QUIRE_OK, NULL, 4 },
    { "mixtral",
      true,
      { A(EXPERTS, 3, 64), B(EXPERTS, 192, 3) },
      QUIRE_E_FORMAT,
      "has rank 0, not 1",
      0 },
    { "mixtral",
      true,
      { A(EXPERTS, 17, 64), B(EXPERTS, 192, 17) },
      QUIRE_E_FORMAT,
      "has 17 rows, adapter_config.json gives rank 4",
      0 },
    { "mixtral",
      true,
      { A(EXPERTS, 16, 96), B(EXPERTS, 32, 16) },
      QUIRE_E_MISMATCH,
      "the module maps 96 inputs to 32 outputs, in the model 64 to 192",
      0 },
    { "mixtral",
      true,
      { A("model.foo.experts", 16, 96), B("model.foo.experts", 32, 16) },
      QUIRE_E_MISMATCH,
      "the model has no module model.foo.experts",
      0 },
    { "mixtral",
      true,
      { A("model.layers.2.mlp.experts", 16, 96), B("model.layers.2.mlp.experts", 64, 16) },
      QUIRE_E_MISMATCH,
      "the model has no layer or expert model.layers.2.mlp.experts",
      0 },
    { "mixtral",
      true,
      { A("x", 4, 64), B("x", 64, 4) },
      QUIRE_E_MISMATCH,
      "the model has no module x",
      0 },
    /* the checkpoint has the same parameters, gate and up in alternating rows */
    { "gpt_oss",
      true,
      { A(EXPERTS ".base_layer", 16, 64), B(EXPERTS ".base_layer", 128, 16), A(EXPERTS, 16, 64),
        B(EXPERTS, 64, 16) },
      QUIRE_OK,
      NULL,
      12 },
    /* without RoPE */
    { "gpt2",
      false,
      { A("transformer.h.0.attn.c_proj", 4, 64), B("transformer.h.0.attn.c_proj", 64, 4) },
      QUIRE_OK,
      NULL,
      1 },
};

static void write_peft(struct raw_folder *f, bool parameters)
{
    static const char text[] = "{\"peft_type\":\"LORA\",\"r\":4,\"lora_alpha\":8%s}";
    char config[200];
    snprintf(config, sizeof config, text,
             parameters ? ",\"target_parameters\":[\"mlp.experts.gate_up_proj\"]" : "");
    raw_write_file("adapter_config.json", config, strlen(config));
    raw_write_tensors(f, "adapter_model.safetensors");
    raw_clear(f);
}

static void peft_tensors(void **state)
{
    static struct raw_folder f;
    static const char *const models[] = { "llama", "mixtral", "gpt_oss", "gpt2" };
    size_t n = 0;
    (void)state;
    if (!need_shared())
        skip();
    for (size_t k = 0; k < sizeof models / sizeof *models; k++) {
        struct quire_model *m = open_base(models[k]);
        for (size_t i = 0; i < sizeof pefts / sizeof *pefts; i++) {
            const struct peft *p = &pefts[i];
            if (strcmp(p->model, models[k]) != 0)
                continue;
            for (int j = 0; j < 4 && p->parts[j].name; j++)
                raw_add(&f, p->parts[j].name, p->parts[j].dtype, p->parts[j].n_dims,
                        p->parts[j].shape);
            write_peft(&f, p->parameters);
            expect_modules(m, NULL, p->status, p->text, p->n_modules);
            n++;
        }
        assert_status(QUIRE_OK, quire_model_close(m));
    }
    assert_int_equal(n, sizeof pefts / sizeof *pefts);
}

/* Names of any length are looked up or refused. */
static void long_names(void **state)
{
    static struct raw_folder f;
    char name[640], plain[QR_NAME_MAX];
    (void)state;
    if (!need_shared())
        skip();
    struct quire_model *m = open_base("llama");
    for (int n = 60; n <= 560; n += 20) {
        snprintf(name, sizeof name, P "model.%0*d.lora_A.weight", n, 0);
        const bool fits = strlen(name) < 512;
        raw_add(&f, name, "F32", SHAPE(4, 64));
        memcpy(strstr(name, "lora_A"), "lora_B", 6);
        if (fits)
            raw_add(&f, name, "F32", SHAPE(64, 4));
        write_peft(&f, false);
        expect_modules(m, NULL, fits ? QUIRE_E_MISMATCH : QUIRE_E_FORMAT,
                       fits ? "the model has no module model.000" : "or has more than 511 bytes",
                       0);
    }
    assert_status(QUIRE_OK, quire_model_close(m));
    snprintf(name, sizeof name, "%0*d", QR_NAME_MAX - 41, 0);
    assert_true(qr_tensor_plain_name(0, name, plain));
    assert_string_equal(plain, name);
    strcat(name, "0");
    assert_true(qr_tensor_plain_name(0, name, plain));
    assert_string_equal(plain, "");
    assert_false(qr_tensor_plain_name(99, name, plain));
}

/* ---- GGUF */

struct pair {
    const char *a, *b; /* names; b NULL: A alone */
    uint32_t type, n_a, n_b;
    uint64_t dims_a[4], dims_b[4];
    float value;
};

/* Keys beside the usual ones. */
enum key { USUAL, NO_ALPHA, SHORT_KEY, NAME_NUMBER, NAME_TEXT };

static void put_pair(struct image *m, const struct pair *p)
{
    uint64_t n_a = 1, n_b = 1;
    for (uint32_t d = 0; d < p->n_a; d++)
        n_a *= p->dims_a[d];
    for (uint32_t d = 0; d < p->n_b; d++)
        n_b *= p->dims_b[d];
    put_tensor(m, p->a, p->type, p->n_a, p->dims_a, 0);
    if (p->b)
        put_tensor(m, p->b, p->type, p->n_b, p->dims_b, (n_a * sizeof(float) + 31) / 32 * 32);
    pad_to(m, 32);
    for (uint64_t i = 0; i < n_a; i++)
        put(m, &p->value, sizeof p->value);
    pad_to(m, 32);
    for (uint64_t i = 0; p->b && i < n_b; i++)
        put(m, &p->value, sizeof p->value);
    pad_to(m, 32);
}

static struct image make_gguf(const char *arch, enum key key, const struct pair *p)
{
    struct image m;
    put_head(&m, 3, 1 + (p->b != NULL), key == NO_ALPHA ? 3 : key == USUAL ? 4 : 5);
    put_kv_str(&m, "general.architecture", arch);
    put_kv_str(&m, "general.type", "adapter");
    put_kv_str(&m, "adapter.type", "lora");
    if (key != NO_ALPHA)
        put_kv_f32(&m, "adapter.lora.alpha", 8);
    if (key == SHORT_KEY)
        put_kv_u32(&m, "note", 1);
    if (key == NAME_NUMBER)
        put_kv_u32(&m, "general.name", 1);
    if (key == NAME_TEXT) {
        put_key(&m, "general.name", QR_GGUF_STRING);
        put_u64(&m, 7);
        put(&m, "base\0xy", 7);
    }
    put_pair(&m, p);
    return m;
}

#define W "blk.0.attn_q.weight"
#define PAIR(...)                                                                                  \
    {                                                                                              \
        W ".lora_a", W ".lora_b", 0, __VA_ARGS__, 1                                                \
    }

static const struct {
    const char *arch;
    enum key key;
    struct pair pair;
    quire_status status;
    const char *text;
} ggufs[] = {
    { "llama", USUAL, PAIR(2, 2, { 64, 4 }, { 4, 64 }), QUIRE_OK, NULL },
    { "llama", SHORT_KEY, PAIR(2, 2, { 64, 4 }, { 4, 64 }), QUIRE_OK, NULL },
    { "llama", NAME_TEXT, PAIR(2, 2, { 64, 4 }, { 4, 64 }), QUIRE_OK, NULL },
    { "llama", NO_ALPHA, PAIR(2, 2, { 64, 4 }, { 4, 64 }), QUIRE_E_FORMAT, "adapter.lora.alpha" },
    { "llama", NAME_NUMBER, PAIR(2, 2, { 64, 4 }, { 4, 64 }), QUIRE_E_FORMAT, "general.name" },
    { "llama", USUAL, PAIR(2, 2, { 64, 4 }, { 5, 64 }), QUIRE_E_MISMATCH, "shapes of A and B" },
    { "llama", USUAL, PAIR(4, 2, { 64, 4, 1, 2 }, { 4, 64 }), QUIRE_E_MISMATCH, "of A and B" },
    { "llama", USUAL, PAIR(2, 4, { 64, 4 }, { 4, 64, 1, 2 }), QUIRE_E_MISMATCH, "of A and B" },
    { "llama", USUAL, PAIR(3, 2, { 64, 4, 2 }, { 4, 64 }), QUIRE_E_MISMATCH, "of A and B" },
    { "llama", USUAL, PAIR(2, 3, { 64, 4 }, { 4, 64, 2 }), QUIRE_E_MISMATCH, "of A and B" },
    { "llama", USUAL, PAIR(2, 2, { 64, 1025 }, { 1025, 64 }), QUIRE_E_FORMAT,
      "lora_a has rank 1025, not 1 to 1024" },
    { "llama",
      USUAL,
      { W ".lora_a", W ".lora_b", 26, 2, 2, { 64, 4 }, { 4, 64 }, 1 },
      QUIRE_E_UNSUPPORTED,
      "has type I32, which is not supported" },
    { "llama",
      USUAL,
      { W ".lora_a", W ".lora_b", 0, 2, 2, { 64, 4 }, { 4, 64 }, NAN },
      QUIRE_E_FORMAT,
      "value 0 is not finite" },
    { "llama",
      USUAL,
      { "x", NULL, 0, 2, 0, { 64, 4 }, { 0 }, 1 },
      QUIRE_E_UNSUPPORTED,
      "tensor x is neither" },
    { "llama",
      USUAL,
      { "blk.3.attn_q.weight.lora_a",
        "blk.3.attn_q.weight.lora_b",
        0,
        2,
        2,
        { 64, 4 },
        { 4, 64 },
        1 },
      QUIRE_E_MISMATCH,
      "the model has no layer blk.3.attn_q.weight" },
    { "llama",
      USUAL,
      { "blk.0.foo.weight.lora_a", "blk.0.foo.weight.lora_b", 0, 2, 2, { 64, 4 }, { 4, 64 }, 1 },
      QUIRE_E_MISMATCH,
      "the model has no tensor blk.0.foo.weight" },
    /* without RoPE */
    { "gpt2",
      USUAL,
      { "blk.0.attn_output.weight.lora_a",
        "blk.0.attn_output.weight.lora_b",
        0,
        2,
        2,
        { 64, 4 },
        { 4, 64 },
        1 },
      QUIRE_OK,
      NULL },
};

static void gguf_tensors(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_model *llama = open_base("llama"), *gpt2 = open_base("gpt2");
    for (size_t i = 0; i < sizeof ggufs / sizeof *ggufs; i++) {
        struct image image = make_gguf(ggufs[i].arch, ggufs[i].key, &ggufs[i].pair);
        expect_modules(strcmp(ggufs[i].arch, "gpt2") == 0 ? gpt2 : llama, &image, ggufs[i].status,
                       ggufs[i].text, 1);
        drop(&image);
    }
    assert_status(QUIRE_OK, quire_model_close(llama));
    assert_status(QUIRE_OK, quire_model_close(gpt2));
}

/* Every allocation fails once. The name of the base model ends at a NUL character. */
static void gguf_memory(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_model *m = open_base("llama");
    struct image image = make_gguf("llama", NAME_TEXT, &ggufs[0].pair);
    for (size_t n = 1, done = 0; !done; n++) {
        struct fail_alloc f;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_adapter *a = NULL;
        struct quire_adapter_params ap;
        quire_adapter_params_init(&ap, sizeof ap);
        fail_alloc_init(&f, n, false);
        ap.allocator = &f.hooks;
        ap.data = image.data;
        ap.data_bytes = image.size;
        const quire_status s = quire_adapter_open(m, &ap, &a, &err);
        done = f.calls < n;
        assert_int_equal(s, done ? QUIRE_OK : QUIRE_E_NOMEM);
        assert_true(done || strstr(err.msg, "memory"));
        if (a) {
            struct quire_adapter_info info;
            quire_adapter_info_init(&info, sizeof info);
            assert_status(QUIRE_OK, quire_adapter_get_info(a, &info));
            assert_string_equal(info.base_model, "base");
        }
        assert_status(QUIRE_OK, quire_adapter_close(a));
        assert_int_equal(f.live_count, 0);
    }
    drop(&image);
    assert_status(QUIRE_OK, quire_model_close(m));
}

/* ---- Formats of adapter and model that differ */

/* Fingerprint of an update as PEFT with distinct values; experts 0: of the matrix of a module, else
 * of those of the experts of a layer. */
static uint64_t peft_fingerprint(const char *model, const char *module, uint64_t in, uint64_t out,
                                 uint64_t experts)
{
    static struct raw_folder f;
    struct quire_adapter_info info;
    const uint64_t rank = experts ? 4 * experts : 4;
    char name[120];
    for (int b = 0; b < 2; b++) {
        snprintf(name, sizeof name, P "%s.lora_%c.weight", module, b ? 'B' : 'A');
        struct raw *t =
            raw_add(&f, name, "F32", 2, (const uint64_t[]){ b ? out : rank, b ? rank : in });
        for (size_t i = 0; i < t->bytes / sizeof(float); i++)
            ((float *)(void *)t->data)[i] = (float)i;
    }
    write_peft(&f, experts > 0);
    struct quire_model *m = open_base(model);
    struct quire_adapter *a = open_adapter(m, dir);
    quire_adapter_info_init(&info, sizeof info);
    assert_status(QUIRE_OK, quire_adapter_get_info(a, &info));
    assert_status(QUIRE_OK, quire_adapter_close(a));
    assert_status(QUIRE_OK, quire_model_close(m));
    return info.fingerprint;
}

/* Rows of queries change their order where the formats have different kinds of RoPE. */
static void peft_on_gguf(void **state)
{
    static const struct {
        const char *folder, *file, *module;
        bool permuted;
    } cases[] = {
        { "llama", "gguf/llama-f32.gguf", Q, true },
        { "qwen2", "gguf/qwen2-bf16.gguf", Q, false },
        { "gpt2", "gguf/gpt2-bf16.gguf", "transformer.h.0.attn.c_proj", false },
    };
    (void)state;
    if (!need_shared())
        skip();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint64_t folder = peft_fingerprint(cases[i].folder, cases[i].module, 64, 64, 0),
                       file = peft_fingerprint(cases[i].file, cases[i].module, 64, 64, 0);
        assert_int_equal(folder != file, cases[i].permuted);
    }
}

/* The module of all experts in the checkpoint and in memory: the same slices of its parameters. */
static void names_of_experts(void **state)
{
    static const uint64_t sizes[][2] = { { 64, 192 }, { 96, 64 } };
    (void)state;
    if (!need_shared())
        skip();
    for (int i = 0; i < 2; i++)
        assert_true(peft_fingerprint("mixtral", EXPERTS, sizes[i][0], sizes[i][1], 4) ==
                    peft_fingerprint("mixtral", "model.layers.0.block_sparse_moe.experts",
                                     sizes[i][0], sizes[i][1], 4));
}

/* GGUF adapters of a family without an architecture of its own name that of a relative. */
static void gguf_of_relatives(void **state)
{
    static const struct {
        const char *arch;
        quire_status status;
        const char *text;
    } cases[] = {
        { "llama", QUIRE_OK, NULL },
        { "gpt2", QUIRE_OK, NULL },
        { "foo", QUIRE_E_MISMATCH, "general.architecture is \"foo\", the model is of family mis" },
    };
    const struct pair o = { "blk.0.attn_output.weight.lora_a",
                            "blk.0.attn_output.weight.lora_b",
                            0,
                            2,
                            2,
                            { 128, 4 },
                            { 4, 64 },
                            1 };
    (void)state;
    if (!need_shared())
        skip();
    struct quire_model *m = open_base("mistral");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct image image = make_gguf(cases[i].arch, USUAL, &o);
        expect_modules(m, &image, cases[i].status, cases[i].text, 1);
        drop(&image);
    }
    assert_status(QUIRE_OK, quire_model_close(m));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peft_tensors),      cmocka_unit_test(long_names),
        cmocka_unit_test(gguf_tensors),      cmocka_unit_test(gguf_memory),
        cmocka_unit_test(peft_on_gguf),      cmocka_unit_test(names_of_experts),
        cmocka_unit_test(gguf_of_relatives),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
