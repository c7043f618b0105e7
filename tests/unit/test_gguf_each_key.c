/* SPDX-License-Identifier: Apache-2.0 */
/* test_gguf_each_key.c - every metadata key of GGUF files of many families in turn: under another
 * name, with another type, with extreme values, and without memory. */
#include "model/config/config.h"
#include "model/config/gguf.h"
#include "model/config/validate.h"
#include "test_gguf_model.h"
#include <dirent.h>

enum { LENGTH = 8, TYPE = 4, ARRAY_HEAD = 4 + 8 }; /* bytes: of a string's size, a type, an array */

struct file {
    uint8_t *data;
    size_t size;
};

struct tally {
    unsigned refused, named;
};

static struct file read_whole(const char *path)
{
    struct stat st;
    struct file f = { NULL, 0 };
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    assert_int_equal(fstat(fileno(in), &st), 0);
    f.size = (size_t)st.st_size;
    f.data = malloc(f.size);
    assert_int_equal(fread(f.data, 1, f.size, in), f.size);
    fclose(in);
    return f;
}

/* A configuration that is accepted is valid; another one has a message. */
static void check(const struct file *file, const char *key, struct tally *n)
{
    struct qr_model_config cfg;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct fail_alloc f;
    struct qr_gguf *g;
    fail_alloc_init(&f, 0, false);
    quire_status s = qr_gguf_open_memory(file->data, file->size, &f.hooks, NULL, &g, &err);
    if (s == QUIRE_OK) {
        s = qr_model_config_from_gguf(g, NULL, &f.hooks, &cfg, &err);
        if (s == QUIRE_OK)
            assert_status(QUIRE_OK, qr_model_config_validate(&cfg, &err));
        qr_model_config_free(&cfg);
    }
    qr_gguf_close(g);
    assert_int_equal(f.live_count, 0);
    if (s != QUIRE_OK && ((s != QUIRE_E_FORMAT && s != QUIRE_E_UNSUPPORTED) || !err.msg[0]))
        fail_msg("%s: got %s \"%s\"", key, quire_status_name(s), err.msg);
    n->refused += s != QUIRE_OK;
    n->named += s != QUIRE_OK && strstr(err.msg, key);
}

static void set_u32(uint8_t *p, uint32_t v) { memcpy(p, &v, sizeof v); }
static void set_u64(uint8_t *p, uint64_t v) { memcpy(p, &v, sizeof v); }

static uint32_t get_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* A value of four bytes, after its type: other types of the same size, other values. */
static void change_number(const struct file *file, uint8_t *type, const char *key, struct tally *n)
{
    static const uint32_t types[] = { QR_GGUF_U32, QR_GGUF_I32, QR_GGUF_F32 };
    static const uint32_t values[] = { 0,          1,          3,          100,       7000,
                                       0x3f000000, 0x7fffffff, 0xffffffff, 0x7f800000 };
    const uint32_t own = get_u32(type + TYPE);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        set_u32(type, types[t]);
        set_u32(type + TYPE, own);
        check(file, key, n);
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            set_u32(type + TYPE, values[i]);
            check(file, key, n);
        }
    }
}

static void change_bool(const struct file *file, uint8_t *type, const char *key, struct tally *n)
{
    type[TYPE] = !type[TYPE];
    check(file, key, n);
    set_u32(type, QR_GGUF_U8);
    check(file, key, n);
}

/* A string of n_text bytes: another text, no text that is known, bytes instead of text. */
static void change_string(const struct file *file, uint8_t *type, size_t n_text, const char *key,
                          struct tally *n)
{
    if (n_text < ARRAY_HEAD - LENGTH)
        return;
    type[TYPE + LENGTH] ^= 1;
    check(file, key, n);
    set_u32(type, QR_GGUF_ARRAY);
    set_u32(type + TYPE, QR_GGUF_U8);
    set_u64(type + TYPE + TYPE, n_text - (ARRAY_HEAD - LENGTH));
    check(file, key, n);
}

