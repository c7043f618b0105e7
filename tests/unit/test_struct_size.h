/* SPDX-License-Identifier: Apache-2.0 */
/* test_struct_size.h - checks of public functions with sized structs of older and newer headers. */
#ifndef QUIRE_TEST_STRUCT_SIZE_H
#define QUIRE_TEST_STRUCT_SIZE_H
#include "base/struct_size.h"
#include "quire_cmocka.h"
#include <quire/quire.h>

enum { MAX_BYTES = 4096, TAIL = 64 };

/* Bytes of the first version of a struct, which later versions extended after the named member. */
/* clang-format off */
#define FIRST_BYTES(s)                                                                             \
    _Generic((s),                                                                                  \
        struct quire_attention_config: QR_SIZE_TO(struct quire_attention_config, relative_range),  \
        struct quire_attention_batch: QR_SIZE_TO(struct quire_attention_batch, sparse),            \
        struct quire_attention_merge_args:                                                         \
            QR_SIZE_TO(struct quire_attention_merge_args, lse_token_stride),                       \
        struct quire_kv_slot_args: QR_SIZE_TO(struct quire_kv_slot_args, n_tokens),                \
        struct quire_plan_params: QR_SIZE_TO(struct quire_plan_params, allocator),                 \
        struct quire_dense_params: QR_SIZE_TO(struct quire_dense_params, allocator),               \
        struct quire_dense_batch: QR_SIZE_TO(struct quire_dense_batch, v_head_stride),             \
        struct quire_model_params: QR_SIZE_TO(struct quire_model_params, pack_cache),              \
        struct quire_forward_args: QR_SIZE_TO(struct quire_forward_args, hidden),                  \
        struct quire_encode_args: QR_SIZE_TO(struct quire_encode_args, cross_slot_mapping),        \
        struct quire_context_params: QR_SIZE_TO(struct quire_context_params, expand_latent_from),  \
        struct quire_request_params: QR_SIZE_TO(struct quire_request_params, stream),              \
        struct quire_sampling_params: QR_SIZE_TO(struct quire_sampling_params, seed),              \
        struct quire_sample_args: QR_SIZE_TO(struct quire_sample_args, index),                     \
        struct quire_engine_params: QR_SIZE_TO(struct quire_engine_params, pack_cache),            \
        default: sizeof(s))
/* clang-format on */

/* ---- Arguments of public functions */

/* Calls a function with the sized struct at `s`; *result receives a figure from its output. */
typedef quire_status (*call_fn)(const void *s, uint64_t *result, struct quire_error *err);

/* Checks `call` with a valid struct of `size` bytes, whose first version had `first` bytes; what
 * later versions added has its default.
 *   expected  the figure of a correct call
 *   null      status of a call with NULL */
static inline void check_call(const char *name, call_fn call, const void *valid, size_t first,
                              size_t size, uint64_t expected, quire_status null)
{
    print_message("%s\n", name);
    unsigned char *s = calloc(1, size + TAIL);
    assert_non_null(s);
    memcpy(s, valid, size);
    struct quire_error err = QUIRE_ERROR_INIT;
    uint64_t result = 0;
    const uint32_t exact = (uint32_t)size, larger = exact + TAIL;
    assert_memory_equal(s, &exact, sizeof exact);
    assert_status(QUIRE_OK, call(s, &result, &err));
    assert_int_equal(result, expected);
    result = 0;
    memcpy(s, &larger, sizeof larger);
    assert_status(QUIRE_OK, call(s, &result, &err));
    assert_int_equal(result, expected);

    static const size_t places[] = { 0, 1, TAIL / 2, TAIL - 1 };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char text[40];
        snprintf(text, sizeof text, "byte %zu is not 0", size + places[i]);
        s[size + places[i]] = 1;
        assert_status(QUIRE_E_MISUSE, call(s, &result, &err));
        assert_non_null(strstr(err.msg, "struct_size"));
        assert_non_null(strstr(err.msg, text));
        s[size + places[i]] = 0;
    }
    for (uint32_t older = (uint32_t)first; older < exact; older++) {
        memcpy(s, valid, size);
        memcpy(s, &older, sizeof older);
        memset(s + older, 0xff, size - older); /* not the caller's */
        assert_status(QUIRE_OK, call(s, &result, &err));
        assert_int_equal(result, expected);
    }
    const uint32_t refused[] = { 0, 4, (uint32_t)first - 1, MAX_BYTES + 1, UINT32_MAX };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        memcpy(s, &refused[i], sizeof refused[i]);
        assert_status(QUIRE_E_MISUSE, call(s, &result, &err));
        assert_non_null(strstr(err.msg, "struct_size"));
    }
    assert_status(null, call(NULL, &result, &err));
    free(s);
}

