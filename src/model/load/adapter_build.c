/* SPDX-License-Identifier: Apache-2.0 */
/* adapter_build.c - builds an adapter from pairs of tensors of its file, checked against the
 * model. */
#include "model/load/adapter_build.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/half.h"
#include "base/keyed_hash.h"
#include "base/weight_type.h"
#include "linear/dequantize.h"
#include "model/arch/arch.h"
#include "model/load/slices.h"
#include "model/load/tensor_map.h"
#include "model/load/weight_roles.h"
#include "model/load/weights_source.h"
#include <math.h>
#include <string.h>

/* ---- Names */

static bool in_model(const struct quire_model *m, const struct qr_name_rule *r, uint32_t layer,
                     uint32_t expert)
{
    const uint32_t n_layers = m->config->loop_layers ? m->config->loop_layers : m->config->n_layers;
    return (r->role < QR_W_FIRST_LAYER_ROLE || layer < n_layers) &&
           (!qr_role_is_stack(r->role) || expert < qr_role_stack_size(m->config, r->role, layer));
}

/* Whether the model computes with a matrix of the role. A tied LM head counts. */
static bool has_role(const struct quire_model *m, const struct qr_lora_target *t)
{
    const struct qr_model_layer *layer =
        t->role < QR_W_FIRST_LAYER_ROLE ? &m->global : &m->layers[t->layer];
    if (t->role == QR_W_OUTPUT)
        return qr_model_head(m) != NULL;
    return qr_role_is_stack(t->role) ? layer->experts[t->role] != NULL
                                     : layer->mat[t->role] != NULL;
}

/* Whether a rule of the list gives the name a matrix that the model has. */
static bool names_matrix(const struct quire_model *m, const struct qr_name_rule *list,
                         const char *name)
{
    for (const struct qr_name_rule *r = list; r && r->pattern; r++) {
        struct qr_lora_target t = { .role = r->role };
        if (qr_rule_match(r, name, &t.layer, &t.expert) && in_model(m, r, t.layer, t.expert) &&
            has_role(m, &t))
            return true;
    }
    return false;
}

/* Searches one list for rule number *nth that fits; counts it down. only_matrices: without rules
 * for a whole matrix that the model lacks. */
static bool find_rule(const struct quire_model *m, const struct qr_name_rule *list,
                      const char *name, bool only_matrices, unsigned *nth, struct qr_lora_target *t,
                      bool *missing)
{
    for (const struct qr_name_rule *r = list; r && r->pattern; r++) {
        uint32_t layer, expert;
        if (!qr_rule_match(r, name, &layer, &expert))
            continue;
        if (!in_model(m, r, layer, expert)) {
            *missing = true;
            continue;
        }
        const struct qr_lora_target fit = { r->role, layer, expert,
                                            r->slice & ~(unsigned)QR_SLICE_FLAGS };
        if (only_matrices && r->slice == QR_SLICE_ALL && !has_role(m, &fit))
            continue;
        if ((*nth)-- > 0)
            continue;
        *t = fit;
        return true;
    }
    return false;
}

/* Searches the names of a family. The family's own names hide the common ones. A name can be that
 * of attention in some layers and of the recurrent layer in others. */
static bool find_in_family(const struct quire_model *m, const struct qr_arch *arch, bool gguf,
                           const char *name, unsigned nth, struct qr_lora_target *t, bool *missing)
{
    const struct qr_name_rule *own = gguf ? arch->gguf_names : arch->hf_names,
                              *common = gguf ? arch->gguf_common_names : arch->hf_common_names;
    const bool only = names_matrix(m, own, name) || names_matrix(m, common, name);
    unsigned left = nth;
    return find_rule(m, own, name, only, &left, t, missing) ||
           (left == nth && find_rule(m, common, name, only, &left, t, missing));
}

