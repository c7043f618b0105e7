/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_memory.c - the sizes that a dry run reports are those of a process that has used all
 * of its KV cache, within 2 % or 16 MiB: resident memory of a child, the whole process counted. */
#include "engine_requests.h"
#include "test_dir.h"
#include "tiny_model.h"
#include <stdlib.h>
#include <sys/wait.h>

enum { MIB = 1 << 20, PROMPT = 200 };

struct memory_case {
    struct tiny_shape shape;
    enum quire_kv_dtype dtype;
    uint32_t context, seqs, max_requests, draft;
    bool lock; /* else requests touch the pool */
};

/* Sum of the sizes of the engine, and the resident bytes of the process. */
struct figures {
    uint64_t budget, resident;
};

static uint64_t resident_bytes(void)
{
    char line[256];
    uint64_t kib = 0;
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        (void)sscanf(line, "Rss: %lu kB", &kib);
    fclose(f);
    return kib * 1024;
}

/* Runs different prompts until all blocks have been in use. */
static void fill_pool(struct quire_engine *e, uint32_t cache_tokens)
{
    static struct result r;
    int32_t tokens[PROMPT];
    struct quire_request_params p;
    quire_request_params_init(&p, sizeof p);
    p.tokens = tokens;
    p.n_tokens = PROMPT;
    p.max_tokens = 2;
    p.sampling = &greedy_sampling;
    for (uint32_t i = 0; i <= cache_tokens / PROMPT + 1; i++) {
        for (int k = 0; k < PROMPT; k++)
            tokens[k] = 40 + (int32_t)((k * 7 + i * 13 + k * i) % 150);
        tokens[0] = 40 + (int32_t)(i % 150);
        tokens[1] = 40 + (int32_t)(i / 150);
        generate(e, &p, &r);
    }
}

static struct figures measure(const struct memory_case *c, const char *path, uint32_t flags)
{
    struct quire_engine_params ep;
    quire_engine_params_init(&ep, sizeof ep);
    ep.model_path = path;
    ep.n_threads = 2;
    ep.k_dtype = ep.v_dtype = c->dtype;
    ep.context_length = c->context;
    ep.max_seqs = c->seqs;
    ep.max_requests = c->max_requests;
    ep.max_draft_tokens = c->draft;
    ep.kv_bytes = (uint64_t)1 << 30;
    ep.flags = flags;
    struct quire_engine *e = open_with(&ep);
    struct quire_engine_info info = { .struct_size = sizeof info };
    assert_status(QUIRE_OK, quire_engine_get_info(e, &info));
    if (!(flags & QUIRE_ENGINE_DRY_RUN))
        fill_pool(e, flags & QUIRE_ENGINE_LOCK_CACHE ? PROMPT : (uint32_t)info.cache_tokens);
    const struct figures f = { .budget = info.weight_bytes + info.kv_bytes + info.context_bytes +
                                         info.tokenizer_bytes,
                               .resident = resident_bytes() };
    quire_engine_close(e);
    return f;
}

/* In a child, so that memory of earlier cases does not count. */
static struct figures measure_in_child(const struct memory_case *c, const char *path,
                                       uint32_t flags)
{
    int fds[2], status;
    struct figures f = { 0 };
    assert_int_equal(pipe(fds), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        f = measure(c, path, flags);
        _exit(write(fds[1], &f, sizeof f) != sizeof f);
    }
    close(fds[1]);
    const bool complete = read(fds[0], &f, sizeof f) == sizeof f;
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(complete && status == 0);
    return f;
}

static void write_model(const struct tiny_shape *shape, const char *path)
{
    struct fuzz_buffer model = { 0 };
    tiny_model(shape, &model);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(model.data, 1, model.size, f), model.size);
    assert_int_equal(fclose(f), 0);
    free(model.data);
}

static void check(const struct memory_case *c)
{
    char path[128];
    snprintf(path, sizeof path, "%s/model.gguf", dir);
    write_model(&c->shape, path);
    const struct figures dry = measure_in_child(c, path, QUIRE_ENGINE_DRY_RUN);
    const struct figures real = measure_in_child(c, path, c->lock ? QUIRE_ENGINE_LOCK_CACHE : 0);
    const uint64_t slack = dry.budget / 50 > 16 * MIB ? dry.budget / 50 : 16 * MIB;
    print_message("dry run %.1f MiB, resident %.1f MiB\n", (double)dry.budget / MIB,
                  (double)real.resident / MIB);
    assert_int_equal(dry.budget, real.budget);
    assert_in_range(real.resident, dry.budget > slack ? dry.budget - slack : 0, dry.budget + slack);
}

static void dry_run_predicts_resident_memory(void **state)
{
    (void)state;
    static const struct tiny_shape small = {
        .layers = 2, .hidden = 64, .heads = 4, .kv_heads = 2, .ffn = 128, .context = 4096
    };
    static const struct tiny_shape weights = {
        .layers = 12, .hidden = 512, .heads = 8, .kv_heads = 4, .ffn = 1536, .context = 4096, 8
    };
    static const struct tiny_shape cache = {
        .layers = 8, .hidden = 512, .heads = 8, .kv_heads = 8, .ffn = 64, .context = 4096, 0
    };
    const struct memory_case cases[] = {
        { small, QUIRE_KV_F16, 4096, 8, 0, 0, false },
        { small, QUIRE_KV_F16, 1024, 1, 16384, 0, true }, /* a long queue */
        { weights, QUIRE_KV_F16, 2048, 2, 0, 0, true },
        { weights, QUIRE_KV_INT8, 1024, 4, 16, 64, true },
        { cache, QUIRE_KV_F16, 1024, 8, 0, 0, false },
        { cache, QUIRE_KV_FP8_E4M3, 4096, 4, 1024, 0, true },
        { cache, QUIRE_KV_F32, 1024, 4, 16, 256, true },
    };
#ifdef SANITIZED
    print_message("skipped: sanitizers add memory of their own\n");
    skip();
#endif
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(dry_run_predicts_resident_memory) };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
