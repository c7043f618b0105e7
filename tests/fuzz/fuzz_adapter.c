/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_adapter.c - adapters of a small model: GGUF files and PEFT folders.
 *
 * An input that begins with "GGUF" is such a file. Others are adapter_config.json, "\n----\n", the
 * JSON header of adapter_model.safetensors, "\n----\n", and its data, so that the header's length
 * follows. Checks that a refusal has a message, that an accepted adapter can be used in a step, and
 * that nothing is kept. */
#include "fuzz.h"
#include "gguf_mutator.h"
#include "json_mutator.h"
#include "tiny_model.h"
#include <quire/adapter.h>
#include <quire/model.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODEL_BYTES = 64 << 20, BLOCK = 16, TOKENS = 3, MAX_VOCAB = 4096 };

static struct quire_model *model;
static struct quire_kv_cache *kv;
static struct quire_context *context;
static struct fuzz_memory memory;
static int32_t table;

static void must(quire_status s, const struct quire_error *err)
{
    fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err->msg);
}

static void prepare(void)
{
    static struct fuzz_buffer file;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model_params mp;
    struct quire_context_params cp;
    struct quire_kv_group_config group;
    uint32_t n;
    tiny_model(&tiny_running, &file);
    fuzz_memory_init(&memory, MODEL_BYTES);
    quire_model_params_init(&mp, sizeof mp);
    mp.data = file.data;
    mp.data_bytes = file.size;
    must(quire_model_open(&mp, &model, &err), &err);
    must(quire_model_kv_groups(model, &group, 1, &n), &err);
    group.n_blocks = 1;
    const struct quire_kv_params kp = {
        .struct_size = sizeof kp, .block_size = BLOCK, .groups = &group, .n_groups = 1
    };
    must(quire_kv_create(&kp, &kv, &err), &err);
    must(quire_kv_alloc(kv, 0, -1, 1, &table, &err), &err);
    quire_context_params_init(&cp, sizeof cp);
    cp.kv = kv;
    cp.max_tokens = TOKENS;
    cp.max_adapter_rank = QUIRE_ADAPTER_MAX_RANK;
    must(quire_context_create(model, &cp, &context, &err), &err);
}

/* Writes the folder; returns its path. */
static const char *write_folder(const uint8_t *data, size_t size)
{
    const uint8_t *header, *tensors = NULL;
    size_t n_header, n_tensors = 0;
    struct fuzz_buffer file = { 0 };
    const char *dir = fuzz_path("adapter");
    const size_t config = fuzz_split(data, size, &header, &n_header);
    mkdir(dir, 0777);
    fuzz_write_file(fuzz_path("adapter/adapter_config.json"), data, config);
    if (header) {
        const size_t n = fuzz_split(header, n_header, &tensors, &n_tensors);
        fuzz_put_number(&file, n, 8);
        fuzz_put(&file, header, n);
        if (tensors)
            fuzz_put(&file, tensors, n_tensors);
    }
    fuzz_write_file(fuzz_path("adapter/adapter_model.safetensors"), file.data, file.size);
    fuzz_buffer_free(&file);
    return dir;
}

static void use(const struct quire_adapter *adapter)
{
    static float logits[MAX_VOCAB];
    static const int32_t ids[TOKENS] = { 5, 9, 40 }, starts[] = { 0, TOKENS }, len = TOKENS;
    static const int32_t index = 0;
    static const float scale = 0.5f;
    struct quire_error err = QUIRE_ERROR_INIT;
    int64_t slots[TOKENS];
    for (int i = 0; i < TOKENS; i++)
        slots[i] = (int64_t)table * BLOCK + i;
    const struct quire_attention_batch_group group = { .block_table = &table,
                                                       .max_blocks = 1,
                                                       .slot_mapping = slots };
    const struct quire_attention_batch batch = { .struct_size = sizeof batch,
                                                 .n_seqs = 1,
                                                 .query_start_loc = starts,
                                                 .seq_lens = &len,
                                                 .n_groups = 1,
                                                 .groups = &group };
    const struct quire_forward_args args = { .struct_size = sizeof args,
                                             .batch = &batch,
                                             .token_ids = ids,
                                             .logits = logits,
                                             .adapters = &adapter,
                                             .n_adapters = 1,
                                             .adapter_index = &index,
                                             .adapter_scales = &scale };
    must(quire_context_forward(context, &args, &err), &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_adapter *adapter = NULL;
    struct quire_adapter_params p;
    if (!model)
        prepare();
    quire_adapter_params_init(&p, sizeof p);
    p.allocator = &memory.hooks;
    const bool gguf = size >= 4 && memcmp(data, "GGUF", 4) == 0;
    p.path = gguf ? NULL : write_folder(data, size);
    p.data = gguf ? data : NULL;
    p.data_bytes = gguf ? size : 0;
    const quire_status s = quire_adapter_open(model, &p, &adapter, &err);
    fuzz_check_error(s, &err);
    fuzz_check((s == QUIRE_OK) == (adapter != NULL), "%s", fuzz_status(s));
    if (adapter)
        use(adapter);
    fuzz_check(quire_adapter_close(adapter) == QUIRE_OK, "in use");
    fuzz_check(memory.live_bytes == 0, "%zu bytes are kept", memory.live_bytes);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    if (size >= 4 && memcmp(data, "GGUF", 4) == 0)
        return gguf_mutate(data, size, max_size, seed);
    return json_mutate(data, size, max_size, seed);
}