bool qr_adapter_target(const struct qr_adapter_build *b, const char *name, bool gguf, unsigned nth,
                       struct qr_lora_target *target, bool *layer_missing)
{
    const struct quire_model *m = b->adapter->model;
    const struct qr_arch *own = m->weights->arch;
    /* GGUF files of Mistral and Mixtral have arch llama */
    const struct qr_arch *others[] = { own, gguf ? &qr_arch_llama : &qr_arch_mixtral };
    const bool alias =
        gguf ? !own->gguf_archs[0] : own == &qr_arch_llama && m->config->moe.n_experts;
    for (int i = 0; i < (alias ? 2 : 1); i++)
        if (find_in_family(m, others[i], gguf, name, nth, target, layer_missing))
            return true;
    return false;
}

/* ---- Tensors */

static quire_status check_finite(const char *name, const float *x, size_t n,
                                 struct quire_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return qr_fail(err, QUIRE_E_FORMAT, "tensor %.100s: value %zu is not finite", name, i);
    return QUIRE_OK;
}

quire_status qr_adapter_read(const struct qr_adapter_build *b, size_t tensor, float **out,
                             size_t *count, struct quire_error *err)
{
    struct qr_source_tensor t;
    const struct quire_allocator *a = b->adapter->allocator;
    qr_weights_source_tensor(&b->file, tensor, &t);
    const struct qr_weight_type_info *info = qr_weight_type_info(t.type);
    uint64_t n = 1;
    *out = NULL;
    *count = 0;
    if (!info || !info->supported)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "tensor %.100s has type %s, which is not supported", t.name, t.type_name);
    for (uint32_t i = 0; i < 4; i++) /* 1 beyond the last */
        /* GCOVR_EXCL_BR_LINE: the file has the values: their number does not overflow */
        if (!qr_mul_u64(n, t.dims[i], &n))
            return qr_fail(err, QUIRE_E_LIMIT, "tensor %.100s is too large", t.name);
    void *raw = n <= SIZE_MAX && t.bytes <= SIZE_MAX ? qr_alloc(a, (size_t)t.bytes, 1) : NULL;
    float *x = raw ? qr_alloc(a, (size_t)n, sizeof *x) : NULL;
    quire_status s = QUIRE_E_NOMEM;
    if (x)
        s = qr_weights_read_source(&b->file, tensor, 0, t.bytes, raw, err);
    else
        qr_fail(err, s, "no memory for tensor %.100s", t.name);
    if (s == QUIRE_OK) {
        qr_weight_dequantize(t.type, raw, (size_t)n, x);
        s = check_finite(t.name, x, (size_t)n, err);
    }
    qr_free(a, raw, (size_t)t.bytes, 1);
    if (s != QUIRE_OK) {
        qr_free(a, x, (size_t)n, sizeof *x);
        return s;
    }
    *out = x;
    *count = (size_t)n;
    return QUIRE_OK;
}

quire_status qr_adapter_check_rank(const char *name, uint64_t rank, struct quire_error *err)
{
    if (rank >= 1 && rank <= QUIRE_ADAPTER_MAX_RANK)
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_FORMAT, "%.100s has rank %llu, not 1 to %d", name,
                   (unsigned long long)rank, QUIRE_ADAPTER_MAX_RANK);
}

quire_status qr_adapter_check_scale(const char *name, double scale, struct quire_error *err)
{
    if (isfinite((float)scale))
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_FORMAT, "%.100s: the scale is not finite", name);
}

bool qr_adapter_scales_differ(const struct qr_arch *arch)
{
    const struct qr_recurrent_arch *r = arch->recurrent;
    const bool halves = r && r->config.kind == QR_RECURRENT_WKV6 && !r->config.gated_linear;
    return arch->hf_falcon_h1 || arch->hf_tiled_heads || arch->gains || halves;
}

