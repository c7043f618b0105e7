/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_sampling.c - samplers that depend on earlier tokens, in requests. */
#include "engine_requests.h"

/* Mirostat carries its state from token to token of one request, and to no other. */
static void mirostat_state(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_model("llama-q8_0.gguf");
    struct quire_request_params p = greedy(story, 32);
    struct quire_sampling_params sampling;
    quire_sampling_params_init(&sampling, sizeof sampling);
    sampling.mirostat = 2;
    sampling.temperature = 1;
    sampling.mirostat_tau = 4;
    p.sampling = &sampling;
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    struct result a, b;
    generate(e, &p, &a);
    generate(e, &p, &b);
    assert_same(&a, &b);
    sampling.mirostat_eta = 1; /* changes the limit from the second token on */
    generate(e, &p, &b);
    assert_int_equal(a.tokens[0], b.tokens[0]);
    assert_memory_not_equal(a.tokens, b.tokens, 32 * sizeof(int32_t));
    quire_engine_close(e);
}

static void dry_of_requests(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    struct quire_engine *e = open_model("llama-q8_0.gguf");
    struct quire_request_params p = greedy(story, 100);
    p.flags = QUIRE_REQUEST_IGNORE_EOS;
    struct result plain, dry;
    generate(e, &p, &plain);
    struct quire_sampling_params sampling = greedy_sampling;
    sampling.dry_multiplier = 1000;
    sampling.dry_allowed_length = 1;
    p.sampling = &sampling;
    generate(e, &p, &dry);
    assert_int_equal(dry.n_tokens, 100);
    for (uint32_t i = 1; i < 100; i++) /* no pair of tokens occurs twice */
        for (uint32_t j = i + 1; j < 100; j++)
            assert_false(dry.tokens[i] == dry.tokens[j] && dry.tokens[i - 1] == dry.tokens[j - 1]);
    /* if every token is a breaker, DRY is off */
    struct quire_model_info info;
    quire_model_info_init(&info, sizeof info);
    assert_status(QUIRE_OK, quire_model_get_info(quire_engine_model(e), &info));
    int32_t *breakers = malloc((size_t)info.vocab_size * 2 * sizeof *breakers);
    for (uint32_t i = 0; i < info.vocab_size; i++) {
        breakers[2 * i] = (int32_t)i;
        breakers[2 * i + 1] = -1;
    }
    sampling.dry_breakers = breakers;
    sampling.n_dry_breakers = 2 * info.vocab_size;
    generate(e, &p, &dry);
    assert_same(&plain, &dry);
    free(breakers);
    quire_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mirostat_state),
        cmocka_unit_test(dry_of_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
