/* SPDX-License-Identifier: Apache-2.0 */
/* test_cache_file_state.c - saved checkpoints of recurrent states: restored hits have the bits of
 * recomputation, in engines of other shapes; damage, failing allocations, writers that die. */
#include "engine/prefix_check.h"
#include "test_cache_file.h"
#include <signal.h>
#include <sys/wait.h>

/* Convolutions and attention; recurrent layers only, of both Mambas; Mamba-2, attention and
 * experts; delta nets; compressed keys; a folder whose attention has a state. */
static const char *const models[] = {
    "../gguf_2026/lfm2-bf16.gguf",
    "../gguf_2026/mamba-bf16.gguf",
    "../gguf_2026/mamba2-bf16.gguf",
    "../gguf_2026/granitemoehybrid-bf16.gguf",
    "../gguf_2026/qwen3_next-bf16.gguf",
    "../gguf_2026/deepseek_v4-bf16.gguf",
    "zaya",
};
enum { N_MODELS = sizeof models / sizeof models[0] };

static uint8_t first[MAX_CACHE_FILE], second[MAX_CACHE_FILE];

/* Every slot is free or has a checkpoint; returns the number of checkpoints. */
static uint32_t count_checkpoints(const struct quire_engine *e)
{
    struct quire_state_pool_info info = { .struct_size = sizeof info };
    uint32_t n = 0;
    assert_status(QUIRE_OK, quire_state_pool_get_info(e->states, &info));
    for (uint32_t i = 0; i < info.n_slots; i++)
        n += e->memory.states.owner[i] != QR_PREFIX_NONE;
    assert_int_equal(info.n_free + n, info.n_slots);
    assert_null(qr_prefix_index_check(e->memory.index));
    return n;
}

/* A model in a folder, with the tokenizer of another one. */
static struct quire_model *folder;
static struct quire_tokenizer *tokenizer;

static void open_folder(const char *name)
{
    char path[4200];
    struct quire_model_params p;
    quire_model_params_init(&p, sizeof p);
    snprintf(path, sizeof path, "%s/goldens/%s", shared_dir(), name);
    p.path = path;
    assert_status(QUIRE_OK, quire_model_open(&p, &folder, NULL));
    assert_status(QUIRE_OK,
                  quire_tokenizer_open(params_for(models[0]).model_path, NULL, &tokenizer, NULL));
}

static void close_folder(void)
{
    assert_status(QUIRE_OK, quire_model_close(folder));
    quire_tokenizer_close(tokenizer);
}

static struct quire_engine_params state_params(const char *model)
{
    struct quire_engine_params p = params_for(model);
    if (!strstr(model, ".gguf")) {
        p.model_path = NULL;
        p.model = folder;
        p.tokenizer = tokenizer;
    }
    p.block_size = 16;
    p.context_length = 256;
    p.max_seqs = 2;
    return p;
}

/* A recurrent model that needs no shared data: one layer of Mamba-2 and 40 tokens. */
static struct quire_engine_params small_params(void)
{
    static struct fuzz_buffer model;
    struct quire_engine_params p = tiny_params();
    if (!model.size)
        tiny_mamba2(&model);
    p.model_data = model.data;
    p.model_bytes = model.size;
    p.context_length = 64;
    p.cache_tokens = 512;
    return p;
}

/* Answers a prompt of 20 tokens of the small model; returns the number of cached ones. */
static uint32_t small_answer(struct quire_engine *e, int number, struct result *r)
{
    int32_t tokens[20];
    struct result ignored;
    struct quire_request_params p = greedy("", 4);
    for (int i = 0; i < 20; i++)
        tokens[i] = 3 + (i * 7 + number * 5) % 36;
    p.text = NULL;
    p.tokens = tokens;
    p.n_tokens = 20;
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    generate(e, &p, r ? r : &ignored);
    return (r ? r : &ignored)->usage.cached_tokens;
}

/* ---- Round trips */

/* The same prompt, and the next turn behind the answer, in engines with other blocks.
 * flags: QUIRE_ENGINE_* */
