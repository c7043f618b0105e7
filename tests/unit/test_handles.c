/* SPDX-License-Identifier: Apache-2.0 */
/* test_handles.c - handles of destroyed and of other objects: QUIRE_E_INVALID_ARG, and destroying
 * them does nothing. */
#include "quire_cmocka.h"
#include <quire/quire.h>

static struct quire_error err;

/* Memory that is kept until the end of the test, so that stale handles may be read. */
struct kept {
    struct quire_allocator hooks;
    void *blocks[256];
    size_t n, n_freed;
};

static void *kept_alloc(void *user, size_t size, size_t align)
{
    struct kept *k = user;
    void *p = NULL;
    assert_true(k->n < 256);
    if (posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, size))
        return NULL;
    return k->blocks[k->n++] = p;
}

static void kept_free(void *user, void *p, size_t size)
{
    (void)p;
    (void)size;
    ((struct kept *)user)->n_freed++;
}

static void kept_init(struct kept *k)
{
    *k = (struct kept){ .hooks = { k, kept_alloc, kept_free } };
}

static void kept_release(struct kept *k)
{
    assert_int_equal(k->n, k->n_freed); /* nothing is freed twice, nothing is lost */
    for (size_t i = 0; i < k->n; i++)
        free(k->blocks[i]);
}