quire_status qr_adapter_refuse_scaled(const char *family, struct quire_error *err)
{
    return qr_fail(err, QUIRE_E_UNSUPPORTED,
                   "family %s: its GGUF files have other weights than its folders, with factors "
                   "multiplied in or heads in another order; the adapter must have the format of "
                   "the model",
                   family);
}

/* ---- Targets */

static bool can_adapt(enum qr_weight_role role)
{
    switch (role) {
    case QR_W_TOKEN_EMBD:
    case QR_W_OUTPUT:
    case QR_W_ATTN_Q:
    case QR_W_ATTN_K:
    case QR_W_ATTN_V:
    case QR_W_ATTN_O:
    case QR_W_ATTN_GATE:
    case QR_W_LATENT_Q_A:
    case QR_W_LATENT_KV_A:
    case QR_W_FFN_GATE:
    case QR_W_FFN_UP:
    case QR_W_FFN_DOWN:
    case QR_W_ROUTER:
    case QR_W_EXPERT_GATE:
    case QR_W_EXPERT_UP:
    case QR_W_EXPERT_DOWN:
    case QR_W_EXPERT_LATENT_IN:
    case QR_W_EXPERT_LATENT_OUT:
    case QR_W_SHARED_ROUTER:
    case QR_W_SHARED_GATE:
    case QR_W_SHARED_UP:
    case QR_W_SHARED_DOWN:
    case QR_W_PLE_PROJ:
    case QR_W_PLE_GATE:
    case QR_W_PLE_OUT:
    case QR_W_LAUREL_LEFT:
    case QR_W_LAUREL_RIGHT:
    case QR_W_REC_Q:
    case QR_W_REC_K:
    case QR_W_REC_V:
    case QR_W_REC_BETA:
    case QR_W_REC_Z_A:
    case QR_W_REC_Z:
    case QR_W_REC_DT_A:
    case QR_W_REC_DT:
    case QR_W_REC_X:
    case QR_W_REC_OUT:
    case QR_W_FFN_Z:
    case QR_W_BLOCK_OUT:
        return true;
    default:
        return false;
    }
}

/* The place in the file of value i of the model, `width` values per value head of a recurrent
 * layer. The heads of a key head lie together or, in GGUF files of some families, as far apart as
 * there are key heads. */
static size_t retiled(const struct qr_adapter_build *b, size_t i, size_t width)
{
    const struct qr_recurrent_config *r = &b->adapter->model->config->recurrent;
    const size_t h = i / width, n_keys = r->n_key_heads, per_key = r->n_heads / n_keys;
    const size_t head =
        r->tiled_heads ? h % n_keys * per_key + h / n_keys : h % per_key * n_keys + h / per_key;
    return head * width + i % width;
}

/* The column of the file's matrix for column i of the model's. */
static size_t permuted_column(const struct qr_adapter_build *b, const struct qr_lora_target *t,
                              size_t i)
{
    return b->retile && t->role == QR_W_REC_OUT
               ? retiled(b, i, b->adapter->model->config->recurrent.value_dim)
               : i;
}

/* The row of the file's matrix, before slicing, for row o of the model's. The two kinds of RoPE
 * rotate pairs (i, i + d/2) and (2i, 2i + 1) of a head. Where a part of a head rotates, the
 * converter orders the rows of all of it so. */
static size_t permuted_row(const struct qr_adapter_build *b, const struct qr_lora_target *t,
                           size_t o)
{
    const struct qr_model_config *c = b->adapter->model->config;
    const struct qr_weights *w = b->adapter->model->weights;
    if (b->retile && (t->role == QR_W_REC_V || t->role == QR_W_REC_Z))
        return retiled(b, o, c->recurrent.value_dim);
    if (b->retile && (t->role == QR_W_REC_BETA || t->role == QR_W_REC_DT))
        return retiled(b, o, 1);
    if (!b->permute || (t->role != QR_W_ATTN_Q && t->role != QR_W_ATTN_K))
        return o;
    const size_t d = c->layers[t->layer].head_dim, head = o / d * d, i = o % d;
    if ((w->dir ? w->arch->hf_rope : w->arch->gguf_rope) == QR_ROPE_INTERLEAVED)
        /* the file has (i, i + d/2) */
        return head + i / 2 + (i % 2) * (d / 2);
    return head + (i < d / 2 ? 2 * i : 2 * (i - d / 2) + 1);
}

