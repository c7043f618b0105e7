/* SPDX-License-Identifier: Apache-2.0 */
/* adapter.c - opens, describes and closes an adapter. */
#include "base/error.h"
#include "base/fp_env.h"
#include "base/struct_size.h"
#include "model/load/adapter_open.h"
#include "model/load/weight_roles.h"

QR_DEFINE_ZERO_INIT(quire_adapter_params)
QR_DEFINE_ZERO_INIT(quire_adapter_info)

static void free_lora(const struct quire_adapter *a, struct qr_lora *l)
{
    qr_free(a->allocator, l->a, qr_lora_a_bytes(l), 1);
    qr_free(a->allocator, l->b, qr_lora_b_bytes(l), 1);
}

static void free_role(struct quire_adapter *a, enum qr_weight_role role, uint32_t layer)
{
    struct qr_lora *l = a->table[qr_tensor_map_index(role, layer)];
    const uint32_t stack = l ? qr_role_stack_size(a->model->config, role, layer) : 0,
                   n = stack ? stack : 1;
    for (uint32_t i = 0; l && i < n; i++)
        free_lora(a, &l[i]);
    qr_free(a->allocator, l, n, sizeof *l);
}

static void destroy(struct quire_adapter *a)
{
    for (int r = 0; a->table && r < QR_W_FIRST_LAYER_ROLE; r++)
        free_role(a, (enum qr_weight_role)r, 0);
    for (uint32_t i = 0; a->table && i < a->model->config->n_layers; i++)
        for (int r = QR_W_FIRST_LAYER_ROLE; r < QR_W_N_ROLES; r++)
            free_role(a, (enum qr_weight_role)r, i);
    qr_free(a->allocator, a->table, a->table_size, sizeof *a->table);
    qr_strfree(a->allocator, a->base_model);
    qr_free(a->allocator, a, 1, sizeof *a);
}

static quire_status check_params(const struct quire_model *model,
                                 const struct quire_adapter_params *p, struct quire_error *err)
{
    if (!p->path && !p->data)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.path and params.data are both NULL");
    if (p->flags & ~(uint32_t)QUIRE_ADAPTER_ALLOW_UNKNOWN)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "params.flags 0x%x has unknown bits", p->flags);
    if (model->config->kind != QR_MODEL_DECODER)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "adapters are for decoders; '%s' has an encoder",
                       model->config->arch);
    return QUIRE_OK;
}

quire_status quire_adapter_open(struct quire_model *model,
                                const struct quire_adapter_params *params,
                                struct quire_adapter **out, struct quire_error *err)
{
    QR_FP_SCOPE;
    struct quire_adapter_params p;
    if (!out)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "out is NULL");
    *out = NULL;
    QR_TRY(qr_handle_check(model, QR_KIND_MODEL, "model", err));
    QR_READ_STRUCT(&p, params, logger, "params", err);
    QR_TRY(check_params(model, &p, err));
    struct quire_adapter *a = qr_calloc(p.allocator, 1, sizeof *a);
    if (!a)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for an adapter");
    a->handle.kind = QR_KIND_ADAPTER;
    a->model = model;
    a->allocator = p.allocator;
    const quire_status s = qr_adapter_load(a, &p, err);
    if (s != QUIRE_OK) {
        destroy(a);
        return s;
    }
    __atomic_fetch_add(&model->n_adapters, 1, __ATOMIC_ACQ_REL);
    *out = a;
    return QUIRE_OK;
}

quire_status quire_adapter_close(struct quire_adapter *adapter)
{
    if (!adapter)
        return QUIRE_OK;
    if (!qr_handle_is(adapter, QR_KIND_ADAPTER))
        return QUIRE_E_INVALID_ARG;
    if (__atomic_load_n(&adapter->n_users, __ATOMIC_ACQUIRE))
        return QUIRE_E_BUSY;
    (void)qr_handle_end(adapter, QR_KIND_ADAPTER);
    __atomic_fetch_sub(&adapter->model->n_adapters, 1, __ATOMIC_ACQ_REL);
    destroy(adapter);
    return QUIRE_OK;
}

quire_status quire_adapter_get_info(const struct quire_adapter *adapter,
                                    struct quire_adapter_info *info)
{
    if (!qr_handle_is(adapter, QR_KIND_ADAPTER) || !info)
        return QUIRE_E_INVALID_ARG;
    QR_TRY(qr_struct_check_out(info, QR_SIZE_TO(struct quire_adapter_info, fingerprint), "info",
                               NULL));
    qr_struct_write(info, &adapter->info, sizeof adapter->info);
    return QUIRE_OK;
}
