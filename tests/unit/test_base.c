/* SPDX-License-Identifier: Apache-2.0 */
/* test_base.c - error records, checked arithmetic, bounded reader, allocation, dispatch. */
#include "../allow_amx.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/half.h"
#include "base/reader.h"
#include "kernels/dispatch.h"
#include "quire_cmocka.h"
#include <errno.h>
#include <quire/cpu.h>
#include <stdlib.h>

static void status_names(void **state)
{
    (void)state;
    assert_string_equal(quire_status_name(QUIRE_E_RANGE), "QUIRE_E_RANGE");
    assert_string_equal(quire_status_text(QUIRE_OK), "success");
    assert_string_equal(quire_status_text((quire_status)999), "unknown status");
    assert_int_equal(QUIRE_E_INTERNAL, 16); /* append only */
    assert_string_equal(quire_version(), "0.2.0");
}

/* Every status has its own name and text. */
static void statuses(void **state)
{
    (void)state;
    static const struct {
        quire_status code;
        const char *name, *text;
    } all[] = {
#define X(c, text) { c, #c, text },
        QUIRE_STATUS_LIST(X)
#undef X
    };
    enum { N = sizeof all / sizeof *all };
    for (size_t i = 0; i < N; i++) {
        assert_string_equal(quire_status_name(all[i].code), all[i].name);
        assert_string_equal(quire_status_text(all[i].code), all[i].text);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(quire_status_text(all[k].code), all[i].text);
    }
    assert_string_equal(quire_status_name((quire_status)9999), "QUIRE_E_?");
    assert_string_equal(quire_status_text((quire_status)9999), "unknown status");
}

static void error_records(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_int_equal(qr_fail_at(&err, QUIRE_E_FORMAT, 77, "field %s", "x"), QUIRE_E_FORMAT);
    assert_int_equal(err.code, QUIRE_E_FORMAT);
    assert_int_equal(err.offset, 77);
    assert_string_equal(err.msg, "field x");
    qr_fail_errno(&err, QUIRE_E_IO, 2, "open '%s'", "f");
    assert_int_equal(err.detail, 2);
    assert_string_equal(err.msg, "open 'f': No such file or directory");
    /* a long message is truncated; a record with a smaller layout is not written; NULL is
     * allowed */
    char big[1000];
    memset(big, 'a', sizeof big);
    big[999] = 0;
    qr_fail(&err, QUIRE_E_LIMIT, "%s", big);
    assert_int_equal(strlen(err.msg), sizeof err.msg - 1);
    struct quire_error small = { .struct_size = 8 };
    assert_int_equal(qr_fail(&small, QUIRE_E_LIMIT, "x"), QUIRE_E_LIMIT);
    assert_int_equal(small.code, QUIRE_OK);
    assert_int_equal(qr_fail(NULL, QUIRE_E_LIMIT, "x"), QUIRE_E_LIMIT);
}

/* A text that is too long is cut after a whole word or character, and says so. */
static void long_messages(void **state)
{
    (void)state;
    enum { SIZE = sizeof((struct quire_error *)0)->msg };
    struct quire_error err = QUIRE_ERROR_INIT;
    char words[2 * SIZE], letters[2 * SIZE], path[2 * SIZE];
    for (int i = 0; i < 2 * SIZE; i++) {
        words[i] = i % 8 == 7 ? ' ' : 'w';
        letters[i] = i % 2 ? '\xa9' : '\xc3'; /* U+00E9 */
        path[i] = 'p';
    }
    words[2 * SIZE - 1] = letters[2 * SIZE - 2] = path[2 * SIZE - 1] = 0;
    for (int n = SIZE - 20; n < SIZE; n++) { /* what fits is complete */
        qr_fail(&err, QUIRE_E_RANGE, "%.*s", n, words);
        assert_int_equal(strlen(err.msg), n);
        assert_memory_equal(err.msg, words, n);
    }
    qr_fail(&err, QUIRE_E_RANGE, "%s", words);
    assert_true(strlen(err.msg) > SIZE - 12);
    assert_string_equal(err.msg + strlen(err.msg) - 10, "wwwwwww...");
    for (int shift = 0; shift < 2; shift++) {
        qr_fail(&err, QUIRE_E_RANGE, "%s%s", shift ? "x" : "", letters);
        const size_t n = strlen(err.msg);
        assert_true(n > SIZE - 4 && (n - 3 - (size_t)shift) % 2 == 0);
        assert_string_equal(err.msg + n - 4, "\xa9...");
    }
    /* the reason follows whatever precedes it */
    qr_fail_errno(&err, QUIRE_E_IO, ENOENT, "cannot open %s", path);
    assert_non_null(strstr(err.msg, "pppp...: No such file"));
    qr_fail_at(&err, QUIRE_E_FORMAT, 7, "%s", words);
    assert_non_null(strstr(err.msg, "wwwwwww..."));
}

