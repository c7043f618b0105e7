/* SPDX-License-Identifier: Apache-2.0 */
/* check_unpack.c - weights of panels rounded to bf16, bit by bit, against the oracle's values. */
#include "linear/packed.h"
#include "linear_oracle.h"
#include <math.h>
#include <string.h>

typedef void unpack_kernel(uint16_t *out, const uint8_t *panel, size_t k);

struct panels {
    struct qr_packed *w;
    uint8_t *raw;
    size_t poisoned; /* a row of NaN, or n */
};

static bool make_panels(struct kc_env *env, enum qr_weight_type type, struct panels *p)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    const int block = qr_weight_type_info(type)->block_elems;
    const size_t n = (size_t)kc_int(env, 1, 70),
                 k = block == 1 ? (size_t)kc_int(env, 1, 300)
                                : (size_t)(block * kc_int(env, 1, block < 256 ? 20 : 3));
    if (qr_packed_create(type, n, k, NULL, &p->w, &err) != QUIRE_OK) {
        kc_fail(env, "no weight: %s", err.msg);
        return false;
    }
    p->raw = kc_buffer_end(n * p->w->row_bytes);
    p->poisoned = kc_int(env, 0, 2) ? n : (size_t)kc_int(env, 0, (int)n - 1);
    for (size_t j = 0; j < n; j++) {
        kc_random_row(env, type, k, p->raw + j * p->w->row_bytes);
        if (j == p->poisoned)
            kc_poison_row(type, k, p->raw + j * p->w->row_bytes);
    }
    if (qr_packed_pack_rows(p->w, 0, n, p->raw, &err) != QUIRE_OK)
        kc_fail(env, "not packed: %s", err.msg);
    return !env->failures;
}

/* The weight as f32, rounded to bf16; below 2^-126 a zero. 0 beyond k. */
static uint16_t want(const struct panels *p, size_t j, size_t k)
{
    if (k >= p->w->k)
        return 0;
    const float value = (float)kc_weight_at(p->w->type, p->raw + j * p->w->row_bytes, k).value;
    return kc_bf16_bits(fabsf(value) < 0x1p-126f ? copysignf(0, value) : value);
}

/* Compares the rows of one panel, which starts at row j0, in columns of a panel of 64. */
static void compare(struct kc_env *env, const struct panels *p, size_t j0, const uint16_t *out)
{
    for (size_t r = 0; r < p->w->panel_rows && j0 + r < p->w->n; r++)
        for (size_t k = 0; k < p->w->k + p->w->k % 2 && j0 + r != p->poisoned; k++) {
            const uint16_t expected = want(p, j0 + r, k), got = out[(k / 2 * 64 + r) * 2 + k % 2];
            /* the codes of some formats have no negative zero */
            if (got != expected && ((got | expected) & 0x7fff))
                kc_fail(env, "row %zu k %zu of %zu: 0x%04x instead of 0x%04x", j0 + r, k, p->w->k,
                        got, expected);
        }
}

/* Unpacks each panel to the last columns that hold it, so that a guard page follows. */
static void check_kernel(struct kc_env *env, enum qr_weight_type type, unpack_kernel *kernel)
{
    for (int round = 0; round < env->rounds && !env->failures; round++) {
        struct panels p;
        if (!make_panels(env, type, &p))
            return;
        const size_t pairs = (p.w->k + 1) / 2, column = 2 * (64 - p.w->panel_rows);
        for (size_t i = 0; i < p.w->n_panels && !env->failures; i++) {
            uint16_t *out = kc_buffer_end(pairs * 128 * sizeof *out);
            memset(out, 0x5a, pairs * 128 * sizeof *out);
            kernel(out + column, p.w->data + i * p.w->panel_bytes, p.w->k);
            compare(env, &p, i * p.w->panel_rows, out + column);
            for (size_t t = 0; t < pairs * 128; t++)
                if (t % 128 < column && out[t] != 0x5a5a)
                    kc_fail(env, "wrote to column %zu", t % 128 / 2);
        }
        qr_packed_destroy(p.w);
        kc_release();
    }
}

#define CHECK_UNPACK(name, TYPE)                                                                   \
    static void check_##name(struct kc_env *env, kc_fn fn)                                         \
    {                                                                                              \
        check_kernel(env, QR_WEIGHT_##TYPE, (unpack_kernel *)fn);                                  \
    }
CHECK_UNPACK(f16, F16)
#define X(name, NAME, ...) CHECK_UNPACK(name, NAME)
QR_QUANT_TYPES(X)
#undef X

const struct kc_checker kc_checkers_unpack[] = {
    { "unpack_bf16_f16", check_f16 },
#define X(name, ...) { "unpack_bf16_" #name, check_##name },
    QR_QUANT_TYPES(X)
#undef X
        { NULL, NULL },
};
