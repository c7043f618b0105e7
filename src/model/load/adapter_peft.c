/* SPDX-License-Identifier: Apache-2.0 */
/* adapter_peft.c - reads the tensors of a PEFT folder. */
#include "model/load/adapter_peft.h"
#include "base/error.h"
#include "base/weight_type.h"
#include "linear/packed.h"
#include "model/load/tensor_names.h"
#include "model/load/weights_source.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Names of tensors: "base_model.model.", the module, then one of these. */
static const char prefix[] = "base_model.model.";
static const char lora_a[] = ".lora_A.weight", lora_b[] = ".lora_B.weight",
                  embedding_a[] = ".lora_embedding_A", embedding_b[] = ".lora_embedding_B",
                  base_layer[] = ".base_layer", weight[] = ".weight";

enum { NAME_MAX_BYTES = 512 };

static bool cut_suffix(char *name, const char *suffix)
{
    const size_t n = strlen(name), s = strlen(suffix);
    if (n < s || strcmp(name + n - s, suffix) != 0)
        return false;
    name[n - s] = 0;
    return true;
}

/* Finds target nth of `module` + `suffix`, under any prefix that its language model may have. */
static bool find_named(const struct qr_adapter_build *b, const char *module, const char *suffix,
                       unsigned nth, struct qr_lora_target *t, bool *missing)
{
    char name[NAME_MAX_BYTES + 32], plain[QR_NAME_MAX];
    snprintf(name, sizeof name, "%s%s", module, suffix);
    for (size_t p = 0; qr_tensor_plain_name(p, name, plain); p++)
        if (plain[0] && qr_adapter_target(b, plain, false, nth, t, missing))
            return true;
    return false;
}

static bool find_target(const struct qr_adapter_build *b, const char *module, unsigned nth,
                        struct qr_lora_target *t, bool *missing)
{
    return find_named(b, module, weight, nth, t, missing);
}

static quire_status unknown_module(const char *tensor, const char *module, bool missing,
                                   struct quire_error *err)
{
    return qr_fail(err, QUIRE_E_MISMATCH, "tensor %.100s: the model has no %s %.100s", tensor,
                   missing ? "layer or expert" : "module", module);
}

/* ---- Stored weights of the base model */

/* PEFT also stores the weights of adapted embeddings. Those of the model must equal them: other
 * values mean that they were trained or resized. Quantized matrices of the model are not
 * compared. */
static quire_status check_base_weights(const struct qr_adapter_build *b, size_t tensor,
                                       const struct qr_packed *w, struct quire_error *err)
{
    struct qr_source_tensor t;
    const struct quire_allocator *alloc = b->adapter->allocator;
    qr_weights_source_tensor(&b->file, tensor, &t);
    if (t.n_dims != 2 || t.dims[0] != w->k || t.dims[1] != w->n)
        return qr_fail(err, QUIRE_E_MISMATCH,
                       "tensor %.100s is %llu x %llu, in the model %zu x %zu", t.name,
                       (unsigned long long)t.dims[1], (unsigned long long)t.dims[0], w->n, w->k);
    if (qr_weight_type_info(w->type)->block_elems != 1)
        return QUIRE_OK;
    float *values, *row = qr_alloc(alloc, w->k, sizeof *row);
    size_t count;
    if (!row)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a row of %zu values", w->k);
    quire_status s = qr_adapter_read(b, tensor, &values, &count, err);
    for (size_t r = 0; s == QUIRE_OK && r < w->n; r++) {
        qr_packed_unpack_row(w, r, row);
        for (size_t i = 0; s == QUIRE_OK && i < w->k; i++) {
            const float v = values[r * w->k + i];
            if (fabsf(v - row[i]) > fabsf(v) / 128 + 1e-6f) /* the model may be rounded to bf16 */
                s = qr_fail(err, QUIRE_E_UNSUPPORTED,
                            "tensor %.100s differs from the model in row %zu: replaced weights are "
                            "not supported",
                            t.name, r);
        }
    }
    qr_free(alloc, values, count, sizeof *values);
    qr_free(alloc, row, w->k, sizeof *row);
    return s;
}

static quire_status other_tensor(const struct qr_adapter_build *b, size_t tensor, const char *name,
                                 char *module, struct quire_error *err)
{
    const struct quire_model *m = b->adapter->model;
    struct qr_lora_target t;
    bool missing = false;
    if (cut_suffix(module, weight)) {
        (void)cut_suffix(module, base_layer);
        if (find_target(b, module, 0, &t, &missing) && t.role == QR_W_TOKEN_EMBD)
            return check_base_weights(b, tensor, m->global.mat[QR_W_TOKEN_EMBD], err);
        if (find_target(b, module, 0, &t, &missing) && t.role == QR_W_OUTPUT)
            return check_base_weights(b, tensor, qr_model_head(m), err);
    }
    return qr_fail(err, QUIRE_E_UNSUPPORTED,
                   "tensor %.100s is neither A nor B of LoRA, which is all that is supported",
                   name);
}

