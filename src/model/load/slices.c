/* SPDX-License-Identifier: Apache-2.0 */
/* slices.c - which rows of a fused tensor form a weight. */
#include "model/load/slices.h"
#include "model/arch/names.h"

/* Fused QKV: consecutive blocks [q; k; v], one for all heads or one per KV head. */
static struct qr_slice_layout qkv_layout(const struct qr_layer_config *l, unsigned slice)
{
    const bool by_head = slice >= QR_SLICE_HEAD_Q;
    const unsigned part = slice - (by_head ? QR_SLICE_HEAD_Q : QR_SLICE_Q); /* 0, 1, 2 */
    const uint64_t n_blocks = by_head ? l->n_kv_heads : 1, heads = l->n_heads / n_blocks,
                   kv_heads = l->n_kv_heads / n_blocks;
    const uint64_t size[] = { heads * l->head_dim, kv_heads * l->head_dim,
                              kv_heads * l->v_head_dim };
    const uint64_t block = size[0] + size[1] + size[2];
    const uint64_t first = part == 0 ? 0 : part == 1 ? size[0] : size[0] + size[1];
    return (struct qr_slice_layout){ first, size[part], block, n_blocks * block };
}

/* W_UK and W_UV of a head are consecutive rows. Transposed, they are columns, W_UK's first. */
static struct qr_slice_layout latent_layout(const struct qr_model_config *c, unsigned slice,
                                            uint64_t own)
{
    const uint64_t both = (uint64_t)c->mla.qk_nope_dim + c->v_head_dim;
    if (slice == QR_SLICE_LATENT_V)
        return (struct qr_slice_layout){ c->mla.qk_nope_dim, own, own, both };
    return (struct qr_slice_layout){ 0, own, own, slice & QR_SLICE_TRANSPOSED ? own : both };
}

/* Parts of a recurrent layer's fused projections or convolution: `n` parts of sizes `size`, of
 * which the slice is number `part`; `blocks` times. */
static struct qr_slice_layout part_layout(const uint64_t *size, int n, int part, uint64_t blocks)
{
    uint64_t first = 0, block = 0;
    for (int i = 0; i < n; i++) {
        first += i < part ? size[i] : 0;
        block += size[i];
    }
    return (struct qr_slice_layout){ first, size[part], block, blocks * block };
}

static struct qr_slice_layout recurrent_layout(const struct qr_recurrent_config *r, unsigned slice)
{
    const uint64_t keys = qr_recurrent_key_width(r), values = qr_recurrent_value_width(r);
    const uint64_t qkv[] = { keys, keys, values }, xbc[] = { values, keys, keys };
    const uint64_t ssm[] = { values, values, keys, keys, qr_recurrent_dt_width(r) };
    /* GCOVR_EXCL_BR_LINE: recurrent layers have key heads, see qr_model_config_validate */
    const uint64_t blocks = r->n_key_heads, shared = blocks ? values / blocks : 0;
    const uint64_t by_key[] = { r->key_dim, r->key_dim, shared, shared };
    /* GCOVR_EXCL_BR_LINE: as above */
    const uint64_t ba[] = { blocks ? r->n_heads / blocks : 0, blocks ? r->n_heads / blocks : 0 };
    const uint64_t by_head[] = { r->key_dim, r->key_dim, r->value_dim };
    const uint64_t gated[] = { r->value_dim, r->value_dim };
    if (slice <= QR_SLICE_REC_QKV_V)
        return part_layout(qkv, 3, (int)slice - QR_SLICE_REC_QKV_Q, 1);
    if (slice <= QR_SLICE_REC_XBC_Q)
        return part_layout(xbc, 3, (int)slice - QR_SLICE_REC_XBC_V, 1);
    if (slice <= QR_SLICE_REC_SSM_DT)
        return part_layout(ssm, 5, (int)slice - QR_SLICE_REC_SSM_Z, 1);
    if (slice <= QR_SLICE_REC_KEY_Z)
        return part_layout(by_key, 4, (int)slice - QR_SLICE_REC_KEY_Q, blocks);
    if (slice <= QR_SLICE_REC_KEY_DT)
        return part_layout(ba, 2, (int)slice - QR_SLICE_REC_KEY_BETA, blocks);
    if (slice <= QR_SLICE_REC_HEAD_V)
        return part_layout(by_head, 3, (int)slice - QR_SLICE_REC_HEAD_Q, r->n_heads);
    return part_layout(gated, 2, (int)slice - QR_SLICE_REC_GATED_Z, r->n_heads);
}

struct qr_slice_layout qr_slice_layout(const struct qr_model_config *c, unsigned slice,
                                       uint32_t layer, uint64_t own)
{
    const unsigned plain = slice & ~(unsigned)QR_SLICE_FLAGS;
    const uint64_t head = c->layers[layer].head_dim;
    if (plain >= QR_SLICE_REC_QKV_Q && plain <= QR_SLICE_REC_GATED_V)
        return recurrent_layout(&c->recurrent, plain);
    if (plain >= QR_SLICE_MIX_0 && plain <= QR_SLICE_MIX_5)
        return (struct qr_slice_layout){ (plain - QR_SLICE_MIX_0) * own, own, own,
                                         qr_recurrent_shifted_inputs(&c->recurrent) * own };
    switch (plain) {
    case QR_SLICE_GATE:
        return (struct qr_slice_layout){ 0, own, own, 2 * own };
    case QR_SLICE_UP:
        return (struct qr_slice_layout){ own, own, own, 2 * own };
    case QR_SLICE_GATE_EVEN:
        return (struct qr_slice_layout){ 0, 1, 2, 2 * own };
    case QR_SLICE_UP_ODD:
        return (struct qr_slice_layout){ 1, 1, 2, 2 * own };
    case QR_SLICE_LATENT_K:
    case QR_SLICE_LATENT_V:
        return latent_layout(c, slice, own);
    case QR_SLICE_HALF_QUERY:
        return (struct qr_slice_layout){ 0, head, 2 * head, 2 * own };
    case QR_SLICE_HALF_GATE:
        return (struct qr_slice_layout){ head, head, 2 * head, 2 * own };
    case QR_SLICE_THIRD_0:
    case QR_SLICE_THIRD_1:
    case QR_SLICE_THIRD_2:
        return (struct qr_slice_layout){ (plain - QR_SLICE_THIRD_0) * own, own, own, 3 * own };
    case QR_SLICE_INDEX_Q:
        return (struct qr_slice_layout){ 0, own, own, own + c->index.head_dim };
    case QR_SLICE_INDEX_K:
        return (struct qr_slice_layout){ (uint64_t)c->index.n_heads * own, own, own,
                                         ((uint64_t)c->index.n_heads + 1) * own };
    case QR_SLICE_ALL:
        return (struct qr_slice_layout){ 0, own, own, own };
    default:
        return qkv_layout(&c->layers[layer], plain);
    }
}
