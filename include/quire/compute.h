/* SPDX-License-Identifier: Apache-2.0 */
/** How products of weights, activations, queries, keys and values are computed. */
#ifndef QUIRE_COMPUTE_H
#define QUIRE_COMPUTE_H

/** How products are computed (docs/numerics.md, "Compute modes"). */
enum quire_compute {
    /** bf16 weights x bf16 activations, quantised weights x int8 activations. In attention: queries
     *  and softmax weights are rounded to bf16 where the cache is neither f32 nor f16. */
    QUIRE_COMPUTE_NATIVE,
    /** Activations, queries and softmax weights stay f32; weights of any type widen. */
    QUIRE_COMPUTE_F32,
};

#endif
