/* SPDX-License-Identifier: Apache-2.0 */
/** Compute modes of matrix products and attention. */
#ifndef QUIRE_COMPUTE_H
#define QUIRE_COMPUTE_H

/** Compute mode (docs/numerics.md, "Compute modes"). */
enum quire_compute {
    /** bf16 weights x bf16 activations, quantized weights x int8 activations. In attention: queries
     *  and softmax weights are rounded to bf16 where the cache is neither f32 nor f16. */
    QUIRE_COMPUTE_NATIVE,
    /** Activations, queries and softmax weights stay f32; weights of any type are converted to
     *  f32. */
    QUIRE_COMPUTE_F32,
    /** Quantized, f16 and bf16 weights, rounded to bf16, x bf16 activations; attention as in native
     *  mode. Faster than native where bf16 products are much faster than int8 ones of the weights'
     *  scales (AMX) and steps have many rows, slower in decode of few sequences. */
    QUIRE_COMPUTE_THROUGHPUT,
};

#endif
