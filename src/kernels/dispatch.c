/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.c - builds one immutable kernel table per level and selects one of them. */
#include "kernels/dispatch.h"
#include "base/error.h"
#include "kernels/cpu.h"
#include "kernels/levels.h"
#include <pthread.h>
#include <quire/cpu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Position of each level in `levels`. */
enum {
    LEVEL_NONE = -1,
#define X(level, ...) LEVEL_##level,
    QR_LEVELS(X, )
#undef X
        N_LEVELS
};

/* All features that a level needs, those of its base included. */
enum {
    NEED_NONE = 0,
#define X(level, base, features, ...) NEED_##level = NEED_##base | (features),
    QR_LEVELS(X, )
#undef X
};

#if defined(__x86_64__) && !defined(QUIRE_GENERIC_ONLY) && !defined(QUIRE_UP_TO_AVX2)
/* On CPUs where vdpbf16ps is slow, restores the kernels of the base level where that instruction is
 * the only difference. The bits are the same. */
static void avoid_vdpbf16ps(struct qr_kernels *k, const struct qr_kernels *base)
{
    if (!qr_cpu_slow_vdpbf16ps())
        return;
#define KEEP(name) (k->name = base->name, k->impl.name = base->impl.name)
    KEEP(attn_qk_bf16_native);
    KEEP(attn_pv_bf16_native);
    KEEP(linear_native_bf16);
    k->native_bf16_reads_f32 = base->native_bf16_reads_f32;
#undef KEEP
}
#endif

