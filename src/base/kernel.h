/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h - the one list of dispatched kernels. Table, prototypes, names, tests and bench rows come from it.
 *
 * A kernel is single-threaded, works on explicit ranges, never allocates, never fails and never touches
 * memory outside its ranges. Each family keeps its list and argument structs in a header of its own. */
#ifndef QUIRE_BASE_KERNEL_H
#define QUIRE_BASE_KERNEL_H
#include "base/kernels_attn.h"
#include "base/kernels_kv.h"
#include "base/kernels_linear.h"
#include "base/kernels_ops.h"

enum { QUIRE_MAX_ATTN_ROWS = 32 };

#define QUIRE_KERNELS(X)                                                                           \
    QUIRE_KERNELS_OPS(X)                                                                           \
    QUIRE_KERNELS_KV(X)                                                                            \
    QUIRE_KERNELS_ATTN(X)                                                                          \
    QUIRE_KERNELS_LINEAR(X)

struct quire_kernels {
#define X(ret, name, params) ret(*name) params;
    QUIRE_KERNELS(X)
#undef X
    const char *level; /* name of the level this table is for */
    /* What a thread calls before its first and after its last attention kernel, nothing else with tile registers in
     * between; or both NULL. */
    void (*attn_begin)(void), (*attn_end)(void);
    /* Query rows that are best computed together: of a register tile; of one call of the attention kernels, at most
     * QUIRE_MAX_ATTN_ROWS; and of a tile of heads of up to 128, for which a second-level cache holds queries and
     * accumulators. */
    int attn_step, attn_rows, attn_tile_rows;
    struct {
#define X(ret, name, params) const char *name;
        QUIRE_KERNELS(X)
#undef X
    } impl; /* name of the level each entry came from */
};

/* Members of one level: quire_<kernel>_<level>. */
#define QUIRE_SET(k, name, level_) ((k)->name = quire_##name##_##level_, (k)->impl.name = #level_)

/* Every level declares the whole list; only what it defines is ever referenced. */
#define QUIRE_LEVELS(X)                                                                            \
    X(generic)                                                                                     \
    X(avx2)                                                                                        \
    X(avx2_vnni)                                                                                   \
    X(avx512)                                                                                      \
    X(avx512_vnni)                                                                                 \
    X(avx512_bf16)                                                                                 \
    X(avx512_amx)                                                                                  \
    X(neon)                                                                                        \
    X(neon_dotprod)                                                                                \
    X(neon_fhm)                                                                                    \
    X(neon_bf16)                                                                                   \
    X(neon_i8mm)                                                                                   \
    X(emulated)

#define X(ret, name, params)                                                                       \
    ret quire_##name##_generic params;                                                             \
    ret quire_##name##_avx2 params;                                                                \
    ret quire_##name##_avx2_vnni params;                                                           \
    ret quire_##name##_avx512 params;                                                              \
    ret quire_##name##_avx512_vnni params;                                                         \
    ret quire_##name##_avx512_bf16 params;                                                         \
    ret quire_##name##_avx512_amx params;                                                          \
    ret quire_##name##_neon params;                                                                \
    ret quire_##name##_neon_dotprod params;                                                        \
    ret quire_##name##_neon_fhm params;                                                            \
    ret quire_##name##_neon_bf16 params;                                                           \
    ret quire_##name##_neon_i8mm params;                                                           \
    ret quire_##name##_emulated params; /* templates over vec_scalar.h, tests only */
QUIRE_KERNELS(X)
#undef X

/* One init function per family and folder (src/<level>/<family>*.c define them), called by the folder's init.c. */
#define X(level)                                                                                   \
    void quire_kernels_init_##level(struct quire_kernels *k);                                      \
    void quire_init_ops_##level(struct quire_kernels *k);                                          \
    void quire_init_kv_##level(struct quire_kernels *k);                                           \
    void quire_init_attn_##level(struct quire_kernels *k);                                         \
    void quire_init_linear_##level(struct quire_kernels *k);
QUIRE_LEVELS(X)
#undef X

#endif
