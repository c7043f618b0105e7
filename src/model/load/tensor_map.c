/* SPDX-License-Identifier: Apache-2.0 */
/* tensor_map.c - maps the roles of a model to the tensors of its files, and reports tensors without
 * a role. */
#include "model/load/tensor_map.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/weight_type.h"
#include "model/arch/arch.h"
#include "model/config/unknown.h"
#include "model/load/gguf_scales.h"
#include "model/load/kv_scales.h"
#include "model/load/mtp_tensors.h"
#include "model/load/role_presence.h"
#include "model/load/slices.h"
#include "model/load/tensor_detect.h"
#include "model/load/tensor_names.h"
#include "model/load/weight_roles.h"
#include "model/load/weights_source.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Shapes */

/* Dimensions, fastest first. */
struct shape {
    uint32_t n;
    uint64_t dims[3];
};

/* Shape that a tensor of `whole` units must have. */
static struct shape expected_shape(bool vector, bool transposed, uint64_t whole, uint64_t cols,
                                   uint32_t experts)
{
    struct shape s = { 0, { 1, 1, 1 } };
    if (!vector && !transposed)
        s.dims[s.n++] = cols;
    s.dims[s.n++] = whole;
    if (transposed)
        s.dims[s.n++] = cols;
    if (experts)
        s.dims[s.n++] = experts;
    return s;
}

/* Removes the dimensions of size 1. */
static struct shape squeezed(uint32_t n, const uint64_t *dims)
{
    struct shape s = { 0, { 1, 1, 1 } };
    for (uint32_t i = 0; i < n && i < 4; i++)
        if (dims[i] != 1) {
            if (s.n == 3)
                return (struct shape){ 4, { 0 } }; /* equals no other */
            s.dims[s.n++] = dims[i];
        }
    return s;
}

/* Recurrent weights and factors of heads, which writers store with dimensions of size 1 in various
 * places; vectors may have several dimensions (a norm per group). */
static bool same_recurrent_shape(const struct qr_source_tensor *t, const struct shape *want,
                                 bool vector)
{
    if (t->n_dims > 4)
        return false;
    if (vector)
        return t->bytes / qr_weight_type_info(t->type)->block_bytes == want->dims[0];
    const struct shape a = squeezed(t->n_dims, t->dims), b = squeezed(want->n, want->dims);
    return a.n == b.n && memcmp(a.dims, b.dims, sizeof a.dims) == 0;
}

static bool same_shape(const struct qr_source_tensor *t, const struct shape *s)
{
    return t->n_dims <= 4 && t->dims[0] == s->dims[0] && t->dims[1] == s->dims[1] &&
           t->dims[2] == s->dims[2] && t->dims[3] == 1;
}

static quire_status wrong_shape(const struct qr_source_tensor *t, const struct shape *s,
                                struct quire_error *err)
{
    char want[80], has[80];
    if (s->n == 1)
        snprintf(want, sizeof want, "%llu", (unsigned long long)s->dims[0]);
    else if (s->n == 2)
        snprintf(want, sizeof want, "%llu x %llu", (unsigned long long)s->dims[1],
                 (unsigned long long)s->dims[0]);
    else
        snprintf(want, sizeof want, "%llu x %llu x %llu", (unsigned long long)s->dims[2],
                 (unsigned long long)s->dims[1], (unsigned long long)s->dims[0]);
    if (t->n_dims < 3)
        snprintf(has, sizeof has, "%llu x %llu", (unsigned long long)t->dims[1],
                 (unsigned long long)t->dims[0]);
    else
        snprintf(has, sizeof has, "%llu x %llu x %llu", (unsigned long long)t->dims[2],
                 (unsigned long long)t->dims[1], (unsigned long long)t->dims[0]);
    return qr_fail(err, QUIRE_E_FORMAT,
                   "tensor %.80s has %u dimensions (%s), the model description needs %s", t->name,
                   t->n_dims, has, want);
}

/* Vectors are read as f32, so their type must not be quantized. */
static quire_status check_type(const struct qr_source_tensor *t, bool vector,
                               struct quire_error *err)
{
    const struct qr_weight_type_info *info = qr_weight_type_info(t->type);
    if (!info || !info->supported)
        return qr_fail(err, QUIRE_E_UNSUPPORTED, "tensor %.80s has type %s, which is not supported",
                       t->name, t->type_name);
    if (vector && info->block_elems != 1)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "tensor %.80s has type %s; vectors must be F32, F16 or BF16", t->name,
                       t->type_name);
    return QUIRE_OK;
}

