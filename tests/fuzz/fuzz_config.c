/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_config.c - config.json, and generation_config.json after a line "----".
 *
 * Checks the bound of memory, and that an accepted configuration has valid sizes. */
#include "fuzz.h"
#include "json_mutator.h"
#include "model/arch/arch.h"
#include "model/config/config.h"
#include "model/config/hf.h"
#include "model/config/limits.h"
#include "model/config/mtp.h"
#include "model/config/validate.h"
#include <math.h>
#include <string.h>

static void check_layers(const struct qr_model_config *c)
{
    const bool may_be_empty = qr_arch_by_name(c->arch)->optional_sublayers;
    for (uint32_t i = 0; i < qr_model_total_layers(c); i++) {
        const struct qr_layer_config *l = &c->layers[i];
        fuzz_check(qr_layer_attends(l) || qr_layer_recurs(l) || !l->no_ffn || may_be_empty,
                   "layer %u is empty", i);
        fuzz_check(!qr_layer_recurs(l) || c->recurrent.kind != QR_RECURRENT_NONE,
                   "layer %u is recurrent, the model is not", i);
        fuzz_check(l->no_ffn || l->moe || (l->ffn_size && l->ffn_size <= c->max_ffn_size),
                   "layer %u has a feed-forward network of %u", i, l->ffn_size);
        if (!qr_layer_attends(l))
            continue;
        fuzz_check(c->head_dim && c->v_head_dim, "a size of heads is 0");
        fuzz_check(l->n_heads && l->n_kv_heads && l->n_heads % l->n_kv_heads == 0,
                   "layer %u has %u heads and %u KV heads", i, l->n_heads, l->n_kv_heads);
        fuzz_check(l->n_heads <= c->max_heads && l->n_kv_heads <= c->max_kv_heads,
                   "layer %u exceeds the maxima", i);
        fuzz_check(!c->n_rope || l->rope < c->n_rope || l->rope == QR_LAYER_NO_ROPE,
                   "layer %u has rope set %u of %u", i, l->rope, c->n_rope);
    }
}

/* Products of the sizes that validation bounds. */
static void check_recurrent(const struct qr_recurrent_config *r)
{
    if (r->kind == QR_RECURRENT_NONE)
        return;
    fuzz_check(r->n_key_heads && r->n_heads % r->n_key_heads == 0, "%u heads of %u", r->n_heads,
               r->n_key_heads);
    fuzz_check(r->norm_dim && qr_recurrent_value_width(r) % r->norm_dim == 0, "norms of %u",
               r->norm_dim);
    fuzz_check(qr_recurrent_value_width(r) <= QR_CONFIG_MAX_HIDDEN &&
                   r->conv_taps <= QR_CONFIG_MAX_TAPS,
               "%u taps", r->conv_taps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct quire_error err = QUIRE_ERROR_INIT, again = QUIRE_ERROR_INIT;
    struct fuzz_memory memory;
    struct qr_model_config c;
    const uint8_t *generation;
    size_t n_generation;
    const size_t n = fuzz_split(data, size, &generation, &n_generation);
    fuzz_memory_init(&memory, QR_CONFIG_MAX_BYTES);
    const quire_status s = qr_model_config_from_hf((const char *)data, n, (const char *)generation,
                                                   n_generation, NULL, &memory.hooks, &c, &err);
    fuzz_check_error(s, &err);
    if (s == QUIRE_OK) {
        fuzz_check(qr_model_config_validate(&c, &again) == QUIRE_OK, "%s", again.msg);
        fuzz_check(c.n_layers && c.hidden_size && c.vocab_size && c.context_length, "a size is 0");
        fuzz_check(isfinite(c.norm_eps) && isfinite(c.attention_scale) && isfinite(c.logit_scale),
                   "a scale is not finite");
        check_layers(&c);
        check_recurrent(&c.recurrent);
        if (qr_model_config_select_mtp(&c, qr_arch_by_name(c.arch), false, &again) == QUIRE_OK) {
            fuzz_check(qr_model_config_validate(&c, &again) == QUIRE_OK, "head: %s", again.msg);
            check_layers(&c);
        }
    }
    qr_model_config_free(&c);
    fuzz_memory_done(&memory);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return json_mutate(data, size, max_size, seed);
}