/* An array of n_bytes of elements: of other types, one element more or less, a text. */
static void change_array(const struct file *file, uint8_t *type, size_t n_bytes, const char *key,
                         struct tally *n)
{
    static const uint32_t types[] = { QR_GGUF_U32, QR_GGUF_I32, QR_GGUF_F32 };
    uint8_t *elem = type + TYPE, *count = elem + TYPE, *elements = count + LENGTH;
    const uint32_t own = get_u32(elem);
    if (own == QR_GGUF_U32 || own == QR_GGUF_I32 || own == QR_GGUF_F32) {
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
            const uint32_t first = get_u32(elements);
            set_u32(elem, types[i]);
            check(file, key, n);
            set_u32(elements, 0xfffffff0);
            check(file, key, n);
            set_u32(elements, first);
        }
        set_u32(elements, 0xfffffff0);
        set_u32(elem, QR_GGUF_U64); /* half the elements */
        set_u64(count, n_bytes / 8);
        if (n_bytes % 8 == 0)
            check(file, key, n);
    }
    if (own == QR_GGUF_BOOL && n_bytes) {
        elements[0] ^= 1;
        check(file, key, n);
        elements[0] ^= 1;
        elements[n_bytes - 1] ^= 1;
        check(file, key, n);
    }
    set_u32(elem, QR_GGUF_U8);
    set_u64(count, n_bytes);
    check(file, key, n);
    set_u32(type, QR_GGUF_STRING);
    set_u64(elem, ARRAY_HEAD + n_bytes - LENGTH);
    check(file, key, n);
}

static void change_key(const struct file *file, uint8_t *at, size_t size, struct tally *n)
{
    uint8_t *kept = malloc(size);
    char key[128];
    const size_t n_key = get_u32(at);
    uint8_t *type = at + LENGTH + n_key;
    const size_t n_value = size - LENGTH - n_key - TYPE;
    memcpy(kept, at, size);
    snprintf(key, sizeof key, "%.*s", (int)n_key, (const char *)at + LENGTH);
    at[LENGTH] = '_';
    check(file, key, n);
    at[LENGTH] = kept[LENGTH];
    at[LENGTH + n_key - 1] = '_';
    check(file, key, n);
    memcpy(at, kept, size);
    const uint32_t own = get_u32(type);
    if (own == QR_GGUF_BOOL)
        change_bool(file, type, key, n);
    else if (own == QR_GGUF_STRING)
        change_string(file, type, n_value - LENGTH, key, n);
    else if (own == QR_GGUF_ARRAY)
        change_array(file, type, n_value - ARRAY_HEAD, key, n);
    else if (n_value == 4)
        change_number(file, type, key, n);
    memcpy(at, kept, size);
    free(kept);
}

static void every_key(const struct file *file, struct tally *n)
{
    struct qr_gguf *g;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, qr_gguf_open_memory(file->data, file->size, NULL, NULL, &g, &err));
    size_t at = 4 + 4 + 8 + 8; /* after magic, version and counts */
    for (size_t i = 0; i < qr_gguf_key_count(g); i++) {
        size_t size;
        (void)qr_gguf_key_bytes(g, i, &size);
        change_key(file, file->data + at, size, n);
        at += size;
    }
    qr_gguf_close(g);
}

static void every_allocation(const struct file *file)
{
    struct qr_gguf *g;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, qr_gguf_open_memory(file->data, file->size, NULL, NULL, &g, &err));
    for (size_t n = 1;; n++) {
        struct qr_model_config cfg;
        struct fail_alloc f;
        fail_alloc_init(&f, n, n % 2);
        const quire_status s = qr_model_config_from_gguf(g, NULL, &f.hooks, &cfg, &err);
        qr_model_config_free(&cfg);
        assert_int_equal(f.live_count, 0);
        if (f.calls < n)
            break;
        assert_int_equal(s, QUIRE_E_NOMEM);
        assert_non_null(strstr(err.msg, "memory"));
    }
    qr_gguf_close(g);
}

