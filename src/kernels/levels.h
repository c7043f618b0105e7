/* SPDX-License-Identifier: Apache-2.0 */
/* levels.h - the ISA levels of this architecture: the one list from which prototypes, the dispatch
 * table and the names in messages are generated. */
#ifndef QR_KERNELS_LEVELS_H
#define QR_KERNELS_LEVELS_H

/* X(level, base, features, quirk, onednn_isa, ...), lowest level first:
 *
 *   level       name, and suffix of its symbols
 *   base        level from whose kernel table this one starts; NONE: from an empty table
 *   features    enum qr_cpu_feature bits it needs in addition to those of its base
 *   quirk       function of dispatch.c that withdraws kernels which are slow on this CPU, or NULL
 *   onednn_isa  the same instructions in oneDNN: dnnl_cpu_isa_<onednn_isa>; NULL: none
 *   ...         further arguments of QR_LEVELS, passed on
 *
 * avx512 starts from avx2, because CPUs with AVX-512 may lack AVX-VNNI. cmake/isa.cmake defines
 * QUIRE_GENERIC_ONLY for MemorySanitizer and QUIRE_UP_TO_AVX2 for fuzzing and for sanitizers on
 * CPUs with nothing above. */
#if defined(QUIRE_GENERIC_ONLY)
#define QR_LEVELS(X, ...) X(generic, NONE, 0, NULL, NULL, __VA_ARGS__)
#elif defined(__x86_64__) && defined(QUIRE_UP_TO_AVX2)
#define QR_LEVELS(X, ...)                                                                          \
    X(generic, NONE, 0, NULL, "sse41", __VA_ARGS__)                                                \
    X(avx2, generic, QR_CPU_AVX2, NULL, "avx2", __VA_ARGS__)
#elif defined(__x86_64__)
#define QR_LEVELS(X, ...)                                                                          \
    X(generic, NONE, 0, NULL, "sse41", __VA_ARGS__)                                                \
    X(avx2, generic, QR_CPU_AVX2, NULL, "avx2", __VA_ARGS__)                                       \
    X(avx2_vnni, avx2, QR_CPU_AVX_VNNI, NULL, "avx2_vnni", __VA_ARGS__)                            \
    X(avx512, avx2, QR_CPU_AVX512, NULL, "avx512_core", __VA_ARGS__)                               \
    X(avx512_vnni, avx512, QR_CPU_AVX512_VNNI, NULL, "avx512_core_vnni", __VA_ARGS__)              \
    X(avx512_bf16, avx512_vnni, QR_CPU_AVX512_VBMI | QR_CPU_AVX512_BF16, avoid_vdpbf16ps,          \
      "avx512_core_bf16", __VA_ARGS__)                                                             \
    X(avx512_amx, avx512_bf16, QR_CPU_AMX | QR_CPU_AMX_PERMITTED, NULL, "avx512_core_amx",         \
      __VA_ARGS__)
#elif defined(__aarch64__)
#define QR_LEVELS(X, ...)                                                                          \
    X(generic, NONE, 0, NULL, NULL, __VA_ARGS__)                                                   \
    X(neon, generic, QR_CPU_NEON, NULL, NULL, __VA_ARGS__)                                         \
    X(neon_dotprod, neon, QR_CPU_DOTPROD, NULL, NULL, __VA_ARGS__)                                 \
    X(neon_i8mm, neon_dotprod, QR_CPU_I8MM, NULL, NULL, __VA_ARGS__)                               \
    X(sve256, neon_i8mm, QR_CPU_SVE_I8MM | QR_CPU_SVE_256_BITS, NULL, NULL, __VA_ARGS__)
#else
#define QR_LEVELS(X, ...) X(generic, NONE, 0, NULL, NULL, __VA_ARGS__)
#endif

#endif
