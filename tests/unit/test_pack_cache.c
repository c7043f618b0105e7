/* SPDX-License-Identifier: Apache-2.0 */
/* test_pack_cache.c - pack cache: identical logits, invalid files, memory, progress. */
#include "test_pack_cache.h"
#include "base/team.h"
#include "linear/packed.h"
#include "model/load/pack_cache.h"
#include "test_model_world.h"
#include <fcntl.h>

enum { MAX_VOCAB = 1024 };

/* ---- Identical logits */

static void logits_of(const char *model, const char *cache, const struct quire_allocator *a,
                      bool expect_cached, float *logits)
{
    const int32_t begin[2] = { 0, 0 }, n[2] = { 12, 9 };
    int32_t ids[21];
    struct world w;
    struct quire_model_params mp = params_for(model, cache);
    mp.allocator = a;
    open_world_params(&w, mp, 2, 0);
    assert_int_equal(w.info.pack_cached, expect_cached);
    assert_true(w.info.vocab_size <= MAX_VOCAB);
    for (int i = 0; i < 21; i++)
        ids[i] = (i * 37 + 5) % (int32_t)w.info.vocab_size;
    memset(logits, 0, 21 * MAX_VOCAB * sizeof *logits);
    step(&w, ids, begin, n, logits);
    close_world(&w);
}

static void test_same_bits(void **state)
{
    (void)state;
    static const char *const models[] = { "gguf/llama-q8_0.gguf",
                                          "gguf/gemma2_q32-q8_0.gguf",
                                          "llama",
                                          "gguf/llama-f32.gguf",
                                          "gguf/mixtral-bf16.gguf", /* of two types */
                                          "mixtral",
                                          "deepseek_v2_lite" };
    static float without[21 * MAX_VOCAB], first[21 * MAX_VOCAB], later[21 * MAX_VOCAB];
    if (!need_shared())
        skip();
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct fail_alloc a;
        fail_alloc_init(&a, 0, false);
        char model[8192];
        snprintf(model, sizeof model, "%s", golden(models[i]));
        empty_dir();
        logits_of(model, NULL, &a.hooks, false, without);
        logits_of(model, in_dir("cache"), &a.hooks, false, first);
        assert_int_equal(last_log.warnings, 0);
        assert_int_equal(n_files(), 1);
        logits_of(model, in_dir("cache"), &a.hooks, true, later);
        assert_int_equal(last_log.warnings, 0);
        assert_memory_equal(first, without, sizeof first);
        assert_memory_equal(later, without, sizeof later);
        assert_int_equal(a.live_count, 0);
    }
}

/* ---- Invalid files */

static void test_hostile_bytes(void **state)
{
    (void)state;
    static uint8_t good[MAX_FILE], bad[MAX_FILE];
    char what[64];
    if (!need_shared())
        skip();
    const char *model = golden("gguf/llama-q8_0.gguf");
    empty_dir();
    assert_false(opens_cached(model, in_dir("cache")));
    const size_t n = read_all(in_dir("cache"), good);
    struct qr_pack_cache_header header;
    memcpy(&header, good, sizeof header);
    assert_int_equal(header.file_bytes, n);
    const size_t directory_end =
        sizeof header + header.n_matrices * sizeof(struct qr_pack_cache_entry);
    /* a low and a high byte of every field after the magic */
    for (size_t at = sizeof header.magic; at < directory_end;
         at += at < sizeof header + 112 ? 3 : 31) {
        memcpy(bad, good, n);
        bad[at] ^= 0x81;
        write_all(in_dir("cache"), bad, n);
        snprintf(what, sizeof what, "byte %zu", at);
        rejected(model, good, n, what);
    }
    const size_t lengths[] = {
        0, 1, 8, sizeof header - 1, sizeof header, directory_end - 1, directory_end, n - 1
    };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        write_all(in_dir("cache"), good, lengths[i]);
        snprintf(what, sizeof what, "%zu bytes", lengths[i]);
        rejected(model, good, n, what);
    }
    memcpy(bad, good, n);
    write_all(in_dir("cache"), bad, n + 1);
    rejected(model, good, n, "one byte more");
    assert_true(opens_cached(model, in_dir("cache")));
}