static bool is_model(const struct file *file, struct quire_error *err)
{
    struct qr_gguf *g;
    struct qr_model_config cfg;
    bool ok = qr_gguf_open_memory(file->data, file->size, NULL, NULL, &g, err) == QUIRE_OK;
    ok = ok && qr_model_config_from_gguf(g, NULL, NULL, &cfg, err) == QUIRE_OK;
    if (ok)
        qr_model_config_free(&cfg);
    qr_gguf_close(g);
    return ok;
}

/* The files of one folder. Of the files of one model, which differ in their weight types, one. */
static void check_folder(const char *name, struct tally *n)
{
    char path[4096 + 300], last[256] = "";
    struct dirent **entries;
    snprintf(path, sizeof path, "%s/goldens/%s", shared_dir(), name);
    const int n_entries = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < n_entries; i++) {
        const char *file_name = entries[i]->d_name;
        const size_t stem = strcspn(file_name, "-."), len = strlen(file_name);
        if (len > 5 && strcmp(file_name + len - 5, ".gguf") == 0 &&
            (strncmp(last, file_name, stem) != 0 || last[stem])) {
            snprintf(last, sizeof last, "%.*s", (int)stem, file_name);
            snprintf(path, sizeof path, "%s/goldens/%s/%s", shared_dir(), name, file_name);
            struct file file = read_whole(path);
            if (is_model(&file, NULL)) {
                every_key(&file, n);
                every_allocation(&file);
            }
            free(file.data);
        }
        free(entries[i]);
    }
    if (n_entries >= 0)
        free(entries);
}

static void test_each_key(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct tally n = { 0, 0 };
    check_folder("gguf", &n);
    check_folder("gguf_2026", &n);
    printf("%u files refused, %u with the key in the message\n", n.refused, n.named);
    assert_true(n.named > n.refused / 2);
}

#define U32(key, value)                                                                            \
    {                                                                                              \
        key, QR_GGUF_U32, value, NULL                                                              \
    }
#define F32(key, value)                                                                            \
    {                                                                                              \
        key, QR_GGUF_F32, value, NULL                                                              \
    }
#define BOOL(key, value)                                                                           \
    {                                                                                              \
        key, QR_GGUF_BOOL, value, NULL                                                             \
    }
#define LIST(key, text)                                                                            \
    {                                                                                              \
        key, QR_GGUF_ARRAY, 0, text                                                                \
    }

