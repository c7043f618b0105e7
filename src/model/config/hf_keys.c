/* SPDX-License-Identifier: Apache-2.0 */
/* hf_keys.c - keys of config.json with the aliases and defaults of a family. */
#include "model/config/hf_keys.h"
#include "base/error.h"
#include "model/arch/arch.h"
#include <string.h>

static const char what[] = "config.json";

static bool find_default(const struct qr_hf_source *h, const char *key, double *v)
{
    /* GCOVR_EXCL_BR_LINE: every family has defaults. */
    for (const struct qr_hf_default *d = h->arch->hf_defaults; d && d->key; d++)
        if (strcmp(d->key, key) == 0) {
            *v = d->value;
            return true;
        }
    return false;
}

bool qr_hf_is_marked(const struct qr_hf_source *h, const struct qr_json *object, const char *key)
{
    for (size_t i = 0; i < h->reads->n; i++)
        if (h->reads->list[i].object == object && strcmp(h->reads->list[i].key, key) == 0)
            return true;
    return false;
}

void qr_hf_mark(const struct qr_hf_source *h, const struct qr_json *object, const char *key)
{
    struct qr_hf_reads *r = h->reads;
    /* GCOVR_EXCL_BR_LINE: no family reads as many keys. */
    if (object && !qr_hf_is_marked(h, object, key) && r->n < QR_HF_MAX_READS)
        r->list[r->n++] = (__typeof__(*r->list)){ object, key };
}

/* A file may give the same value under several names. A name that is not used counts as read only
 * if the values agree. */
static void mark_other_names(const struct qr_hf_source *h, const char *key,
                             const struct qr_json *value)
{
    if (qr_json_equal(qr_json_get(h->root, key), value))
        qr_hf_mark(h, h->root, key);
    for (const struct qr_hf_alias *a = h->arch->hf_aliases; a->key; a++)
        if (strcmp(a->key, key) == 0 && qr_json_equal(qr_json_get(h->root, a->name), value))
            qr_hf_mark(h, h->root, a->name);
}

/* Follows the dots in the name of an alias to the object that contains the key; *name becomes the
 * name there. */
static const struct qr_json *find_object(const struct qr_hf_source *h, const char **name)
{
    const struct qr_json *obj = h->root;
    for (const char *dot; (dot = strchr(*name, '.')) != NULL; *name = dot + 1)
        obj = qr_json_get_n(obj, *name, (size_t)(dot - *name));
    return obj;
}

/* Resolves the aliases of a key: the object that contains it and its name there. */
static const struct qr_json *find_key(const struct qr_hf_source *h, const char *key,
                                      const char **name)
{
    for (const struct qr_hf_alias *a = h->arch->hf_aliases; a && a->key; a++) {
        if (strcmp(a->key, key) != 0)
            continue;
        *name = a->name;
        const struct qr_json *obj = find_object(h, name);
        const struct qr_json *value = qr_json_get(obj, *name);
        qr_hf_mark(h, obj, *name);
        if (value) {
            mark_other_names(h, key, value);
            return obj;
        }
    }
    *name = key;
    qr_hf_mark(h, h->root, key);
    return h->root;
}

bool qr_hf_is_off(const struct qr_json *v)
{
    double d;
    if (qr_json_is_object(v) || qr_json_is_array(v))
        return qr_json_size(v) == 0;
    if (qr_json_is_string(v))
        return qr_json_string_size(v) == 0;
    if (qr_json_is_f64(v, &d))
        return d == 0;
    return qr_json_is_null(v) || (qr_json_is_bool(v) && !qr_json_is_true(v));
}

const struct qr_json *qr_hf_json(const struct qr_hf_source *h, const char *key)
{
    const char *name;
    const struct qr_json *obj = find_key(h, key, &name);
    return qr_json_get(obj, name);
}

void qr_hf_ignore(const struct qr_hf_source *h, const char *key)
{
    const char *name;
    (void)find_key(h, key, &name);
}

quire_status qr_hf_u32_opt(const struct qr_hf_source *h, const char *key, uint32_t *out, bool *has)
{
    enum qr_json_state state;
    double v;
    const char *name;
    const struct qr_json *obj = find_key(h, key, &name);
    QR_TRY(qr_json_u32(obj, what, name, out, &state, h->err));
    *has = state == QR_JSON_PRESENT;
    if (state == QR_JSON_ABSENT && find_default(h, key, &v)) {
        *out = (uint32_t)v;
        *has = true;
    }
    return QUIRE_OK;
}