static void test_another_version(void **state)
{
    (void)state;
    static uint8_t good[MAX_FILE], bad[MAX_FILE];
    if (!need_shared())
        skip();
    const char *model = golden("gguf/llama-q8_0.gguf");
    empty_dir();
    assert_false(opens_cached(model, in_dir("cache")));
    const size_t n = read_all(in_dir("cache"), good);
    struct qr_pack_cache_header header;
    struct qr_pack_cache_entry entry;
    memcpy(bad, good, n);
    memcpy(&header, good, sizeof header);
    header.version++;
    memcpy(bad, &header, sizeof header);
    write_all(in_dir("cache"), bad, n);
    assert_false(opens_cached(model, in_dir("cache")));
    assert_non_null(strstr(last_log.text, "version"));
    memcpy(bad, good, n);
    memcpy(&entry, good + sizeof header, sizeof entry);
    entry.layout++;
    memcpy(bad + sizeof header, &entry, sizeof entry);
    write_all(in_dir("cache"), bad, n);
    assert_false(opens_cached(model, in_dir("cache")));
    assert_non_null(strstr(last_log.text, "another packed layout"));
}

static void test_another_model(void **state)
{
    (void)state;
    static uint8_t model[MAX_FILE];
    if (!need_shared())
        skip();
    empty_dir();
    assert_false(opens_cached(golden("gguf/llama-f32.gguf"), in_dir("cache")));
    assert_false(opens_cached(golden("gguf/llama-q8_0.gguf"), in_dir("cache")));
    assert_non_null(strstr(last_log.text, "another model"));
    assert_true(opens_cached(golden("gguf/llama-q8_0.gguf"), in_dir("cache")));
    /* a copy with another date, then one with the same date and size but other numbers */
    const size_t n = read_all(golden("gguf/llama-q8_0.gguf"), model);
    write_all(in_dir("model.gguf"), model, n);
    assert_false(opens_cached(in_dir("model.gguf"), in_dir("cache")));
    assert_true(opens_cached(in_dir("model.gguf"), in_dir("cache")));
    struct stat st;
    assert_int_equal(stat(in_dir("model.gguf"), &st), 0);
    const struct timespec before[2] = { st.st_atim, st.st_mtim }, other[2] = { { 1, 0 }, { 1, 0 } };
    assert_int_equal(utimensat(AT_FDCWD, in_dir("model.gguf"), other, 0), 0);
    assert_false(opens_cached(in_dir("model.gguf"), in_dir("cache")));
    assert_int_equal(utimensat(AT_FDCWD, in_dir("model.gguf"), before, 0), 0);
    assert_false(opens_cached(in_dir("model.gguf"), in_dir("cache")));
    for (size_t i = n / 2; i < n; i++)
        model[i] ^= 1;
    write_all(in_dir("model.gguf"), model, n);
    assert_int_equal(utimensat(AT_FDCWD, in_dir("model.gguf"), before, 0), 0);
    assert_false(opens_cached(in_dir("model.gguf"), in_dir("cache")));
    assert_non_null(strstr(last_log.text, "another model"));
}

/* Panels in oneDNN's layout are not mapped as quire's, nor vice versa. */
static void test_another_provider(void **state)
{
    (void)state;
    struct quire_model_info info = { .struct_size = sizeof info };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model *m;
    if (!need_shared())
        skip();
    empty_dir();
    static const struct {
        enum quire_linear_provider linear;
        bool cached;
    } opens[] = { { QUIRE_LINEAR_ONEDNN, false },
                  { QUIRE_LINEAR_ONEDNN, true },
                  { QUIRE_LINEAR_QUIRE, false },
                  { QUIRE_LINEAR_QUIRE, true } };
    for (size_t i = 0; i < sizeof opens / sizeof *opens; i++) {
        struct quire_model_params mp = params_for(golden("bert"), in_dir("cache"));
        mp.linear = opens[i].linear;
        const quire_status s = quire_model_open(&mp, &m, &err);
        if (i == 0 && s == QUIRE_E_UNSUPPORTED) {
            printf("skipped: %s\n", err.msg);
            skip();
        }
        assert_int_equal(s, QUIRE_OK);
        assert_status(QUIRE_OK, quire_model_get_info(m, &info));
        assert_int_equal(info.pack_cached, opens[i].cached);
        if (i == 2)
            assert_non_null(strstr(last_log.text, "another packed layout"));
        assert_status(QUIRE_OK, quire_model_close(m));
    }
}