/* ---- Pairs */

/* Reads A and B. Both have two dimensions, of which they share one. */
static quire_status read_pair(const struct qr_adapter_build *b, size_t a, size_t other,
                              struct qr_lora_pair *p, struct quire_error *err)
{
    struct qr_source_tensor ta, tb;
    qr_weights_source_tensor(&b->file, a, &ta);
    qr_weights_source_tensor(&b->file, other, &tb);
    *p = (struct qr_lora_pair){ .name = ta.name };
    if (ta.n_dims != 2 || tb.n_dims != 2 || ta.dims[1] != tb.dims[0])
        return qr_fail(err, QUIRE_E_FORMAT,
                       "tensors %.80s and %.80s do not have the shapes [rank, in] and [out, rank]",
                       ta.name, tb.name);
    p->in = ta.dims[0];
    p->out = tb.dims[1];
    p->a_row = (size_t)p->in;
    p->a_col = 1;
    p->b_row = (size_t)tb.dims[0];
    p->b_col = 1;
    QR_TRY(qr_adapter_read(b, a, &p->a, &p->a_count, err));
    return qr_adapter_read(b, other, &p->b, &p->b_count, err);
}

static void free_pair(const struct qr_adapter_build *b, struct qr_lora_pair *p)
{
    qr_free(b->adapter->allocator, p->a, p->a_count, sizeof *p->a);
    qr_free(b->adapter->allocator, p->b, p->b_count, sizeof *p->b);
}

/* Sets rank and scale of a pair that was read; A has as many rows for each of n_experts. */
static quire_status set_scale(const struct qr_peft_config *c, const char *module,
                              uint32_t n_experts, struct qr_lora_pair *p, struct quire_error *err)
{
    const uint64_t rows = p->b_row; /* of A: the columns of B */
    const uint64_t rank = n_experts ? rows / n_experts : rows;
    QR_TRY(qr_adapter_check_rank(p->name, rank, err));
    p->rank = (uint32_t)rank;
    if (rank != qr_peft_rank(c, module) || (n_experts && rows % n_experts))
        return qr_fail(err, QUIRE_E_FORMAT,
                       "tensor %.100s has %llu rows, adapter_config.json gives rank %u", p->name,
                       (unsigned long long)rows, qr_peft_rank(c, module));
    const double scale = qr_peft_scale(c, module, p->rank);
    p->scale = (float)scale;
    return qr_adapter_check_scale(p->name, scale, err);
}

/* ---- target_parameters: all experts of a layer in one pair. A is [experts * rank][in], B is
 * [out][rank * experts] with the expert as the fastest index. */

/* The slice of a role in the parameter of all experts. Families whose checkpoints have a tensor
 * per expert have [gate; up] in the reference implementation. */
static unsigned stacked_slice(const struct qr_adapter_build *b, enum qr_weight_role role,
                              const char *parameter)
{
    bool missing = false;
    struct qr_lora_target t;
    for (unsigned n = 0; find_named(b, parameter, "", n, &t, &missing); n++)
        if (t.role == role)
            return t.slice;
    return role == QR_W_EXPERT_GATE ? QR_SLICE_GATE
           : role == QR_W_EXPERT_UP ? QR_SLICE_UP
                                    : QR_SLICE_ALL;
}

static quire_status add_experts(struct qr_adapter_build *b, const struct qr_lora_pair *p,
                                enum qr_weight_role role, uint32_t layer, const char *parameter,
                                struct quire_error *err)
{
    const uint32_t n = b->adapter->model->config->moe.n_experts;
    struct qr_lora_target t = { role, layer, 0, stacked_slice(b, role, parameter) };
    for (; t.expert < n; t.expert++)
        QR_TRY(qr_adapter_add_target(b, p, &t, err));
    return QUIRE_OK;
}

/* Gets the layer of the module of all experts: that of the router beside it. */
static bool find_experts(const struct qr_adapter_build *b, const char *experts, uint32_t *layer,
                         bool *missing)
{
    static const char *const routers[] = { ".gate", ".router" };
    const int n = (int)(strrchr(experts, '.') - experts);
    for (int i = 0; i < 2; i++) {
        char router[NAME_MAX_BYTES + 16];
        struct qr_lora_target t;
        snprintf(router, sizeof router, "%.*s%s", n, experts, routers[i]);
        *layer = 0;
        /* GCOVR_EXCL_BR_LINE: no family has another weight of such a name */
        if (find_target(b, router, 0, &t, missing) && t.role == QR_W_ROUTER) {
            *layer = t.layer;
            return true;
        }
    }
    return false;
}

