/* SPDX-License-Identifier: Apache-2.0 */
/* test_quantized_shapes.c - tensors of quantized matrices with every number of dimensions, long
 * names, lists of modules that are not quantized, full lists, and ranges behind the end. */
#include "base/fnv1a.h"
#include "model/load/source_identity.h"
#include "model/load/weights_read.h"
#include "test_quantized_good.h"

/* Gives a tensor another dtype and shape; its data become zeros. */
static void change(const char *name, const char *dtype, unsigned n_dims, const uint64_t *shape)
{
    struct stored *t = stored_named(name);
    t->dtype = dtype;
    t->n_dims = n_dims;
    t->bytes = dtype_bytes(dtype);
    for (unsigned d = 0; d < n_dims; d++)
        t->bytes *= t->shape[d] = shape[d];
    free(t->data);
    t->data = calloc(t->bytes, 1);
}

struct shape {
    const struct qr_quantization_config *config;
    void (*make)(void);
    const char *tensor, *dtype;
    unsigned n_dims;
    uint64_t shape[4];
    quire_status status;
    const char *text;
};

static const struct shape shapes[] = {
    { &gptq_config,
      make_gptq,
      "m.qweight",
      "I32",
      1,
      { 128 },
      QUIRE_E_FORMAT,
      "m.qweight is no matrix" },
    { &gptq_config,
      make_gptq,
      "m.scales",
      "F16",
      0,
      { 0 },
      QUIRE_E_FORMAT,
      "m.scales has 0 dimensions (1 x 1)" },
    { &fp8_config, make_fp8, "m.weight_scale_inv", "F32", 2, { ROWS, 1 }, QUIRE_OK, "" },
    { &fp8_config,
      make_fp8,
      "m.weight",
      "F8_E4M3",
      2,
      { ROWS, 40 },
      QUIRE_E_UNSUPPORTED,
      "rows of 40 are not a multiple of 32" },
    { &compressed_config,
      make_packed,
      "m.weight_scale",
      "BF16",
      2,
      { ROWS, 4 },
      QUIRE_E_UNSUPPORTED,
      "groups of 16 columns are not supported" },
    { &compressed_config,
      make_packed,
      "m.weight_scale",
      "BF16",
      3,
      { ROWS, 2, 1 },
      QUIRE_E_FORMAT,
      "m.weight_scale has 3 dimensions" },
    { &mxfp4_config,
      make_mxfp4,
      "m_blocks",
      "U8",
      4,
      { 2, ROWS, 2, 8 },
      QUIRE_E_FORMAT,
      "is not experts x rows x blocks x 16" },
    { &mxfp4_config,
      make_mxfp4,
      "m_scales",
      "U8",
      3,
      { 2, ROWS, 3 },
      QUIRE_E_FORMAT,
      "has not one exponent per block" },
    { &nf4_config,
      make_nf4,
      "m.weight.quant_state.bitsandbytes__nf4",
      "U8",
      1,
      { 4097 },
      QUIRE_E_FORMAT,
      "is longer than 4096 bytes" },
};

static void other_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const struct shape *c = &shapes[i];
        struct quire_error err = QUIRE_ERROR_INIT;
        c->make();
        change(c->tensor, c->dtype, c->n_dims, c->shape);
        const quire_status s = read_all(c->config, &err);
        if (s != c->status || !strstr(err.msg, c->text))
            fail_msg("case %zu: %s \"%s\"", i, quire_status_name(s), s ? err.msg : "");
    }
}