/* A file that is no pack cache is neither used nor replaced, and the model opens in any case. */
static void test_no_cache(void **state)
{
    (void)state;
    static const char text[] = "not a pack cache";
    static uint8_t now[MAX_FILE];
    if (!need_shared())
        skip();
    const char *model = golden("gguf/llama-q8_0.gguf");
    empty_dir();
    write_all(in_dir("text"), text, sizeof text);
    write_all(in_dir("letter"), "q", 1);
    assert_int_equal(mkdir(in_dir("folder"), 0777), 0);
    assert_int_equal(mkfifo(in_dir("fifo"), 0666), 0);
    static const char *const names[] = { "text", "letter", "folder", "fifo", "absent/cache" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_false(opens_cached(model, in_dir(names[i])));
        assert_int_equal(last_log.warnings, 1);
        assert_int_equal(n_files(), 4);
    }
    assert_int_equal(read_all(in_dir("text"), now), sizeof text);
    assert_memory_equal(now, text, sizeof text);
    assert_int_equal(read_all(in_dir("letter"), now), 1);
}

/* ---- Arguments, memory, progress */

static void test_arguments(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model *m = NULL;
    struct quire_model_params mp = params_for("absent.gguf", "");
    assert_status(QUIRE_E_INVALID_ARG, quire_model_open(&mp, &m, &err));
    assert_non_null(strstr(err.msg, "pack_cache"));
    mp = params_for(NULL, "cache");
    mp.data = "GGUF";
    mp.data_bytes = 4;
    assert_status(QUIRE_E_INVALID_ARG, quire_model_open(&mp, &m, &err));
    assert_non_null(strstr(err.msg, "pack_cache"));
    assert_null(m);
}

static void test_no_memory(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const char *model = golden("gguf/llama-q8_0.gguf");
    unsigned opened = 0;
    empty_dir();
    assert_false(opens_cached(model, in_dir("cache")));
    for (size_t fail_at = 1; opened < 3; fail_at++) {
        struct quire_model_params mp = params_for(model, in_dir("cache"));
        struct quire_error err = QUIRE_ERROR_INIT;
        struct quire_model *m;
        struct fail_alloc a;
        fail_alloc_init(&a, fail_at, false);
        mp.allocator = &a.hooks;
        const quire_status s = quire_model_open(&mp, &m, &err);
        if (s == QUIRE_OK)
            assert_status(QUIRE_OK, quire_model_close(m));
        else
            assert_int_equal(s, QUIRE_E_NOMEM);
        assert_int_equal(a.live_count, 0);
        assert_int_equal(n_files(), 1);
        opened += s == QUIRE_OK;
    }
}

static bool on_progress(void *user, uint64_t done, uint64_t total)
{
    uint64_t *seen = user;
    assert_true(done <= total);
    seen[0] = done;
    seen[1] = total;
    return !seen[2] || done < seen[2];
}

static void test_progress(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    const char *model = golden("gguf/llama-q8_0.gguf");
    uint64_t seen[3] = { 0 };
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_model *m;
    empty_dir();
    for (int i = 0; i < 3; i++) { /* created, used, cancelled */
        struct quire_model_params mp = params_for(model, in_dir("cache"));
        mp.progress = on_progress;
        mp.progress_user = seen;
        seen[2] = i == 2 ? seen[1] / 2 : 0;
        assert_status(i == 2 ? QUIRE_E_CANCELLED : QUIRE_OK, quire_model_open(&mp, &m, &err));
        if (i == 2)
            break;
        assert_int_equal(seen[0], seen[1]);
        assert_status(QUIRE_OK, quire_model_close(m));
    }
}

/* ---- Threads that are in use */

struct open_inside {
    struct quire_model_params params;
    quire_status status;
    struct quire_error err;
};

static void open_part(void *arg, const struct quire_team *team)
{
    struct open_inside *o = arg;
    struct quire_model *m;
    if (team->rank == 0)
        o->status = quire_model_open(&o->params, &m, &o->err);
}

