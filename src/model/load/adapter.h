/* SPDX-License-Identifier: Apache-2.0 */
/* adapter.h - an open adapter: low-rank matrices by weight role. */
#ifndef QR_MODEL_LOAD_ADAPTER_H
#define QR_MODEL_LOAD_ADAPTER_H
#include "base/handle.h"
#include "kernels/kernels_ops.h"
#include "model/load/model.h"
#include <quire/adapter.h>

/* Place of column i of row r in the panels of a matrix with k columns (kernels_ops.h). */
static inline size_t qr_lora_place(size_t r, size_t i, size_t k)
{
    const size_t panel = qr_lora_panel_size(k), chain = panel / QR_LORA_CHAINS;
    return r / QR_LORA_PANEL * panel + i % QR_LORA_CHAINS * chain +
           i / QR_LORA_CHAINS * QR_LORA_PANEL + r % QR_LORA_PANEL;
}

/* y += scale * B (A x) for one matrix. Values are stored as bf16 where that is exact for all of a
 * matrix: steps stream half of the bytes then. `rank` is padded: rows of A beyond the file's rank
 * are 0. */
struct qr_lora {
    void *a; /* panels of [rank][in]; of the token embedding [in tokens][rank] f32; NULL: none */
    void *b; /* panels of [out][rank] */
    uint32_t rank; /* a multiple of 16 */
    uint32_t in, out;
    bool a_bf16, b_bf16;
    float scale; /* alpha / rank, or alpha / sqrt(rank) */
};

/* Bytes of both. */
static inline size_t qr_lora_a_bytes(const struct qr_lora *l)
{
    return l->rank / QR_LORA_PANEL * qr_lora_panel_size(l->in) * (l->a_bf16 ? 2 : 4);
}
static inline size_t qr_lora_b_bytes(const struct qr_lora *l)
{
    const size_t rows = ((size_t)l->out + QR_LORA_PANEL - 1) / QR_LORA_PANEL * QR_LORA_PANEL;
    return rows * l->rank * (l->b_bf16 ? 2 : 4);
}

/* Element i of a or b. */
static inline const void *qr_lora_at(const void *values, bool bf16, size_t i)
{
    return bf16 ? (const void *)((const uint16_t *)values + i)
                : (const void *)((const float *)values + i);
}

struct quire_adapter {
    struct qr_handle handle;
    struct quire_model *model;
    const struct quire_allocator *allocator;
    struct qr_lora **table; /* by qr_tensor_map_index; NULL: none. A stack: [n_experts] */
    size_t table_size;
    struct quire_adapter_info info; /* base_model is owned */
    char *base_model;
    uint32_t max_rank; /* largest padded rank */
    uint32_t n_users;  /* atomic: steps that run, engines that hold it */
};

/* The place of a role in the table; layers that share weights share the update. */
static inline struct qr_lora *qr_adapter_entry(const struct quire_adapter *a,
                                               enum qr_weight_role role, uint32_t layer)
{
    return a->table[qr_tensor_map_index(role, qr_loop_layer(a->model->config, layer))];
}

/* The update of a matrix; NULL: none. */
static inline const struct qr_lora *qr_adapter_find(const struct quire_adapter *a,
                                                    enum qr_weight_role role, uint32_t layer)
{
    const struct qr_lora *l = qr_adapter_entry(a, role, layer);
    return l && l->a ? l : NULL; /* GCOVR_EXCL_BR_LINE: matrices in the table have updates */
}

/* The same for an expert of a stack. */
static inline const struct qr_lora *qr_adapter_find_expert(const struct quire_adapter *a,
                                                           enum qr_weight_role role, uint32_t layer,
                                                           uint32_t expert)
{
    const struct qr_lora *l = qr_adapter_entry(a, role, layer);
    return l && l[expert].a ? &l[expert] : NULL;
}

/* Whether any expert of a stack has an update. */
static inline bool qr_adapter_has_stack(const struct quire_adapter *a, enum qr_weight_role role,
                                        uint32_t layer)
{
    return qr_adapter_entry(a, role, layer) != NULL;
}

#endif
