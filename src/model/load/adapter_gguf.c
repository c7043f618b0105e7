/* SPDX-License-Identifier: Apache-2.0 */
/* adapter_gguf.c - reads the metadata and tensors of a GGUF adapter: pairs NAME.lora_a [in, rank]
 * and NAME.lora_b [rank, out], fastest dimension first; of expert stacks with the expert as third
 * dimension; of token_embd [rank, tokens] and [rank, hidden]. */
#include "model/load/adapter_gguf.h"
#include "base/error.h"
#include "format/gguf.h"
#include "format/gguf_meta.h"
#include "model/arch/arch.h"
#include "model/load/tensor_map.h"
#include "model/load/weight_roles.h"
#include "model/load/weights_source.h"
#include <stdio.h>
#include <string.h>

static bool is_text(struct qr_gguf_str s, const char *text)
{
    return s.size == strlen(text) && memcmp(s.data, text, s.size) == 0;
}

static quire_status check_text(const struct qr_gguf *g, const char *key, const char *want,
                               struct quire_error *err)
{
    struct qr_gguf_str s;
    QR_TRY(qr_gguf_get_str(g, key, &s, err));
    if (is_text(s, want))
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_UNSUPPORTED, "%s is \"%.*s\", not \"%s\"", key,
                   (int)(s.size < 40 ? s.size : 40), s.data, want);
}

/* Refuses other keys of adapters: they ask for another computation. */
static quire_status check_keys(const struct qr_gguf *g, struct quire_error *err)
{
    for (size_t i = 0; i < qr_gguf_key_count(g); i++) {
        const struct qr_gguf_str key = qr_gguf_key(g, i);
        if (key.size > 8 && memcmp(key.data, "adapter.", 8) == 0 && !is_text(key, "adapter.type") &&
            !is_text(key, "adapter.lora.alpha"))
            return qr_fail(err, QUIRE_E_UNSUPPORTED, "the key %.*s is not supported",
                           (int)(key.size < 80 ? key.size : 80), key.data);
    }
    return QUIRE_OK;
}

/* The family of the adapter must be that of the model. Families without a GGUF architecture of
 * their own are converted to that of a relative; names and shapes tell them apart. */
static quire_status check_family(struct qr_adapter_build *b, struct quire_error *err)
{
    const struct quire_model *m = b->adapter->model;
    const struct qr_arch *own = m->weights->arch;
    struct qr_gguf_str name;
    QR_TRY(qr_gguf_get_str(b->file.gguf, "general.architecture", &name, err));
    const struct qr_arch *arch = qr_arch_by_gguf(name.data, name.size);
    if (!arch || (arch != own && own->gguf_archs[0]))
        return qr_fail(err, QUIRE_E_MISMATCH,
                       "general.architecture is \"%.*s\", the model is of family %s",
                       (int)(name.size < 40 ? name.size : 40), name.data, own->name);
    const enum qr_rope_kind rope = m->weights->dir ? own->hf_rope : own->gguf_rope;
    b->permute = rope && arch->gguf_rope && rope != arch->gguf_rope;
    b->retile = m->weights->dir && own->recurrent && own->recurrent->gguf_tiled_heads;
    if (m->weights->dir && qr_adapter_scales_differ(own))
        return qr_adapter_refuse_scaled(own->name, err);
    return QUIRE_OK;
}

static quire_status read_pair(const struct qr_adapter_build *b, size_t a, size_t other,
                              const struct qr_lora_target *t, struct qr_lora_pair *p,
                              struct quire_error *err)
{
    struct qr_source_tensor ta, tb;
    const struct quire_model *m = b->adapter->model;
    const uint32_t stack = qr_role_stack_size(m->config, t->role, t->layer);
    const bool embedding = t->role == QR_W_TOKEN_EMBD;
    qr_weights_source_tensor(&b->file, a, &ta);
    qr_weights_source_tensor(&b->file, other, &tb);
    const uint64_t rank = embedding ? ta.dims[0] : ta.dims[1];
    if (tb.dims[0] != rank || ta.dims[3] != 1 || tb.dims[3] != 1 ||
        ta.dims[2] != (stack ? stack : 1) || tb.dims[2] != ta.dims[2])
        return qr_fail(err, QUIRE_E_MISMATCH,
                       "tensors %.80s and %.80s do not have the shapes of A and B", ta.name,
                       tb.name);
    p->in = embedding ? ta.dims[1] : ta.dims[0];
    p->out = tb.dims[1];
    QR_TRY(qr_adapter_check_rank(ta.name, rank, err));
    p->rank = (uint32_t)rank;
    p->a_row = embedding ? 1 : (size_t)p->in;
    p->a_col = embedding ? (size_t)rank : 1;
    p->b_row = (size_t)rank;
    p->b_col = 1;
    p->a_expert = (size_t)(ta.dims[0] * ta.dims[1]);
    p->b_expert = (size_t)(tb.dims[0] * tb.dims[1]);
    QR_TRY(qr_adapter_read(b, a, &p->a, &p->a_count, err));
    return qr_adapter_read(b, other, &p->b, &p->b_count, err);
}

