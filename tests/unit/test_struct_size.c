/* SPDX-License-Identifier: Apache-2.0 */
/* test_struct_size.c - copying sized structs between library versions, init functions, error
 * records. */
#include "base/struct_size.h"
#include "quire_cmocka.h"
#include <quire/quire.h>

enum { MAX_BYTES = 4096, TAIL = 40 };

/* ---- src/base/struct_size.c */

/* Two versions of one struct, as two versions of the library declare it. */
struct first_version {
    uint32_t struct_size;
    uint32_t a;
    uint64_t b;
};
struct second_version {
    uint32_t struct_size;
    uint32_t a;
    uint64_t b;
    uint32_t c;
};

static void size_to_a_member(void **state)
{
    (void)state;
    assert_int_equal(QR_SIZE_TO(struct second_version, b), sizeof(struct first_version));
    assert_int_equal(QR_SIZE_TO(struct second_version, c), sizeof(struct second_version));
    assert_int_equal(QR_SIZE_TO(struct second_version, struct_size), 8); /* with padding */
}

static void read_smaller(void **state)
{
    (void)state;
    const struct first_version old = { sizeof old, 5, 6 };
    struct second_version now;
    memset(&now, 0xaa, sizeof now);
    assert_status(QUIRE_OK, qr_struct_read(&now, sizeof now, sizeof old, &old, "s", NULL));
    assert_true(now.struct_size == sizeof now && now.a == 5 && now.b == 6 && now.c == 0);
    memset(&now, 0xaa, sizeof now);
    qr_struct_copy(&now, sizeof now, &old);
    assert_true(now.struct_size == sizeof now && now.a == 5 && now.b == 6 && now.c == 0);
}

static void read_larger(void **state)
{
    (void)state;
    struct second_version newer;
    memset(&newer, 0, sizeof newer); /* the padding too: it is unknown to the first version */
    newer.struct_size = sizeof newer;
    newer.a = 5;
    newer.b = 6;
    struct first_version now;
    assert_status(QUIRE_OK, qr_struct_read(&now, sizeof now, sizeof now, &newer, "s", NULL));
    assert_true(now.struct_size == sizeof now && now.a == 5 && now.b == 6);
    newer.c = 1u << 24; /* byte 19 */
    const struct first_version before = now;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_MISUSE, qr_struct_read(&now, sizeof now, sizeof now, &newer, "s", &err));
    assert_non_null(strstr(err.msg, "s.struct_size is 24, this library supports 16, and byte 19"));
    assert_memory_equal(&now, &before, sizeof now);
}

static void read_refuses(void **state)
{
    (void)state;
    struct first_version s = { 8, 5, 6 };
    struct first_version now;
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_E_INVALID_ARG,
                  qr_struct_read(&now, sizeof now, sizeof now, NULL, "s", &err));
    assert_string_equal(err.msg, "s is NULL");
    assert_status(QUIRE_E_MISUSE, qr_struct_read(&now, sizeof now, sizeof now, &s, "s", &err));
    assert_non_null(strstr(err.msg, "s.struct_size is 8"));
    /* refused by the size alone: the bytes beyond s are not read */
    s.struct_size = MAX_BYTES + 1;
    assert_status(QUIRE_E_MISUSE, qr_struct_read(&now, sizeof now, sizeof now, &s, "s", &err));
    s.struct_size = UINT32_MAX;
    assert_status(QUIRE_E_MISUSE, qr_struct_read(&now, sizeof now, sizeof now, &s, "s", &err));
}

static void write_out(void **state)
{
    (void)state;
    const struct second_version result = { sizeof result, 5, 6, 7 };
    unsigned char bytes[64];
    static const size_t sizes[] = { sizeof(struct first_version), sizeof result, sizeof bytes - 8 };
    for (size_t i = 0; i < 3; i++) {
        const uint32_t size = (uint32_t)sizes[i];
        memset(bytes, 0xaa, sizeof bytes);
        memcpy(bytes, &size, sizeof size);
        assert_status(QUIRE_OK,
                      qr_struct_check_out(bytes, sizeof(struct first_version), "s", NULL));
        qr_struct_write(bytes, &result, sizeof result);
        const size_t known = size < sizeof result ? size : sizeof result;
        assert_memory_equal(bytes, &size, sizeof size);
        assert_memory_equal(bytes + 4, (const unsigned char *)&result + 4, known - 4);
        for (size_t b = known; b < size; b++)
            assert_int_equal(bytes[b], 0);
        for (size_t b = size; b < sizeof bytes; b++)
            assert_int_equal(bytes[b], 0xaa);
    }
    struct quire_error err = QUIRE_ERROR_INIT;
    uint32_t size = sizeof(struct first_version) - 1;
    assert_status(QUIRE_E_MISUSE,
                  qr_struct_check_out(&size, sizeof(struct first_version), "s", &err));
    assert_non_null(strstr(err.msg, "s.struct_size is 15"));
    size = MAX_BYTES + 1;
    assert_status(QUIRE_E_MISUSE,
                  qr_struct_check_out(&size, sizeof(struct first_version), "s", &err));
}

