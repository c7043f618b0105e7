/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_kv_scales.c - calibration file of KV scales, read for a small model.
 *
 * The input is the JSON header, "\n----\n", and the data, so that the header's length follows. Data
 * that begin with "FINGERPR" get the model's fingerprint there. An input without the separator is
 * the whole file. Checks that accepted scales are finite and above 0 for every fp8 dtype, that a
 * refusal has a message, and that a call keeps no memory. */
#include "fuzz.h"
#include "json_mutator.h"
#include "tiny_model.h"
#include <math.h>
#include <quire/model.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SCALES = 64, MODEL_BYTES = 64 << 20 };

static struct quire_model *model;
static uint64_t fingerprint;
static struct fuzz_memory memory;

static void prepare(void)
{
    static struct fuzz_buffer file;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model_params mp;
    tiny_model(&tiny_running, &file);
    fuzz_memory_init(&memory, MODEL_BYTES);
    quire_model_params_init(&mp, sizeof mp);
    mp.data = file.data;
    mp.data_bytes = file.size;
    mp.allocator = &memory.hooks;
    const quire_status s = quire_model_open(&mp, &model, &err);
    fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
    struct quire_model_info info = { .struct_size = sizeof info };
    fuzz_check(quire_model_get_info(model, &info) == QUIRE_OK, "no info");
    fingerprint = info.fingerprint;
}

static void write_scales(const char *path, const uint8_t *data, size_t size)
{
    const uint8_t *tensors;
    size_t n_tensors;
    struct fuzz_buffer file = { 0 };
    const size_t header = fuzz_split(data, size, &tensors, &n_tensors);
    if (tensors)
        fuzz_put_number(&file, header, 8);
    fuzz_put(&file, data, header);
    if (tensors)
        fuzz_put(&file, tensors, n_tensors);
    if (tensors && n_tensors >= 8 && memcmp(tensors, "FINGERPR", 8) == 0)
        memcpy(file.data + 8 + header, &fingerprint, 8);
    fuzz_write_file(path, file.data, file.size);
    fuzz_buffer_free(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum quire_kv_dtype dtypes[] = { QUIRE_KV_FP8_E4M3, QUIRE_KV_FP8_E5M2 };
    if (!model)
        prepare();
    const char *path = fuzz_path("scales");
    const size_t live = memory.live_bytes;
    write_scales(path, data, size);
    for (int i = 0; i < 2; i++) {
        float k[MAX_SCALES], v[MAX_SCALES];
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_kv_group_config g;
        uint32_t n_groups;
        fuzz_check(quire_model_kv_groups(model, &g, 1, &n_groups) == QUIRE_OK, "more groups");
        const uint32_t n = g.n_layers * g.n_kv_heads;
        fuzz_check(n <= MAX_SCALES, "%u scales", n);
        const quire_status s =
            quire_model_kv_scales(model, path, 0, dtypes[i], dtypes[1 - i], k, v, &err);
        fuzz_check_error(s, &err);
        for (uint32_t j = 0; s == QUIRE_OK && j < n; j++)
            fuzz_check(isfinite(k[j]) && k[j] > 0 && isfinite(v[j]) && v[j] > 0, "%g %g",
                       (double)k[j], (double)v[j]);
    }
    fuzz_check(memory.live_bytes == live, "%zu bytes are kept", memory.live_bytes - live);
    unlink(path);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return json_mutate(data, size, max_size, seed);
}
