/* SPDX-License-Identifier: Apache-2.0 */
/* weights_resolve.c - matches the roles of a description with the tensors of a file, both ways. */
#include "base/alloc.h"
#include "base/error.h"
#include "linear/weight_type.h"
#include "model/weights_internal.h"
#include <stdio.h>
#include <string.h>

/* ---- Names. Checkpoints of multimodal models keep the language model below a prefix, which two releases of
 * the reference put in two places; base models without a head leave "model." out. */

static const struct {
    const char *strip, *add;
} prefixes[] = {
    { "", "" },
    { "", "language_model." },
    { "model.", "model.language_model." },
    { "model.", "" },
};

static void apply_prefix(const struct qr_weights *w, char name[QR_NAME_MAX])
{
    char plain[QR_NAME_MAX];
    const size_t n = strlen(w->strip);
    memcpy(plain, name, QR_NAME_MAX);
    if (strncmp(plain, w->strip, n) == 0)
        snprintf(name, QR_NAME_MAX, "%.40s%.80s", w->add, plain + n);
}

/* Rule number nth of a role, as named in this checkpoint. */
static const struct qr_name_rule *rule(const struct qr_weights *w, enum qr_weight_role role,
                                       uint32_t layer, unsigned nth, char name[QR_NAME_MAX])
{
    const struct qr_arch *a = w->arch;
    const bool gguf = w->gguf != NULL;
    const struct qr_name_rule *r =
        qr_arch_name(gguf ? a->gguf_names : a->hf_names,
                     gguf ? a->gguf_common_names : a->hf_common_names, role, layer, nth, name);
    if (r && !gguf)
        apply_prefix(w, name);
    return r;
}

static void choose_prefix(struct qr_weights *w)
{
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        char name[QR_NAME_MAX];
        size_t tensor;
        w->strip = prefixes[i].strip;
        w->add = prefixes[i].add;
        if (w->gguf ||
            (rule(w, QR_W_TOKEN_EMBD, 0, 0, name) && qr_weights_source_find(w, name, &tensor)))
            return;
    }
    w->strip = w->add = "";
}

/* ---- Shapes */

/* Rows (of a vector: elements) that lie before the slice, and in the whole tensor. */
static void slice_extent(const struct qr_weights *w, enum qr_slice slice, uint32_t layer,
                         uint64_t own, uint64_t *before, uint64_t *whole)
{
    const struct qr_model_config *c = &w->config;
    const struct qr_layer_config *l = &c->layers[layer];
    const uint64_t q = (uint64_t)l->n_heads * c->head_dim,
                   k = (uint64_t)l->n_kv_heads * c->head_dim;
    const uint64_t v = (uint64_t)l->n_kv_heads * c->v_head_dim;
    *before = 0;
    *whole = own;
    switch (slice) {
    case QR_SLICE_ALL:
        return;
    case QR_SLICE_GATE:
        *whole = 2 * own;
        return;
    case QR_SLICE_UP:
        *before = own;
        *whole = 2 * own;
        return;
    case QR_SLICE_Q:
        break;
    case QR_SLICE_K:
        *before = q;
        break;
    case QR_SLICE_V:
        *before = q + k;
        break;
    }
    *whole = q + k + v;
}

static bool same_shape(const struct qr_source_tensor *t, uint64_t rows, uint64_t cols)
{
    return t->n_dims <= 4 && t->dims[0] == cols && t->dims[1] == (rows ? rows : 1) &&
           t->dims[2] == 1 && t->dims[3] == 1;
}

static quire_status wrong_shape(const struct qr_source_tensor *t, uint64_t rows, uint64_t cols,
                                struct quire_error *err)
{
    char want[64];
    if (rows)
        snprintf(want, sizeof want, "%llu x %llu", (unsigned long long)rows,
                 (unsigned long long)cols);
    else
        snprintf(want, sizeof want, "%llu", (unsigned long long)cols);
    return qr_fail(err, QUIRE_E_FORMAT,
                   "tensor %.80s has %u dimensions (%llu x %llu), the model description needs %s",
                   t->name, t->n_dims, (unsigned long long)t->dims[1],
                   (unsigned long long)t->dims[0], want);
}

/* Only plain types can be read as f32; matrices also come quantised. */
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

/* ---- Roles to tensors */