/* ---- Mapping */

/* True if each matrix of a stack has a tensor, with a number in its name. */
static bool tensor_per_expert(const struct qr_name_rule *r)
{
    const char *number = strstr(r->pattern, "%H");
    number = number ? number : strstr(r->pattern, "%N");
    number = number ? number : strstr(r->pattern, "%u");
    if (!number || !qr_role_is_stack(r->role))
        return false;
    return r->role < QR_W_FIRST_LAYER_ROLE || strstr(number + 2, "%u");
}

/* Shape that the tensor of a rule must have. W_UK and W_UV of all heads in one tensor, the output
 * projections of all groups of heads, and flat stacks form two dimensions. */
static struct shape tensor_shape(const struct qr_weights *w, const struct qr_name_rule *r,
                                 const struct qr_slice_layout *l, bool vector, uint64_t cols,
                                 uint32_t stack)
{
    const unsigned slice = r->slice & ~(unsigned)QR_SLICE_FLAGS;
    const bool transposed = r->slice & QR_SLICE_TRANSPOSED;
    const bool heads = slice == QR_SLICE_LATENT_K || slice == QR_SLICE_LATENT_V;
    struct shape conv = { .n = 3 };
    if (qr_role_conv_dims(&w->config, r->role, cols, stack, conv.dims))
        return conv;
    if (heads && transposed)
        cols = (uint64_t)w->config.mla.qk_nope_dim + w->config.v_head_dim;
    struct shape s =
        expected_shape(vector, transposed, l->whole, cols, tensor_per_expert(r) ? 0 : stack);
    if (heads || r->role == QR_W_ATTN_O_A || r->slice & QR_SLICE_FLAT) {
        s.dims[1] *= s.dims[2];
        s.dims[2] = 1;
        s.n = 2;
    }
    return s;
}

/* A table of integers, which integer_table.c reads. */
static quire_status bind_table(struct qr_weights *w, enum qr_weight_role role, uint32_t layer,
                               size_t tensor, const struct qr_source_tensor *t,
                               const struct shape *shape, struct quire_error *err)
{
    if (!same_shape(t, shape))
        return wrong_shape(t, shape, err);
    w->tensor_map[qr_tensor_map_index(role, layer)] =
        (struct qr_weight){ .role = role,
                            .layer = layer,
                            .type = QR_WEIGHT_F32, /* not read as such */
                            .n_rows = shape->dims[1],
                            .n_cols = shape->dims[0],
                            .tensor = tensor };
    return QUIRE_OK;
}

/* Checks a tensor and enters it for a role. */
static quire_status bind(struct qr_weights *w, enum qr_weight_role role, uint32_t layer,
                         const struct qr_name_rule *r, size_t tensor, struct quire_error *err)
{
    struct qr_source_tensor t;
    uint64_t rows, cols;
    size_t row_bytes, column_bytes = 0;
    qr_weights_source_tensor(w, tensor, &t);
    qr_role_shape(&w->config, role, layer, &rows, &cols);
    const bool vector = rows == 0, transposed = r->slice & QR_SLICE_TRANSPOSED;
    const uint32_t stack = qr_role_stack_size(&w->config, role, layer);
    const struct qr_slice_layout l = qr_slice_layout(
        &w->config, r->slice, role < QR_W_FIRST_LAYER_ROLE ? 0 : layer, vector ? cols : rows);
    const struct shape shape = tensor_shape(w, r, &l, vector, cols, stack);
    if (qr_role_is_table(role))
        return bind_table(w, role, layer, tensor, &t, &shape, err);
    QR_TRY(check_type(&t, vector, err));
    const bool recurrent = (role >= QR_W_REC_Q && role <= QR_W_REC_LAST) ||
                           role == QR_W_NGRAM_CONV || role == QR_W_QUERY_GAIN;
    if (recurrent ? !same_recurrent_shape(&t, &shape, vector) : !same_shape(&t, &shape))
        return wrong_shape(&t, &shape, err);
    const bool dequantize = transposed && qr_weight_type_info(t.type)->block_elems != 1;
    if (dequantize && l.group != l.whole)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "tensor %.80s has type %s, a part of which cannot be read transposed",
                       t.name, t.type_name);
    if (transposed && t.order)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "tensor %.80s has act-order and cannot be read transposed", t.name);
    const uint32_t type = dequantize ? QR_WEIGHT_F32 : t.type;
    /* GCOVR_EXCL_BR_LINE: the shape is right, and rows of a file have whole blocks */
    if (!qr_weight_row_bytes(type, cols, &row_bytes) ||
        (transposed && !qr_weight_row_bytes(t.type, l.whole, &column_bytes)))
        return qr_fail(err, QUIRE_E_FORMAT, "tensor %.80s: its rows do not fit type %s", t.name,
                       t.type_name);
    const uint64_t unit = vector || transposed ? qr_weight_type_info(type)->block_bytes : row_bytes;
    w->tensor_map[qr_tensor_map_index(role, layer)] = (struct qr_weight){
        .role = role,
        .layer = layer,
        .type = type,
        .stored_type = t.type,
        .n_rows = vector ? 1 : rows,
        .n_cols = cols,
        .row_bytes = row_bytes,
        .n_experts = stack,
        .tensor = tensor,
        .first_byte = l.first * unit,
        .unit_bytes = unit,
        .group = l.group,
        .stride = l.stride,
        .column_bytes = column_bytes,
        .expert_bytes = stack ? t.bytes / stack : 0,
        .many_rows = t.many_rows,
    };
    if (qr_role_owner(&w->config, role, layer) == layer)
        w->total_bytes += (vector ? 1 : rows) * row_bytes * (stack ? stack : 1);
    return QUIRE_OK;
}