static void checked_sizes(void **state)
{
    (void)state;
    size_t n;
    assert_true(qr_mul3_size(3, 4, 5, &n) && n == 60);
    assert_false(qr_mul_size(SIZE_MAX / 2, 3, &n));
    assert_false(qr_mul4_size(1u << 20, 1u << 20, 1u << 20, 1u << 20, &n));
    assert_false(qr_add_size(SIZE_MAX, 1, &n));
    assert_true(qr_align_size(65, 64, &n) && n == 128);
    assert_false(qr_align_size(SIZE_MAX - 3, 64, &n));
}

static void bounded_reader(void **state)
{
    (void)state;
    const uint8_t bytes[6] = { 1, 0, 0, 0, 9, 8 };
    struct qr_reader r = { bytes, sizeof bytes, 0 };
    uint32_t u;
    uint64_t big;
    assert_true(qr_read_u32(&r, &u) && u == 1);
    assert_false(qr_read_u64(&r, &big));
    assert_int_equal(r.pos, 4); /* a failed read does not advance */
    const uint8_t *p;
    assert_false(qr_read_bytes(&r, SIZE_MAX, &p));
    assert_true(qr_read_bytes(&r, 2, &p) && p[1] == 8);
}

static void allocation_helpers(void **state)
{
    (void)state;
    struct fail_alloc f;
    fail_alloc_init(&f, 0, false);
    assert_null(qr_alloc(&f.hooks, SIZE_MAX, 2));
    void *p = qr_alloc(&f.hooks, 0, 8);
    assert_non_null(p);
    qr_free(&f.hooks, p, 0, 8);
    char *s = qr_strndup(&f.hooks, "hello", 2);
    assert_string_equal(s, "he");
    qr_strfree(&f.hooks, s);
    void *grown = NULL;
    size_t cap = 0;
    assert_true(qr_grow(&f.hooks, &grown, &cap, 100, 8) && cap >= 100);
    assert_false(qr_grow(&f.hooks, &grown, &cap, SIZE_MAX / 4, 8));
    qr_free(&f.hooks, grown, cap, 8);
    assert_int_equal(f.live_bytes, 0);
    assert_int_equal(f.live_count, 0);
}

static void *misaligned_alloc(void *user, size_t size, size_t align)
{
    (void)user;
    (void)align;
    return (char *)malloc(size + 1) + 1;
}

static void misaligned_free(void *user, void *p, size_t size)
{
    (void)user;
    (void)size;
    free((char *)p - 1);
}

static void misaligned_hook_fails(void **state)
{
    (void)state;
    const struct quire_allocator hooks = { NULL, misaligned_alloc, misaligned_free };
    assert_null(qr_alloc_aligned(&hooks, 100, 64));
}

static void arena(void **state)
{
    (void)state;
    struct fail_alloc f;
    fail_alloc_init(&f, 0, false);
    struct qr_arena a;
    qr_arena_init(&a, &f.hooks, 100000);
    size_t n = 0;
    while (qr_arena_alloc(&a, 100, 1))
        n++;
    assert_in_range(n, 500, 1000); /* bounded by limit_bytes */
    assert_in_range(a.total_bytes, 50000, 100000);
    qr_arena_free(&a);
    assert_int_equal(f.live_bytes, 0);
}

