/* SPDX-License-Identifier: Apache-2.0 */
/* linear_oracle.h - decoder of raw weight blocks in double, independent of that of the library. */
#ifndef QR_TESTS_KERNCHECK_LINEAR_ORACLE_H
#define QR_TESTS_KERNCHECK_LINEAR_ORACLE_H
#include "base/weight_type.h"
#include "kerncheck.h"

/* A weight is scale * q - min. Float types have scale 1 and the value in `value` alone. */
struct kc_weight {
    double value; /* rounded to f32 where the format rounds */
    double scale, min;
    int q;
};
struct kc_weight kc_weight_at(enum qr_weight_type type, const uint8_t *row, size_t k);

/* Number of values that share a scale: 16 or 32; 0 for float types. */
int kc_sub_block(enum qr_weight_type type);
bool kc_has_min(enum qr_weight_type type);

/* Writes a random row of k values: all codes, scales of usual magnitude and some extreme ones. */
void kc_random_row(struct kc_env *env, enum qr_weight_type type, size_t k, uint8_t *row);

/* Sets every scale of the row, or every value of a float row, to NaN. */
void kc_poison_row(enum qr_weight_type type, size_t k, uint8_t *row);

#endif
