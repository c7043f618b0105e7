/* SPDX-License-Identifier: Apache-2.0 */
/* bench_model.h - the tests that a model is put to: prompts and generation at depths. */
#ifndef QUIRE_BENCH_BENCH_MODEL_H
#define QUIRE_BENCH_BENCH_MODEL_H
#include "bench_session.h"

/* pp: a prompt of n tokens behind `depth` cached ones. tg: n tokens, one by one, for n_seqs sequences. */
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

/* From -p, -n, -d, -b. */
void model_tests_plan(const struct bench_options *o, struct model_tests *tests);
/* "pp512", "tg128 @ d4096" */
void model_test_name(const struct model_test *t, char *out, size_t size);

/* Opens a session large enough for all tests, and runs a step to warm up. Prints why it fails; the exit code. */
int model_open(struct bench_session *s, const struct bench_options *o,
               const struct model_tests *tests, enum quire_kv_dtype k_type,
               enum quire_kv_dtype v_type, enum quire_compute compute, struct bench_machine *m);

/* Runs one part of a test: the whole prompt, or the i-th token of each sequence. */
quire_status model_run_part(struct bench_session *s, const struct model_test *t, uint32_t i,
                            struct quire_error *err);
uint32_t model_n_parts(const struct model_test *t);

#endif