#define CHECK_CALL(call, s, expected, null)                                                        \
    check_call(#call, call, &(s), FIRST_BYTES(s), sizeof(s), expected, null)

/* ---- Structs that the library fills */

/* Calls a function that fills the sized struct at `s`. */
typedef quire_status (*fill_fn)(void *s);

/* Checks `fill` with structs of `size` bytes, of `first` bytes in their first version, and larger
 * ones. */
static inline void check_filled_since(const char *name, fill_fn fill, size_t first, size_t size)
{
    print_message("%s\n", name);
    unsigned char *exact = malloc(size), *s = malloc(size + TAIL + 8);
    assert_true(exact && s);
    const uint32_t known = (uint32_t)size, larger = known + TAIL, smaller = (uint32_t)first - 1;
    memset(exact, 0, size);
    memcpy(exact, &known, sizeof known);
    assert_status(QUIRE_OK, fill(exact));
    assert_memory_equal(exact, &known, sizeof known);
    memset(s, 0xaa, size + TAIL + 8);
    memcpy(s, &larger, sizeof larger);
    assert_status(QUIRE_OK, fill(s));
    assert_memory_equal(s, &larger, sizeof larger);
    for (size_t i = size; i < size + TAIL; i++)
        assert_int_equal(s[i], 0);
    for (size_t i = size + TAIL; i < size + TAIL + 8; i++)
        assert_int_equal(s[i], 0xaa);
    memcpy(s, &smaller, sizeof smaller);
    assert_status(QUIRE_E_MISUSE, fill(s));
    memset(s, 0, sizeof smaller);
    assert_status(QUIRE_E_MISUSE, fill(s));
    free(s);
    free(exact);
}

static inline void check_filled(const char *name, fill_fn fill, size_t size)
{
    check_filled_since(name, fill, size, size);
}

/* ---- Fixtures */

/* Parameters of a cache of 3 blocks of 16 tokens, with one layer and one head of 8 f32 elements. */
static inline struct quire_kv_params kv_params(void)
{
    static const struct quire_kv_group_config group = {
        .n_layers = 1, .n_kv_heads = 1, .head_size = 8, .n_blocks = 3
    };
    struct quire_kv_params p;
    quire_kv_params_init(&p, sizeof p);
    p.block_size = 16;
    p.groups = &group;
    p.n_groups = 1;
    return p;
}

#define UNTOUCHED (-12345.0f)

static inline void mark_untouched(float *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = UNTOUCHED;
}

/* Follows a call that returned `status` with an output p[n] that was marked before. *result becomes
 * a hash of the output, all of which has been written; a call that failed has written nothing. */
static inline quire_status output_figure(quire_status status, const float *p, size_t n,
                                         uint64_t *result)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &p[i], sizeof bits);
        assert_int_equal(p[i] == UNTOUCHED, status != QUIRE_OK);
        hash = (hash ^ bits) * 0x100000001b3;
    }
    if (status == QUIRE_OK)
        *result = hash;
    return status;
}

/* Returns the figure of a call that succeeds. */
static inline uint64_t figure_of(call_fn call, const void *s)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    uint64_t result = 0;
    const quire_status status = call(s, &result, &err);
    if (status != QUIRE_OK)
        print_error("%s\n", err.msg);
    assert_int_equal(status, QUIRE_OK);
    assert_true(result != 0);
    return result;
}

#endif
