/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_cache_file.c - saved prefix caches of small engines: keys and values, or recurrent states.
 *
 * The input chooses model and block size, and is then a list of edits of a valid file:
 * [kind: 1 byte] [place: 2 bytes] [value: 1 byte]. Kind 254 makes the size in the header and all
 * checksums right, so that edits reach the checks behind them; kind 255 takes the rest as the whole
 * file. Checks that a file is restored or refused with a stated status, that a refused one leaves
 * no block and no state behind, that memory stays within the bound of the readers, and that
 * generation works afterwards, with the same tokens if the file is the valid one. */
#include "base/checksum.h"
#include "engine/cache_file.h"
#include "engine/prefix_check.h"
#include "fuzz.h"
#include "tiny_model.h"
#include <stdlib.h>
#include <string.h>

enum { PROMPT = 40, NEW = 6, SEAL = 254, WHOLE = 255 };

/* A model with attention, and one of recurrent layers. */
enum { N_KINDS = 2 };
static struct {
    struct fuzz_buffer model, good;
    int32_t cold[NEW];
    uint64_t state_bytes;
} kinds[N_KINDS];

static struct quire_engine *open_engine(int kind, const struct quire_allocator *allocator,
                                        uint32_t block_size)
{
    static const struct tiny_shape shape = { NULL, 1, 32, 2, 1, 32, 64, 8, TINY_BYTES, false };
    struct quire_engine_params p;
    struct quire_engine *e = NULL;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct fuzz_buffer *model = &kinds[kind].model;
    if (!model->size && kind == 0)
        tiny_model(&shape, model);
    else if (!model->size)
        tiny_mamba2(model);
    quire_engine_params_init(&p, sizeof p);
    p.model_data = model->data;
    p.model_bytes = model->size;
    p.n_threads = 1;
    p.block_size = block_size;
    p.context_length = 64;
    p.max_seqs = 2;
    p.cache_tokens = 256;
    p.kv_bytes = 4 << 20;
    p.allocator = allocator;
    const quire_status s = quire_engine_open(&p, &e, &err);
    fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
    return e;
}