static void round_trip(const char *model, uint32_t flags)
{
    static const struct {
        uint32_t block_size, threads, seqs, context;
    } others[] = { { 16, 2, 2, 256 }, { 32, 1, 1, 256 }, { 64, 3, 4, 512 }, { 48, 2, 2, 200 } };
    static struct result turn[2], hit;
    int32_t tokens[PROMPT], next[PROMPT + 16];
    struct quire_engine_params ep = state_params(model);
    ep.flags = flags;
    struct quire_engine *e = open_with(&ep);
    struct quire_request_params p = prompt(1, tokens);
    generate(e, &p, &turn[0]);
    memcpy(next, tokens, sizeof tokens);
    memcpy(next + PROMPT, turn[0].tokens, turn[0].n_tokens * sizeof *next);
    const uint32_t n_next = PROMPT + (uint32_t)turn[0].n_tokens;
    save_cache(e, in_dir("cache")); /* ends with the last token that was computed */
    p.tokens = next;
    p.n_tokens = n_next;
    p.flags |= QUIRE_REQUEST_NO_REUSE;
    generate(e, &p, &turn[1]);
    p.flags &= ~(uint32_t)QUIRE_REQUEST_NO_REUSE;
    quire_engine_close(e);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ep = state_params(model); /* its path is that of the last call */
        ep.flags = flags;
        ep.block_size = others[i].block_size;
        ep.n_threads = others[i].threads;
        ep.max_seqs = others[i].seqs;
        ep.context_length = others[i].context;
        e = open_with(&ep);
        const struct quire_cache_file_result r = restore_cache(e, in_dir("cache"));
        assert_int_equal(r.n_tokens, n_next - 1);
        assert_int_equal(r.n_blocks, e->kv ? used_blocks(e) : 0);
        /* states in the middle of a block of this engine are left out */
        assert_int_equal(count_checkpoints(e), 1 + (PROMPT / 16 * 16 % others[i].block_size == 0));
        generate(e, &p, &hit);
        assert_int_equal(hit.usage.cached_tokens, n_next - 1);
        assert_same(&turn[1], &hit);
        count_checkpoints(e);
        quire_engine_close(e);
    }
}

static void same_bits(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (size_t i = 0; i < N_MODELS; i++) {
        const bool is_folder = !strstr(models[i], ".gguf");
        if (is_folder)
            open_folder(models[i]);
        round_trip(models[i], 0);
        if (is_folder)
            close_folder();
        else
            round_trip(models[i], QUIRE_ENGINE_BF16_STATES);
    }
}

/* The file depends on what is cached only, and a file that is restored and saved is the same. */
static void canonical(void **state)
{
    (void)state;
    struct quire_engine_params ep = small_params();
    struct quire_engine *e = open_with(&ep);
    small_answer(e, 1, NULL);
    const size_t n = (size_t)save_cache(e, in_dir("cache")).bytes;
    assert_int_equal(read_all(in_dir("cache"), first), n);
    quire_engine_close(e);
    ep.n_threads = 3;
    ep.max_seqs = 1;
    e = open_with(&ep);
    restore_cache(e, in_dir("cache"));
    restore_cache(e, in_dir("cache")); /* changes nothing */
    assert_int_equal(count_checkpoints(e), 2);
    save_cache(e, in_dir("second"));
    assert_int_equal(read_all(in_dir("second"), second), n);
    assert_memory_equal(first, second, n);
    quire_engine_close(e);
}

/* ---- Selection */

/* Nodes behind the last checkpoint are not saved, nor prefixes without one. */
static void useless_nodes(void **state)
{
    (void)state;
    struct result r;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine_params ep = small_params();
    struct quire_engine *e = open_with(&ep);
    small_answer(e, 1, &r);
    const struct quire_cache_file_result all = save_cache(e, in_dir("cache"));
    assert_int_equal(all.n_tokens, 20 + r.n_tokens - 1);
    /* without the checkpoint at the end, the whole block before the end of the prompt remains */
    struct qr_state_memory *m = &e->memory.states;
    uint32_t n_dropped = 0;
    for (uint32_t i = 0; i < m->n_slots; i++) {
        const qr_prefix_node node = m->owner[i];
        if (node == QR_PREFIX_NONE || e->memory.index->entries[node].n_tokens == 16)
            continue;
        m->owner[i] = QR_PREFIX_NONE;
        m->checkpoint[node] = QR_STATE_NONE;
        qr_state_close(m, (int32_t)i);
        n_dropped++;
    }
    assert_int_equal(n_dropped, 1);
    assert_int_equal(save_cache(e, in_dir("second")).n_tokens, 16);
    /* a limit between both cuts the end, and one below the first state leaves nothing */
    struct quire_cache_file_params p = cache_file(in_dir("second"));
    small_answer(e, 1, NULL);
    p.max_bytes = all.bytes - 1;
    const struct quire_cache_file_result cut = save_with(e, &p);
    assert_int_equal(cut.n_tokens, 16);
    p.max_bytes = cut.bytes - 1;
    assert_status(QUIRE_E_LIMIT, quire_engine_save_cache(e, &p, NULL, &err));
    quire_engine_close(e);
}

