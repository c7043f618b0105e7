/* SPDX-License-Identifier: Apache-2.0 */
/* walk.c - compares reported capabilities with the specification and with actual results. */
#include "checks.h"
#include <quire/cpu.h>
#include <stdio.h>
#include <string.h>

enum { MAX_HEAD = 1024, N_KINDS = 4, N_DTYPES = 6, MAX_FAILURES = 10 };

/* Supported sizes and their unsupported neighbors. */
static const uint32_t block_sizes[] = { 0,  1,  8,   15,  16,  17,  24,   32,    48,    64,
                                        80, 96, 112, 128, 256, 512, 4096, 65520, 65536, 65552 };
static const uint32_t head_sizes_beyond[] = { 0, 1025, 1032, 2048, 1u << 31, UINT32_MAX };

/* One configuration of the walk. */
struct point {
    struct constraints w;
    uint32_t v_size;
    const char *level;
};

static uint32_t expected_reasons(const struct point *p)
{
    uint32_t r = 0;
    if ((unsigned)p->w.kind >= N_KINDS)
        r |= QUIRE_ATTENTION_NO_KIND;
    if (p->w.head_size < 1 || p->w.head_size > MAX_HEAD)
        r |= QUIRE_ATTENTION_NO_HEAD_SIZE;
    if (p->v_size > MAX_HEAD)
        r |= QUIRE_ATTENTION_NO_V_HEAD_SIZE;
    if ((unsigned)p->w.k_dtype >= N_DTYPES || (unsigned)p->w.v_dtype >= N_DTYPES)
        r |= QUIRE_ATTENTION_NO_KV_DTYPE;
    if (p->w.block_size % 16 || p->w.block_size < 16 || p->w.block_size > 65536)
        r |= QUIRE_ATTENTION_NO_BLOCK_SIZE;
    return quire_cpu_level_usable(p->w.level) ? r : r | QUIRE_ATTENTION_NO_ISA;
}

static bool has_line(const char *text, const char *line)
{
    for (const char *p = text; (p = strstr(p, line)); p++)
        if (p == text || p[-1] == '\n')
            return true;
    return false;
}

/* The text has one line for every reason and no other. */
static bool text_agrees(const char *text, uint32_t reasons)
{
    bool ok = true;
#define X(name, bit, line) ok = ok && has_line(text, line) == (reasons >> (bit)&1);
    QUIRE_ATTENTION_REASONS(X)
#undef X
    return ok;
}

static uint32_t complain(const struct point *p, const char *what, const char *text)
{
    printf("FAILED %s: head sizes %u and %u, kind %d, types %d and %d, blocks of %u at %s: %s\n",
           what, p->w.head_size, p->v_size, (int)p->w.kind, (int)p->w.k_dtype, (int)p->w.v_dtype,
           p->w.block_size, p->level, text);
    return 1;
}

static uint32_t check_point(const struct point *p)
{
    struct quire_attention_config c;
    struct quire_attention_report report = { .struct_size = sizeof report };
    struct quire_error err = QUIRE_ERROR_INIT;
    quire_attention_config_init(&c, sizeof c, 2, 1, p->w.head_size);
    c.kind = p->w.kind;
    c.causal = 0;
    c.v_head_size = p->v_size;
    const uint32_t want = expected_reasons(p);
    const quire_status status = quire_attention_validate(&c, p->w.k_dtype, p->w.v_dtype,
                                                         p->w.block_size, p->level, &report, &err);
    if (status != (want ? QUIRE_E_UNSUPPORTED : QUIRE_OK) || report.reasons != want)
        return complain(p, "validate", report.text);
    if (!text_agrees(report.text, want) || (want && !err.msg[0]))
        return complain(p, "text of validate", report.text);
    const uint32_t v = p->v_size ? p->v_size : p->w.head_size;
    const bool plain = p->w.head_size % 8 || v % 8;
    if (!want && strcmp(report.level, p->level) != 0)
        return complain(p, "level", report.level);
    if (!want && strcmp(report.kernels, plain ? "generic" : p->level) != 0)
        return complain(p, "kernels", report.kernels);
    return 0;
}

