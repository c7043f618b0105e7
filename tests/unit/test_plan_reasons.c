/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan_reasons.c - messages of refused configurations: every reason, alone and in pairs, is
 * complete in every call that refuses a configuration. */
#include "test_plan.h"
#include <quire/attention_dense.h>

static const struct {
    uint32_t bit;
    const char *text;
} reasons[] = {
#define X(name, bit, text) { QUIRE_ATTENTION_NO_##name, text },
    QUIRE_ATTENTION_REASONS(X)
#undef X
};
enum { N_REASONS = sizeof reasons / sizeof *reasons };

static const uint32_t of_cache_or_cpu =
    QUIRE_ATTENTION_NO_KV_DTYPE | QUIRE_ATTENTION_NO_BLOCK_SIZE | QUIRE_ATTENTION_NO_ISA;

static const float bad_values[64] = { NAN };

/* A configuration with the faults of some reasons. */
static struct quire_attention_config with_faults(uint32_t set)
{
    struct quire_attention_config c;
    quire_attention_config_init(&c, sizeof c, 2, 1, 8);
#define FAULT(name, change)                                                                        \
    do {                                                                                           \
        if (set & QUIRE_ATTENTION_NO_##name) {                                                     \
            change;                                                                                \
        }                                                                                          \
    } while (0)
    FAULT(KIND, c.kind = (enum quire_attention_kind)99; c.causal = false);
    FAULT(CAUSAL, if (!c.kind) c.kind = QUIRE_ATTENTION_CROSS; c.causal = true);
    FAULT(HEADS, c.n_heads = 65538);
    FAULT(KV_HEADS, c.n_kv_heads = 0);
    FAULT(HEAD_SIZE, c.head_size = 0; c.v_head_size = 8);
    FAULT(V_HEAD_SIZE, c.v_head_size = 1025);
    FAULT(SCALE, c.scale = NAN);
    FAULT(SOFT_CAP, c.logits_soft_cap = -1);
    FAULT(WINDOW, c.window_right = -2);
    FAULT(COMPUTE, c.compute = (enum quire_compute)7);
    FAULT(SLOPES, c.alibi_slopes = bad_values);
    FAULT(SINKS, c.sinks = bad_values; c.typed_sinks = bad_values);
    FAULT(CHUNK, c.chunk_size = 1u << 31);
    FAULT(RELATIVE, c.relative_range = (1 << 20) + 1);
    FAULT(SINKS_DTYPE, c.sinks_dtype = QUIRE_KV_INT8);
#undef FAULT
    return c;
}

static quire_status validate(uint32_t set, struct quire_attention_report *report,
                             struct quire_error *err)
{
    const struct quire_attention_config c = with_faults(set);
    return quire_attention_validate(
        &c, set & QUIRE_ATTENTION_NO_KV_DTYPE ? (enum quire_kv_dtype)77 : QUIRE_KV_F32,
        QUIRE_KV_F32, set & QUIRE_ATTENTION_NO_BLOCK_SIZE ? 8 : 16,
        set & QUIRE_ATTENTION_NO_ISA ? "no-such-level" : NULL, report, err);
}

/* "name: text of the first reason; text of the second"; slopes of no valid number of heads are not
 * read. */
static void expected(uint32_t set, const char *name, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "%s", name);
    const char *before = "";
    if (set & QUIRE_ATTENTION_NO_HEADS)
        set &= ~(uint32_t)QUIRE_ATTENTION_NO_SLOPES;
    for (int i = 0; i < N_REASONS; i++)
        if (set & reasons[i].bit) {
            used += (size_t)snprintf(out + used, size - used, "%s%s", before, reasons[i].text);
            before = "; ";
        }
}

static void assert_message(uint32_t set, const char *name, quire_status status,
                           const struct quire_error *err)
{
    char want[1024];
    expected(set, name, want, sizeof want);
    assert_int_equal(status, QUIRE_E_UNSUPPORTED);
    assert_string_equal(err->msg, want);
}

/* Plans, dense objects and calls refuse what concerns the configuration alone. */
static void check_calls(struct fixture *f, uint32_t set)
{
    struct quire_attention_config c = with_faults(set);
    struct quire_plan_params params = f->params;
    const struct quire_plan_group group = { .config = &c };
    const struct quire_dense_params dense_params = { .struct_size = sizeof dense_params,
                                                     .config = &c,
                                                     .max_tokens = 4,
                                                     .max_kv_tokens = 4,
                                                     .max_seqs = 1,
                                                     .n_threads = 1 };
    struct quire_plan *plan;
    struct quire_dense *dense;
    struct quire_attention_args args = f->args;
    struct quire_error err = QUIRE_ERROR_INIT;
    params.groups = &group;
    params.n_groups = 1;
    args.config = &c;
    quire_status status = quire_plan_create(&params, &plan, &err);
    assert_message(set, "params.groups[0].config: ", status, &err);
    status = quire_dense_create(&dense_params, &dense, &err);
    assert_message(set, "params.config: ", status, &err);
    status = quire_attention_forward(f->plan, &args, NULL, &err);
    assert_message(set, "args.config: ", status, &err);
}

static void every_pair_is_complete(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    must(quire_plan_build(f.plan, &f.batch, &err));
    for (int i = 0; i < N_REASONS; i++)
        for (int j = i; j < N_REASONS; j++) {
            const uint32_t set = reasons[i].bit | reasons[j].bit;
            struct quire_error err = QUIRE_ERROR_INIT;
            const quire_status status = validate(set, NULL, &err);
            assert_message(set, "", status, &err);
            if (!(set & of_cache_or_cpu))
                check_calls(&f, set);
        }
    teardown(&f);
}

/* A message that cannot hold all reasons holds whole ones and says that there are more; the report
 * holds all. */
static void too_many_end_with_dots(void **state)
{
    (void)state;
    const uint32_t all = (1u << N_REASONS) - 1;
    struct quire_attention_report report = { .struct_size = sizeof report };
    struct quire_error err = QUIRE_ERROR_INIT;
    char want[1024], lines[1024] = "";
    assert_int_equal(validate(all, &report, &err), QUIRE_E_UNSUPPORTED);
    const size_t n = strlen(err.msg), mark = strlen("; ...");
    assert_true(n > sizeof err.msg - 80);
    assert_string_equal(err.msg + n - mark, "; ...");
    expected(all, "", want, sizeof want);
    assert_memory_equal(err.msg, want, n - mark);
    assert_memory_equal(want + n - mark, "; ", 2); /* after a whole reason */
    for (int i = 0; i < N_REASONS; i++)
        if (reasons[i].bit != QUIRE_ATTENTION_NO_SLOPES) {
            strcat(lines, *lines ? "\n" : "");
            strcat(lines, reasons[i].text);
        }
    assert_string_equal(report.text, lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_is_complete),
        cmocka_unit_test(too_many_end_with_dots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