static void init_from_defaults(void **state)
{
    (void)state;
    const struct second_version defaults = { 0, 5, 6, 7 };
    qr_struct_init(NULL, 24, &defaults, sizeof defaults);
    struct first_version old;
    memset(&old, 0xaa, sizeof old);
    qr_struct_init(&old, sizeof old, &defaults, sizeof defaults);
    assert_true(old.struct_size == sizeof old && old.a == 5 && old.b == 6);
    memset(&old, 0xaa, sizeof old);
    qr_struct_init(&old, 3, &defaults, sizeof defaults); /* too small for struct_size */
    assert_int_equal(old.struct_size, 0xaaaaaaaa);
    qr_struct_init(&old, sizeof old, NULL, 0);
    assert_true(old.struct_size == sizeof old && old.a == 0 && old.b == 0);
}

/* ---- init functions and error records */

static void attention_config_init(struct quire_attention_config *config, size_t size)
{
    quire_attention_config_init(config, size, 4, 2, 64);
}

typedef void (*init_fn)(void *s, size_t size);

#define INITS(X)                                                                                   \
    X(quire_attention_args)                                                                        \
    X(quire_attention_batch)                                                                       \
    X(quire_attention_caps)                                                                        \
    X(quire_attention_merge_args)                                                                  \
    X(quire_attention_report)                                                                      \
    X(quire_chat_render_args)                                                                      \
    X(quire_chat_template_params)                                                                  \
    X(quire_context_params)                                                                        \
    X(quire_dense_batch)                                                                           \
    X(quire_dense_params)                                                                          \
    X(quire_encode_args)                                                                           \
    X(quire_engine_info)                                                                           \
    X(quire_engine_params)                                                                         \
    X(quire_event)                                                                                 \
    X(quire_forward_args)                                                                          \
    X(quire_kv_calibrate_args)                                                                     \
    X(quire_kv_memory)                                                                             \
    X(quire_kv_params)                                                                             \
    X(quire_kv_plain_args)                                                                         \
    X(quire_kv_prefix_args)                                                                        \
    X(quire_kv_read_args)                                                                          \
    X(quire_kv_slot_args)                                                                          \
    X(quire_kv_write_args)                                                                         \
    X(quire_mla_args)                                                                              \
    X(quire_mla_dims)                                                                              \
    X(quire_mla_weights_params)                                                                    \
    X(quire_model_info)                                                                            \
    X(quire_model_params)                                                                          \
    X(quire_plan_info)                                                                             \
    X(quire_plan_params)                                                                           \
    X(quire_request_params)                                                                        \
    X(quire_sample_args)                                                                           \
    X(quire_sampling_params)                                                                       \
    X(quire_state_pool_info)                                                                       \
    X(quire_state_pool_params)                                                                     \
    X(quire_threads_params)                                                                        \
    X(quire_tokenizer_params)

#define X(type)                                                                                    \
    static void init_##type(void *s, size_t size) { type##_init(s, size); }
INITS(X)
#undef X
static void init_quire_attention_config(void *s, size_t size) { attention_config_init(s, size); }

static void check_init(const char *name, init_fn init, size_t size)
{
    print_message("%s_init\n", name);
    init(NULL, size);
    unsigned char *exact = malloc(size), *s = malloc(size + TAIL);
    assert_true(exact && s);
    memset(exact, 0xaa, size);
    init(exact, size);
    const uint32_t known = (uint32_t)size, larger = known + TAIL;
    assert_memory_equal(exact, &known, sizeof known);
    memset(s, 0xaa, size + TAIL);
    init(s, size + TAIL);
    assert_memory_equal(s, &larger, sizeof larger);
    assert_memory_equal(s + sizeof known, exact + sizeof known, size - sizeof known);
    for (size_t i = size; i < size + TAIL; i++)
        assert_int_equal(s[i], 0);
    /* an older, smaller struct: its members get their defaults */
    memset(s, 0xaa, size + TAIL);
    init(s, 8);
    assert_int_equal(s[0] | s[1] | s[2] | s[3], 8);
    assert_memory_equal(s + 4, exact + 4, 4);
    assert_int_equal(s[8], 0xaa);
    memset(s, 0xaa, size + TAIL);
    init(s, 3);
    assert_int_equal(s[0], 0xaa);
    free(s);
    free(exact);
}

static void init_functions(void **state)
{
    (void)state;
#define X(type) check_init(#type, init_##type, sizeof(struct type));
    INITS(X)
    X(quire_attention_config)
#undef X
}

static void error_records(void **state)
{
    (void)state;
    const struct quire_threads_params params = { .struct_size = sizeof params, .n_threads = 1025 };
    struct {
        struct quire_error err;
        unsigned char tail[TAIL];
    } record;
    static const uint32_t sizes[] = { 0, sizeof record.err, sizeof record };
    for (size_t i = 0; i < 3; i++) {
        memset(&record, 0, sizeof record);
        record.err.struct_size = sizes[i];
        struct quire_threads *threads;
        assert_status(QUIRE_E_INVALID_ARG, quire_threads_create(&params, &threads, &record.err));
        assert_int_equal(record.err.code, QUIRE_E_INVALID_ARG);
        assert_non_null(strstr(record.err.msg, "n_threads"));
        assert_int_equal(record.err.struct_size, sizes[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(size_to_a_member), cmocka_unit_test(read_smaller),
        cmocka_unit_test(read_larger),      cmocka_unit_test(read_refuses),
        cmocka_unit_test(write_out),        cmocka_unit_test(init_from_defaults),
        cmocka_unit_test(init_functions),   cmocka_unit_test(error_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
