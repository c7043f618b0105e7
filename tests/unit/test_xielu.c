/* SPDX-License-Identifier: Apache-2.0 */
/* test_xielu.c - parameters of the xIELU activation in GGUF files. */
#include "quire_cmocka.h"
#include <math.h>
#include <quire/model.h>
#include <stdio.h>
#include <string.h>

/* Reads the GGUF file of Apertus, which the caller frees. */
static uint8_t *read_file(size_t *size)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/goldens/gguf_2026/apertus-bf16.gguf", shared_dir());
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    uint8_t *data = malloc(4 << 20);
    *size = fread(data, 1, 4 << 20, f);
    fclose(f);
    return data;
}

/* The value of a key behind its length and name: u32 type, and of arrays u32 type, u64 count. */
static uint8_t *value_of(uint8_t *data, size_t size, const char *key)
{
    uint8_t *at = memmem(data, size, key, strlen(key));
    assert_non_null(at);
    return at + strlen(key);
}

static quire_status open_model(const uint8_t *data, size_t size, struct quire_error *err)
{
    struct quire_model *m = NULL;
    struct quire_model_params p;
    quire_model_params_init(&p, sizeof p);
    p.data = data;
    p.data_bytes = size;
    const quire_status s = quire_model_open(&p, &m, err);
    quire_model_close(m);
    return s;
}

static void test_values(void **state)
{
    static const char *const keys[] = { "xielu.alpha_p", "xielu.alpha_n", "xielu.beta",
                                        "xielu.eps" };
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    enum { ELEMENTS = 4 + 4 + 8 };
    (void)state;
    if (!need_shared())
        skip();
    size_t size;
    uint8_t *data = read_file(&size);
    struct quire_error err = QUIRE_ERROR_INIT;
    assert_status(QUIRE_OK, open_model(data, size, &err));
    for (size_t k = 0; k < 4; k++) {
        uint8_t *second = value_of(data, size, keys[k]) + ELEMENTS + 4; /* of layer 1 */
        uint8_t good[4];
        memcpy(good, second, 4);
        for (size_t i = 0; i < 3; i++) {
            memcpy(second, &bad[i], 4);
            assert_status(QUIRE_E_FORMAT, open_model(data, size, &err));
            assert_non_null(strstr(err.msg, "layer 1: a parameter of xIELU is not finite"));
        }
        memcpy(second, good, 4);
        uint8_t *type = value_of(data, size, keys[k]) + 4; /* of the elements */
        *type = 5;                                         /* i32 */
        assert_status(QUIRE_E_FORMAT, open_model(data, size, &err));
        assert_non_null(strstr(err.msg, keys[k]));
        *type = 6;
    }
    assert_status(QUIRE_OK, open_model(data, size, &err));
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_values) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
