/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_pack_cache.c - pack cache of a small model.
 *
 * The input is a list of edits of the valid file: [kind: 1 byte] [place: 2 bytes] [value: 1 byte],
 * so that the header stays valid unless an edit hits it. Kind 254 makes the checksums right, kind
 * 255 takes the rest as the whole file. Checks that exactly the files with a valid header,
 * directory, size and checksums are mapped, that others are replaced or, if they are no pack cache,
 * left alone, and that a step has no fault with any panels. */
#include "base/checksum.h"
#include "fuzz.h"
#include "model/load/pack_cache.h"
#include "run_model.h"
#include "tiny_model.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAGIC = 8, CHECKSUMS = 254, WHOLE = 255 };

static struct fuzz_buffer good; /* the valid file */
static struct qr_pack_cache_header header;
static size_t directory_end;
static const char *model_path, *cache_path;

static void prepare(void)
{
    static char paths[2][256];
    struct fuzz_buffer model = { 0 };
    struct quire_model_params mp;
    static const struct tiny_shape shape = {
        NULL, 1, 32, 2, 1, 32, 64, 8, TINY_SENTENCEPIECE, false
    };
    snprintf(paths[0], sizeof paths[0], "%s", fuzz_path("model.gguf"));
    snprintf(paths[1], sizeof paths[1], "%s", fuzz_path("cache"));
    model_path = paths[0];
    cache_path = paths[1];
    tiny_model(&shape, &model);
    fuzz_write_file(model_path, model.data, model.size);
    fuzz_buffer_free(&model);
    quire_model_params_init(&mp, sizeof mp);
    mp.path = model_path;
    mp.pack_cache = cache_path;
    run_model(mp, 1 << 20);
    good.data = fuzz_read_file(cache_path, &good.size);
    fuzz_check(good.data && good.size > sizeof header, "no pack cache was written");
    memcpy(&header, good.data, sizeof header);
    directory_end = sizeof header + header.n_matrices * sizeof(struct qr_pack_cache_entry);
}

/* The checksum of panels i as the file has it, which follows the directory. */
static uint64_t *stored_checksum(const struct fuzz_buffer *file, uint64_t i)
{
    return (uint64_t *)(void *)(file->data + directory_end) + i;
}

static uint64_t panel_checksum(const struct fuzz_buffer *file, uint64_t i)
{
    struct qr_pack_cache_entry e;
    memcpy(&e, good.data + sizeof header + i * sizeof e, sizeof e);
    return qr_checksum(file->data + e.offset, e.bytes);
}

/* Makes all checksums right, so that edits reach the kernels. */
static void fix_checksums(struct fuzz_buffer *file)
{
    for (uint64_t i = 0; file->size == good.size && i < header.n_matrices; i++)
        *stored_checksum(file, i) = panel_checksum(file, i);
}

static bool is_valid(const struct fuzz_buffer *file)
{
    bool ok = file->size == good.size && memcmp(file->data, good.data, directory_end) == 0;
    for (uint64_t i = 0; ok && i < header.n_matrices; i++)
        ok = *stored_checksum(file, i) == panel_checksum(file, i);
    return ok;
}

static void edit(struct fuzz_buffer *file, struct fuzz_input *in)
{
    while (in->left) {
        const uint32_t kind = (uint32_t)fuzz_take(in, 1);
        if (kind == CHECKSUMS) {
            fix_checksums(file);
            continue;
        }
        if (kind == WHOLE) {
            file->size = 0;
            fuzz_put(file, in->data, in->left);
            return;
        }
        const size_t place = (size_t)fuzz_take(in, 2);
        const uint8_t value = (uint8_t)fuzz_take(in, 1);
        const size_t at = kind % 4 == 0 ? place % (directory_end + 64) : place * 7;
        if (kind % 4 == 3 && at < file->size)
            file->size = kind < 128 ? at : file->size - place % 4;
        else if (kind % 4 == 2)
            fuzz_put(file, good.data, place % 64);
        else if (at < file->size)
            file->data[at] = kind < 128 ? value : file->data[at] ^ value;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = { data, size };
    struct fuzz_buffer file = { 0 };
    struct quire_model_params mp;
    if (!good.size)
        prepare();
    fuzz_put(&file, good.data, good.size);
    edit(&file, &in);
    fuzz_write_file(cache_path, file.data, file.size);
    const bool ours = memcmp(file.data, good.data, file.size < MAGIC ? file.size : MAGIC) == 0;
    const bool valid = is_valid(&file);
    quire_model_params_init(&mp, sizeof mp);
    mp.path = model_path;
    mp.pack_cache = cache_path;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model_info info = { .struct_size = sizeof info };
    struct quire_model *model = NULL;
    const quire_status s = quire_model_open(&mp, &model, &err);
    fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
    fuzz_check(quire_model_get_info(model, &info) == QUIRE_OK && info.pack_cached == valid,
               "mapped %d, valid %d", info.pack_cached, valid);
    (void)quire_model_close(model);
    size_t n;
    uint8_t *now = fuzz_read_file(cache_path, &n);
    const struct fuzz_buffer *expected = valid || !ours ? &file : &good;
    fuzz_check(now && n == expected->size && (!n || memcmp(now, expected->data, n) == 0),
               "the file has %zu bytes and other contents", n);
    if (valid) /* panels of any contents */
        run_model(mp, 1 << 20);
    free(now);
    fuzz_buffer_free(&file);
    return 0;
}
