/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - validates configurations and reports the capabilities of each ISA level. */
#include "attention/config.h"
#include "attention/kernel_select.h"
#include "attention/sinks.h"
#include "base/error.h"
#include "base/fp_env.h"
#include "base/struct_size.h"
#include "kernels/dispatch.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_HEADS = 65536, MAX_HEAD_SIZE = 1024, BLOCK_STEP = 16, MAX_BLOCK_SIZE = 65536 };

void quire_attention_config_init(struct quire_attention_config *config, size_t struct_size,
                                 uint32_t n_heads, uint32_t n_kv_heads, uint32_t head_size)
{
    QR_FP_SCOPE;
    const volatile uint32_t size = head_size;
    const struct quire_attention_config defaults = {
        .n_heads = n_heads,
        .n_kv_heads = n_kv_heads,
        .head_size = head_size,
        .scale = size ? 1.0f / sqrtf((float)size) : 1,
        .window_left = QUIRE_WINDOW_NONE,
        .window_right = QUIRE_WINDOW_NONE,
        .causal = true,
    };
    qr_struct_init(config, struct_size, &defaults, sizeof defaults);
}

quire_status qr_attention_config_read(struct quire_attention_config *out,
                                      const struct quire_attention_config *config, const char *name,
                                      struct quire_error *err)
{
    QR_READ_STRUCT(out, config, relative_range, name, err);
    if (out->reserved)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "%s.reserved is not 0", name);
    return QUIRE_OK;
}

static bool size_ok(uint32_t n) { return n >= 1 && n <= MAX_HEAD_SIZE; }

