/* SPDX-License-Identifier: Apache-2.0 */
/* test_cache_file.c - saved prefix caches: restored hits have the bits of recomputation, in engines
 * of other shapes; selection by salt, session and size; saving beside running requests. */
#include "test_cache_file.h"
#include "engine/prefix_check.h"
#include <pthread.h>

/* Answers a text and copies the last logits. */
static void answer_text(struct quire_engine *e, struct result *r, float *logits)
{
    struct quire_request_params p = greedy(story, 24);
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    generate(e, &p, r);
    memcpy(logits, e->logits, e->vocab_size * sizeof *logits);
}

static void round_trip(const char *model, enum quire_kv_dtype dtype)
{
    static const struct {
        uint32_t block_size, threads, seqs, context;
    } others[] = { { 64, 2, 4, 512 }, { 16, 1, 1, 512 }, { 128, 3, 8, 256 }, { 48, 2, 2, 300 } };
    static float cold_logits[65536], logits[65536];
    struct result cold, hit;
    struct quire_engine_params ep = params_for(model);
    ep.k_dtype = ep.v_dtype = dtype;
    ep.block_size = 64;
    ep.max_seqs = 4;
    ep.context_length = 512;
    struct quire_engine *e = open_with(&ep);
    assert_true(e->vocab_size <= 65536);
    answer_text(e, &cold, cold_logits);
    const struct quire_cache_file_result saved = save_cache(e, in_dir("cache"));
    quire_engine_close(e);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ep.block_size = others[i].block_size;
        ep.n_threads = others[i].threads;
        ep.max_seqs = others[i].seqs;
        ep.context_length = others[i].context;
        e = open_with(&ep);
        const struct quire_cache_file_result r = restore_cache(e, in_dir("cache"));
        assert_int_equal(r.n_tokens, saved.n_tokens);
        assert_null(qr_prefix_index_check(e->memory.index));
        answer_text(e, &hit, logits);
        assert_int_equal(hit.done.usage->cached_tokens, hit.done.usage->prompt_tokens - 1);
        assert_same(&cold, &hit);
        assert_memory_equal(cold_logits, logits, e->vocab_size * sizeof *logits);
        quire_engine_close(e);
    }
}

/* Full attention, sliding windows beside it, and sliding windows alone; every kind of dtype. */
static void same_bits(void **state)
{
    (void)state;
    static const char *const models[] = { "llama-q8_0.gguf", "gemma2_q32-q8_0.gguf",
                                          "phi3-bf16.gguf" };
    static const enum quire_kv_dtype dtypes[] = { QUIRE_KV_F16, QUIRE_KV_BF16, QUIRE_KV_FP8_E4M3,
                                                  QUIRE_KV_INT8, QUIRE_KV_F32 };
    if (!need_shared())
        skip();
    for (size_t m = 0; m < 3; m++)
        for (size_t d = 0; d < 5; d++)
            round_trip(models[m], dtypes[d]);
}

/* The same without reference models: prompts that share a part, in blocks of other sizes. */
static void tiny_round_trip(void **state)
{
    (void)state;
    static const uint32_t block_sizes[] = { 16, 32, 64, 48 };
    static struct result cold[4], hit;
    for (size_t from = 0; from < 4; from++) {
        struct quire_engine_params ep = tiny_params();
        ep.block_size = block_sizes[from];
        struct quire_engine *e = open_with(&ep);
        for (int i = 0; i < 4; i++)
            answer(e, i, 0, &cold[i]);
        save_cache(e, in_dir("cache"));
        quire_engine_close(e);
        for (size_t to = 0; to < 4; to++) {
            ep.block_size = block_sizes[to];
            e = open_with(&ep);
            const struct quire_cache_file_result r = restore_cache(e, in_dir("cache"));
            assert_int_equal(r.n_blocks, used_blocks(e));
            for (int i = 0; i < 4; i++) {
                assert_int_equal(answer(e, i, 0, &hit), PROMPT - 1);
                assert_same(&cold[i], &hit);
            }
            quire_engine_close(e);
        }
    }
}

