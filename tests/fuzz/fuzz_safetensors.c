/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_safetensors.c - folders with safetensors files, their index and config.json.
 *
 * The input is a packed folder. Checks that accepted tensors lie inside their files without
 * overlap, the bounds of memory, and that a model that opens computes a step. */
#include "format/file.h"
#include "format/safetensors.h"
#include "json_mutator.h"
#include "mutate.h"
#include "packed_files.h"
#include "run_model.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {
    "config.json",
    "model.safetensors",
    "model.safetensors.index.json",
    "model-00001-of-00002.safetensors",
    "model-00002-of-00002.safetensors",
    "generation_config.json",
    "hf_quant_config.json",
};
enum { N_NAMES = sizeof names / sizeof *names, MAX_FILES = 8 };

static void check_tensors(const struct qr_safetensors *s)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    for (size_t i = 0; i < qr_safetensors_count(s); i++) {
        const struct qr_safetensor *t = qr_safetensors_tensor(s, i);
        const struct qr_file *file = qr_safetensors_file(s, t->shard);
        size_t found;
        fuzz_check(file && t->offset <= file->size && t->bytes <= file->size - t->offset,
                   "%s exceeds its file", t->name);
        fuzz_check(qr_safetensors_find(s, t->name, &found) && found == i, "%s is not found",
                   t->name);
        uint8_t *data = malloc(t->bytes ? t->bytes : 1);
        const quire_status got = qr_safetensors_read_range(s, i, 0, t->bytes, data, &err);
        fuzz_check(got == QUIRE_OK, "%s: %s", t->name, err.msg);
        fuzz_check(qr_safetensors_read_range(s, i, t->bytes, 1, data, &err) == QUIRE_E_RANGE,
                   "%s: a read past its end", t->name);
        for (size_t k = 0; k < i; k++) {
            const struct qr_safetensor *u = qr_safetensors_tensor(s, k);
            fuzz_check(u->shard != t->shard || u->offset + u->bytes <= t->offset ||
                           t->offset + t->bytes <= u->offset,
                       "%s and %s overlap", u->name, t->name);
        }
        free(data);
    }
}

static void check_reader(const char *folder, size_t size)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct fuzz_memory memory;
    struct qr_safetensors *s = NULL;
    fuzz_memory_init(&memory, fuzz_reader_limit(size));
    const quire_status got = qr_safetensors_open_dir(folder, &memory.hooks, &s, &err);
    fuzz_check_error(got, &err);
    fuzz_check((got == QUIRE_OK) == (s != NULL), "%s", fuzz_status(got));
    if (s)
        check_tensors(s);
    qr_safetensors_close(s);
    fuzz_memory_done(&memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct packed_file files[MAX_FILES];
    const size_t n = packed_read(files, MAX_FILES, N_NAMES, data, size);
    for (size_t i = 0; i < n; i++)
        fuzz_write_file(fuzz_path(names[files[i].name]), files[i].data, files[i].size);
    const char *folder = fuzz_path(".");
    check_reader(folder, size);
    struct quire_model_params mp;
    quire_model_params_init(&mp, sizeof mp);
    mp.path = folder;
    run_model(mp, size);
    for (size_t i = 0; i < n; i++)
        unlink(fuzz_path(names[files[i].name]));
    return 0;
}

/* ---- Mutation */

/* Changes the header or the data of a safetensors file; the header's length usually agrees, and
 * the data usually has the size that the last data_offsets name. */
static void mutate_tensors(struct fuzz_buffer *out, const struct packed_file *f,
                           struct fuzz_random *rng)
{
    struct fuzz_input in = { f->data, f->size };
    struct fuzz_buffer header = { 0 };
    size_t n = (size_t)fuzz_take(&in, 8);
    const uint8_t *text = fuzz_take_bytes(&in, &n);
    const bool change_data = fuzz_random(rng, 6) == 0;
    if (change_data)
        fuzz_put(&header, text, n);
    else
        json_put_mutated(&header, text, n, rng);
    fuzz_put_number(out, header.size + (fuzz_random(rng, 16) ? 0 : fuzz_random(rng, 3) - 1), 8);
    fuzz_put(out, header.data, header.size);
    fuzz_buffer_free(&header);
    if (change_data)
        fuzz_put_mutated(out, in.data, in.left, in.left + 64);
    else
        fuzz_put(out, in.data, in.left);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    struct fuzz_random rng = { seed };
    struct fuzz_buffer out = { 0 };
    struct packed_file files[MAX_FILES];
    const size_t n = packed_read(files, MAX_FILES, N_NAMES, data, size);
    if (!n || fuzz_random(&rng, 12) == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    const size_t at = fuzz_random(&rng, (uint32_t)n);
    const bool rename = fuzz_random(&rng, 20) == 0, drop = fuzz_random(&rng, 30) == 0;
    for (size_t i = 0; i < n; i++) {
        struct fuzz_buffer changed = { 0 };
        const struct packed_file *f = &files[i];
        if (i == at && rename)
            packed_put(&out, fuzz_random(&rng, N_NAMES), f->data, f->size);
        else if (i != at)
            packed_put(&out, f->name, f->data, f->size);
        else if (!drop) {
            if (strstr(names[f->name], ".json"))
                json_put_mutated(&changed, f->data, f->size, &rng);
            else
                mutate_tensors(&changed, f, &rng);
            packed_put(&out, f->name, changed.data, changed.size);
        }
        fuzz_buffer_free(&changed);
    }
    return fuzz_mutated(&out, data, size, max_size);
}