#define REFUSED(name, call)                                                                        \
    do {                                                                                           \
        err = (struct quire_error)QUIRE_ERROR_INIT;                                                \
        assert_status(QUIRE_E_INVALID_ARG, call);                                                  \
        if (!strstr(err.msg, name " has been destroyed, or is an object of another type"))         \
            fail_msg("%s: %s", #call, err.msg);                                                    \
    } while (0)
/* A call that has no error record. */
#define REFUSED_SILENTLY(call) assert_status(QUIRE_E_INVALID_ARG, call)

static void no_part(void *arg, const struct quire_team *team)
{
    (void)team;
    *(int *)arg = 1;
}

static void check_threads(void *object)
{
    struct quire_threads *threads = object;
    int ran = 0;
    REFUSED_SILENTLY(quire_threads_run(threads, no_part, &ran));
    REFUSED_SILENTLY(quire_threads_run_n(threads, 1, no_part, &ran));
    assert_int_equal(ran, 0);
    assert_int_equal(quire_threads_count(threads), 0);
    assert_null(quire_host_team_member(object, 0));
    quire_host_team_destroy(object);
    quire_threads_destroy(threads);
}

static void check_adapter(void *object)
{
    struct quire_adapter *adapter = NULL;
    struct quire_adapter_info info = { .struct_size = sizeof info };
    const struct quire_adapter_params params = { .struct_size = sizeof params, .path = "none" };
    REFUSED("model", quire_adapter_open(object, &params, &adapter, &err));
    REFUSED_SILENTLY(quire_adapter_get_info(object, &info));
    REFUSED_SILENTLY(quire_adapter_close(object));
}

static void check_engine_adapters(void *object)
{
    struct quire_engine_adapter_info info = { .struct_size = sizeof info };
    const struct quire_engine_adapter_params params = { .struct_size = sizeof params,
                                                        .name = "a",
                                                        .path = "none" };
    REFUSED("engine", quire_engine_add_adapter(object, &params, &err));
    REFUSED("engine", quire_engine_remove_adapter(object, "a", &err));
    REFUSED_SILENTLY(quire_engine_get_adapter(object, 0, &info));
}

static void check_states(void *object)
{
    struct quire_state_pool *pool = object;
    int32_t slot = 0;
    float x = 0;
    struct quire_state_pool_info info;
    quire_state_pool_info_init(&info, sizeof info);
    REFUSED_SILENTLY(quire_state_pool_get_info(pool, &info));
    REFUSED("pool", quire_state_pool_alloc(pool, &slot, &err));
    REFUSED("pool", quire_state_pool_free(pool, 0, &err));
    REFUSED("pool", quire_state_pool_copy(pool, 0, 0, &err));
    REFUSED("pool", quire_state_pool_read(pool, 0, &x, sizeof x, &err));
    REFUSED("pool", quire_state_pool_write(pool, 0, &x, sizeof x, &err));
    quire_state_pool_destroy(pool);
}

static void check_cache(void *object)
{
    struct quire_kv_cache *kv = object;
    int32_t block = 0;
    int64_t slot = 0;
    float x[64] = { 0 };
    struct quire_kv_group_config group;
    const struct quire_kv_write_args w = {
        .struct_size = sizeof w, .k = x, .v = x, .slot_mapping = &slot, .n_tokens = 1
    };
    const struct quire_kv_read_args r = {
        .struct_size = sizeof r, .k = x, .slots = &slot, .n_tokens = 1
    };
    const struct quire_kv_plain_args plain = {
        .struct_size = sizeof plain, .blocks = &block, .n_blocks = 1, .size = sizeof x
    };
    REFUSED("kv", quire_kv_get_group(kv, 0, &group, &err));
    REFUSED("kv", quire_kv_alloc(kv, 0, -1, 1, &block, &err));
    REFUSED("kv", quire_kv_retain(kv, 0, &block, 1, &err));
    REFUSED("kv", quire_kv_release(kv, 0, &block, 1, &err));
    REFUSED("kv", quire_kv_copy(kv, 0, &block, &block, 1, &err));
    REFUSED("kv", quire_kv_make_writable(kv, 0, -1, &block, &err));
    REFUSED("kv", quire_kv_check_slots(kv, 0, &slot, 1, &err));
    REFUSED("kv", quire_kv_write(kv, &w, NULL, &err));
    REFUSED("kv", quire_kv_write_check(kv, &w, &err));
    REFUSED("kv", quire_kv_read(kv, &r, &err));
    REFUSED("kv", quire_kv_import(kv, &plain, x, &err));
    REFUSED("kv", quire_kv_export(kv, &plain, x, &err));
    assert_int_equal(quire_kv_group_count(kv), 0);
    assert_int_equal(quire_kv_block_size(kv), 0);
    assert_int_equal(quire_kv_clipped(kv), 0);
    assert_int_equal(quire_kv_free_block_count(kv, 0), 0);
    assert_int_equal(quire_kv_ref_count(kv, 0, 0), 0);
    quire_kv_destroy(kv);
}

static void check_plan(void *object)
{
    const struct quire_attention_batch batch = { .struct_size = sizeof batch };
    const struct quire_attention_args args = { .struct_size = sizeof args };
    struct quire_plan_info info = { .struct_size = sizeof info };
    REFUSED("plan", quire_plan_build(object, &batch, &err));
    REFUSED("plan", quire_plan_set_tables(object, 0, NULL, &err));
    REFUSED("plan", quire_attention_check(object, &args, &err));
    REFUSED("plan", quire_attention_forward(object, &args, NULL, &err));
    REFUSED_SILENTLY(quire_plan_get_info(object, 0, &info));
    quire_plan_destroy(object);
}

static void check_dense(void *object)
{
    const struct quire_dense_batch batch = { .struct_size = sizeof batch };
    const struct quire_attention_args args = { .struct_size = sizeof args };
    REFUSED("dense", quire_dense_prepare(object, &batch, &err));
    REFUSED("dense", quire_dense_check(object, &batch, &args, &err));
    REFUSED("dense", quire_attention_dense(object, &batch, &args, NULL, &err));
    quire_dense_destroy(object);
}

static void check_mla(void *object)
{
    const struct quire_mla_args args = { .struct_size = sizeof args };
    REFUSED("weights", quire_mla_absorb(object, &args, NULL, &err));
    REFUSED("weights", quire_mla_absorb_check(object, &args, &err));
    REFUSED("weights", quire_mla_v_up_proj(object, &args, NULL, &err));
    REFUSED("weights", quire_mla_v_up_proj_check(object, &args, &err));
    quire_mla_weights_destroy(object);
}

static void check_sampler(void *object)
{
    const struct quire_sample_args args = { .struct_size = sizeof args };
    int32_t token;
    REFUSED("sampler", quire_sampler_sample(object, NULL, &args, &token, &err));
    assert_int_equal(token, -1);
    quire_sampler_destroy(object);
}

static void check_tokenizer(void *object)
{
    struct quire_tokenizer *tok = object;
    struct quire_detokenizer *d;
    size_t n, size = 1;
    REFUSED("tok", quire_tokenizer_encode(tok, "a", 1, 0, NULL, 0, &n, &err));
    REFUSED("tok", quire_tokenizer_encode_spans(tok, "a", 1, NULL, 0, 0, NULL, 0, &n, &err));
    REFUSED("tok", quire_tokenizer_decode(tok, NULL, 0, 0, NULL, 0, &n, &err));
    REFUSED("tok", quire_detokenizer_create(tok, 0, &d, &err));
    struct quire_grammar_vocab *vocab;
    REFUSED("tok", quire_grammar_vocab_create(tok, NULL, &vocab, &err));
    assert_int_equal(quire_tokenizer_vocab_size(tok), 0);
    assert_int_equal(quire_tokenizer_token_type(tok, 0), QUIRE_TOKEN_UNDEFINED);
    assert_false(quire_tokenizer_is_special(tok, 0) || quire_tokenizer_is_eog(tok, 0));
    assert_int_equal(quire_tokenizer_special(tok, QUIRE_SPECIAL_BOS), QUIRE_TOKEN_NONE);
    assert_false(quire_tokenizer_adds_bos(tok) || quire_tokenizer_adds_eos(tok));
    assert_int_equal(quire_tokenizer_find(tok, "a", 1), QUIRE_TOKEN_NONE);
    assert_null(quire_tokenizer_token_text(tok, 0, &size));
    assert_null(quire_tokenizer_token_bytes(tok, 0, &size));
    assert_null(quire_tokenizer_chat_template(tok, NULL));
    quire_tokenizer_close(tok);
}

static void check_detokenizer(void *object)
{
    const char *text;
    size_t n;
    REFUSED("d", quire_detokenizer_push(object, 0, &text, &n, &err));
    REFUSED("d", quire_detokenizer_finish(object, &text, &n, &err));
    quire_detokenizer_destroy(object);
}

static void check_template(void *object)
{
    struct quire_chat_render_args args;
    struct quire_chat_prompt *prompt;
    quire_chat_render_args_init(&args, sizeof args);
    REFUSED("tmpl", quire_chat_template_render(object, &args, &prompt, &err));
    quire_chat_template_destroy(object);
}

static void check_prompt(void *object)
{
    size_t n = 1;
    assert_null(quire_chat_prompt_text(object, &n));
    assert_int_equal(n, 0);
    assert_null(quire_chat_prompt_spans(object, &n));
    quire_chat_prompt_destroy(object);
}

static void check_model(void *object)
{
    struct quire_model_info info = { .struct_size = sizeof info };
    struct quire_context_params cp;
    struct quire_context *context;
    uint32_t n;
    uint64_t bytes;
    quire_context_params_init(&cp, sizeof cp);
    REFUSED_SILENTLY(quire_model_get_info(object, &info));
    REFUSED_SILENTLY(quire_model_kv_groups(object, NULL, 0, &n));
    float k, v;
    REFUSED("model", quire_model_kv_scales(object, NULL, 0, QUIRE_KV_FP8_E4M3, QUIRE_KV_FP8_E4M3,
                                           &k, &v, &err));
    REFUSED("model", quire_context_bytes(object, &cp, &bytes, &err));
    REFUSED("model", quire_context_create(object, &cp, &context, &err));
    REFUSED_SILENTLY(quire_model_close(object));
}

static void check_context(void *object)
{
    const struct quire_forward_args f = { .struct_size = sizeof f };
    const struct quire_encode_args e = { .struct_size = sizeof e };
    REFUSED("context", quire_context_forward(object, &f, &err));
    const struct quire_markov_args m = { .struct_size = sizeof m };
    REFUSED("context", quire_context_encode(object, &e, &err));
    REFUSED("context", quire_context_markov(object, &m, &err));
    quire_context_destroy(object);
}

static void check_engine(void *object)
{
    struct quire_request_params rp;
    struct quire_engine_info info = { .struct_size = sizeof info };
    struct quire_engine_stats stats = { .struct_size = sizeof stats };
    int fd;
    struct quire_sampling_params sp = { .struct_size = sizeof sp };
    struct quire_event ev = { .struct_size = sizeof ev };
    quire_request_id id;
    quire_request_params_init(&rp, sizeof rp);
    size_t n_tokens;
    struct quire_chat_prompt *prompt;
    REFUSED("engine", quire_engine_submit(object, &rp, &id, &err));
    REFUSED("engine", quire_engine_count_tokens(object, &rp, &n_tokens, &err));
    REFUSED("engine", quire_engine_step(object, &err));
    const struct quire_cache_file_params file = { .struct_size = sizeof file, .path = "x" };
    REFUSED("engine", quire_engine_save_cache(object, &file, NULL, &err));
    REFUSED("engine", quire_engine_restore_cache(object, &file, NULL, &err));
    REFUSED("engine", quire_engine_poll(object, &ev, &err));
    REFUSED("engine", quire_engine_start(object, &err));
    REFUSED("engine", quire_engine_drain(object, 0, &err));
    REFUSED("engine", quire_engine_wait(object, 0, 0, &ev, &err));
    REFUSED("engine", quire_engine_event_fd(object, &fd, &err));
    REFUSED_SILENTLY(quire_engine_get_stats(object, &stats));
    REFUSED_SILENTLY(quire_engine_get_info(object, &info));
    REFUSED_SILENTLY(quire_engine_default_sampling(object, &sp));
    REFUSED_SILENTLY(quire_request_cancel(object, 1));
    assert_int_equal(quire_engine_active_count(object), 0);
    assert_null(quire_engine_model(object));
    assert_null(quire_engine_tokenizer(object));
    struct quire_grammar_vocab *vocab;
    REFUSED("engine", quire_engine_grammar_vocab(object, &vocab, &err));
    REFUSED("engine", quire_engine_render_prompt(object, &rp, true, &prompt, &err));
    REFUSED("engine", quire_engine_encode_prompt(object, NULL, NULL, 0, &n_tokens, &err));
    quire_engine_close(object);
}

static void check_grammar(void *object)
{
    struct quire_grammar_vocab *vocab;
    struct quire_grammar *grammar;
    struct quire_grammar_matcher *matcher;
    struct quire_grammar_info info;
    struct quire_grammar_params p;
    quire_grammar_params_init(&p, sizeof p);
    quire_grammar_info_init(&info, sizeof info);
    REFUSED("tok", quire_grammar_vocab_create(object, NULL, &vocab, &err));
    REFUSED("vocab", quire_grammar_compile(object, &p, &grammar, &err));
    assert_int_equal(quire_grammar_mask_words(object), 0);
    REFUSED("grammar", quire_grammar_matcher_create(object, &matcher, &err));
    REFUSED_SILENTLY(quire_grammar_get_info(object, &info));
    quire_grammar_vocab_destroy(object);
    quire_grammar_destroy(object);
}

static void check_matcher(void *object)
{
    struct quire_grammar_matcher *matcher;
    const int32_t token = 0;
    int32_t tokens[1];
    uint32_t mask[1];
    char bytes[1];
    size_t n;
    REFUSED("matcher", quire_grammar_matcher_clone(object, &matcher, &err));
    REFUSED("matcher", quire_grammar_matcher_mask(object, mask, 1, &err));
    REFUSED("matcher", quire_grammar_matcher_commit(object, &token, 1, &err));
    REFUSED("matcher", quire_grammar_matcher_rollback(object, 0, &err));
    REFUSED("matcher", quire_grammar_matcher_forced_bytes(object, bytes, 1, &n, &err));
    REFUSED("matcher", quire_grammar_matcher_forced_tokens(object, NULL, 0, tokens, 1, &n, &err));
    assert_int_equal(quire_grammar_matcher_check(object, &token, 1), 0);
    assert_false(quire_grammar_matcher_can_end(object));
    assert_false(quire_grammar_matcher_must_end(object));
    quire_grammar_matcher_trim(object, 0);
    quire_grammar_matcher_destroy(object);
}

static void (*const checks[])(void *object) = {
    check_threads,     check_cache,           check_plan,      check_dense,
    check_mla,         check_sampler,         check_tokenizer, check_template,
    check_prompt,      check_model,           check_context,   check_engine,
    check_detokenizer, check_grammar,         check_matcher,   check_states,
    check_adapter,     check_engine_adapters,
};

static void other_memory(void **state)
{
    (void)state;
    static uint64_t memory[512], before[512];
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        checks[i](memory);
    assert_memory_equal(memory, before, sizeof memory);
}

/* Objects as arguments of every function that takes another type, then as stale handles. */
static void other_and_destroyed_objects(void **state)
{
    (void)state;
    struct kept k;
    kept_init(&k);
    struct quire_kv_group_config group = { .n_layers = 1,
                                           .n_kv_heads = 1,
                                           .head_size = 16,
                                           .k_dtype = QUIRE_KV_F32,
                                           .v_dtype = QUIRE_KV_F32,
                                           .n_blocks = 1 };
    const struct quire_kv_params kp = { .struct_size = sizeof kp,
                                        .block_size = 16,
                                        .groups = &group,
                                        .n_groups = 1,
                                        .allocator = &k.hooks };
    struct quire_kv_cache *kv;
    assert_status(QUIRE_OK, quire_kv_create(&kp, &kv, &err));
    struct quire_threads_params tp = { sizeof tp, QUIRE_THREADS_PTHREAD, 2, &k.hooks };
    struct quire_threads *threads;
    assert_status(QUIRE_OK, quire_threads_create(&tp, &threads, &err));
    struct quire_sampler *sampler;
    assert_status(QUIRE_OK, quire_sampler_create(8, &k.hooks, &sampler, &err));
    struct quire_chat_template_params cp;
    quire_chat_template_params_init(&cp, sizeof cp);
    cp.allocator = &k.hooks;
    struct quire_chat_template *t;
    assert_status(QUIRE_OK, quire_chat_template_create("x", 1, &cp, &t, &err));
    struct {
        void *object;
        void (*check)(void *object);
    } objects[] = { { kv, check_cache },
                    { threads, check_threads },
                    { sampler, check_sampler },
                    { t, check_template } };
    for (size_t i = 0; i < 4; i++)
        for (size_t c = 0; c < sizeof checks / sizeof checks[0]; c++)
            if (checks[c] != objects[i].check)
                checks[c](objects[i].object);
    assert_int_equal(quire_threads_count(threads), 2); /* all are alive */
    assert_int_equal(quire_kv_block_size(kv), 16);
    quire_kv_destroy(kv);
    quire_threads_destroy(threads);
    quire_sampler_destroy(sampler);
    quire_chat_template_destroy(t);
    for (size_t i = 0; i < 4; i++)
        objects[i].check(objects[i].object);
    kept_release(&k);
}

/* Objects in the parameters of others. */
static void in_parameters(void **state)
{
    (void)state;
    static uint64_t memory[512];
    struct quire_engine_params p;
    struct quire_engine *e;
    quire_engine_params_init(&p, sizeof p);
    p.model = (struct quire_model *)(void *)memory;
    p.tokenizer = (struct quire_tokenizer *)(void *)memory;
    p.threads = (struct quire_threads *)(void *)memory;
    REFUSED("threads", quire_engine_open(&p, &e, &err));
    p.threads = NULL;
    REFUSED("tokenizer", quire_engine_open(&p, &e, &err));
    struct quire_attention_config c;
    quire_attention_config_init(&c, sizeof c, 1, 1, 16);
    const struct quire_plan_group group = { &c, 0, 0 };
    const struct quire_plan_params pp = { .struct_size = sizeof pp,
                                          .kv = (struct quire_kv_cache *)(void *)memory,
                                          .groups = &group,
                                          .n_groups = 1,
                                          .max_tokens = 1,
                                          .max_seqs = 1,
                                          .max_seq_len = 1,
                                          .n_threads = 1 };
    struct quire_plan *plan;
    REFUSED("kv", quire_plan_create(&pp, &plan, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_memory),
        cmocka_unit_test(other_and_destroyed_objects),
        cmocka_unit_test(in_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
