/* SPDX-License-Identifier: Apache-2.0 */
/* scenarios.h - sequences of public calls over every kind of object, for tests of what holds for
 * all calls: floating-point environment, stack use, failing system calls. They do no floating-point
 * arithmetic of their own. */
#ifndef QUIRE_TEST_SCENARIOS_H
#define QUIRE_TEST_SCENARIOS_H
#include <quire/quire.h>
#include <stddef.h>
#include <stdint.h>

/* One run of a scenario. */
struct run {
    const struct quire_allocator *allocator;
    const char *shared;                               /* folder of the reference data */
    const char *dir;                                  /* folder for files that the run writes */
    void (*after)(struct run *run, const char *call); /* called after every public call */
    uint32_t n_cached;                                /* models mapped from a pack cache */
    uint64_t hash;                                    /* of all results so far */
    struct quire_error err;                           /* of the call that failed */
};

struct scenario {
    const char *name;
    /* Creates its objects, calls, destroys the objects. Ends at the first call that fails, with its
     * status. */
    quire_status (*run)(struct run *run);
};

extern const struct scenario scenarios[];
extern const size_t n_scenarios;

quire_status run_paged(struct run *run);
quire_status run_dense(struct run *run);
quire_status run_merge(struct run *run);
quire_status run_bias(struct run *run);
quire_status run_mla(struct run *run);
quire_status run_gguf_model(struct run *run);
quire_status run_safetensors_model(struct run *run);
quire_status run_encoder(struct run *run);
quire_status run_pack_cache(struct run *run);
quire_status run_tokenizer(struct run *run);
quire_status run_tokenizer_json(struct run *run);
quire_status run_template(struct run *run);
quire_status run_sampler(struct run *run);
quire_status run_engine(struct run *run);
quire_status run_draft_model(struct run *run);

/* The status of a call, after the hook of the run. */
static inline quire_status called(struct run *run, const char *call, quire_status status)
{
    if (run->after)
        run->after(run, call);
    return status;
}

/* Leaves the function's block at label `end` with the status in `s` when the call fails. */
#define CALL(expr)                                                                                 \
    do {                                                                                           \
        s = called(run, #expr, (expr));                                                            \
        if (s != QUIRE_OK)                                                                         \
            goto end;                                                                              \
    } while (0)
/* A call without a status. */
#define DO(expr)                                                                                   \
    do {                                                                                           \
        expr;                                                                                      \
        (void)called(run, #expr, QUIRE_OK);                                                        \
    } while (0)

/* Adds bytes to the hash of the results. */
void add_result(struct run *run, const void *data, size_t bytes);
/* Fills floats of both signs with magnitudes in 2^-6 .. 8, and some denormal ones. */
void fill_floats(float *x, size_t n, uint32_t seed);

#endif
