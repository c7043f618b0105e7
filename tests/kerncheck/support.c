/* SPDX-License-Identifier: Apache-2.0 */
/* support.c - random numbers, guarded buffers and rounding for the kernel checks. */
#include "kerncheck.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

uint32_t kc_u32(struct kc_env *env)
{
    /* splitmix64 */
    uint64_t z = env->rng += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)((z ^ z >> 31) >> 32);
}

int kc_int(struct kc_env *env, int lo, int hi)
{
    return lo + (int)(kc_u32(env) % (uint32_t)(hi - lo + 1));
}

float kc_uniform(struct kc_env *env, float lo, float hi)
{
    return lo + (hi - lo) * (float)(kc_u32(env) >> 8) * 0x1p-24f;
}

float kc_normal(struct kc_env *env)
{
    const double u = (kc_u32(env) + 1.0) / 4294967297.0, v = kc_u32(env) / 4294967296.0;
    return (float)(sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}

void kc_fill_normal(struct kc_env *env, float *x, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++)
        x[i] = scale * kc_normal(env);
}

enum { MAX_BUFFERS = 64 };
static struct {
    unsigned char *map, *user;
    size_t map_bytes, user_bytes;
} buffers[MAX_BUFFERS];
static int n_buffers;

static void *make(size_t bytes, bool at_end)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (bytes / page + 1) * page;
    if (n_buffers == MAX_BUFFERS) {
        fprintf(stderr, "kerncheck: more than %d buffers in one case\n", MAX_BUFFERS);
        exit(70);
    }
    unsigned char *map =
        mmap(NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map + page, inner, PROT_READ | PROT_WRITE)) {
        fprintf(stderr, "kerncheck: no memory for a guarded buffer of %zu bytes\n", bytes);
        exit(70);
    }
    memset(map + page, 0xa5, inner);
    unsigned char *user = at_end ? map + page + inner - bytes : map + page;
    buffers[n_buffers].map = map;
    buffers[n_buffers].map_bytes = inner + 2 * page;
    buffers[n_buffers].user = user;
    buffers[n_buffers++].user_bytes = bytes;
    return user;
}

void *kc_buffer_end(size_t bytes) { return make(bytes, true); }
void *kc_buffer_begin(size_t bytes) { return make(bytes, false); }

void kc_release(void)
{
    while (n_buffers > 0) {
        n_buffers--;
        munmap(buffers[n_buffers].map, buffers[n_buffers].map_bytes);
    }
}

bool kc_intact(const void *buffer)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < n_buffers; i++) {
        if (buffers[i].user != buffer)
            continue;
        const unsigned char *begin = buffers[i].map + page,
                            *end = buffers[i].map + buffers[i].map_bytes - page;
        for (const unsigned char *p = begin; p < end; p++)
            if ((p < buffers[i].user || p >= buffers[i].user + buffers[i].user_bytes) && *p != 0xa5)
                return false;
        return true;
    }
    return false;
}

/* Rounds to nearest even: scales x so that the last kept bit is 1, rounds, scales back. */
static double round_to(double x, int mantissa_bits, int min_exponent)
{
    if (x == 0 || !isfinite(x))
        return x;
    int e;
    frexp(x, &e); /* x = f * 2^e, 0.5 <= |f| < 1 */
    int unit = e - 1 - mantissa_bits;
    if (unit < min_exponent - mantissa_bits)
        unit = min_exponent - mantissa_bits;
    return ldexp(nearbyint(ldexp(x, -unit)), unit);
}

float kc_bf16_round(float x)
{
    const double r = round_to(x, 7, -126);
    return (float)(fabs(r) >= 0x1p128 ? copysign(INFINITY, r) : r);
}

uint16_t kc_bf16_bits(float x)
{
    const float r = kc_bf16_round(x);
    uint32_t u;
    memcpy(&u, &r, 4);
    return isnan(x) ? 0x7fc0 : (uint16_t)(u >> 16);
}

float kc_bf16_value(uint16_t bits)
{
    const uint32_t u = (uint32_t)bits << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static float small_float(unsigned bits, int exp_bits, int man_bits, bool has_inf)
{
    const unsigned man = bits & ((1u << man_bits) - 1),
                   exp = bits >> man_bits & ((1u << exp_bits) - 1);
    const int bias = (1 << (exp_bits - 1)) - 1;
    double v;
    if (has_inf && exp == (1u << exp_bits) - 1)
        v = man ? NAN : INFINITY;
    else if (exp == 0)
        v = ldexp(man, 1 - bias - man_bits);
    else
        v = ldexp(man + (1u << man_bits), (int)exp - bias - man_bits);
    return (float)(bits >> (exp_bits + man_bits) & 1 ? -v : v);
}

float kc_f16_value(uint16_t bits) { return small_float(bits, 5, 10, true); }

uint16_t kc_f16_bits(float x)
{
    if (isnan(x))
        return 0x7e00;
    const double r = fabs(round_to(x, 10, -14));
    const uint16_t sign = signbit(x) ? 0x8000 : 0;
    if (r >= 65520)
        return sign | 0x7c00;
    /* positive f16 codes are ordered like their values */
    unsigned lo = 0, hi = 0x7bff;
    while (lo < hi) {
        const unsigned mid = (lo + hi) / 2;
        if (kc_f16_value((uint16_t)mid) < r)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (uint16_t)(sign | lo);
}

float kc_fp8_value(uint8_t bits, bool e5m2)
{
    if (e5m2)
        return small_float(bits, 5, 2, true);
    return (bits & 0x7f) == 0x7f ? NAN : small_float(bits, 4, 3, false);
}

bool kc_same_bits(const float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(x + i, y + i, sizeof *x) != 0 && !(isnan(x[i]) && isnan(y[i])))
            return false;
    return true;
}
