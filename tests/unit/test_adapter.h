/* SPDX-License-Identifier: Apache-2.0 */
/* test_adapter.h - adapters of the reference data in memory, which tests modify and write as PEFT
 * folders or GGUF files. */
#ifndef QUIRE_TEST_ADAPTER_H
#define QUIRE_TEST_ADAPTER_H
#include "test_folder.h"
#include <quire/adapter.h>
#include <quire/model.h>

/* Reads an adapter of the reference data; f->config is adapter_config.json. */
static inline void read_adapter(struct folder *f, const char *name)
{
    char path[4200];
    struct qr_safetensors *s;
    memset(f, 0, sizeof *f);
    snprintf(path, sizeof path, "%s/goldens/lora/%s/adapter_model.safetensors", shared_dir(), name);
    assert_status(QUIRE_OK, qr_safetensors_open(path, NULL, &s, NULL));
    f->n = qr_safetensors_count(s);
    for (size_t i = 0; i < f->n; i++) {
        const struct qr_safetensor *from = qr_safetensors_tensor(s, i);
        struct tensor *t = &f->t[i];
        snprintf(t->name, sizeof t->name, "%s", from->name);
        t->n_dims = from->n_dims;
        t->n = from->bytes / sizeof(float);
        t->data = malloc(from->bytes);
        memcpy(t->shape, from->shape, sizeof t->shape);
        assert_status(QUIRE_OK, qr_safetensors_read_range(s, i, 0, from->bytes, t->data, NULL));
    }
    qr_safetensors_close(s);
    snprintf(path, sizeof path, "%s/goldens/lora/%s/adapter_config.json", shared_dir(), name);
    FILE *file = fopen(path, "rb");
    f->config = calloc(1, 1 << 16);
    assert_true(file && fread(f->config, 1, (1 << 15) - 1, file) > 0);
    fclose(file);
}

/* Writes the adapter to `dir` as PEFT does. */
static inline void write_adapter(const struct folder *f)
{
    char from[128], to[128];
    write_folder(f, none, none);
    snprintf(from, sizeof from, "%s/config.json", dir);
    snprintf(to, sizeof to, "%s/adapter_config.json", dir);
    assert_int_equal(rename(from, to), 0);
    snprintf(from, sizeof from, "%s/model.safetensors", dir);
    snprintf(to, sizeof to, "%s/adapter_model.safetensors", dir);
    assert_int_equal(rename(from, to), 0);
}

static inline struct quire_model *open_base(const char *name)
{
    char path[4200];
    struct quire_model *m;
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    snprintf(path, sizeof path, "%s/goldens/%s", shared_dir(), name);
    mp.path = path;
    mp.compute = QUIRE_COMPUTE_F32;
    assert_status(QUIRE_OK, quire_model_open(&mp, &m, NULL));
    return m;
}

static inline struct quire_adapter *open_adapter(struct quire_model *m, const char *path)
{
    struct quire_adapter *a;
    struct quire_adapter_params ap;
    struct quire_error err = QUIRE_ERROR_INIT;
    quire_adapter_params_init(&ap, sizeof ap);
    ap.path = path;
    const quire_status s = quire_adapter_open(m, &ap, &a, &err);
    if (s != QUIRE_OK)
        print_error("%s: %s\n", path, err.msg);
    assert_int_equal(s, QUIRE_OK);
    return a;
}

static inline struct quire_adapter *open_golden_adapter(struct quire_model *m, const char *name)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/goldens/lora/%s", shared_dir(), name);
    return open_adapter(m, path);
}

/* Opens the adapter in `dir`, or an image, and closes it: the status, a part of the message, and
 * the number of modules; 0: any. Nothing leaks. */
static inline void expect_modules(struct quire_model *m, const struct image *image,
                                  quire_status status, const char *text, uint32_t n_modules)
{
    struct fail_alloc f;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_adapter *a = (struct quire_adapter *)&f;
    struct quire_adapter_params ap;
    quire_adapter_params_init(&ap, sizeof ap);
    fail_alloc_init(&f, 0, false);
    ap.allocator = &f.hooks;
    ap.path = image ? NULL : dir;
    ap.data = image ? image->data : NULL;
    ap.data_bytes = image ? image->size : 0;
    const quire_status got = quire_adapter_open(m, &ap, &a, &err);
    if (got != status || (text && !strstr(err.msg, text)))
        fail_msg("got %s \"%s\", expected %s \"%s\"", quire_status_name(got), err.msg,
                 quire_status_name(status), text ? text : "");
    assert_true((status == QUIRE_OK) == (a != NULL));
    if (a && n_modules) {
        struct quire_adapter_info info;
        quire_adapter_info_init(&info, sizeof info);
        assert_status(QUIRE_OK, quire_adapter_get_info(a, &info));
        assert_int_equal(info.n_modules, n_modules);
    }
    assert_status(QUIRE_OK, quire_adapter_close(a));
    assert_int_equal(f.live_bytes, 0);
}