/* Families that have no file in the reference data. */
static const struct {
    const char *arch;
    struct entry keys[16];
    struct entry_tensor tensors[4];
} models[] = {
    { "eagle3",
      { U32("eagle3.block_count", 1), U32("eagle3.target_hidden_size", 128),
        BOOL("eagle3.norm_before_residual", 1), LIST("eagle3.extract_layers", "123") },
      { { "d2t", 100, 0, 0 } } },
    { "eagle3",
      { U32("eagle3.block_count", 1), U32("eagle3.target_hidden_size", 128),
        LIST("eagle3.extract_layers", "123") },
      { { "d2t", 320, 0, 0 } } },
    { "dflash",
      { U32("dflash.block_size", 8), U32("tokenizer.ggml.mask_token_id", 7),
        BOOL("dflash.sample_from_anchor", 0), LIST("dflash.target_layers", "13"),
        F32("dflash.final_logit_softcapping", 30), F32("dflash.logit_scale", 0.5) },
      { { NULL, 0, 0, 0 } } },
    { "dflash",
      { U32("dflash.block_size", 7), U32("tokenizer.ggml.mask_token_id", 7),
        LIST("dflash.target_layers", "13") },
      { { "markov_w1.weight", 16, 1, 320 }, { "conf_proj.weight", 80, 1, 1 } } },
    { "dflash",
      { U32("dflash.block_size", 7), U32("tokenizer.ggml.mask_token_id", 7),
        BOOL("dflash.sample_from_anchor", 0), LIST("dflash.target_layers", "13") },
      { { "markov_w1.weight", 16, 1, 320 }, { "conf_proj.weight", 64, 1, 1 } } },
    { "dflash",
      { U32("dflash.block_size", 8), U32("tokenizer.ggml.mask_token_id", 7),
        LIST("dflash.target_layers", "13"), U32("dflash.conv_kernel_size", 2),
        U32("dflash.conv_group_size", 16), U32("dflash.selector_rank", 16),
        U32("dflash.selector_top_k", 8) },
      { { "selector_hidden.weight", 64, 1, 16 } } },
    { "gemma4-assistant",
      { U32("gemma4-assistant.embedding_length_out", 128),
        U32("gemma4-assistant.nextn_predict_layers", 4),
        U32("gemma4-assistant.attention.shared_kv_layers", 4),
        U32("gemma4-assistant.attention.key_length", 16),
        U32("gemma4-assistant.attention.value_length", 16),
        U32("gemma4-assistant.attention.key_length_swa", 16),
        U32("gemma4-assistant.attention.value_length_swa", 16),
        U32("gemma4-assistant.attention.sliding_window", 8),
        { "gemma4-assistant.attention.sliding_window_pattern", BOOL_ARRAY, 0, "1110" },
        LIST("tokenizer.ggml.suppress_tokens", "12") },
      { { NULL, 0, 0, 0 } } },
    { "rwkv6",
      { U32("rwkv6.wkv.head_size", 16), U32("rwkv6.time_mix_extra_dim", 8),
        U32("rwkv6.time_decay_extra_dim", 8), U32("rwkv6.token_shift_count", 2),
        U32("rwkv6.rescale_every_n_layers", 2), F32("rwkv6.attention.layer_norm_epsilon", 1e-5) },
      { { NULL, 0, 0, 0 } } },
    { "rwkv6qwen2",
      { U32("rwkv6qwen2.wkv.head_size", 16), U32("rwkv6qwen2.time_mix_extra_dim", 8),
        U32("rwkv6qwen2.time_decay_extra_dim", 8), U32("rwkv6qwen2.token_shift_count", 1),
        U32("rwkv6qwen2.attention.head_count", 0), U32("rwkv6qwen2.attention.head_count_kv", 2),
        U32("rwkv6qwen2.rescale_every_n_layers", 0) },
      { { NULL, 0, 0, 0 } } },
    { "rwkv7",
      { U32("rwkv7.wkv.head_size", 16), U32("rwkv7.attention.decay_lora_rank", 8),
        U32("rwkv7.attention.iclr_lora_rank", 8),
        U32("rwkv7.attention.value_residual_mix_lora_rank", 8),
        U32("rwkv7.attention.gate_lora_rank", 8), U32("rwkv7.token_shift_count", 2),
        F32("rwkv7.attention.layer_norm_epsilon", 1e-5) },
      { { NULL, 0, 0, 0 } } },
    { "arwkv7",
      { U32("arwkv7.wkv.head_size", 16), U32("arwkv7.attention.decay_lora_rank", 8),
        U32("arwkv7.attention.iclr_lora_rank", 8),
        U32("arwkv7.attention.value_residual_mix_lora_rank", 8),
        U32("arwkv7.attention.gate_lora_rank", 8), U32("arwkv7.token_shift_count", 1) },
      { { NULL, 0, 0, 0 } } },
    { "hunyuan_vl",
      { F32("hunyuan_vl.rope.scaling.alpha", 4), U32("hunyuan_vl.rope.dimension_count", 16) },
      { { NULL, 0, 0, 0 } } },
    /* layers that fill the first chunk of the configuration's memory, so that the list needs
     * another */
    { "llama",
      { U32("llama.block_count", 64), LIST("tokenizer.ggml.suppress_tokens", "12345678") },
      { { NULL, 0, 0, 0 } } },
    { "granitehybrid",
      { U32("granitehybrid.block_count", 64), U32("granitehybrid.rope.dimension_count", 8),
        U32("granitehybrid.ssm.conv_kernel", 4), U32("granitehybrid.ssm.inner_size", 128),
        U32("granitehybrid.ssm.state_size", 16), U32("granitehybrid.ssm.time_step_rank", 8),
        U32("granitehybrid.ssm.group_count", 1), BOOL("granitehybrid.rope.scaling.finetuned", 1) },
      { { "blk.0.ssm_conv1d.weight", 8, 1, 0 }, { "blk.0.ffn_up.weight", 8, 1, 0 } } },
    { "jina-bert-v2", { U32("jina-bert-v2.context_length", 512) }, { { NULL, 0, 0, 0 } } },
    { "phimoe",
      { U32("phimoe.expert_count", 4), U32("phimoe.expert_used_count", 2) },
      { { "blk.0.ffn_gate_inp.weight", 64, 1, 4 }, { "blk.1.ffn_gate_inp.weight", 64, 1, 4 } } },
    { "qwen3",
      { { "qwen3.classifier.output_labels", TEXT_ARRAY, 0, "yes,no" } },
      { { "cls.output.weight", 64, 1, 2 } } },
    { "qwen3",
      { { "qwen3.classifier.output_labels", TEXT_ARRAY, 0, "yes,on" } },
      { { "cls.output.weight", 64, 1, 2 } } },
    { "qwen3",
      { { "qwen3.classifier.output_labels", TEXT_ARRAY, 0, "yes,nope" } },
      { { "cls.output.weight", 64, 1, 2 } } },
    { "qwen3",
      { LIST("qwen3.classifier.output_labels", "12") },
      { { "cls.output.weight", 64, 1, 2 } } },
    { "t5encoder",
      { U32("t5encoder.attention.relative_buckets_count", 32),
        U32("t5encoder.attention.key_length", 16), U32("t5encoder.attention.value_length", 16) },
      { { "cls.output.weight", 64, 1, 2 } } },
    { "nemotron_h_moe",
      { { "nemotron_h_moe.attention.head_count_kv", QR_GGUF_ARRAY, 0, "0400" },
        { "nemotron_h_moe.feed_forward_length", QR_GGUF_ARRAY, 0, "0089" },
        U32("nemotron_h_moe.ssm.conv_kernel", 4),
        U32("nemotron_h_moe.ssm.inner_size", 128),
        U32("nemotron_h_moe.ssm.state_size", 16),
        U32("nemotron_h_moe.ssm.time_step_rank", 8),
        U32("nemotron_h_moe.ssm.group_count", 1),
        U32("nemotron_h_moe.expert_count", 4),
        U32("nemotron_h_moe.expert_used_count", 2),
        U32("nemotron_h_moe.moe_latent_size", 32),
        U32("nemotron_h_moe.expert_feed_forward_length", 32) },
      { { "blk.0.ssm_conv1d.weight", 8, 1, 0 },
        { "blk.2.ffn_gate_inp.weight", 64, 1, 4 },
        { "blk.3.ffn_gate_inp.weight", 64, 1, 4 } } },
};

static void test_other_families(void **state)
{
    (void)state;
    struct tally n = { 0, 0 };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        size_t n_keys = 0, n_tensors = 0;
        struct quire_error err = QUIRE_ERROR_INIT;
        struct image m;
        while (n_keys < 16 && models[i].keys[n_keys].key)
            n_keys++;
        while (n_tensors < 4 && models[i].tensors[n_tensors].name)
            n_tensors++;
        put_model(&m, models[i].arch, models[i].keys, n_keys, models[i].tensors, n_tensors);
        const struct file file = { m.data, m.size };
        if (!is_model(&file, &err))
            fail_msg("model %zu of family %s: %s", i, models[i].arch, err.msg);
        every_key(&file, &n);
        every_allocation(&file);
        drop(&m);
    }
    printf("%u files refused, %u with the key in the message\n", n.refused, n.named);
    assert_true(n.named > n.refused / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_key),
                                        cmocka_unit_test(test_other_families) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
