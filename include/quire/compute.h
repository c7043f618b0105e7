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
    /** Weights (quantized and f16 ones rounded to bf16) x bf16 activations; f32 weights and
     *  attention as in native mode. On CPUs with AMX faster than native mode in steps of many rows.
     *  Slower in steps of few rows, which unpack every weight for few products. Each thread of a
     *  context has room for up to two unpacked panels of 64 outputs (in quire_context_bytes). */
    QUIRE_COMPUTE_THROUGHPUT,
};

#endif