/* Answers one of two prompts that share their first half. */
static void generate(struct quire_engine *e, int number, int32_t tokens[NEW])
{
    int32_t prompt[PROMPT];
    struct quire_request_params p;
    struct quire_sampling_params greedy;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_event ev = { .struct_size = sizeof ev };
    quire_request_id id;
    uint32_t n = 0;
    for (int i = 0; i < PROMPT; i++)
        prompt[i] = 3 + (i * 7 + (i < PROMPT / 2 ? 0 : number)) % 36;
    quire_sampling_params_init(&greedy, sizeof greedy);
    greedy.temperature = 0;
    quire_request_params_init(&p, sizeof p);
    p.tokens = prompt;
    p.n_tokens = PROMPT;
    p.max_tokens = NEW;
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    p.sampling = &greedy;
    quire_status s = quire_engine_submit(e, &p, &id, &err);
    fuzz_check(s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
    do {
        s = quire_engine_wait(e, id, -1, &ev, &err);
        fuzz_check(s == QUIRE_OK && n + ev.n_tokens <= NEW, "%s %s", fuzz_status(s), err.msg);
        if (ev.n_tokens)
            memcpy(tokens + n, ev.tokens, ev.n_tokens * sizeof *tokens);
        n += (uint32_t)ev.n_tokens;
    } while (ev.kind != QUIRE_EVENT_DONE);
}

static struct quire_cache_file_params cache_file(void)
{
    struct quire_cache_file_params p;
    quire_cache_file_params_init(&p, sizeof p);
    p.path = fuzz_path("cache");
    return p;
}

static void prepare(int kind)
{
    int32_t other[NEW];
    struct quire_engine *e = open_engine(kind, NULL, 16);
    struct fuzz_buffer *good = &kinds[kind].good;
    generate(e, 0, kinds[kind].cold);
    generate(e, 1, other);
    kinds[kind].state_bytes = e->memory.states.state_bytes;
    const struct quire_cache_file_params p = cache_file();
    fuzz_check(quire_engine_save_cache(e, &p, NULL, NULL) == QUIRE_OK, "save failed");
    quire_engine_close(e);
    good->data = fuzz_read_file(p.path, &good->size);
    fuzz_check(good->data && good->size > sizeof(struct qr_cache_file_header), "no file");
}

/* ---- Edits */

/* Makes the checksums of sections right, as far as the table describes them. Both models have one
 * column of flags: the rows of one group of one layer, or the state. */
static void seal_sections(int kind, struct fuzz_buffer *file, const struct qr_cache_file_header *h,
                          uint8_t *table)
{
    struct qr_cache_file_table t;
    const size_t row = (size_t)(16 + 16) * 2; /* one head, f16 */
    uint64_t at = sizeof *h + h->identity_bytes + h->table_bytes, n_sums = 0;
    if (!qr_cache_file_lay_out(h->n_nodes, 1, h->n_tokens, 0, &t) || t.end > h->table_bytes)
        return;
    for (uint64_t i = 0; i < h->n_nodes; i++) {
        struct qr_cache_file_node n;
        memcpy(&n, table + i * sizeof n, sizeof n);
        const uint64_t bytes = kind ? kinds[kind].state_bytes : n.n_tokens * row;
        if (!table[t.present + i])
            continue;
        if (bytes > file->size - at ||
            t.checksums + (n_sums + 1) * sizeof(uint64_t) > h->table_bytes)
            return;
        const uint64_t sum = qr_checksum(file->data + at, (size_t)bytes);
        memcpy(table + t.checksums + n_sums++ * sizeof sum, &sum, sizeof sum);
        at += bytes;
    }
}

static void seal(int kind, struct fuzz_buffer *file)
{
    struct qr_cache_file_header h;
    if (file->size < sizeof h)
        return;
    memcpy(&h, file->data, sizeof h);
    const uint64_t left = file->size - sizeof h;
    h.file_bytes = file->size;
    if (h.identity_bytes <= left) {
        h.identity_checksum = qr_checksum(file->data + sizeof h, h.identity_bytes);
        if (h.table_bytes <= left - h.identity_bytes) {
            uint8_t *table = file->data + sizeof h + h.identity_bytes;
            seal_sections(kind, file, &h, table);
            h.table_checksum = qr_checksum(table, (size_t)h.table_bytes);
        }
    }
    qr_cache_file_seal(&h);
    memcpy(file->data, &h, sizeof h);
}

static void edit(int model, struct fuzz_buffer *file, struct fuzz_input *in)
{
    while (in->left) {
        const uint32_t kind = (uint32_t)fuzz_take(in, 1);
        if (kind == SEAL) {
            seal(model, file);
            continue;
        }
        if (kind == WHOLE) {
            file->size = 0;
            fuzz_put(file, in->data, in->left);
            return;
        }
        const size_t place = (size_t)fuzz_take(in, 2);
        const uint8_t value = (uint8_t)fuzz_take(in, 1);
        if (kind % 4 == 3 && place < file->size)
            file->size = kind < 128 ? place : file->size - place % 64;
        else if (kind % 4 == 2)
            fuzz_put(file, kinds[model].good.data, place % 64);
        else if (place < file->size)
            file->data[place] = kind < 128 ? value : file->data[place] ^ value;
    }
}

/* ---- Target */

/* Blocks, or slots of states, that are in use. */
static size_t used_memory(const struct quire_engine *e)
{
    struct quire_kv_group_config g;
    struct quire_state_pool_info info = { .struct_size = sizeof info };
    if (e->states) {
        fuzz_check(quire_state_pool_get_info(e->states, &info) == QUIRE_OK, "no states");
        return info.n_slots - info.n_free;
    }
    fuzz_check(quire_kv_get_group(e->kv, 0, &g, NULL) == QUIRE_OK, "no group");
    return g.n_blocks - quire_kv_free_block_count(e->kv, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = { data, size };
    struct fuzz_buffer file = { 0 };
    struct fuzz_memory memory;
    struct quire_error err = QUIRE_ERROR_INIT;
    int32_t tokens[NEW];
    const int kind = fuzz_chance(&in, 50) ? 0 : 1;
    const struct fuzz_buffer *good = &kinds[kind].good;
    for (int i = 0; i < N_KINDS && !kinds[N_KINDS - 1].good.size; i++)
        prepare(i); /* all at once: later the path has a file that is not overwritten */
    const uint32_t block_size = fuzz_chance(&in, 50) ? 16 : 48;
    fuzz_put(&file, good->data, good->size);
    edit(kind, &file, &in);
    fuzz_memory_init(&memory, 64 << 20);
    struct quire_engine *e = open_engine(kind, &memory.hooks, block_size);
    const struct quire_cache_file_params p = cache_file();
    fuzz_write_file(p.path, file.data, file.size);
    const size_t before = memory.live_bytes;
    memory.peak_bytes = before;
    const quire_status s = quire_engine_restore_cache(e, &p, NULL, &err);
    fuzz_check_error(s, &err);
    fuzz_check(memory.peak_bytes - before <= fuzz_reader_limit(file.size), "%zu bytes of memory",
               memory.peak_bytes - before);
    fuzz_check(memory.live_bytes == before, "memory is left");
    fuzz_check(s == QUIRE_OK || s == QUIRE_E_FORMAT || s == QUIRE_E_MISMATCH ||
                   s == QUIRE_E_CORRUPT || s == QUIRE_E_LIMIT,
               "%s %s", fuzz_status(s), err.msg);
    fuzz_check((s == QUIRE_OK) == (used_memory(e) > 0), "%s with %zu blocks or states",
               fuzz_status(s), used_memory(e));
    const char *wrong = qr_prefix_index_check(e->memory.index);
    fuzz_check(!wrong, "%s", wrong);
    const bool same = file.size == good->size && memcmp(file.data, good->data, file.size) == 0;
    fuzz_check(!same || s == QUIRE_OK, "%s %s", fuzz_status(s), err.msg);
    generate(e, 0, tokens);
    fuzz_check((s == QUIRE_OK && !same) || memcmp(tokens, kinds[kind].cold, sizeof tokens) == 0,
               "other tokens");
    quire_engine_close(e);
    fuzz_memory_done(&memory);
    fuzz_buffer_free(&file);
    return 0;
}
