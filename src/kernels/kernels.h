/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h - the list of dispatched kernels. The kernel table, the prototypes of every level, the
 * names in messages, the tests and the rows of the benchmarks are generated from it.
 *
 * A kernel is single-threaded, works on explicit ranges, never allocates, never fails and never
 * touches memory outside its ranges. The header of each family holds its list and its argument
 * structs. */
#ifndef QR_KERNELS_KERNELS_H
#define QR_KERNELS_KERNELS_H
#include "kernels/cpu.h"
#include "kernels/kernels_attn.h"
#include "kernels/kernels_kv.h"
#include "kernels/kernels_linear.h"
#include "kernels/kernels_ops.h"
#include "kernels/kernels_recurrent.h"
#include "kernels/levels.h"

enum { QR_MAX_ATTN_ROWS = 32 };

#define QR_KERNELS(X)                                                                              \
    QR_KERNELS_OPS(X)                                                                              \
    QR_KERNELS_RECURRENT(X)                                                                        \
    QR_KERNELS_KV(X)                                                                               \
    QR_KERNELS_ATTN(X)                                                                             \
    QR_KERNELS_LINEAR(X)

struct qr_kernels {
#define X(ret, name, params) ret(*name) params;
    QR_KERNELS(X)
#undef X
    const char *level; /* name of the level this table is for */
    /* A thread calls attn_begin before its first attention kernel and attn_end after its last, and
     * does nothing else with tile registers in between. Both are NULL where no setup is needed. */
    void (*attn_begin)(void), (*attn_end)(void);
    /* Query rows computed together: of a register tile; of one call of the attention kernels, at
     * most QR_MAX_ATTN_ROWS; and of a tile of heads of up to 128, whose queries and accumulators
     * fit in L2. */
    int attn_register_rows, attn_call_rows, attn_tile_rows;
    bool native_bf16_reads_f32; /* see QR_KERNELS_LINEAR */
    /* Fills sum_table_bytes for each of n_blocks blocks of activations: tables with which
     * linear_q8_q1_0 of this level multiplies one row. 64-byte aligned; a multiple of 64, at most
     * QR_SUM_TABLE_BYTES. NULL and 0 where the kernel reads none. A thread that computes fewer
     * outputs than sum_tables_min_outputs multiplies in less time; SIZE_MAX: any number. */
    void (*sum_tables)(uint8_t *tables, const struct qr_q8_block *q, size_t n_blocks);
    size_t sum_table_bytes, sum_tables_min_outputs;
    /* Fills QR_DELTA_SUMS for each of n_blocks blocks of activations (simd/delta_sums_*.h), with
     * which linear_q8_iq1_m of this level multiplies one row. NULL where it reads none. */
    void (*delta_sums)(int32_t *sums, const struct qr_q8_block *q, size_t n_blocks);
    enum qr_cpu_streams followed_streams; /* they are prefetched once per line */
    struct {
#define X(ret, name, params) const char *name;
        QR_KERNELS(X)
#undef X
    } impl; /* name of the level that each entry comes from */
};

/* Enters the kernel qr_<name>_<level> in the table k. */
#define QR_SET_KERNEL(k, name, level_) ((k)->name = qr_##name##_##level_, (k)->impl.name = #level_)

/* Prototypes: each level declares the whole list and defines some of it. */
#define QR_DECLARE_KERNEL(level, base, features, quirk, onednn_isa, ret, name, params)             \
    ret qr_##name##_##level params;
#define X(ret, name, params) QR_LEVELS(QR_DECLARE_KERNEL, ret, name, params)
QR_KERNELS(X)
#undef X

/* Functions that enter the kernels of a level in a table: one per family, each defined in a file of
 * the level's folder, and one for the level, in init.c. */
#define QR_DECLARE_INIT(level, ...)                                                                \
    void qr_kernels_init_##level(struct qr_kernels *k);                                            \
    void qr_init_ops_##level(struct qr_kernels *k);                                                \
    void qr_init_recurrent_##level(struct qr_kernels *k);                                          \
    void qr_init_kv_##level(struct qr_kernels *k);                                                 \
    void qr_init_attn_##level(struct qr_kernels *k);                                               \
    void qr_init_linear_##level(struct qr_kernels *k);                                             \
    void qr_init_sum_tables_##level(struct qr_kernels *k);
QR_LEVELS(QR_DECLARE_INIT, )

#endif