/* The file depends on what is cached only: not on threads, pool or position of blocks. */
static void canonical(void **state)
{
    (void)state;
    static uint8_t first[MAX_CACHE_FILE], second[MAX_CACHE_FILE];
    struct stat st;
    struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    answer(e, 1, 0, NULL);
    const struct quire_cache_file_result saved = save_cache(e, in_dir("cache"));
    const size_t n = read_all(in_dir("cache"), first);
    assert_int_equal(saved.bytes, n);
    assert_int_equal(stat(in_dir("cache"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    quire_engine_close(e);
    ep.n_threads = 3;
    ep.max_seqs = 1;
    ep.cache_tokens = 2048;
    e = open_with(&ep);
    answer(e, 5, 9, NULL); /* the blocks of the other prompt get other ids */
    answer(e, 1, 0, NULL);
    struct quire_cache_file_params p = cache_file(in_dir("second"));
    const uint64_t salt = 0;
    p.cache_salt = &salt;
    save_with(e, &p);
    assert_int_equal(read_all(in_dir("second"), second), n);
    assert_memory_equal(first, second, n);
    quire_engine_close(e);
    /* restored and saved again */
    e = open_with(&ep);
    restore_cache(e, in_dir("cache"));
    save_cache(e, in_dir("second"));
    assert_int_equal(read_all(in_dir("second"), second), n);
    assert_memory_equal(first, second, n);
    quire_engine_close(e);
}

/* Restoring again changes nothing, and works beside other cached prefixes. */
static void restore_twice(void **state)
{
    (void)state;
    struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    answer(e, 1, 0, NULL);
    save_cache(e, in_dir("cache"));
    answer(e, 2, 0, NULL);
    const size_t used = used_blocks(e);
    struct quire_engine_stats stats = { .struct_size = sizeof stats };
    for (int i = 0; i < 3; i++) {
        restore_cache(e, in_dir("cache"));
        assert_int_equal(used_blocks(e), used);
        assert_null(qr_prefix_index_check(e->memory.index));
    }
    assert_status(QUIRE_OK, quire_engine_get_stats(e, &stats));
    assert_int_equal(stats.n_cached_blocks, used);
    assert_int_equal(answer(e, 2, 0, NULL), PROMPT - 1);
    assert_int_equal(answer(e, 1, 0, NULL), PROMPT - 1);
    quire_engine_close(e);
}

/* Prefixes of another salt are neither saved nor restored nor found. */
static void salts(void **state)
{
    (void)state;
    struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    const uint64_t seven = 7, nine = 9, ten = 10;
    answer(e, 1, 7, NULL);
    answer(e, 2, 9, NULL);
    save_cache(e, in_dir("all"));
    struct quire_cache_file_params p = cache_file(in_dir("seven"));
    p.cache_salt = &seven;
    save_with(e, &p);
    p.cache_salt = &ten;
    assert_status(QUIRE_E_RANGE, quire_engine_save_cache(e, &p, NULL, NULL));
    quire_engine_close(e);
    e = open_with(&ep);
    restore_cache(e, in_dir("seven"));
    assert_int_equal(answer(e, 1, 0, NULL), 0);
    assert_int_equal(answer(e, 2, 9, NULL), 0);
    assert_int_equal(answer(e, 1, 7, NULL), PROMPT - 1);
    quire_engine_close(e);
    e = open_with(&ep);
    p = cache_file(in_dir("all"));
    p.cache_salt = &ten;
    assert_status(QUIRE_E_RANGE, quire_engine_restore_cache(e, &p, NULL, NULL));
    assert_int_equal(used_blocks(e), 0);
    p.cache_salt = &nine;
    restore_with(e, &p);
    assert_int_equal(answer(e, 1, 7, NULL), 0);
    assert_int_equal(answer(e, 2, 9, NULL), PROMPT - 1);
    quire_engine_close(e);
}

/* One session: the longest cached prefix of its tokens, which may end inside a block. */
static void session(void **state)
{
    (void)state;
    int32_t tokens[PROMPT];
    struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    answer(e, 1, 0, NULL);
    answer(e, 2, 0, NULL);
    struct quire_cache_file_params p = cache_file(in_dir("session"));
    (void)prompt(1, tokens);
    p.tokens = tokens;
    static const size_t lengths[] = { PROMPT, 64, 37, 1 };
    for (size_t i = 0; i < 4; i++) {
        p.n_tokens = lengths[i];
        assert_int_equal(save_with(e, &p).n_tokens, lengths[i]);
        struct quire_engine *other = open_with(&ep);
        assert_int_equal(restore_cache(other, in_dir("session")).n_tokens, lengths[i]);
        assert_int_equal(answer(other, 2, 0, NULL), 0);
        const uint32_t all = lengths[i] < PROMPT ? (uint32_t)lengths[i] : PROMPT - 1;
        assert_int_equal(answer(other, 1, 0, NULL), all);
        quire_engine_close(other);
    }
    tokens[0] = 39; /* begins no cached prefix */
    assert_status(QUIRE_E_RANGE, quire_engine_save_cache(e, &p, NULL, NULL));
    quire_engine_close(e);
}

/* Small files and small pools get the prefixes that were used most recently. */
static void recent_first(void **state)
{
    (void)state;
    struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    for (int i = 1; i <= 4; i++)
        answer(e, i, (uint64_t)i, NULL);
    answer(e, 2, 2, NULL);
    struct quire_cache_file_params p = cache_file(in_dir("cache"));
    const uint64_t all = save_with(e, &p).bytes;
    p.path = in_dir("half");
    p.max_bytes = all / 2;
    const struct quire_cache_file_result half = save_with(e, &p);
    assert_true(half.bytes <= all / 2 && half.bytes > all / 4);
    quire_engine_close(e);
    e = open_with(&ep);
    restore_cache(e, in_dir("half"));
    assert_int_equal(answer(e, 2, 2, NULL), PROMPT - 1);
    assert_true(answer(e, 4, 4, NULL) > 32);
    assert_int_equal(answer(e, 1, 1, NULL), 0);
    quire_engine_close(e);
    ep.cache_tokens = 128; /* 8 blocks; a prefix has 5 */
    ep.max_seqs = 1;
    e = open_with(&ep);
    const struct quire_cache_file_result r = restore_cache(e, in_dir("cache"));
    assert_int_equal(used_blocks(e), 8);
    assert_int_equal(r.n_blocks, 8);
    assert_status(QUIRE_E_LIMIT, try_restore(e, in_dir("cache"), NULL)); /* nothing is free */
    assert_int_equal(answer(e, 2, 2, NULL), PROMPT - 1);
    quire_engine_close(e);
}

/* Every length of a prompt that begins like a restored one has the bits of a cold engine. */
static void partial_hits(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine_params ep = params_for("gemma2_q32-q8_0.gguf");
    int32_t tokens[200];
    for (int i = 0; i < 200; i++)
        tokens[i] = 3 + i * 7 % 250;
    ep.block_size = 32;
    struct quire_request_params p;
    quire_request_params_init(&p, sizeof p);
    p.tokens = tokens;
    p.n_tokens = 200;
    p.max_tokens = 2;
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    p.sampling = &greedy_sampling;
    static struct result r, cold;
    struct quire_engine *e = open_with(&ep), *fresh = open_with(&ep);
    generate(e, &p, &r);
    save_cache(e, in_dir("cache"));
    quire_engine_close(e);
    ep.block_size = 48;
    for (size_t n = 20; n <= 200; n += 45) {
        e = open_with(&ep);
        restore_cache(e, in_dir("cache"));
        p.n_tokens = n;
        p.flags &= ~(uint32_t)QUIRE_REQUEST_NO_REUSE;
        generate(e, &p, &r);
        assert_true(r.done.usage->cached_tokens > 0);
        p.flags |= QUIRE_REQUEST_NO_REUSE;
        generate(fresh, &p, &cold);
        assert_same(&r, &cold);
        assert_memory_equal(e->logits, fresh->logits, e->vocab_size * sizeof(float));
        quire_engine_close(e);
    }
    quire_engine_close(fresh);
}

/* The engine's own thread generates while other calls save and restore. */
static void beside_requests(void **state)
{
    (void)state;
    static struct result alone, r;
    struct quire_engine_params ep = tiny_params();
    struct quire_engine *e = open_with(&ep);
    int32_t tokens[PROMPT];
    struct quire_request_params p = prompt(3, tokens);
    p.max_tokens = 40;
    generate(e, &p, &alone);
    quire_engine_close(e);
    e = open_with(&ep);
    answer(e, 1, 0, NULL);
    save_cache(e, in_dir("cache"));
    assert_status(QUIRE_OK, quire_engine_start(e, NULL));
    for (int i = 0; i < 10; i++) {
        p.cache_salt = (uint64_t)i;
        const quire_request_id id = submit(e, &p);
        save_cache(e, in_dir("other"));
        restore_cache(e, in_dir("cache"));
        r = (struct result){ .size = 0 };
        do {
            struct quire_event ev = { .struct_size = sizeof ev };
            assert_status(QUIRE_OK, quire_engine_wait(e, id, -1, &ev, NULL));
            append_event(&ev, &r);
            r.done = ev;
        } while (r.done.kind != QUIRE_EVENT_DONE);
        assert_same(&alone, &r);
    }
    quire_engine_close(e);
}

static void *save_often(void *engine)
{
    for (int i = 0; i < 20; i++)
        save_cache(engine, in_dir("shared"));
    return NULL;
}

/* Two engines save to one path: it always holds one of the two files. */
static void two_writers(void **state)
{
    (void)state;
    struct quire_engine_params ep = tiny_params();
    struct quire_engine *a = open_with(&ep), *b = open_with(&ep), *c = open_with(&ep);
    pthread_t threads[2];
    answer(a, 1, 0, NULL);
    answer(b, 2, 0, NULL);
    save_cache(a, in_dir("shared"));
    const int files = n_files();
    assert_int_equal(pthread_create(&threads[0], NULL, save_often, a), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, save_often, b), 0);
    for (int i = 0; i < 20; i++)
        restore_cache(c, in_dir("shared"));
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(n_files(), files);
    assert_true(answer(c, 1, 0, NULL) == PROMPT - 1 || answer(c, 2, 0, NULL) == PROMPT - 1);
    quire_engine_close(a);
    quire_engine_close(b);
    quire_engine_close(c);
}

/* ---- Time to the first token, in prompt tokens to be computed */

enum { USERS = 16, SHARED = 2048, OWN = 20 };

/* Submits the prompts of n users, which begin alike, and runs them; computed[i]: tokens of prompt i
 * that were not in the cache. */
static void ask_all(struct quire_engine *e, int first, int n, uint32_t *computed)
{
    static struct result results[USERS];
    quire_request_id ids[USERS];
    int32_t tokens[SHARED + OWN];
    struct quire_request_params p = prompt(0, tokens);
    for (int i = 0; i < SHARED; i++)
        tokens[i] = 40 + (i * 7 + i / 150) % 150;
    p.n_tokens = SHARED + OWN;
    for (int user = first; user < first + n; user++) {
        for (int i = 0; i < OWN; i++)
            tokens[SHARED + i] = 40 + (user * 31 + i * 3) % 150;
        ids[user - first] = submit(e, &p);
    }
    run_to_completion(e, ids, (size_t)n, results);
    for (int i = 0; i < n; i++)
        computed[i] = results[i].usage.prompt_tokens - results[i].usage.cached_tokens;
}

/* Users who share a long prompt compute at most 5 % of it, also after a restart. */
static void shared_prompt(void **state)
{
    (void)state;
    uint32_t cold, computed[USERS];
    struct quire_engine_params ep = tiny_params();
    ep.block_size = 64;
    ep.context_length = SHARED + 128;
    ep.max_seqs = 8;
    ep.cache_tokens = 2 * (SHARED + 128);
    ep.kv_bytes = 64 << 20;
    struct quire_engine *e = open_with(&ep);
    ask_all(e, 0, 1, &cold);
    assert_int_equal(cold, SHARED + OWN);
    ask_all(e, 1, USERS - 1, computed);
    for (int i = 0; i < USERS - 1; i++)
        assert_in_range(computed[i], 1, cold / 20);
    save_cache(e, in_dir("cache"));
    quire_engine_close(e);
    e = open_with(&ep);
    restore_cache(e, in_dir("cache"));
    ask_all(e, 0, USERS, computed);
    for (int i = 0; i < USERS; i++)
        assert_in_range(computed[i], 1, cold / 20);
    quire_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits),       cmocka_unit_test(tiny_round_trip),
        cmocka_unit_test(canonical),       cmocka_unit_test(restore_twice),
        cmocka_unit_test(salts),           cmocka_unit_test(session),
        cmocka_unit_test(recent_first),    cmocka_unit_test(partial_hits),
        cmocka_unit_test(beside_requests), cmocka_unit_test(two_writers),
        cmocka_unit_test(shared_prompt),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