/* One session: the path to the last checkpoint within its tokens. */
static void session(void **state)
{
    (void)state;
    int32_t tokens[30];
    struct quire_engine_params ep = small_params();
    struct quire_engine *e = open_with(&ep);
    small_answer(e, 1, NULL);
    small_answer(e, 2, NULL);
    for (int i = 0; i < 30; i++)
        tokens[i] = 3 + (i * 7 + 2 * 5) % 36;
    struct quire_cache_file_params p = cache_file(in_dir("cache"));
    p.tokens = tokens;
    p.n_tokens = 20; /* the answer's tokens are behind them */
    assert_int_equal(save_with(e, &p).n_tokens, 16);
    quire_engine_close(e);
    e = open_with(&ep);
    restore_cache(e, in_dir("cache"));
    assert_int_equal(small_answer(e, 2, NULL), 16);
    assert_int_equal(small_answer(e, 1, NULL), 0);
    quire_engine_close(e);
}

/* More states than slots: those of the most recent sequences come first, and none is evicted. */
static void few_slots(void **state)
{
    (void)state;
    enum { N = 20 };
    static struct result cold[N], warm;
    struct quire_engine_params ep = small_params();
    struct quire_engine *e = open_with(&ep);
    for (int i = 0; i < N; i++)
        small_answer(e, i, &cold[i]);
    save_cache(e, in_dir("cache"));
    const uint64_t one = e->memory.states.state_bytes;
    quire_engine_close(e);
    ep.kv_bytes = 8 * 4 * one + 64; /* four checkpoints beside two sequences */
    ep.max_seqs = 2;
    e = open_with(&ep);
    assert_int_equal(e->info.n_state_checkpoints, 4);
    restore_cache(e, in_dir("cache"));
    assert_int_equal(count_checkpoints(e), 6);
    char message[488];
    assert_status(QUIRE_E_LIMIT, try_restore(e, in_dir("cache"), message));
    assert_non_null(strstr(message, "state"));
    assert_int_equal(count_checkpoints(e), 6);
    assert_int_equal(small_answer(e, N - 1, &warm), 16);
    assert_same(&cold[N - 1], &warm);
    for (int i = 0; i < N; i++) {
        small_answer(e, i, &warm);
        assert_same(&cold[i], &warm);
    }
    quire_engine_close(e);
}

/* ---- Failures */

static void assert_refused(struct quire_engine *e, const uint8_t *data, size_t n,
                           quire_status expected)
{
    write_all(in_dir("bad"), data, n);
    assert_status(expected, try_restore(e, in_dir("bad"), NULL));
    assert_int_equal(count_checkpoints(e), 0);
    assert_int_equal(qr_prefix_index_node_count(e->memory.index), 0);
}

/* Every changed byte and every shorter or longer file is refused, and leaves no state behind. */
static void damage(void **state)
{
    (void)state;
    struct result cold, warm;
    struct quire_engine_params ep = small_params();
    struct quire_engine *e = open_with(&ep);
    small_answer(e, 1, &cold);
    save_cache(e, in_dir("cache"));
    const size_t n = read_all(in_dir("cache"), first);
    quire_engine_close(e);
    e = open_with(&ep);
    for (size_t i = 0; i < n; i++) {
        memcpy(second, first, n);
        second[i] ^= (uint8_t)(1 << i % 8);
        assert_refused(e, second, n,
                       i < 8    ? QUIRE_E_FORMAT
                       : i < 12 ? QUIRE_E_MISMATCH
                                : QUIRE_E_CORRUPT);
    }
    for (size_t size = 0; size < n; size++)
        assert_refused(e, first, size, size < 8 ? QUIRE_E_FORMAT : QUIRE_E_CORRUPT);
    assert_refused(e, first, n + 1, QUIRE_E_CORRUPT);
    restore_cache(e, in_dir("cache"));
    assert_int_equal(small_answer(e, 1, &warm), 16);
    assert_same(&cold, &warm);
    quire_engine_close(e);
}