quire_status qr_hf_layers_u32_opt(const struct qr_hf_source *h, const char *key, uint32_t *out,
                                  bool *has)
{
    const struct qr_json *list = qr_hf_json(h, key);
    if (!qr_json_is_array(list))
        return qr_hf_u32_opt(h, key, out, has);
    const size_t n = qr_json_size(list);
    uint32_t first = 0, v = 0;
    *has = n == h->cfg->n_layers && qr_json_is_u32(qr_json_at(list, 0), &first);
    for (size_t i = 0; *has && i < n; i++)
        if (!qr_json_is_u32(qr_json_at(list, i), &v) || v != first)
            return qr_fail(h->err, QUIRE_E_UNSUPPORTED,
                           "config.json: %s[%zu] differs from %s[0], which is not supported",
                           qr_hf_name(h, key), i, qr_hf_name(h, key));
    *out = first;
    return *has ? QUIRE_OK
                : qr_fail(h->err, QUIRE_E_FORMAT, "config.json: %s must be a number or list %u",
                          qr_hf_name(h, key), h->cfg->n_layers);
}

quire_status qr_hf_f64_opt(const struct qr_hf_source *h, const char *key, double *out, bool *has)
{
    enum qr_json_state state;
    const char *name;
    const struct qr_json *obj = find_key(h, key, &name);
    QR_TRY(qr_json_f64(obj, what, name, out, &state, h->err));
    *has = state == QR_JSON_PRESENT || (state == QR_JSON_ABSENT && find_default(h, key, out));
    return QUIRE_OK;
}

quire_status qr_hf_str(const struct qr_hf_source *h, const char *key, const char **out)
{
    enum qr_json_state state;
    const char *name;
    const struct qr_json *obj = find_key(h, key, &name);
    return qr_json_str(obj, what, name, out, &state, h->err);
}

const char *qr_hf_name(const struct qr_hf_source *h, const char *key)
{
    const char *first = NULL;
    const struct qr_hf_alias *a = h->arch ? h->arch->hf_aliases : NULL; /* model_type is missing */
    for (; a && a->key; a++) {
        if (strcmp(a->key, key) != 0)
            continue;
        first = first ? first : a->name;
        if (qr_json_get(h->root, a->name))
            return a->name;
    }
    return !first || qr_json_get(h->root, key) ? key : first;
}

quire_status qr_hf_missing(const struct qr_hf_source *h, const char *key)
{
    return qr_fail(h->err, QUIRE_E_FORMAT, "%s: %s is missing", what, qr_hf_name(h, key));
}

quire_status qr_hf_u32(const struct qr_hf_source *h, const char *key, uint32_t *out)
{
    bool has;
    QR_TRY(qr_hf_u32_opt(h, key, out, &has));
    return has ? QUIRE_OK : qr_hf_missing(h, key);
}

quire_status qr_hf_f64(const struct qr_hf_source *h, const char *key, double *out)
{
    bool has;
    QR_TRY(qr_hf_f64_opt(h, key, out, &has));
    return has ? QUIRE_OK : qr_hf_missing(h, key);
}

quire_status qr_hf_bool(const struct qr_hf_source *h, const char *key, bool dflt, bool *out)
{
    enum qr_json_state state;
    double v;
    const char *name;
    const struct qr_json *obj = find_key(h, key, &name);
    *out = dflt;
    QR_TRY(qr_json_bool(obj, what, name, out, &state, h->err));
    if (state == QR_JSON_ABSENT && find_default(h, key, &v))
        *out = v != 0;
    return QUIRE_OK;
}

quire_status qr_hf_first_u32(const struct qr_hf_source *h, const char *const *keys, uint32_t *out,
                             bool *has)
{
    for (*has = false; *keys && !*has; keys++)
        QR_TRY(qr_hf_u32_opt(h, *keys, out, has));
    return QUIRE_OK;
}

quire_status qr_hf_writer_version(const struct qr_hf_source *h, uint32_t *major)
{
    const char *version = NULL;
    enum qr_json_state state;
    QR_TRY(qr_json_str(h->outer, what, "transformers_version", &version, &state, h->err));
    *major = 0;
    for (const char *p = version; p && *p >= '0' && *p <= '9' && *major < 1000; p++)
        *major = *major * 10 + (uint32_t)(*p - '0');
    return QUIRE_OK;
}
