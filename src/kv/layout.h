/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - element offsets in a block of the KV cache; the only index formula of the project.
 *
 * A block holds block_size tokens (a multiple of 16) of one (layer, KV head), in token groups of
 * g = 64 if 64 divides block_size, else 16. It consists of all K groups, all V groups, the f32 row
 * scales [block_size] of K if K is int8, and those of V if V is int8, and the bf16 scales
 * [block_size / g][D / 32][g] of K if K is int4, and those of V. Each of these parts begins on a
 * cache line of 64 bytes. Elements of one group:
 *
 *   dtype        K group                                   V group
 *   f32, f16     [D][g]                                    [g][Dp]
 *   bf16         [D/2][g][2]                               [g/2][Dp][2]
 *   fp8          [D/4][g/16] x 64 bytes, each              [g/4][Dp/16] x 64 bytes, each
 *                [4 token quads][2 d pairs][4 tokens][2]   [4 d quads][2 token pairs][4 d][2]
 *   int8         [D/4][g][4]                               [g/4][Dp][4]
 *   int4         [D/8][g][4] bytes                         [g/4][D/2][4] bytes
 *
 * An int4 byte holds two values of one token, 32 * i + j and 32 * i + 16 + j with j < 16; it is
 * byte 16 * i + j of the token, and D is a multiple of 32.
 *
 * Dp = D rounded up to 16. Head sizes that are not a multiple of 8 are stored as plain rows, [g][D]
 * for both K and V. The four 16-token columns of a 64-key tile thus have the same shape for every
 * block size; only the stride between d steps (g tokens) differs. */
#ifndef QR_KV_LAYOUT_H
#define QR_KV_LAYOUT_H
#include "kv/dtype.h"

enum { QR_KV_MAX_HEAD_SIZE = 1024 };

/* Layout of a block, computed once per group. */
struct qr_kv_layout {
    enum quire_kv_dtype k_dtype, v_dtype;
    const struct qr_kv_dtype *k_type, *v_type;
    int block_size, group; /* tokens */
    int k_size, v_size;    /* head sizes in elements */
    int v_padded;          /* v_size rounded up to 16 (packed) or v_size (plain) */
    bool k_plain, v_plain;
    size_t k_group_bytes, v_group_bytes;
    size_t k_step_bytes; /* one d step of K: a d, bf16 d pair, fp8/int8 d quad; plain: a row */
    size_t v_step_bytes; /* one token step of V: a token, pair or quad; plain: a row */
    size_t k_bytes;      /* all K groups, rounded up to 64 = offset of V in the block */
    /* offsets of the row scales in the block, equal if latent; 0 = no row scales */
    size_t k_scales, v_scales;
    /* offsets of the group scales of int4 in the block, 0 = none, and the bytes of those of the
     * tokens of one token group */
    size_t k_group_scales, v_group_scales, k_scale_bytes, v_scale_bytes;
    size_t block_bytes; /* multiple of 64 */
    bool latent;        /* V is the first v_size elements of K; no V groups */
};

/* Computes the layout. False for an unknown dtype, a block_size that is no multiple of 16, a head
 * size outside 1 .. QR_KV_MAX_HEAD_SIZE or that is no multiple of 32 for int4, and on overflow. */
bool qr_kv_layout_init(struct qr_kv_layout *layout, enum quire_kv_dtype k_dtype,
                       enum quire_kv_dtype v_dtype, int block_size, int k_size, int v_size);
/* For a latent group (MLA); false also if v_size > k_size, and for int4. */
bool qr_kv_layout_init_latent(struct qr_kv_layout *layout, enum quire_kv_dtype dtype,
                              int block_size, int k_size, int v_size);

/* Byte offset in a block of element d of token 0 .. block_size-1. */
size_t qr_kv_k_offset(const struct qr_kv_layout *layout, int token, int d);
size_t qr_kv_v_offset(const struct qr_kv_layout *layout, int token, int d);

/* Byte offset in a block of the scale of int4 group `group` (32 elements) of a token. */
size_t qr_kv_k_group_scale(const struct qr_kv_layout *layout, int token, int group);
size_t qr_kv_v_group_scale(const struct qr_kv_layout *layout, int token, int group);

/* Byte offset in a block of the 16-token column that starts at `token`, a multiple of 16: k[c] and
 * v[c] of the attention kernels. Latent groups have no columns of V. */
size_t qr_kv_k_column(const struct qr_kv_layout *layout, int token);
size_t qr_kv_v_column(const struct qr_kv_layout *layout, int token);

#endif