/* Tensors of experts 1 and up; each must have the type and shape of the first. */
static quire_status bind_experts(struct qr_weights *w, enum qr_weight_role role, uint32_t layer,
                                 const struct qr_name_rule *r, uint8_t *used,
                                 struct quire_error *err)
{
    struct qr_weight *stack = &w->tensor_map[qr_tensor_map_index(role, layer)];
    struct qr_source_tensor first, t;
    size_t *list = qr_arena_alloc(&w->lists, stack->n_experts, sizeof *list);
    if (!list)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a list of %u experts", stack->n_experts);
    list[0] = stack->tensor;
    qr_weights_source_tensor(w, list[0], &first);
    for (uint32_t e = 1; e < stack->n_experts; e++) {
        char name[QR_NAME_MAX];
        qr_tensor_rule_name(w, r, role < QR_W_FIRST_LAYER_ROLE ? e : layer, e, name);
        if (!qr_weights_source_find(w, name, &list[e]))
            return qr_fail(err, QUIRE_E_FORMAT, "tensor %s is missing", name);
        qr_weights_source_tensor(w, list[e], &t);
        if (t.type != first.type || t.n_dims != first.n_dims ||
            memcmp(t.dims, first.dims, sizeof t.dims) != 0)
            return qr_fail(err, QUIRE_E_FORMAT,
                           "tensor %.80s differs from expert 0 in type or shape", t.name);
        used[list[e]] = 1;
    }
    stack->expert_tensors = list;
    return QUIRE_OK;
}

/* Finds the tensor of a rule and marks it as used. The tensors of a shared block have the name of
 * one of the layers with the block, usually the first or the last. If there are several, they are
 * equal: files may store a block once per layer. */
static bool find_tensor(const struct qr_weights *w, enum qr_weight_role role, uint32_t layer,
                        const struct qr_name_rule *r, const char *name, uint8_t *used,
                        size_t *tensor)
{
    const struct qr_layer_config *layers = w->config.layers;
    bool found = false;
    if (!qr_role_in_block(&w->config, role, layer)) {
        found = qr_weights_source_find(w, name, tensor);
        if (found)
            used[*tensor] = 1;
        return found;
    }
    for (uint32_t i = layers[layer].block_owner; i < w->config.n_layers; i++) {
        char other[QR_NAME_MAX];
        size_t t;
        if (layers[i].mixer != QR_MIXER_SHARED_BLOCK ||
            layers[i].block_owner != layers[layer].block_owner)
            continue;
        qr_tensor_rule_name(w, r, i, layers[layer].block_use, other);
        if (!qr_weights_source_find(w, other, &t))
            continue;
        used[t] = 1;
        *tensor = found ? *tensor : t;
        found = true;
    }
    return found;
}