/* Validates every kind and type at one head size, with a rotating subset of block sizes. */
static uint32_t validate_head_size(int level, uint32_t head_size)
{
    uint32_t n = 0;
    struct point p = { .w = { .level = level }, .level = quire_cpu_level_name(level) };
    for (uint32_t b = head_size % 5; b < sizeof block_sizes / sizeof *block_sizes; b += 5)
        for (int kind = 0; kind <= N_KINDS; kind++)
            for (int type = 0; type <= N_DTYPES; type++) {
                const uint32_t other = (head_size + b) % (N_DTYPES + 1);
                p.w.kind = (enum quire_attention_kind)(kind < N_KINDS ? kind : 77);
                p.w.k_dtype = (enum quire_kv_dtype)(type < N_DTYPES ? type : 31);
                p.w.v_dtype = (enum quire_kv_dtype)(other < (uint32_t)N_DTYPES ? (int)other : -1);
                p.w.head_size = head_size;
                p.w.block_size = block_sizes[b];
                p.v_size = b % 3 ? 0 : (head_size * 7 + b) % 1100;
                n += check_point(&p);
            }
    return n;
}

/* Runs one problem of this head size with rotating kind, types and block size. */
static uint32_t compute(uint64_t seed, int level, uint32_t head_size)
{
    static const uint32_t sizes[] = { 16, 32, 48, 64, 80, 96, 112, 128, 256 };
    const uint32_t index = head_size * 5 + (uint32_t)level;
    const struct constraints w = { .level = level,
                                   .kind = (enum quire_attention_kind)(index % N_KINDS),
                                   .k_dtype = (enum quire_kv_dtype)(index / 4 % N_DTYPES),
                                   .v_dtype = (enum quire_kv_dtype)(index / 20 % N_DTYPES),
                                   .head_size = head_size,
                                   .block_size = sizes[index % 9] };
    struct problem s;
    problem_make(&s, seed, index, &w);
    struct result r = result_new(&s);
    const struct variant variant = variant_default(&s);
    const struct part whole = part_whole(&s);
    const bool ok = run_problem(&s, &variant, &whole, &r) && check_oracle(&s, &r);
    if (!ok)
        report(&s, "walk");
    result_free(&r);
    problem_free(&s);
    return !ok;
}

static uint32_t check_caps(int level)
{
    struct quire_attention_caps caps = { .struct_size = sizeof caps };
    struct quire_error err = QUIRE_ERROR_INIT;
    const char *name = quire_cpu_level_name(level);
    const bool usable = quire_cpu_level_usable(level), generic = strcmp(name, "generic") == 0;
    const quire_status status = quire_attention_get_caps(name, &caps, &err);
    const bool ok =
        !usable ? status == QUIRE_E_UNSUPPORTED && strstr(err.msg, name) != NULL
                : status == QUIRE_OK && strcmp(caps.level, name) == 0 &&
                      caps.head_size_min == (generic ? 1 : 8) && caps.head_size_max == MAX_HEAD &&
                      caps.head_size_step == (generic ? 1 : 8) &&
                      caps.any_head_size_max == MAX_HEAD && caps.block_size_step == 16 &&
                      caps.block_size_max == 65536 && caps.kv_dtypes == (2u << N_DTYPES) - 1 &&
                      caps.kinds == (1u << N_KINDS) - 1 && caps.native_dot;
    if (!ok)
        printf("FAILED capabilities of %s: %s\n", name, err.msg);
    return !ok;
}

uint32_t walk(uint64_t seed, uint32_t step)
{
    uint32_t n_failed = 0;
    for (int i = 0; quire_cpu_level_name(i) && n_failed < MAX_FAILURES; i++) {
        n_failed += check_caps(i);
        for (uint32_t b = 0; b < sizeof head_sizes_beyond / sizeof *head_sizes_beyond; b++)
            n_failed += validate_head_size(i, head_sizes_beyond[b]);
        for (uint32_t d = 1; d <= MAX_HEAD && n_failed < MAX_FAILURES; d += step) {
            n_failed += validate_head_size(i, d);
            if (quire_cpu_level_usable(i))
                n_failed += compute(seed, i, d);
        }
        printf("%s: %s\n", quire_cpu_level_name(i),
               quire_cpu_level_usable(i) ? "walked" : "refused on this CPU with the reason");
    }
    n_failed += walk_pairs(seed);
    printf("%u failures\n", n_failed);
    return n_failed;
}