static quire_status check_target(const struct qr_adapter_build *b, const struct qr_lora_pair *p,
                                 const struct qr_lora_target *t, struct qr_slice_layout *layout,
                                 uint64_t *rows, struct quire_error *err)
{
    const struct quire_model *m = b->adapter->model;
    uint64_t cols;
    if (!can_adapt(t->role))
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "tensor %.100s: adapters of the %s weights are not supported", p->name,
                       qr_weight_role_name(t->role));
    if (!has_role(m, t))
        return qr_fail(err, QUIRE_E_MISMATCH, "tensor %.100s: the model has no %s weights there",
                       p->name, qr_weight_role_name(t->role));
    qr_role_shape(m->config, t->role, t->layer, rows, &cols);
    *layout = qr_slice_layout(m->config, t->slice, t->layer, *rows);
    if (t->role == QR_W_TOKEN_EMBD) { /* a table [vocab][hidden]: tokens are its input */
        const uint64_t hidden = cols;
        cols = *rows;
        *rows = hidden;
        *layout = (struct qr_slice_layout){ 0, hidden, hidden, hidden };
    }
    if (p->in == cols && p->out == layout->whole)
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_MISMATCH,
                   "tensor %.100s: the module maps %llu inputs to %llu outputs, in the model %llu "
                   "to %llu",
                   p->name, (unsigned long long)p->in, (unsigned long long)p->out,
                   (unsigned long long)cols, (unsigned long long)layout->whole);
}

static bool is_bf16(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (qr_f32_to_bits(x[i]) & 0xffff)
            return false;
    return true;
}

static void store(void *values, bool bf16, size_t i, float v)
{
    if (bf16)
        ((uint16_t *)values)[i] = qr_f32_to_bf16(v);
    else
        ((float *)values)[i] = v;
}

static void fill_a(const struct qr_adapter_build *build, struct qr_lora *l,
                   const struct qr_lora_pair *p, const struct qr_lora_target *t, bool embedding)
{
    const float *a = p->a + t->expert * p->a_expert;
    for (size_t r = 0; r < p->rank; r++)
        for (size_t i = 0; i < l->in; i++) {
            const size_t column = permuted_column(build, t, i);
            const size_t at = embedding ? i * l->rank + r : qr_lora_place(r, i, l->in);
            store(l->a, l->a_bf16, at, a[r * p->a_row + column * p->a_col]);
        }
}

static void fill_b(const struct qr_adapter_build *build, struct qr_lora *l,
                   const struct qr_lora_pair *p, const struct qr_lora_target *t,
                   const struct qr_slice_layout *s)
{
    const float *b = p->b + t->expert * p->b_expert;
    for (size_t o = 0; o < l->out; o++) {
        const size_t u = permuted_row(build, t, o);
        const float *row = b + (s->first + u / s->group * s->stride + u % s->group) * p->b_row;
        for (size_t r = 0; r < p->rank; r++)
            store(l->b, l->b_bf16, qr_lora_place(o, r, l->rank), row[r * p->b_col]);
    }
}

/* The entry of a target; allocates that of a stack, or of one matrix. NULL without memory. */
static struct qr_lora *entry(struct qr_adapter_build *b, const struct qr_lora_target *t)
{
    struct quire_adapter *a = b->adapter;
    struct qr_lora **at = &a->table[qr_tensor_map_index(t->role, t->layer)];
    const uint32_t n = qr_role_stack_size(a->model->config, t->role, t->layer);
    if (!*at)
        *at = qr_calloc(a->allocator, n ? n : 1, sizeof **at);
    return *at ? *at + (n ? t->expert : 0) : NULL;
}

