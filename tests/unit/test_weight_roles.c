/* SPDX-License-Identifier: Apache-2.0 */
/* test_weight_roles.c - the shapes of all weights of every reference model: a weight that the
 * configuration requires has a shape, and a stack has members. */
#include "model/load/role_kind.h"
#include "model/load/role_presence.h"
#include "model/load/role_presence_global.h"
#include "model/load/weight_roles.h"
#include "test_config.h"
#include "test_hf.h"
#include "test_published_keys.h"
#include "test_published_keys_later.h"

static unsigned n_required;

static void check_roles(const char *name, const struct qr_model_config *c)
{
    for (int r = 0; r < QR_W_N_ROLES; r++)
        for (uint32_t layer = 0; layer < c->n_layers; layer++) {
            const enum qr_weight_role role = (enum qr_weight_role)r;
            uint64_t rows = 0, cols = 0;
            const enum qr_presence presence = qr_role_presence(c, role, layer);
            qr_role_shape(c, role, layer, &rows, &cols);
            if (presence != QR_REQUIRED)
                continue;
            n_required++;
            /* vectors have no rows, and matrices of sizes that depend on the file no columns */
            if (!rows && !cols)
                fail_msg("%s, layer %u: %s has no shape", name, layer, qr_weight_role_name(role));
            if (qr_role_is_stack(role) && !qr_role_stack_size(c, role, layer))
                fail_msg("%s, layer %u: %s has no members", name, layer, qr_weight_role_name(role));
        }
}

static void reference_models(void **state)
{
    (void)state;
    if (!need_shared())
        skip();
    for (int i = 0; i < N_GOLDEN_DIRS; i++) {
        char *json = slurp(golden_dirs[i], "config.json");
        struct qr_model_config c;
        struct quire_error err = QUIRE_ERROR_INIT;
        if (json && qr_model_config_from_hf(json, strlen(json), NULL, 0, NULL, NULL, &c, &err) ==
                        QUIRE_OK) {
            check_roles(golden_dirs[i], &c);
            qr_model_config_free(&c);
        }
        free(json);
    }
    assert_true(n_required > 1000);
}

static void check_published(const char *type, const char *keys)
{
    char json[8192];
    snprintf(json, sizeof json, "{\"model_type\":\"%s\"," SIZES "%s}", type, keys);
    char *text = last_keys_win(json);
    struct qr_model_config c = good(text);
    check_roles(type, &c);
    qr_model_config_free(&c);
    free(text);
}

static void published_models(void **state)
{
    (void)state;
    n_required = 0;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++)
        check_published(published[i].type, published[i].keys);
    for (size_t i = 0; i < sizeof published_later / sizeof *published_later; i++)
        check_published(published_later[i].type, published_later[i].keys);
    assert_true(n_required > 100);
}

/* Combinations of options that no file above has. */
static void presence(void **state)
{
    (void)state;
    struct qr_model_config c = good(MODEL("gemma2", ""));
    assert_int_equal(qr_role_presence(&c, QR_W_ATTN_POST_NORM, 0), QR_REQUIRED);
    assert_int_equal(qr_role_presence(&c, QR_W_FFN_POST_NORM, 0), QR_REQUIRED);
    c.layers[0].mixer = QR_MIXER_NONE;
    c.layers[1].no_ffn = true;
    assert_int_equal(qr_role_presence(&c, QR_W_ATTN_POST_NORM, 0), QR_ABSENT);
    assert_int_equal(qr_role_presence(&c, QR_W_FFN_POST_NORM, 0), QR_REQUIRED);
    assert_int_equal(qr_role_presence(&c, QR_W_ATTN_POST_NORM, 1), QR_REQUIRED);
    assert_int_equal(qr_role_presence(&c, QR_W_FFN_POST_NORM, 1), QR_ABSENT);
    qr_model_config_free(&c);
    for (int scale = 0; scale < 2; scale++) {
        c = good(MODEL(
            "gemma3n_text",
            ",\"hidden_size_per_layer_input\":16,\"laurel_rank\":8,\"num_kv_shared_layers\":1"));
        c.altup.correct_scale = scale;
        assert_true(c.altup.n_streams > 1);
        assert_int_equal(qr_role_presence(&c, QR_W_ALTUP_SCALE, 0),
                         scale ? QR_REQUIRED : QR_OPTIONAL);
        qr_model_config_free(&c);
        c = good(MODEL("doge", ""));
        assert_true(c.key_bias);
        c.bias.k = scale;
        assert_int_equal(qr_role_presence(&c, QR_W_ATTN_KEY_A, 0), QR_REQUIRED);
        assert_int_equal(qr_role_presence(&c, QR_W_ATTN_KEY_DT_BIAS, 0),
                         scale ? QR_REQUIRED : QR_ABSENT);
        qr_model_config_free(&c);
    }
}

/* The LM head must be there unless the embeddings are tied or the model has another use. */
static void lm_head(void **state)
{
    (void)state;
    static const struct {
        bool tied;
        enum qr_model_kind kind;
        enum qr_class_head class_head;
        uint32_t n_features, n_outputs; /* of a head of multi-token prediction */
        enum qr_presence want;
    } cases[] = {
        { false, QR_MODEL_DECODER, QR_CLASS_NONE, 0, 0, QR_REQUIRED },
        { true, QR_MODEL_DECODER, QR_CLASS_NONE, 0, 0, QR_OPTIONAL },
        { false, QR_MODEL_ENCODER, QR_CLASS_NONE, 0, 0, QR_OPTIONAL },
        { false, QR_MODEL_DECODER, QR_CLASS_PLAIN, 0, 0, QR_OPTIONAL },
        { false, QR_MODEL_DECODER, QR_CLASS_NONE, 3, 0, QR_OPTIONAL },
        { true, QR_MODEL_DECODER, QR_CLASS_NONE, 3, 32, QR_REQUIRED },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct qr_model_config c = { .tied_embeddings = cases[i].tied,
                                           .kind = cases[i].kind,
                                           .class_head = cases[i].class_head,
                                           .mtp = { .n_features = cases[i].n_features,
                                                    .n_outputs = cases[i].n_outputs } };
        assert_int_equal(qr_global_role_presence(&c, QR_W_OUTPUT), cases[i].want);
        assert_int_equal(qr_global_role_presence(&c, QR_W_TOKEN_EMBD),
                         cases[i].n_features ? QR_OPTIONAL : QR_REQUIRED);
    }
}

static void names(void **state)
{
    (void)state;
    for (int r = 0; r < QR_W_N_ROLES; r++)
        assert_non_null(qr_weight_role_name((enum qr_weight_role)r));
    assert_string_equal(qr_weight_role_name((enum qr_weight_role)QR_W_N_ROLES), "unknown role");
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(reference_models),
                                        cmocka_unit_test(published_models),
                                        cmocka_unit_test(presence), cmocka_unit_test(lm_head),
                                        cmocka_unit_test(names) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