/* Maps one role to the first of its names that exists. */
static quire_status map_role(struct qr_weights *w, enum qr_weight_role role, uint32_t layer,
                             uint8_t *used, struct quire_error *err)
{
    const enum qr_presence presence = qr_role_presence(&w->config, role, layer);
    char name[QR_NAME_MAX], first[QR_NAME_MAX] = "";
    const struct qr_name_rule *r;
    size_t tensor;
    for (unsigned n = 0; presence != QR_ABSENT && (r = qr_tensor_rule(w, role, layer, n, name));
         n++) {
        if (find_tensor(w, role, layer, r, name, used, &tensor)) {
            QR_TRY(bind(w, role, layer, r, tensor, err));
            return tensor_per_expert(r) ? bind_experts(w, role, layer, r, used, err) : QUIRE_OK;
        }
        if (n == 0)
            memcpy(first, name, sizeof first);
    }
    if (presence != QR_REQUIRED)
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_FORMAT, "tensor %s is missing",
                   first[0] ? first : qr_weight_role_name(role));
}

/* ---- Tensors without a role */

/* Tensors without effect on any result of the language model, in every family. */
static const char *const ignored[] = {
    /* tables that the configuration contains or implies */
    "rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight",
    "*.rotary_emb.inv_freq", "*.attn_rot_embd.weight",
    /* encoders of images and sound, and their projections */
    "vision_tower.*", "vision_model.*", "visual.*", "audio_tower.*", "multi_modal_projector.*",
    "image_newline", "model.vision_tower.*", "model.vision_model.*", "model.visual.*",
    "model.audio_tower.*", "model.multi_modal_projector.*", "model.image_newline",
    "model.embed_vision.*", "model.embed_audio.*", "v.*", "mm.*", NULL
};

static bool in_list(const char *const *list, const char *name)
{
    for (; list && *list; list++)
        if (qr_name_matches(*list, name))
            return true;
    return false;
}

/* Whether the tensor belongs to a layer behind the last one, which predicts further tokens (MTP)
 * and is not part of the language model. */
static bool is_mtp(const struct qr_weights *w, const char *name)
{
    const char *layers = w->gguf ? "blk." : "model.layers.";
    const size_t n = strlen(layers);
    return w->config.n_mtp_layers && strncmp(name, layers, n) == 0 &&
           strtoul(name + n, NULL, 10) - w->config.n_layers < w->config.n_mtp_layers;
}

/* Whether a head of multi-token prediction accounts for a tensor without a role: those of the model
 * and of other heads, and the head's copies of the embedding and the output matrix, which are
 * equal. */
static bool is_known_to_mtp(const struct qr_weights *w, const char *name)
{
    static const char *const copies[] = { "*.embed_tokens.weight", "*.shared_head.head.weight",
                                          "*.shared_head_head.weight", NULL };
    const char *layers = w->gguf ? "blk." : w->arch->hf_mtp_layers;
    const uint32_t first = w->config.mtp.layer,
                   n = w->arch->mtp_layer_pairs ? 2 : w->config.n_layers;
    for (uint32_t i = first; i < first + n; i++) {
        char own[64];
        snprintf(own, sizeof own, "%.40s%u.", layers ? layers : "model.layers.", i);
        if (strncmp(name, own, strlen(own)) == 0)
            return in_list(copies, name);
    }
    return true;
}

/* Whether a tensor without a role is no part of what is loaded, the model or a head. Families may
 * ignore the tensors of heads only where they load none. */
static bool is_elsewhere(const struct qr_weights *w, const char *name)
{
    if (w->config.mtp.kind == QR_MTP_LAYER)
        return is_known_to_mtp(w, name);
    return in_list(w->arch->ignored_tensors, name) || is_mtp(w, name);
}

/* Whether the tensor belongs to an expert that returns its input; writers store unused weights. */
static bool is_identity_expert(const struct qr_weights *w, const char *name)
{
    const struct qr_moe_config *m = &w->config.moe;
    uint32_t layer, expert;
    for (const struct qr_name_rule *r = w->arch->hf_names; m->n_identity && r->pattern; r++)
        if (r->role >= QR_W_EXPERT_GATE && r->role <= QR_W_EXPERT_DOWN &&
            qr_rule_match(r, name, &layer, &expert) && expert >= m->n_experts &&
            expert - m->n_experts < m->n_identity)
            return true;
    return false;
}

static quire_status report_unused(const struct qr_weights *w, const uint8_t *used,
                                  const struct qr_unknown_policy *policy, struct quire_error *err)
{
    for (size_t i = 0; i < qr_weights_source_count(w); i++) {
        struct qr_source_tensor t;
        qr_weights_source_tensor(w, i, &t);
        if (!used[i] && !in_list(ignored, t.name) && !is_elsewhere(w, t.name) &&
            !is_identity_expert(w, t.name) && !qr_is_kv_scale(t.name))
            QR_TRY(qr_unknown_report(policy, err,
                                     "tensor %.80s does not belong to a model of family %s as its "
                                     "configuration describes it",
                                     t.name, w->config.arch));
    }
    return QUIRE_OK;
}

