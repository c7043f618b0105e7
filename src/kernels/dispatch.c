/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.c - builds one immutable kernel table per level and picks one of them. */
#include "kernels/dispatch.h"
#include "kernels/cpu.h"
#include "base/error.h"
#include <pthread.h>
#include <quire/cpu.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct level {
    const char *name;
    uint32_t need; /* enum qr_cpu_feature */
    void (*init)(struct qr_kernels *k);
    const char *onednn_isa; /* dnnl_cpu_isa_<onednn_isa>; NULL: none */
} levels[] = {
    /* lowest first; each level overrides entries of the supported ones before it */
    { "generic", 0, qr_kernels_init_generic, "sse41" },
#if defined(__x86_64__)
    { "avx2", QR_CPU_AVX2, qr_kernels_init_avx2, "avx2" },
    { "avx2_vnni", QR_CPU_AVX2 | QR_CPU_AVX_VNNI, qr_kernels_init_avx2_vnni, "avx2_vnni" },
    { "avx512", QR_CPU_AVX2 | QR_CPU_AVX512, qr_kernels_init_avx512, "avx512_core" },
    { "avx512_vnni", QR_CPU_AVX2 | QR_CPU_AVX512 | QR_CPU_AVX512_VNNI,
      qr_kernels_init_avx512_vnni, "avx512_core_vnni" },
    { "avx512_bf16",
      QR_CPU_AVX2 | QR_CPU_AVX512 | QR_CPU_AVX512_VNNI | QR_CPU_AVX512_VBMI | QR_CPU_AVX512_BF16,
      qr_kernels_init_avx512_bf16, "avx512_core_bf16" },
    { "avx512_amx",
      QR_CPU_AVX2 | QR_CPU_AVX512 | QR_CPU_AVX512_VNNI | QR_CPU_AVX512_VBMI | QR_CPU_AVX512_BF16 |
          QR_CPU_AMX | QR_CPU_AMX_ALLOWED,
      qr_kernels_init_avx512_amx, "avx512_core_amx" },
#elif defined(__aarch64__)
    { "neon", QR_CPU_NEON, qr_kernels_init_neon },
    { "neon_dotprod", QR_CPU_NEON | QR_CPU_DOTPROD, qr_kernels_init_neon_dotprod },
    { "neon_fhm", QR_CPU_NEON | QR_CPU_DOTPROD | QR_CPU_FHM, qr_kernels_init_neon_fhm },
    { "neon_bf16", QR_CPU_NEON | QR_CPU_DOTPROD | QR_CPU_FHM | QR_CPU_ARM_BF16,
      qr_kernels_init_neon_bf16 },
    { "neon_i8mm", QR_CPU_NEON | QR_CPU_DOTPROD | QR_CPU_FHM | QR_CPU_ARM_BF16 | QR_CPU_I8MM,
      qr_kernels_init_neon_i8mm },
#endif
};
enum { N_LEVELS = sizeof levels / sizeof levels[0] };

static struct qr_kernels tables[N_LEVELS];
static uint32_t lacking[N_LEVELS]; /* features this CPU lacks for the level */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Takes the kernels whose one gain is vdpbf16ps back to those of the level below, which give the same bits. */
static void avoid_dot_bf16(struct qr_kernels *k, const struct qr_kernels *below)
{
#define KEEP(name) (k->name = below->name, k->impl.name = below->impl.name)
    KEEP(attn_qk_bf16_native);
    KEEP(attn_pv_bf16_native);
    KEEP(linear_native_bf16);
#undef KEEP
}

/* A level of a wider family replaces what a narrower sibling set only where it has a kernel of its own, so the
 * levels are walked in order. avx2_vnni stays out of the avx512 tables: they start from avx2. */
static void build_tables(void)
{
    const uint32_t have = qr_cpu_features() | QR_CPU_AMX_ALLOWED; /* that is asked at each choice */
    struct qr_kernels k, before_vnni;
    memset(&k, 0, sizeof k);
    memset(&before_vnni, 0, sizeof before_vnni);
    for (int i = 0; i < N_LEVELS; i++) {
        lacking[i] = levels[i].need & ~have;
        if (lacking[i])
            continue;
        if (strcmp(levels[i].name, "avx2_vnni") == 0)
            before_vnni = k;
        if (strcmp(levels[i].name, "avx512") == 0 && before_vnni.level)
            k = before_vnni;
        const struct qr_kernels below = k;
        levels[i].init(&k);
        if (strcmp(levels[i].name, "avx512_bf16") == 0 && qr_cpu_slow_dot_bf16())
            avoid_dot_bf16(&k, &below);
        k.level = levels[i].name;
        tables[i] = k;
    }
}

/* Features that stand between this process and a level; 0 = usable. */
static uint32_t missing(int i)
{
    if (!lacking[i] && levels[i].need & QR_CPU_AMX_ALLOWED && !qr_cpu_amx_allowed())
        return QR_CPU_AMX_ALLOWED;
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
    return qr_fail(err, QUIRE_E_INVALID_ARG, "%s '%.32s' names no level; this build has %s", source,
                   name, names);
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

quire_status qr_kernels_get(const char *isa, const struct qr_kernels **out,
                            struct quire_error *err)
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
    /* the one documented look at the environment; it may only lower the choice */
    const char *cap = getenv("QUIRE_ISA");
    int top = N_LEVELS - 1;
    if (cap && *cap) {
        top = find_level(cap);
        if (top < 0)
            return unknown_level("QUIRE_ISA", cap, err);
    }
    while (missing(top))
        top--; /* generic needs nothing, so this ends */
    *out = &tables[top];
    return QUIRE_OK;
}

/* Appends to a buffer that may be too small; the count goes on as snprintf's does. */
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

int quire_cpu_level_usable(int i) { return qr_level_table(i) != NULL; }

quire_status quire_cpu_allow_amx(struct quire_error *err)
{
    if (!(qr_cpu_features() & QR_CPU_AMX))
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "this CPU or its OS lacks AMX");
    const int code = qr_cpu_allow_amx();
    if (code)
        return qr_fail_errno(err, QUIRE_E_UNSUPPORTED, code, "the OS refuses this process AMX");
    return QUIRE_OK;
}