/* Adds a pair of the module of all experts. Which of its two parameters the pair belongs to
 * follows from the shapes. */
static quire_status add_parameter(struct qr_adapter_build *b, const struct qr_peft_config *c,
                                  const char *experts, size_t a, size_t other,
                                  struct qr_lora_pair *p, struct quire_error *err)
{
    const struct qr_model_config *cfg = b->adapter->model->config;
    char parameter[NAME_MAX_BYTES + 16];
    uint32_t layer;
    bool missing = false;
    if (!find_experts(b, experts, &layer, &missing))
        return unknown_module(p->name, experts, missing, err);
    QR_TRY(read_pair(b, a, other, p, err));
    const bool down = p->in == cfg->moe.ffn_size && p->out == cfg->hidden_size;
    snprintf(parameter, sizeof parameter, "%s.%s", experts, down ? "down_proj" : "gate_up_proj");
    QR_TRY(set_scale(c, parameter, cfg->moe.n_experts, p, err));
    p->a_expert = (size_t)p->rank * p->in;
    p->b_expert = 1;
    p->b_col = cfg->moe.n_experts;
    if (down)
        return add_experts(b, p, QR_W_EXPERT_DOWN, layer, parameter, err);
    QR_TRY(add_experts(b, p, QR_W_EXPERT_GATE, layer, parameter, err));
    return add_experts(b, p, QR_W_EXPERT_UP, layer, parameter, err);
}

/* Adds a pair of a module. */
static quire_status add_module(struct qr_adapter_build *b, const struct qr_peft_config *c,
                               char *module, size_t a, size_t other, struct qr_lora_pair *p,
                               struct quire_error *err)
{
    struct qr_lora_target t;
    bool missing = false;
    if (c->target_parameters) {
        while (cut_suffix(module, base_layer))
            ;
        const size_t n = strlen(module);
        if (n > 8 && strcmp(module + n - 8, ".experts") == 0)
            return add_parameter(b, c, module, a, other, p, err);
    }
    if (!find_target(b, module, 0, &t, &missing))
        return unknown_module(p->name, module, missing, err);
    QR_TRY(read_pair(b, a, other, p, err));
    QR_TRY(set_scale(c, module, 0, p, err));
    /* of a per-expert module the pair is that of this expert alone */
    for (unsigned n = 0; find_target(b, module, n, &t, &missing); n++)
        QR_TRY(qr_adapter_add_target(b, p, &t, err));
    return QUIRE_OK;
}

static quire_status find_partner(const struct qr_adapter_build *b, const char *name,
                                 const char *module, const char *suffix, size_t *tensor,
                                 struct quire_error *err)
{
    char other[NAME_MAX_BYTES + 64];
    snprintf(other, sizeof other, "%s%s%s", prefix, module, suffix);
    if (qr_weights_source_find(&b->file, other, tensor))
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_FORMAT, "tensor %.100s has no partner %.100s", name, other);
}

static quire_status add_tensor(struct qr_adapter_build *b, const struct qr_peft_config *c,
                               size_t tensor, struct quire_error *err)
{
    struct qr_source_tensor t;
    char module[NAME_MAX_BYTES];
    size_t other;
    qr_weights_source_tensor(&b->file, tensor, &t);
    if (strncmp(t.name, prefix, sizeof prefix - 1) != 0 || strlen(t.name) >= sizeof module)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "tensor %.100s: the name does not begin with %s, or has more than %d bytes",
                       t.name, prefix, NAME_MAX_BYTES - 1);
    snprintf(module, sizeof module, "%s", t.name + sizeof prefix - 1);
    if (cut_suffix(module, lora_b))
        return find_partner(b, t.name, module, lora_a, &other, err);
    if (cut_suffix(module, embedding_b))
        return find_partner(b, t.name, module, embedding_a, &other, err);
    const bool plain = cut_suffix(module, lora_a);
    if (!plain && !cut_suffix(module, embedding_a))
        return other_tensor(b, tensor, t.name, module, err);
    QR_TRY(find_partner(b, t.name, module, plain ? lora_b : embedding_b, &other, err));
    struct qr_lora_pair p = { .name = t.name };
    const quire_status s = add_module(b, c, module, tensor, other, &p, err);
    free_pair(b, &p);
    return s;
}

quire_status qr_adapter_read_peft(struct qr_adapter_build *b, const struct qr_peft_config *config,
                                  struct quire_error *err)
{
    for (size_t i = 0; i < qr_weights_source_count(&b->file); i++)
        QR_TRY(add_tensor(b, config, i, err));
    return QUIRE_OK;
}
