/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_folders.c - families that only have folders, or only one GGUF file, in the engine:
 * requests in chunks, with drafts, preemption and prefix hits give the answers that they give
 * alone. */
#include "engine_requests.h"
#include "test_folder.h"
#include <math.h>

enum { PROMPT = 150, N = 12 };
static const char *const models[] = { "zamba2", "rwkv", "zaya", NULL };

static char model_path[4200];

/* The reference model in `dir`, with a tokenizer; or a GGUF file, which has one. */
static void write_model(const char *name)
{
    static char text[1 << 16];
    char path[4200];
    struct folder f;
    const bool gguf = strstr(name, ".gguf");
    snprintf(model_path, sizeof model_path, "%s%s%s", gguf ? shared_dir() : dir,
             gguf ? "/goldens/" : "", gguf ? name : "");
    if (gguf)
        return;
    read_folder(&f, name);
    write_folder(&f, none, none);
    free_folder(&f);
    snprintf(path, sizeof path, "%s/tokenizers/tokenizer.model", shared_dir());
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t n = fread(text, 1, sizeof text, file);
    fclose(file);
    assert_true(n > 0 && n < sizeof text);
    write_file("tokenizer.model", text, n);
}

static struct quire_engine *open_small(uint32_t threads, uint64_t cache_tokens)
{
    struct quire_engine_params p = params_for("");
    p.model_path = model_path;
    p.n_threads = threads;
    p.context_length = 256;
    p.max_draft_tokens = 32;
    p.max_requests = N;
    p.max_step_tokens = 32;
    p.max_seqs = 4;
    p.block_size = 16;
    p.cache_tokens = cache_tokens;
    p.target_itl = INFINITY;
    return open_with(&p);
}

/* Half of the answers repeat tokens, so that some drafts of prompt lookup are accepted. */
static struct quire_request_params request(uint32_t i, int32_t *tokens,
                                           struct quire_sampling_params *s)
{
    for (uint32_t t = 0; t < PROMPT; t++)
        tokens[t] = (int32_t)(3 + (t * 7 + t / 9 * (i / 3)) % (i % 2 ? 251 : 13));
    quire_sampling_params_init(s, sizeof *s);
    s->temperature = i % 2 ? 0 : 0.5f;
    s->seed = i;
    struct quire_request_params p = greedy("", 30 + i);
    p.text = NULL;
    p.text_size = 0;
    p.tokens = tokens;
    p.n_tokens = 30 + 9 * i;
    p.sampling = s;
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    return p;
}

static void test_schedules(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result alone[N], together[N];
    static int32_t tokens[N][PROMPT];
    struct quire_sampling_params sampling[N];
    for (size_t m = 0; nth_model(models, m); m++) {
        quire_request_id ids[N];
        write_model(nth_model(models, m));
        struct quire_engine *e = open_small(1, 0);
        for (uint32_t i = 0; i < N; i++) {
            struct quire_request_params p = request(i, tokens[i], &sampling[i]);
            p.flags |= QUIRE_REQUEST_NO_REUSE;
            generate(e, &p, &alone[i]);
        }
        quire_engine_close(e);
        e = open_small(3, 320);
        for (uint32_t i = 0; i < N; i++) {
            struct quire_request_params p = request(i, tokens[i], &sampling[i]);
            p.flags |= QUIRE_REQUEST_FIXED_DRAFT;
            p.draft_tokens = i % 4 * 2;
            ids[i] = submit(e, &p);
        }
        run_to_completion(e, ids, N, together);
        struct quire_engine_stats stats;
        quire_engine_stats_init(&stats, sizeof stats);
        assert_status(QUIRE_OK, quire_engine_get_stats(e, &stats));
        assert_true(stats.lookup_drafted_tokens > 0);
        for (int i = 0; i < N; i++)
            assert_same(&alone[i], &together[i]);
        quire_engine_close(e);
    }
}

/* Tokens of suppress_tokens are never generated: the answer is that of a request whose logit_bias
 * excludes them. */
static void test_suppressed_tokens(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    static struct result plain, biased, suppressed;
    static int32_t tokens[PROMPT];
    struct quire_sampling_params sampling;
    char json[128];
    write_model("rwkv");
    struct quire_engine *e = open_small(1, 0);
    struct quire_request_params p = request(2, tokens, &sampling);
    generate(e, &p, &plain);
    const struct quire_logit_bias bias[] = { { plain.tokens[0], -INFINITY },
                                             { plain.tokens[5], -INFINITY } };
    sampling.logit_bias = bias;
    sampling.n_logit_bias = 2;
    generate(e, &p, &biased);
    quire_engine_close(e);
    snprintf(json, sizeof json, "{\"suppress_tokens\":[%d,2147483647,%d]}", plain.tokens[0],
             plain.tokens[5]);
    write_file("generation_config.json", json, strlen(json));
    e = open_small(1, 0);
    for (uint32_t draft = 0; draft <= 4; draft += 4) {
        p = request(2, tokens, &sampling);
        p.draft_tokens = draft;
        generate(e, &p, &suppressed);
        assert_same(&biased, &suppressed);
    }
    for (size_t i = 0; i < suppressed.n_tokens; i++)
        assert_true(suppressed.tokens[i] != plain.tokens[0] &&
                    suppressed.tokens[i] != plain.tokens[5]);
    quire_engine_close(e);
}

/* A template that has no place for messages is none: GGUF files have had names in its place. */
static void test_constant_template(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine_info info = { .struct_size = sizeof info };
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct quire_chat_message hi = message("user", "Hi.");
    struct quire_request_params p = greedy("", 8);
    quire_request_id id;
    p.text = NULL;
    p.messages = &hi;
    p.n_messages = 1;
    write_model("rwkv");
    write_file("chat_template.jinja", "rwkv-world", 10);
    struct quire_engine *e = open_small(1, 0);
    assert_status(QUIRE_OK, quire_engine_get_info(e, &info));
    assert_false(info.has_chat_template);
    assert_status(QUIRE_E_UNSUPPORTED, quire_engine_submit(e, &p, &id, &err));
    assert_string_equal(err.msg, "the model's chat template cannot be used: \"rwkv-world\" has no "
                                 "place for messages");
    quire_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest any_model[] = { cmocka_unit_test(test_schedules) };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_suppressed_tokens),
        cmocka_unit_test(test_constant_template),
    };
    return getenv("QUIRE_TEST_MODEL") ? cmocka_run_group_tests(any_model, make_dir, remove_dir)
                                      : cmocka_run_group_tests(tests, make_dir, remove_dir);
}