static inline void expect_adapter(struct quire_model *m, const struct image *image,
                                  quire_status status, const char *text)
{
    expect_modules(m, image, status, text, 0);
}

/* ---- GGUF: names of the tensors of Llama-like models */

static inline void gguf_name(const char *peft, char *out, size_t size)
{
    static const char *const pairs[][2] = {
        { "base_model.model.", "" },
        { "model.layers.", "blk." },
        { "self_attn.q_proj", "attn_q" },
        { "self_attn.k_proj", "attn_k" },
        { "self_attn.v_proj", "attn_v" },
        { "self_attn.o_proj", "attn_output" },
        { "mlp.gate_proj", "ffn_gate" },
        { "mlp.up_proj", "ffn_up" },
        { "mlp.down_proj", "ffn_down" },
        { "model.embed_tokens", "token_embd" },
        { "lm_head", "output" },
        { ".lora_A.weight", ".weight.lora_a" },
        { ".lora_B.weight", ".weight.lora_b" },
        { ".lora_embedding_A", ".weight.lora_a" },
        { ".lora_embedding_B", ".weight.lora_b" },
    };
    snprintf(out, size, "%s", peft);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        replace(out, size, pairs[i][0], pairs[i][1]);
}

/* Values of a tensor as the public converter writes them: rows of B of q and k are permuted, so
 * that RoPE rotates pairs (2i, 2i + 1), and A of the embedding is transposed. */
static inline float gguf_value(const struct tensor *t, const char *name, size_t head, size_t i)
{
    const size_t cols = t->shape[1];
    size_t row = i / cols;
    const size_t col = i % cols;
    if (strcmp(name, "token_embd.weight.lora_a") == 0)
        return t->data[i % t->shape[0] * cols + i / t->shape[0]];
    if (strstr(name, "attn_q.weight.lora_b") || strstr(name, "attn_k.weight.lora_b"))
        row = row / head * head + (row % head) / 2 + (row % head % 2) * (head / 2);
    return t->data[row * cols + col];
}

struct gguf_options {
    const char *arch, *type, *adapter_type, *extra_key; /* extra_key: may be NULL */
    float alpha;
    size_t head; /* head size */
    size_t skip; /* tensor to leave out */
};

static inline struct image gguf_adapter(const struct folder *f, const struct gguf_options *o)
{
    struct image m;
    size_t n = 0;
    uint64_t offset = 0;
    char name[200];
    for (size_t i = 0; i < f->n; i++)
        n += i != o->skip && !strstr(f->t[i].name, "base_layer");
    put_head(&m, 3, n, 4 + (o->extra_key != NULL));
    put_kv_str(&m, "general.architecture", o->arch);
    put_kv_str(&m, "general.type", o->type);
    put_kv_str(&m, "adapter.type", o->adapter_type);
    put_kv_f32(&m, "adapter.lora.alpha", o->alpha);
    if (o->extra_key)
        put_kv_u32(&m, o->extra_key, 1);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < f->n; i++) {
            const struct tensor *t = &f->t[i];
            gguf_name(t->name, name, sizeof name);
            const bool turned = strcmp(name, "token_embd.weight.lora_a") == 0;
            const uint64_t dims[] = { t->shape[!turned], t->shape[turned] };
            if (i == o->skip || strstr(t->name, "base_layer"))
                continue;
            if (pass == 0) {
                put_tensor(&m, name, 0, 2, dims, offset);
                offset += (t->n * sizeof(float) + 31) / 32 * 32;
            }
            for (size_t k = 0; pass == 1 && k < t->n; k++) {
                const float v = gguf_value(t, name, o->head, k);
                put(&m, &v, sizeof v);
            }
            if (pass == 1)
                pad_to(&m, 32);
        }
        pad_to(&m, 32);
    }
    return m;
}

#endif