/* Forms that are equal in meaning: a shape of 32-bit integers, a nested block size that is null. */
static void other_forms(void **state)
{
    (void)state;
    struct quire_error err = QUIRE_ERROR_INIT;
    for (int columns = 0; columns <= COLS; columns += COLS) {
        make_packed();
        change("m.weight_shape", "I32", 1, (const uint64_t[]){ 2 });
        const int32_t shape[2] = { ROWS, columns };
        memcpy(stored_named("m.weight_shape")->data, shape, sizeof shape);
        assert_status(columns ? QUIRE_OK : QUIRE_E_FORMAT, read_all(&compressed_config, &err));
    }
    make_packed();
    change("m.weight_shape", "I32", 1, (const uint64_t[]){ 3 });
    assert_status(QUIRE_E_FORMAT, read_all(&compressed_config, &err));
    assert_non_null(strstr(err.msg, "list of two integers"));
    static const char nf4[] = "{\"quant_type\":\"nf4\",\"blocksize\":64,\"shape\":[16,64],"
                              "\"nested_blocksize\":null}";
    make_nf4();
    change("m.weight.absmax", "F32", 1, (const uint64_t[]){ ROWS * COLS / 64 });
    change("m.weight.quant_state.bitsandbytes__nf4", "U8", 1, (const uint64_t[]){ sizeof nf4 - 1 });
    memcpy(stored_named("m.weight.quant_state.bitsandbytes__nf4")->data, nf4, sizeof nf4 - 1);
    /* the tables of nested scales belong to no matrix now */
    assert_status(QUIRE_OK, read_all(&nf4_config, &err));
}

/* Names of parts that are longer than any that is looked up. */
static void long_names(void **state)
{
    (void)state;
    static char weight[600], scale[600];
    struct quire_error err = QUIRE_ERROR_INIT;
    for (int n = 480; n <= 520; n += 4) {
        snprintf(weight, sizeof weight, "%0*d.weight", n, 0);
        snprintf(scale, sizeof scale, "%0*d.weight_scale_inv", n, 0);
        make_fp8();
        stored_named("m.weight")->name = weight;
        stored_named("m.weight_scale_inv")->name = scale;
        const bool fits = strlen(scale) < 512;
        const quire_status s = read_all(&fp8_config, &err);
        assert_int_equal(s, fits ? QUIRE_OK : QUIRE_E_FORMAT);
        assert_true(fits ||
                    strstr(err.msg, strlen(weight) < 512 ? "is missing" : "a name that is too"));
    }
}

/* Entries of the list of modules that are not quantized name whole parts between dots. */
static void lists_of_modules(void **state)
{
    (void)state;
    static const struct {
        const char *entry;
        bool names;
    } cases[] = {
        { "a.bb.cc", true }, { "a", true },          { "bb", true },    { "cc", true },
        { "a.bb", true },    { "bb.cc", true },      { "b", false },    { "c", false },
        { "a.b", false },    { "b.cc", false },      { "bb.c", false }, { "", false },
        { "re:bb", false },  { "a.bb.cc.d", false }, { "d", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const list[] = { cases[i].entry };
        struct quire_error err = QUIRE_ERROR_INIT;
        struct qr_quantization_config config = fp8_config;
        config.plain = list;
        config.n_plain = 1;
        make_fp8();
        stored_named("m.weight")->name = "a.bb.cc.weight";
        stored_named("m.weight_scale_inv")->name = "a.bb.cc.weight_scale_inv";
        const quire_status s = read_all(&config, &err);
        if (s != (cases[i].names ? QUIRE_E_FORMAT : QUIRE_OK))
            fail_msg("%s: %s", cases[i].entry, quire_status_name(s));
        assert_true(!cases[i].names || strstr(err.msg, "among the modules that are not"));
    }
}

/* Every list of a matrix fails to find room once. */
static void full_lists(void **state)
{
    (void)state;
    enum { CHUNK = 4096, HEADER = 32 };
    static const struct {
        const struct qr_quantization_config *config;
        void (*make)(void);
    } formats[] = { { &gptq_config, make_gptq }, { &nf4_config, make_nf4 } };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        quire_status s = QUIRE_E_NOMEM;
        formats[i].make();
        write_stored();
        for (size_t room = 0; s != QUIRE_OK; room += 16) {
            struct quire_error err = QUIRE_ERROR_INIT;
            struct qr_weights w = { .config.quantization = *formats[i].config };
            qr_arena_init(&w.lists, NULL, CHUNK);
            assert_non_null(qr_arena_alloc(&w.lists, CHUNK - HEADER - room, 1));
            assert_status(QUIRE_OK, qr_safetensors_open_dir(dir, NULL, &w.safetensors, &err));
            s = qr_quantized_open(&w, &err);
            assert_true(s == QUIRE_OK || (s == QUIRE_E_NOMEM && strstr(err.msg, "no memory")));
            assert_true(s == QUIRE_OK || room < CHUNK / 2);
            close_stored(&w);
        }
        forget_stored();
    }
}