static void levels(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct qr_kernels *k;
    unsetenv("QUIRE_ISA");
    assert_status(QUIRE_OK, qr_kernels_get(NULL, &k, &err));
    assert_status(QUIRE_E_INVALID_ARG, qr_kernels_get("sse9", &k, &err));
    assert_non_null(strstr(err.msg, "generic"));
    assert_null(k);
    assert_status(QUIRE_OK, qr_kernels_get("generic", &k, &err));
    assert_string_equal(k->level, "generic");
    setenv("QUIRE_ISA", "generic", 1);
    assert_status(QUIRE_OK, qr_kernels_get(NULL, &k, &err));
    assert_string_equal(k->level, "generic");
    setenv("QUIRE_ISA", "nonsense", 1);
    assert_status(QUIRE_E_INVALID_ARG, qr_kernels_get(NULL, &k, &err));
    assert_non_null(strstr(err.msg, "QUIRE_ISA"));
    unsetenv("QUIRE_ISA");
    for (int i = 0; quire_cpu_level_name(i); i++) {
        const quire_status want = quire_cpu_level_usable(i) ? QUIRE_OK : QUIRE_E_UNSUPPORTED;
        assert_status(want, qr_kernels_get(quire_cpu_level_name(i), &k, &err));
    }
}

static bool amx_is_built(void)
{
    for (int i = 0; quire_cpu_level_name(i); i++)
        if (strcmp(quire_cpu_level_name(i), "avx512_amx") == 0)
            return true;
    return false;
}

/* Tile registers are requested from the kernel only by quire_cpu_allow_amx, which returns success
 * or the reason for its failure. A build of the generic level alone has nothing that uses them. */
static void amx_permission(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_false(amx_usable_before_request);
    const quire_status s = quire_cpu_allow_amx(&err);
    assert_true(s == QUIRE_OK || s == QUIRE_E_UNSUPPORTED);
    assert_int_equal(amx_usable(), s == QUIRE_OK && amx_is_built());
    assert_int_equal(err.msg[0] == 0, s == QUIRE_OK);
    assert_status(s, quire_cpu_allow_amx(NULL));
}

static void tables_are_complete(void **state)
{
    (void)state;
    for (int i = 0; qr_level_name(i); i++) {
        const struct qr_kernels *k = qr_level_table(i);
        if (!k)
            continue;
#define X(ret, name, params)                                                                       \
    assert_true(k->name != NULL);                                                                  \
    assert_non_null(k->impl.name);
        QR_KERNELS(X)
#undef X
    }
}

static void describe(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    size_t needed = 0;
    assert_status(QUIRE_OK, quire_cpu_describe("generic", NULL, 0, &needed, &err));
    char *text = malloc(needed);
    assert_status(QUIRE_E_LIMIT, quire_cpu_describe("generic", text, needed - 1, NULL, &err));
    assert_status(QUIRE_OK, quire_cpu_describe("generic", text, needed, NULL, &err));
    assert_int_equal(strlen(text) + 1, needed);
    assert_non_null(strstr(text, "level     generic"));
    free(text);
    assert_status(QUIRE_E_INVALID_ARG, quire_cpu_describe(NULL, NULL, 5, NULL, &err));
}

/* Every finite number of f16, those halfway between two, and their neighbours in f32. */
static void f16_rounding(void **state)
{
    (void)state;
    for (uint16_t h = 0; h < 0x7c00; h++) {
        const float f = qr_f16_to_f32(h),
                    next = h == 0x7bff ? 65536 : qr_f16_to_f32((uint16_t)(h + 1));
        const uint32_t half = qr_f32_to_bits((f + next) / 2);
        assert_int_equal(qr_f32_to_f16(f), h);
        assert_int_equal(qr_f32_to_f16(-f), h | 0x8000);
        assert_int_equal(qr_f32_to_f16(qr_bits_to_f32(half - 1)), h);
        assert_int_equal(qr_f32_to_f16(qr_bits_to_f32(half)), h + (h & 1));
        assert_int_equal(qr_f32_to_f16(qr_bits_to_f32(half + 1)), h + 1);
    }
    assert_int_equal(qr_f32_to_f16(qr_bits_to_f32(0xff800000)), 0xfc00);
    assert_int_equal(qr_f32_to_f16(qr_bits_to_f32(0x7f800001)), 0x7e00);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_names),
        cmocka_unit_test(statuses),
        cmocka_unit_test(error_records),
        cmocka_unit_test(long_messages),
        cmocka_unit_test(checked_sizes),
        cmocka_unit_test(bounded_reader),
        cmocka_unit_test(allocation_helpers),
        cmocka_unit_test(misaligned_hook_fails),
        cmocka_unit_test(f16_rounding),
        cmocka_unit_test(arena),
        cmocka_unit_test(levels),
        cmocka_unit_test(amx_permission),
        cmocka_unit_test(tables_are_complete),
        cmocka_unit_test(describe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