/* Marks weights of keys and values in layers that read those of another layer. Published files have
 * them, without effect. */
static void mark_shared_kv(const struct qr_weights *w, uint8_t *used)
{
    static const enum qr_weight_role roles[] = { QR_W_ATTN_K, QR_W_ATTN_V, QR_W_ATTN_K_BIAS,
                                                 QR_W_ATTN_V_BIAS, QR_W_ATTN_K_NORM };
    for (uint32_t layer = 0; layer < w->config.n_layers; layer++) {
        const bool shared = w->config.layers[layer].kv_source != layer;
        for (size_t i = 0; shared && i < sizeof roles / sizeof *roles; i++) {
            char name[QR_NAME_MAX];
            size_t tensor;
            for (unsigned n = 0; qr_tensor_rule(w, roles[i], layer, n, name); n++)
                if (qr_weights_source_find(w, name, &tensor))
                    used[tensor] = 1;
        }
    }
}

static quire_status map_all_roles(struct qr_weights *w, uint8_t *used, struct quire_error *err)
{
    for (int role = 0; role < QR_W_FIRST_LAYER_ROLE; role++)
        QR_TRY(map_role(w, (enum qr_weight_role)role, 0, used, err));
    for (uint32_t layer = 0; layer < qr_model_total_layers(&w->config); layer++)
        for (int role = QR_W_FIRST_LAYER_ROLE; role < QR_W_N_ROLES; role++)
            QR_TRY(map_role(w, (enum qr_weight_role)role, layer, used, err));
    return QUIRE_OK;
}

/* Tying and the presence of a head follow from the tensors, not from the config. */
static quire_status set_outputs(struct qr_weights *w, struct quire_error *err)
{
    struct qr_model_config *c = &w->config;
    const bool own = w->tensor_map[QR_W_OUTPUT].n_cols != 0,
               dense = w->tensor_map[QR_W_HEAD_DENSE].n_cols != 0;
    /* with QR_CLASS_MASKED the dense layer belongs to the classification head */
    c->no_lm_head = c->kind == QR_MODEL_ENCODER
                        ? !own && (!dense || c->class_head == QR_CLASS_MASKED)
                        : !own && c->class_head != QR_CLASS_NONE;
    c->tied_embeddings = !own;
    if (dense && !w->tensor_map[QR_W_HEAD_NORM].n_cols)
        return qr_fail(err, QUIRE_E_FORMAT,
                       "the head's norm is missing, but its dense layer exists");
    return QUIRE_OK;
}

quire_status qr_tensor_map_build(struct qr_weights *w, const struct qr_unknown_policy *policy,
                                 struct quire_error *err)
{
    const size_t n = qr_weights_source_count(w);
    qr_tensor_choose_prefix(w);
    if (w->config.mtp.kind == QR_MTP_LAYER)
        QR_TRY(qr_mtp_tensors_check(w, err));
    /* each layer has a tensor; the map must not be larger than the file that asks for it */
    if (n < qr_model_total_layers(&w->config))
        return qr_fail(err, QUIRE_E_FORMAT, "the model has %u layers, and only %zu tensors",
                       qr_model_total_layers(&w->config), n);
    w->tensor_map_size =
        qr_tensor_map_index(QR_W_FIRST_LAYER_ROLE, qr_model_total_layers(&w->config));
    w->tensor_map = qr_calloc(w->allocator, w->tensor_map_size, sizeof *w->tensor_map);
    uint8_t *used = qr_calloc(w->allocator, n, 1);
    if (!w->tensor_map || !used) {
        qr_free(w->allocator, used, n, 1);
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the tensor map of %u layers",
                       qr_model_total_layers(&w->config));
    }
    qr_tensor_detect(w);
    mark_shared_kv(w, used);
    quire_status s = map_all_roles(w, used, err);
    if (s == QUIRE_OK && w->gguf)
        s = qr_gguf_scales_bind(w, used, err);
    if (s == QUIRE_OK)
        s = set_outputs(w, err);
    if (s == QUIRE_OK)
        s = report_unused(w, used, policy, err);
    qr_free(w->allocator, used, n, 1);
    return s;
}