static void ranges(void **state)
{
    (void)state;
    struct qr_weights w;
    struct qr_source_tensor t;
    struct quire_error err = QUIRE_ERROR_INIT;
    uint8_t byte;
    make_mxfp4();
    assert_status(QUIRE_OK, open_stored(&mxfp4_config, &w, &err));
    qr_weights_source_tensor(&w, 0, &t);
    assert_status(QUIRE_OK, qr_weights_read_source(&w, 0, t.bytes - 1, 1, &byte, &err));
    const uint64_t begins[] = { t.bytes, UINT64_MAX - 1, UINT64_MAX };
    for (size_t i = 0; i < 3; i++)
        assert_status(QUIRE_E_RANGE, qr_weights_read_source(&w, 0, begins[i], 1, &byte, &err));
    close_stored(&w);
    forget_stored();
}

/* A matrix that is read transposed becomes f32, so its values contain the scale. */
static void transposed_rows_are_scaled(void **state)
{
    (void)state;
    struct qr_weights w;
    struct quire_error err = QUIRE_ERROR_INIT;
    float rows[COLS][ROWS];
    make_modelopt();
    uint8_t *codes = stored_named("m.weight")->data, *scales = stored_named("m.weight_scale")->data;
    const float scale = 0.3f;
    memcpy(stored_named("m.weight_scale_2")->data, &scale, sizeof scale);
    codes[5 * COLS / 2 + 20] = 0x70;  /* column 41 of row 5 is 6 */
    scales[5 * COLS / 16 + 2] = 0x38; /* 1 */
    assert_status(QUIRE_OK, open_stored(&modelopt_config, &w, &err));
    const struct qr_weight weight = { .role = QR_W_ATTN_Q,
                                      .type = QR_WEIGHT_F32,
                                      .stored_type = QR_WEIGHT_NVFP4,
                                      .n_rows = COLS,
                                      .n_cols = ROWS,
                                      .row_bytes = sizeof *rows,
                                      .unit_bytes = sizeof(float),
                                      .group = COLS,
                                      .stride = COLS,
                                      .column_bytes = 36 };
    assert_status(QUIRE_OK, qr_weights_read_rows(&w, &weight, 0, COLS, rows, &err));
    for (size_t k = 0; k < COLS; k++)
        for (size_t r = 0; r < ROWS; r++)
            assert_true(rows[k][r] == (k == 41 && r == 5 ? 6 * scale : 0));
    assert_true(qr_weights_scale(&w, &weight) == 1);
    close_stored(&w);
    forget_stored();
}

/* The order of columns is part of a matrix's identity, although it moves no code. */
static void order_is_hashed(void **state)
{
    (void)state;
    uint64_t hashes[3];
    for (int i = 0; i < 3; i++) { /* twice the same order, then another */
        struct qr_weights w;
        struct quire_error err = QUIRE_ERROR_INIT;
        make_gptq();
        int32_t *g = stored_named("m.g_idx")->data;
        if (i == 2) {
            g[0] = 1;
            g[31] = 0;
        }
        assert_status(QUIRE_OK, open_stored(&gptq_config, &w, &err));
        const struct qr_weight weight = { .unit_bytes = 16, .n_cols = COLS };
        hashes[i] = QR_FNV1A_INIT;
        assert_status(QUIRE_OK, qr_weights_hash(&w, &weight, &hashes[i], &err));
        close_stored(&w);
        forget_stored();
    }
    assert_true(hashes[0] == hashes[1] && hashes[0] != hashes[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_shapes),    cmocka_unit_test(other_forms),
        cmocka_unit_test(long_names),      cmocka_unit_test(lists_of_modules),
        cmocka_unit_test(full_lists),      cmocka_unit_test(ranges),
        cmocka_unit_test(order_is_hashed), cmocka_unit_test(transposed_rows_are_scaled),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