/* A model cannot be opened by threads that run something else; a cache stays as it is. */
static void test_busy_threads(void **state)
{
    (void)state;
    static uint8_t before[MAX_FILE], after[MAX_FILE];
    struct quire_threads *threads;
    struct quire_threads_params tp;
    if (!need_shared())
        skip();
    quire_threads_params_init(&tp, sizeof tp);
    tp.n_threads = 2;
    assert_status(QUIRE_OK, quire_threads_create(&tp, &threads, NULL));
    const char *model = golden("gguf/llama-q8_0.gguf");
    empty_dir();
    assert_false(opens_cached(model, in_dir("cache")));
    const size_t n = read_all(in_dir("cache"), before);
    for (int cached = 0; cached < 2; cached++) {
        struct open_inside o = { .params = params_for(model, cached ? in_dir("cache") : NULL),
                                 .err = QUIRE_ERROR_INIT };
        o.params.threads = threads;
        assert_status(QUIRE_OK, quire_threads_run(threads, open_part, &o));
        assert_int_equal(o.status, QUIRE_E_BUSY);
        assert_non_null(strstr(o.err.msg, "another run is in progress"));
        assert_int_equal(last_log.warnings, cached);
        assert_true(!cached || strstr(last_log.text, "another run is in progress"));
        assert_int_equal(read_all(in_dir("cache"), after), n);
        assert_memory_equal(before, after, n);
    }
    assert_true(opens_cached(model, in_dir("cache")));
    quire_threads_destroy(threads);
}

/* ---- Borrowed panels and layout numbers */

static void test_borrowed(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    struct qr_packed *own, *other;
    uint8_t raw[17 * 34];
    float a[32], b[32];
    for (size_t i = 0; i < sizeof raw; i++)
        raw[i] = (uint8_t)(i % 34 < 2 ? 0x3c : i * 7);
    assert_status(QUIRE_OK, qr_packed_create(QR_WEIGHT_Q8_0, 17, 32, NULL, &own, &err));
    assert_status(QUIRE_OK, qr_packed_pack_rows(own, 0, 17, raw, &err));
    assert_status(QUIRE_OK, qr_packed_describe(NULL, QR_WEIGHT_Q8_0, 17, 32, NULL, &other, &err));
    assert_null(other->data);
    assert_int_equal(other->bytes, own->bytes);
    qr_packed_borrow(other, own->data);
    assert_status(QUIRE_E_MISUSE, qr_packed_pack_rows(other, 0, 17, raw, &err));
    for (size_t row = 0; row < 17; row++) {
        qr_packed_unpack_row(own, row, a);
        qr_packed_unpack_row(other, row, b);
        assert_memory_equal(a, b, sizeof a);
    }
    qr_packed_destroy(other);
    qr_packed_destroy(own);
}

/* The layout number is equal for all shapes of a type and differs between these types. */
static void test_layout(void **state)
{
    (void)state;
    static const uint32_t types[] = { QR_WEIGHT_F32,  QR_WEIGHT_BF16, QR_WEIGHT_F16,
                                      QR_WEIGHT_Q8_0, QR_WEIGHT_Q4_0, QR_WEIGHT_Q4_K,
                                      QR_WEIGHT_Q6_K, QR_WEIGHT_Q4_1 };
    enum { N = sizeof types / sizeof *types };
    struct quire_error err = QUIRE_ERROR_INIT;
    uint64_t layouts[N], again;
    struct qr_packed *w;
    for (int i = 0; i < N; i++) {
        assert_status(QUIRE_OK, qr_packed_describe(NULL, types[i], 3, 256, NULL, &w, &err));
        assert_status(QUIRE_OK, qr_packed_layout(w, &layouts[i], &err));
        qr_packed_destroy(w);
        assert_status(QUIRE_OK, qr_packed_describe(NULL, types[i], 64, 512, NULL, &w, &err));
        assert_status(QUIRE_OK, qr_packed_layout(w, &again, &err));
        qr_packed_destroy(w);
        assert_int_equal(layouts[i], again);
        for (int k = 0; k < i; k++)
            assert_int_not_equal(layouts[i], layouts[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),        cmocka_unit_test(test_hostile_bytes),
        cmocka_unit_test(test_another_version),  cmocka_unit_test(test_another_model),
        cmocka_unit_test(test_another_provider), cmocka_unit_test(test_no_cache),
        cmocka_unit_test(test_arguments),        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_progress),         cmocka_unit_test(test_borrowed),
        cmocka_unit_test(test_layout),           cmocka_unit_test(test_busy_threads),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
