/* SPDX-License-Identifier: Apache-2.0 */
/* weights_internal.h - what the parts of the weight source share. */
#ifndef QR_MODEL_LOAD_WEIGHTS_INTERNAL_H
#define QR_MODEL_LOAD_WEIGHTS_INTERNAL_H
#include "format/gguf.h"
#include "format/safetensors.h"
#include "model/arch/arch.h"
#include "model/load/weights.h"
#include <pthread.h>

struct qr_weights {
    const struct quire_allocator *allocator;
    const struct quire_logger *logger;
    quire_progress_fn progress;
    void *progress_user;
    struct qr_model_config config;
    const struct qr_arch *arch;
    struct qr_gguf *gguf; /* one of these two */
    struct qr_safetensors *safetensors;
    char *dir;
    const char *strip, *add; /* prefix of the names in this checkpoint; see weights_names.c */
    struct qr_weight *table; /* by role and layer; n_cols == 0: absent */
    size_t table_size;
    struct qr_arena lists; /* expert_tensors of the table */
    uint64_t total_bytes;
    pthread_mutex_t progress_lock;
    uint64_t done_bytes; /* under the lock */
};

/* A tensor of either format, dimensions fastest first. */
struct qr_source_tensor {
    const char *name;
    uint32_t type; /* enum qr_weight_type; UINT32_MAX: one that only safetensors has */
    const char *type_name;
    uint32_t n_dims; /* more than 4 count as 5 */
    uint64_t dims[4];
    uint64_t bytes;
};
size_t qr_weights_source_count(const struct qr_weights *w);
void qr_weights_source_tensor(const struct qr_weights *w, size_t i, struct qr_source_tensor *t);
bool qr_weights_source_find(const struct qr_weights *w, const char *name, size_t *i);

/* What the description implies for a role. */
enum qr_need { QR_NEED_NOTHING, QR_NEED_OPTIONAL, QR_NEED_REQUIRED };
enum qr_need qr_role_need(const struct qr_model_config *cfg, enum qr_weight_role role,
                          uint32_t layer);
void qr_role_shape(const struct qr_model_config *cfg, enum qr_weight_role role, uint32_t layer,
                   uint64_t *rows, uint64_t *cols); /* vectors: rows == 0 */

/* Bytes [begin, begin + bytes) of a tensor of either format. */
quire_status qr_weights_read_source(const struct qr_weights *w, size_t tensor, uint64_t begin,
                                    uint64_t bytes, void *dst, struct quire_error *err);

/* Fills the table; reports tensors that are missing, misshapen or left over. */
quire_status qr_weights_resolve(struct qr_weights *w, bool strict, struct quire_error *err);

/* Place of a role in the table; global roles ignore the layer. */
static inline size_t qr_weights_slot(enum qr_weight_role role, uint32_t layer)
{
    if (role < QR_W_FIRST_LAYER_ROLE)
        return role;
    return QR_W_FIRST_LAYER_ROLE + (size_t)layer * (QR_W_N_ROLES - QR_W_FIRST_LAYER_ROLE) +
           (role - QR_W_FIRST_LAYER_ROLE);
}

#endif