static const struct level {
    const char *name;
    int base;      /* index of the base, or LEVEL_NONE */
    uint32_t need; /* enum qr_cpu_feature bits */
    void (*init)(struct qr_kernels *k);
    void (*quirk)(struct qr_kernels *k, const struct qr_kernels *base); /* or NULL */
    const char *onednn_isa;
} levels[] = {
#define X(level, base, features, quirk, onednn_isa, ...)                                           \
    { #level, LEVEL_##base, NEED_##level, qr_kernels_init_##level, quirk, onednn_isa },
    QR_LEVELS(X, )
#undef X
};

static struct qr_kernels tables[N_LEVELS];
static uint32_t lacking[N_LEVELS]; /* features of the level that this CPU or its OS lacks */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A CPU that runs a level runs its base, which precedes it in the list. The permission to use AMX
 * may come later, so each selection checks it again. */
static void build_tables(void)
{
    const uint32_t have = qr_cpu_features() | QR_CPU_AMX_PERMITTED;
    for (int i = 0; i < N_LEVELS; i++) {
        const struct level *l = &levels[i];
        struct qr_kernels *k = &tables[i];
        lacking[i] = l->need & ~have;
        if (lacking[i])
            continue;
        if (l->base >= 0)
            *k = tables[l->base];
        l->init(k);
        if (l->quirk)
            l->quirk(k, &tables[l->base]);
        k->level = l->name;
        k->followed_streams = qr_cpu_followed_streams();
    }
}

/* Features that this process lacks for level i; 0: usable. */
static uint32_t missing(int i)
{
    if (!lacking[i] && levels[i].need & QR_CPU_AMX_PERMITTED && !qr_cpu_amx_permitted())
        return QR_CPU_AMX_PERMITTED;
    return lacking[i];
}

static int find_level(const char *name)
{
    for (int i = 0; i < N_LEVELS; i++)
        if (strcmp(name, levels[i].name) == 0)
            return i;
    return -1;
}

static void list_levels(char *out, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < N_LEVELS && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", levels[i].name);
}

static quire_status unknown_level(const char *source, const char *name, struct quire_error *err)
{
    char names[160];
    list_levels(names, sizeof names);
    return qr_fail(err, QUIRE_E_INVALID_ARG, "%s '%.32s' is not an ISA level; this build has %s",
                   source, name, names);
}

const char *qr_level_name(int i) { return i >= 0 && i < N_LEVELS ? levels[i].name : NULL; }

const struct qr_kernels *qr_level_table(int i)
{
    pthread_once(&once, build_tables);
    return i >= 0 && i < N_LEVELS && !missing(i) ? &tables[i] : NULL;
}

const char *qr_level_onednn_isa(const char *level)
{
    const int i = find_level(level);
    return i >= 0 ? levels[i].onednn_isa : NULL;
}

quire_status qr_kernels_get(const char *isa, const struct qr_kernels **out, struct quire_error *err)
{
    pthread_once(&once, build_tables);
    *out = NULL;
    if (isa && *isa) {
        const int i = find_level(isa);
        if (i < 0)
            return unknown_level("isa", isa, err);
        const uint32_t lacks = missing(i);
        if (lacks) {
            char names[160];
            qr_cpu_feature_names(lacks, names, sizeof names);
            return qr_fail(err, QUIRE_E_UNSUPPORTED,
                           "isa '%s' needs %s, which this CPU, its OS or this process lacks", isa,
                           names);
        }
        *out = &tables[i];
        return QUIRE_OK;
    }
    /* the only environment variable the library reads; it can only lower the level */
    const char *cap = getenv("QUIRE_ISA");
    int top = N_LEVELS - 1;
    if (cap && *cap) {
        top = find_level(cap);
        if (top < 0)
            return unknown_level("QUIRE_ISA", cap, err);
    }
    while (missing(top))
        top--; /* generic needs no feature: the loop ends */
    *out = &tables[top];
    return QUIRE_OK;
}

const struct qr_kernels *qr_kernels_any(void)
{
    const struct qr_kernels *k;
    return qr_kernels_get(NULL, &k, NULL) == QUIRE_OK ? k : &tables[0];
}

/* Text in a buffer that may be too small: `used` counts on, like the result of snprintf. */
struct text {
    char *out;
    size_t size, used;
};

static void append(struct text *t, const char *a, const char *b, const char *c)
{
    const bool fits = t->used < t->size;
    const int n =
        snprintf(fits ? t->out + t->used : NULL, fits ? t->size - t->used : 0, "%s%s%s", a, b, c);
    t->used += n > 0 ? (size_t)n : 0;
}

quire_status quire_cpu_describe(const char *isa, char *out, size_t out_size, size_t *needed,
                                struct quire_error *err)
{
    if (!out && out_size)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL but out_size is %zu", out_size);
    const struct qr_kernels *k;
    QR_TRY(qr_kernels_get(isa, &k, err));
    struct text t = { out, out_size, 0 };
    if (out_size)
        out[0] = 0;
    char names[200];
    qr_cpu_feature_names(qr_cpu_features(), names, sizeof names);
    append(&t, "cpu       ", qr_cpu_brand(), "\n");
    append(&t, "features  ", names[0] ? names : "none beyond the baseline", "\n");
    append(&t, "level     ", k->level, "\n");
    for (int i = N_LEVELS - 1; i >= 0 && strcmp(levels[i].name, k->level) != 0; i--) {
        const uint32_t lacks = missing(i);
        qr_cpu_feature_names(lacks, names, sizeof names);
        append(&t, "refused   ", levels[i].name, lacks ? ": lacks " : ": above the chosen level\n");
        if (lacks)
            append(&t, names, "\n", "");
    }
#define X(ret, name, params) append(&t, "kernel    " #name ": ", k->impl.name, "\n");
    QR_KERNELS(X)
#undef X
    if (needed)
        *needed = t.used + 1;
    return t.used < out_size || !out_size
               ? QUIRE_OK
               : qr_fail(err, QUIRE_E_LIMIT, "out_size %zu is too small, %zu needed", out_size,
                         t.used + 1);
}

const char *quire_cpu_level_name(int i) { return qr_level_name(i); }

bool quire_cpu_level_usable(int i) { return qr_level_table(i) != NULL; }

quire_status quire_cpu_allow_amx(struct quire_error *err)
{
    if (!(qr_cpu_features() & QR_CPU_AMX))
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "this CPU or its OS lacks AMX");
    const int code = qr_cpu_request_amx();
    if (code)
        return qr_fail_errno(err, QUIRE_E_UNSUPPORTED, code, "the OS refuses this process AMX");
    return QUIRE_OK;
}
