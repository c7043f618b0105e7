/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h - the one list of dispatched kernels. Table, prototypes, names, tests and bench rows come from it.
 *
 * A kernel is single-threaded, works on explicit ranges, never allocates, never fails and never touches
 * memory outside its ranges. Each family keeps its list and argument structs in a header of its own. */
#ifndef QR_KERNELS_KERNELS_H
#define QR_KERNELS_KERNELS_H
#include "kernels/kernels_attn.h"
#include "kernels/kernels_kv.h"
#include "kernels/kernels_linear.h"
#include "kernels/kernels_ops.h"

enum { QR_MAX_ATTN_ROWS = 32 };

#define QR_KERNELS(X)                                                                              \
    QR_KERNELS_OPS(X)                                                                              \
    QR_KERNELS_KV(X)                                                                               \
    QR_KERNELS_ATTN(X)                                                                             \
    QR_KERNELS_LINEAR(X)

struct qr_kernels {
#define X(ret, name, params) ret(*name) params;
    QR_KERNELS(X)
#undef X
    const char *level; /* name of the level this table is for */
    /* What a thread calls before its first and after its last attention kernel, nothing else with tile registers in
     * between; or both NULL. */
    void (*attn_begin)(void), (*attn_end)(void);
    /* Query rows that are best computed together: of a register tile; of one call of the attention kernels, at most
     * QR_MAX_ATTN_ROWS; and of a tile of heads of up to 128, for which a second-level cache holds queries and
     * accumulators. */
    int attn_step, attn_rows, attn_tile_rows;
    struct {
#define X(ret, name, params) const char *name;
        QR_KERNELS(X)
#undef X
    } impl; /* name of the level each entry came from */
};

/* Members of one level: quire_<kernel>_<level>. */
#define QR_SET_KERNEL(k, name, level_) ((k)->name = qr_##name##_##level_, (k)->impl.name = #level_)

/* Every level declares the whole list; only what it defines is ever referenced. */
#define QR_LEVELS(X)                                                                               \
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
    ret qr_##name##_generic params;                                                                \
    ret qr_##name##_avx2 params;                                                                   \
    ret qr_##name##_avx2_vnni params;                                                              \
    ret qr_##name##_avx512 params;                                                                 \
    ret qr_##name##_avx512_vnni params;                                                            \
    ret qr_##name##_avx512_bf16 params;                                                            \
    ret qr_##name##_avx512_amx params;                                                             \
    ret qr_##name##_neon params;                                                                   \
    ret qr_##name##_neon_dotprod params;                                                           \
    ret qr_##name##_neon_fhm params;                                                               \
    ret qr_##name##_neon_bf16 params;                                                              \
    ret qr_##name##_neon_i8mm params;                                                              \
    ret qr_##name##_emulated params; /* templates over vec_scalar.h, tests only */
QR_KERNELS(X)
#undef X

/* One init function per family and folder (src/<level>/<family>*.c define them), called by the folder's init.c. */
#define X(level)                                                                                   \
    void qr_kernels_init_##level(struct qr_kernels *k);                                            \
    void qr_init_ops_##level(struct qr_kernels *k);                                                \
    void qr_init_kv_##level(struct qr_kernels *k);                                                 \
    void qr_init_attn_##level(struct qr_kernels *k);                                               \
    void qr_init_linear_##level(struct qr_kernels *k);
QR_LEVELS(X)
#undef X

#endif