static quire_status bind(struct qr_weights *w, enum qr_weight_role role, uint32_t layer,
                         const struct qr_name_rule *r, size_t tensor, struct quire_error *err)
{
    struct qr_source_tensor t;
    uint64_t rows, cols, before, whole;
    size_t row_bytes;
    qr_weights_source_tensor(w, tensor, &t);
    qr_role_shape(&w->config, role, layer, &rows, &cols);
    const bool vector = rows == 0;
    slice_extent(w, r->slice, role < QR_W_FIRST_LAYER_ROLE ? 0 : layer, vector ? cols : rows,
                 &before, &whole);
    QR_TRY(check_type(&t, vector, err));
    if (!same_shape(&t, vector ? 0 : whole, vector ? whole : cols))
        return wrong_shape(&t, vector ? 0 : whole, vector ? whole : cols, err);
    if (!qr_weight_row_bytes(t.type, cols, &row_bytes))
        return qr_fail(err, QUIRE_E_FORMAT,
                       "tensor %.80s: rows of %llu elements do not fit type %s", t.name,
                       (unsigned long long)cols, t.type_name);
    const uint64_t unit = vector ? row_bytes / cols : row_bytes;
    w->table[qr_weights_slot(role, layer)] = (struct qr_weight){
        .role = role,
        .layer = layer,
        .type = t.type,
        .n_rows = vector ? 1 : rows,
        .n_cols = cols,
        .row_bytes = row_bytes,
        .tensor = tensor,
        .first_byte = before * unit,
    };
    w->total_bytes += (vector ? 1 : rows) * row_bytes;
    return QUIRE_OK;
}

static quire_status resolve(struct qr_weights *w, enum qr_weight_role role, uint32_t layer,
                            uint8_t *used, struct quire_error *err)
{
    const enum qr_need need = qr_role_need(&w->config, role);
    char name[QR_NAME_MAX], first[QR_NAME_MAX] = "";
    const struct qr_name_rule *r;
    size_t tensor;
    for (unsigned n = 0; need != QR_NEED_NOTHING && (r = rule(w, role, layer, n, name)); n++) {
        if (qr_weights_source_find(w, name, &tensor)) {
            used[tensor] = 1;
            return bind(w, role, layer, r, tensor, err);
        }
        if (n == 0)
            memcpy(first, name, sizeof first);
    }
    if (need != QR_NEED_REQUIRED)
        return QUIRE_OK;
    return qr_fail(err, QUIRE_E_FORMAT, "tensor %s is missing",
                   first[0] ? first : qr_weight_role_name(role));
}

/* ---- Tensors without a role */

/* Not weights: tables that the description has absorbed, or that old writers stored beside the model. */
static bool is_known_extra(const char *name)
{
    static const char *const exact[] = { "rope_freqs.weight", "rope_factors_long.weight",
                                         "rope_factors_short.weight" };
    static const char suffix[] = ".rotary_emb.inv_freq";
    const size_t n = strlen(name), m = sizeof suffix - 1;
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if (strcmp(name, exact[i]) == 0)
            return true;
    return n > m && strcmp(name + n - m, suffix) == 0;
}

static quire_status report_unused(const struct qr_weights *w, const uint8_t *used, bool strict,
                                  struct quire_error *err)
{
    enum { NAMED = 3 };
    size_t n = 0;
    for (size_t i = 0; i < qr_weights_source_count(w); i++) {
        struct qr_source_tensor t;
        qr_weights_source_tensor(w, i, &t);
        if (used[i] || is_known_extra(t.name))
            continue;
        if (strict)
            return qr_fail(err, QUIRE_E_FORMAT,
                           "tensor %.80s does not belong to a model of family %s", t.name,
                           w->config.arch);
        if (n++ < NAMED)
            qr_log(w->logger, QUIRE_LOG_WARN, "tensor %.80s is not used", t.name);
    }
    if (n > NAMED)
        qr_log(w->logger, QUIRE_LOG_WARN, "%zu more tensors are not used", n - NAMED);
    return QUIRE_OK;
}

static quire_status resolve_all(struct qr_weights *w, uint8_t *used, struct quire_error *err)
{
    for (int role = 0; role < QR_W_FIRST_LAYER_ROLE; role++)
        QR_TRY(resolve(w, (enum qr_weight_role)role, 0, used, err));
    for (uint32_t layer = 0; layer < w->config.n_layers; layer++)
        for (int role = QR_W_FIRST_LAYER_ROLE; role < QR_W_N_ROLES; role++)
            QR_TRY(resolve(w, (enum qr_weight_role)role, layer, used, err));
    return QUIRE_OK;
}

quire_status qr_weights_resolve(struct qr_weights *w, bool strict, struct quire_error *err)
{
    const size_t n = qr_weights_source_count(w);
    w->table_size = qr_weights_slot(QR_W_FIRST_LAYER_ROLE, w->config.n_layers);
    w->table = qr_calloc(w->allocator, w->table_size, sizeof *w->table);
    uint8_t *used = qr_calloc(w->allocator, n, 1);
    if (!w->table || !used) {
        qr_free(w->allocator, used, n, 1);
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the weight table of %u layers",
                       w->config.n_layers);
    }
    choose_prefix(w);
    quire_status s = resolve_all(w, used, err);
    if (s == QUIRE_OK)
        s = report_unused(w, used, strict, err);
    qr_free(w->allocator, used, n, 1);
    w->config.tied_output = w->table[QR_W_OUTPUT].n_cols == 0;
    return s;
}