/* The same model with states of another type. */
static void other_type(void **state)
{
    (void)state;
    char message[488];
    struct quire_engine_params ep = small_params();
    struct quire_engine *e = open_with(&ep);
    small_answer(e, 1, NULL);
    save_cache(e, in_dir("cache"));
    quire_engine_close(e);
    ep.flags = QUIRE_ENGINE_BF16_STATES;
    e = open_with(&ep);
    assert_status(QUIRE_E_MISMATCH, try_restore(e, in_dir("cache"), message));
    assert_non_null(strstr(message, "bytes with bf16"));
    assert_int_equal(count_checkpoints(e), 0);
    quire_engine_close(e);
}

/* A model whose states have another size. */
static void foreign(void **state)
{
    (void)state;
    char message[488];
    if (!need_shared())
        skip();
    struct quire_engine_params ep = small_params();
    struct quire_engine *e = open_with(&ep);
    small_answer(e, 1, NULL);
    save_cache(e, in_dir("cache"));
    quire_engine_close(e);
    ep = state_params(models[2]);
    e = open_with(&ep);
    assert_status(QUIRE_E_MISMATCH, try_restore(e, in_dir("cache"), message));
    assert_int_equal(count_checkpoints(e), 0);
    quire_engine_close(e);
}

/* Every allocation of both calls fails. */
static void allocations(void **state)
{
    (void)state;
    struct fail_alloc f;
    struct quire_engine_params ep = small_params();
    fail_alloc_init(&f, 0, false);
    ep.allocator = &f.hooks;
    struct quire_engine *e = open_with(&ep), *empty = open_with(&ep);
    small_answer(e, 1, NULL);
    save_cache(e, in_dir("cache"));
    const struct quire_cache_file_params other = cache_file(in_dir("other"));
    const size_t live = f.live_count;
    for (int restore = 0; restore < 2; restore++) {
        size_t failures = 0, at = 0;
        do {
            f.calls = 0;
            f.fail_at = ++at;
            f.forever = true;
            const quire_status s = restore ? try_restore(empty, in_dir("cache"), NULL)
                                           : quire_engine_save_cache(e, &other, NULL, NULL);
            f.fail_at = 0;
            assert_true(s == QUIRE_OK || s == QUIRE_E_NOMEM);
            assert_int_equal(f.live_count, live);
            assert_int_equal(count_checkpoints(empty), s == QUIRE_OK && restore ? 2 : 0);
            failures += s != QUIRE_OK;
        } while (f.calls >= at);
        assert_true(failures > 7);
    }
    quire_engine_close(e);
    quire_engine_close(empty);
}

/* Writers are killed at any moment: the file is always whole. */
static void killed(void **state)
{
    (void)state;
    struct quire_engine_params ep = small_params();
    struct quire_engine *e = open_with(&ep), *reader = open_with(&ep);
    small_answer(e, 1, NULL);
    save_cache(e, in_dir("kill"));
    for (int i = 0; i < 10; i++) {
        const struct quire_cache_file_params p = cache_file(in_dir("kill"));
        const pid_t pid = fork();
        if (pid == 0)
            for (;;)
                (void)!quire_engine_save_cache(e, &p, NULL, NULL);
        usleep((useconds_t)(500 + 700 * i));
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        restore_cache(reader, in_dir("kill"));
        assert_int_equal(count_checkpoints(reader), 2);
    }
    quire_engine_close(e);
    quire_engine_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits),  cmocka_unit_test(canonical), cmocka_unit_test(useless_nodes),
        cmocka_unit_test(session),    cmocka_unit_test(few_slots), cmocka_unit_test(damage),
        cmocka_unit_test(other_type), cmocka_unit_test(foreign),   cmocka_unit_test(allocations),
        cmocka_unit_test(killed),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