static void count(struct qr_adapter_build *b, const struct qr_lora *l, uint32_t rank)
{
    struct quire_adapter_info *info = &b->adapter->info;
    info->n_modules++;
    info->n_parameters += (uint64_t)rank * ((uint64_t)l->in + l->out);
    info->bytes += qr_lora_a_bytes(l) + qr_lora_b_bytes(l);
    info->rank = rank > info->rank ? rank : info->rank;
    b->adapter->max_rank = l->rank > b->adapter->max_rank ? l->rank : b->adapter->max_rank;
}

static void add_hash(struct qr_adapter_build *b, const struct qr_lora_target *t,
                     const struct qr_lora *l)
{
    const uint32_t place[] = {
        t->role, t->layer, t->expert, l->rank, l->a_bf16, l->b_bf16, 0 /* 8-byte units */, 0
    };
    b->hash = qr_hash_bytes(b->hash, place, sizeof place);
    b->hash = qr_hash_bytes(b->hash, &l->scale, sizeof l->scale);
    b->hash = qr_hash_bytes(b->hash, l->a, qr_lora_a_bytes(l));
    b->hash = qr_hash_bytes(b->hash, l->b, qr_lora_b_bytes(l));
}

/* Allocates the matrices, all zero. */
static quire_status reserve(const struct qr_adapter_build *b, struct qr_lora *l,
                            const struct qr_lora_pair *p, struct quire_error *err)
{
    const struct quire_allocator *alloc = b->adapter->allocator;
    size_t bytes;
    /* GCOVR_EXCL_BR_LINE: 64 bits hold the product of a size with 32 bits and a small rank */
    if (qr_mul4_size(l->rank, (size_t)l->in + QR_LORA_CHAINS, sizeof(float), 1, &bytes) &&
        qr_mul4_size((size_t)l->out + QR_LORA_PANEL, l->rank, sizeof(float), 1, &bytes)) {
        l->a = qr_alloc_aligned(alloc, qr_lora_a_bytes(l), 64);
        l->b = qr_alloc_aligned(alloc, qr_lora_b_bytes(l), 64);
    }
    if (!l->a || !l->b)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for tensor %.100s", p->name);
    memset(l->a, 0, qr_lora_a_bytes(l));
    memset(l->b, 0, qr_lora_b_bytes(l));
    return QUIRE_OK;
}

quire_status qr_adapter_add_target(struct qr_adapter_build *b, const struct qr_lora_pair *pair,
                                   const struct qr_lora_target *target, struct quire_error *err)
{
    const bool embedding = target->role == QR_W_TOKEN_EMBD;
    struct qr_slice_layout layout = { 0, 1, 1, 1 };
    uint64_t rows;
    QR_TRY(check_target(b, pair, target, &layout, &rows, err));
    struct qr_lora *l = entry(b, target);
    if (!l)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for tensor %.100s", pair->name);
    if (l->a)
        return qr_fail(err, QUIRE_E_FORMAT, "tensor %.100s: the module has two updates",
                       pair->name);
    *l = (struct qr_lora){ .rank = (pair->rank + QR_LORA_PANEL - 1) / QR_LORA_PANEL * QR_LORA_PANEL,
                           .in = (uint32_t)pair->in,
                           .out = (uint32_t)rows,
                           .a_bf16 = !embedding && is_bf16(pair->a, pair->a_count),
                           .b_bf16 = is_bf16(pair->b, pair->b_count),
                           .scale = pair->scale };
    QR_TRY(reserve(b, l, pair, err));
    fill_a(b, l, pair, target, embedding);
    fill_b(b, l, pair, target, &layout);
    add_hash(b, target, l);
    count(b, l, pair->rank);
    return QUIRE_OK;
}
