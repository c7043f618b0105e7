/* SPDX-License-Identifier: Apache-2.0 */
/* kerncheck.h - compares every kernel of every level with a double-precision oracle that shares no
 * code with it.
 *
 * main.c walks the kernel table: for each level it calls the checker of every kernel whose pointer
 * differs from that of the level below, so a new kernel of a known name needs no edit here. A
 * checker runs the function on random and extreme inputs in guarded buffers and calls kc_fail on
 * the first mismatch. */
#ifndef QR_TESTS_KERNCHECK_KERNCHECK_H
#define QR_TESTS_KERNCHECK_KERNCHECK_H
#include "kernels/kernels.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*kc_fn)(void); /* cast to the kernel's type */

struct kc_env {
    const struct qr_kernels *k; /* the table under test, for checks that need a sibling kernel */
    const char *level, *kernel; /* what is being checked */
    uint64_t rng;               /* state; reseeded per kernel from --seed */
    int rounds;                 /* random cases of a checker; more with --full */
    int failures;               /* of this kernel */
    double worst;               /* largest error / bound, if the checker computes one */
};

struct kc_checker {
    const char *kernel; /* name as in QR_KERNELS */
    void (*check)(struct kc_env *env, kc_fn fn);
};

/* One array per family, ended by a NULL name. */
extern const struct kc_checker kc_checkers_ops[];
extern const struct kc_checker kc_checkers_recurrent[];
extern const struct kc_checker kc_checkers_state[];
extern const struct kc_checker kc_checkers_kv[];
extern const struct kc_checker kc_checkers_kv_int4[];
extern const struct kc_checker kc_checkers_attn[];
extern const struct kc_checker kc_checkers_linear[];
extern const struct kc_checker kc_checkers_lora[];
extern const struct kc_checker kc_checkers_unpack[];
extern const struct kc_checker kc_checkers_quantize_act[];

/* Records a failure and prints it with kernel, level and seed. Checkers return after the first. */
void kc_fail(struct kc_env *env, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Random numbers, a function of the seed on every machine. */
uint32_t kc_u32(struct kc_env *env);
int kc_int(struct kc_env *env, int lo, int hi); /* lo .. hi inclusive */
float kc_uniform(struct kc_env *env, float lo, float hi);
float kc_normal(struct kc_env *env);
void kc_fill_normal(struct kc_env *env, float *x, size_t n, float scale);

/* Allocates a buffer that ends (or begins) at a guard page, filled with 0xA5. */
void *kc_buffer_end(size_t bytes);
void *kc_buffer_begin(size_t bytes);
void kc_release(void); /* frees all */
/* Whether the bytes around such a buffer, in its own pages, still hold 0xA5. */
bool kc_intact(const void *buffer);

/* Whether x[n] and y[n] have the same bits. The sign of a NaN depends on which operand of a fused
 * multiply-add the compiler negates, and counts as equal. */
bool kc_same_bits(const float *x, const float *y, size_t n);

/* Conversions of the oracle, independent of the library. */
float kc_bf16_round(float x); /* nearest even */
uint16_t kc_bf16_bits(float x);
float kc_bf16_value(uint16_t bits);
uint16_t kc_f16_bits(float x); /* nearest even */
float kc_f16_value(uint16_t bits);
float kc_fp8_value(uint8_t bits, bool e5m2);

#endif
