/* SPDX-License-Identifier: Apache-2.0 */
/* bench_model.h - prefill and decode tests of a whole model at given depths. */
#ifndef QUIRE_BENCH_BENCH_MODEL_H
#define QUIRE_BENCH_BENCH_MODEL_H
#include "bench_session.h"

/* pp: prefill of n tokens at a depth of `depth` cached tokens. tg: n decode steps of n_seqs
 * sequences. */
struct model_test {
    bool generate;
    uint32_t n, depth, n_seqs;
};

enum { MODEL_TESTS_MAX = 256 };
struct model_tests {
    unsigned n;
    struct model_test v[MODEL_TESTS_MAX];
    uint32_t max_seqs, max_len, max_depth;
};

/* Makes the tests from -p, -n, -d and -b. */
void model_tests_plan(const struct bench_options *o, struct model_tests *tests);
/* Name of a test as in llama-bench: "pp512", "tg128 @ d4096". */
void model_test_name(const struct model_test *t, char *out, size_t size);

/* Opens a session large enough for all tests and runs one step to warm up. Returns 0, or an exit
 * code with a message on stderr. */
int model_open(struct bench_session *s, const struct bench_options *o,
               const struct model_tests *tests, enum quire_kv_dtype k_type,
               enum quire_kv_dtype v_type, enum quire_compute compute, struct bench_machine *m);

/* Runs one timed unit of a test: the whole prompt, or decode step i. */
quire_status model_run_unit(struct bench_session *s, const struct model_test *t, uint32_t i,
                            struct quire_error *err);
uint32_t model_n_units(const struct model_test *t);

#endif