/* Adds one target, or all experts of a stack. */
static quire_status add_all(struct qr_adapter_build *b, const struct qr_lora_pair *p,
                            struct qr_lora_target t, struct quire_error *err)
{
    const uint32_t n = qr_role_stack_size(b->adapter->model->config, t.role, t.layer);
    do
        QR_TRY(qr_adapter_add_target(b, p, &t, err));
    while (++t.expert < n);
    return QUIRE_OK;
}

static quire_status add_pair(struct qr_adapter_build *b, const char *module, size_t a, size_t other,
                             float alpha, struct qr_lora_pair *p, struct quire_error *err)
{
    struct qr_lora_target t;
    bool missing = false;
    if (!qr_adapter_target(b, module, true, 0, &t, &missing))
        return qr_fail(err, QUIRE_E_MISMATCH, "tensor %.100s: the model has no %s %.100s", p->name,
                       missing ? "layer" : "tensor", module);
    QR_TRY(read_pair(b, a, other, &t, p, err));
    /* 0: the scale is 1. Finite, since alpha is */
    p->scale = alpha != 0 ? alpha / (float)p->rank : 1;
    for (unsigned n = 0; qr_adapter_target(b, module, true, n, &t, &missing); n++)
        QR_TRY(add_all(b, p, t, err));
    return QUIRE_OK;
}

static quire_status add_tensor(struct qr_adapter_build *b, size_t tensor, float alpha,
                               struct quire_error *err)
{
    static const char suffix_a[] = ".lora_a", suffix_b[] = ".lora_b";
    enum { SUFFIX = sizeof suffix_a - 1 };
    struct qr_source_tensor t;
    char module[QR_NAME_MAX], partner[QR_NAME_MAX];
    size_t other;
    qr_weights_source_tensor(&b->file, tensor, &t);
    const size_t n = strlen(t.name);
    if (n <= SUFFIX || n >= sizeof module ||
        (strcmp(t.name + n - SUFFIX, suffix_a) != 0 && strcmp(t.name + n - SUFFIX, suffix_b) != 0))
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "tensor %.100s is neither NAME%s nor NAME%s, which is all that is supported",
                       t.name, suffix_a, suffix_b);
    const bool is_a = t.name[n - 1] == 'a';
    snprintf(module, sizeof module, "%.*s", (int)(n - SUFFIX), t.name);
    snprintf(partner, sizeof partner, "%.*s%s", (int)(n - SUFFIX), t.name,
             is_a ? suffix_b : suffix_a);
    if (!qr_weights_source_find(&b->file, partner, &other))
        return qr_fail(err, QUIRE_E_FORMAT, "tensor %.100s has no partner %.100s", t.name, partner);
    if (!is_a)
        return QUIRE_OK;
    const struct quire_allocator *alloc = b->adapter->allocator;
    struct qr_lora_pair p = { .name = t.name };
    const quire_status s = add_pair(b, module, tensor, other, alpha, &p, err);
    qr_free(alloc, p.a, p.a_count, sizeof *p.a);
    qr_free(alloc, p.b, p.b_count, sizeof *p.b);
    return s;
}

quire_status qr_adapter_read_gguf(struct qr_adapter_build *b, struct quire_error *err)
{
    const struct qr_gguf *g = b->file.gguf;
    float alpha;
    QR_TRY(check_text(g, "general.type", "adapter", err));
    QR_TRY(check_text(g, "adapter.type", "lora", err));
    QR_TRY(check_keys(g, err));
    QR_TRY(check_family(b, err));
    QR_TRY(qr_gguf_get_f32(g, "adapter.lora.alpha", &alpha, err));
    QR_TRY(qr_adapter_check_scale("adapter.lora.alpha", alpha, err));
    for (size_t i = 0; i < qr_gguf_tensor_count(g); i++)
        QR_TRY(add_tensor(b, i, alpha, err));
    return QUIRE_OK;
}