static bool all_finite(const float *x, size_t n)
{
    for (size_t i = 0; x && i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

/* Reasons that concern sinks; head_ok: n_heads is in range. */
static uint32_t sinks_reasons(const struct quire_attention_config *c, bool heads_ok)
{
    const struct qr_sinks sinks = qr_sinks_of(c->sinks, c->typed_sinks, c->sinks_dtype);
    const bool dtype_ok = qr_sinks_dtype_ok(c->sinks_dtype);
    bool ok = !c->sinks || !c->typed_sinks;
    if (ok && heads_ok && (c->sinks || dtype_ok))
        ok = qr_sinks_find_bad(sinks, c->n_heads) == c->n_heads;
    return (ok ? 0 : QUIRE_ATTENTION_NO_SINKS) | (dtype_ok ? 0 : QUIRE_ATTENTION_NO_SINKS_DTYPE);
}

uint32_t qr_attention_reasons(const struct quire_attention_config *c)
{
    const bool heads_ok = c->n_heads >= 1 && c->n_heads <= MAX_HEADS;
    const bool range_ok = c->relative_range <= QR_MAX_RELATIVE_RANGE;
    uint32_t r = 0;
    r |= (unsigned)c->kind <= QUIRE_ATTENTION_CROSS ? 0 : QUIRE_ATTENTION_NO_KIND;
    r |= c->kind == QUIRE_ATTENTION_DECODER || !c->causal ? 0 : QUIRE_ATTENTION_NO_CAUSAL;
    r |= heads_ok ? 0 : QUIRE_ATTENTION_NO_HEADS;
    r |= c->n_kv_heads && c->n_heads % c->n_kv_heads == 0 ? 0 : QUIRE_ATTENTION_NO_KV_HEADS;
    r |= size_ok(c->head_size) ? 0 : QUIRE_ATTENTION_NO_HEAD_SIZE;
    r |= c->v_head_size == 0 || size_ok(c->v_head_size) ? 0 : QUIRE_ATTENTION_NO_V_HEAD_SIZE;
    r |= isfinite(c->scale) ? 0 : QUIRE_ATTENTION_NO_SCALE;
    r |= isfinite(c->logits_soft_cap) && c->logits_soft_cap >= 0 ? 0 : QUIRE_ATTENTION_NO_SOFT_CAP;
    r |= c->window_left >= -1 && c->window_right >= -1 ? 0 : QUIRE_ATTENTION_NO_WINDOW;
    r |= c->compute >= QUIRE_COMPUTE_NATIVE && c->compute <= QUIRE_COMPUTE_THROUGHPUT
             ? 0
             : QUIRE_ATTENTION_NO_COMPUTE;
    r |= !heads_ok || all_finite(c->alibi_slopes, c->n_heads) ? 0 : QUIRE_ATTENTION_NO_SLOPES;
    r |= sinks_reasons(c, heads_ok);
    r |= c->chunk_size <= INT32_MAX ? 0 : QUIRE_ATTENTION_NO_CHUNK;
    r |= range_ok && (!heads_ok ||
                      all_finite(c->relative_bias, c->n_heads * qr_attention_relative_row(c)))
             ? 0
             : QUIRE_ATTENTION_NO_RELATIVE;
    return r;
}

/* Writes the texts of `reasons`, joined by `separator`, to out[size]. Reasons that do not fit are
 * replaced by "...". */
static void reason_text(uint32_t reasons, const char *separator, char *out, size_t size)
{
    static const char *const texts[] = {
#define X(name, bit, text) [bit] = text,
        QUIRE_ATTENTION_REASONS(X)
#undef X
    };
    const size_t mark = strlen(separator) + strlen("...");
    size_t used = 0;
    out[0] = 0;
    for (uint32_t left = reasons; left; left &= left - 1) {
        const char *text = texts[__builtin_ctz(left)], *before = used ? separator : "";
        const bool is_last = !(left & (left - 1)),
                   fits = used + strlen(before) + strlen(text) + (is_last ? 0 : mark) < size;
        used += (size_t)snprintf(out + used, size - used, "%s%s", before, fits ? text : "...");
        if (!fits)
            return;
    }
}

quire_status qr_attention_refuse(uint32_t reasons, const char *name, struct quire_error *err)
{
    char text[sizeof err->msg];
    const char *colon = *name ? ": " : "";
    reason_text(reasons, "; ", text, sizeof text - strlen(name) - strlen(colon));
    return qr_fail(err, QUIRE_E_UNSUPPORTED, "%s%s%s", name, colon, text);
}

/* Fills in the ISA levels of a report. */
static void report_level(struct quire_attention_report *r, const struct qr_kernels *best,
                         const struct quire_attention_config *c)
{
    r->level = best->level;
    if (r->reasons & (QUIRE_ATTENTION_NO_HEAD_SIZE | QUIRE_ATTENTION_NO_V_HEAD_SIZE))
        return;
    r->kernels = qr_attention_kernel_table(best, c->head_size, qr_attention_v_size(c))->level;
    const size_t used = strlen(r->text);
    if (strcmp(r->kernels, r->level) != 0)
        snprintf(r->text + used, sizeof r->text - used,
                 "%shead sizes %u and %u: not both multiples of %d, so generic kernels run instead "
                 "of %s",
                 used ? "\n" : "", c->head_size, qr_attention_v_size(c), QR_HEAD_SIZE_STEP,
                 r->level);
}

quire_status quire_attention_validate(const struct quire_attention_config *config,
                                      enum quire_kv_dtype k_dtype, enum quire_kv_dtype v_dtype,
                                      uint32_t block_size, const char *isa,
                                      struct quire_attention_report *report,
                                      struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_attention_config c;
    QR_TRY(qr_attention_config_read(&c, config, "config", err));
    if (report)
        QR_TRY(qr_struct_check_out(report, QR_SIZE_TO(struct quire_attention_report, text),
                                   "report", err));
    const struct qr_kernels *best = NULL;
    uint32_t reasons = qr_attention_reasons(&c);
    if (!quire_kv_dtype_name(k_dtype) || !quire_kv_dtype_name(v_dtype))
        reasons |= QUIRE_ATTENTION_NO_KV_DTYPE;
    if (block_size < BLOCK_STEP || block_size > MAX_BLOCK_SIZE || block_size % BLOCK_STEP)
        reasons |= QUIRE_ATTENTION_NO_BLOCK_SIZE;
    if (qr_kernels_get(isa, &best, NULL) != QUIRE_OK)
        reasons |= QUIRE_ATTENTION_NO_ISA;
    if (report) {
        struct quire_attention_report r = { .reasons = reasons };
        reason_text(reasons, "\n", r.text, sizeof r.text);
        if (best)
            report_level(&r, best, &c);
        qr_struct_write(report, &r, sizeof r);
    }
    return reasons ? qr_attention_refuse(reasons, "", err) : QUIRE_OK;
}

quire_status quire_attention_get_caps(const char *isa, struct quire_attention_caps *out,
                                      struct quire_error *err)
{
    const struct qr_kernels *k;
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    QR_TRY(
        qr_struct_check_out(out, QR_SIZE_TO(struct quire_attention_caps, native_dot), "out", err));
    QR_TRY(qr_kernels_get(isa, &k, err));
    const bool generic = k == qr_level_table(0);
    struct quire_attention_caps caps = { .level = k->level,
                                         .head_size_min = generic ? 1 : QR_HEAD_SIZE_STEP,
                                         .head_size_max = MAX_HEAD_SIZE,
                                         .head_size_step = generic ? 1 : QR_HEAD_SIZE_STEP,
                                         .any_head_size_max = MAX_HEAD_SIZE,
                                         .block_size_step = BLOCK_STEP,
                                         .block_size_max = MAX_BLOCK_SIZE,
                                         .kinds = (2u << QUIRE_ATTENTION_CROSS) - 1,
                                         .native_dot = k->impl.attn_qk_bf16_native };
    for (unsigned t = 0; t < 32; t++)
        if (quire_kv_dtype_name((enum quire_kv_dtype)t))
            caps.kv_dtypes |= 1u << t;
    qr_struct_write(out, &caps, sizeof caps);
    return QUIRE_OK;
}

QR_DEFINE_ZERO_INIT(quire_attention_report)
QR_DEFINE_ZERO_INIT(quire_attention_caps)
