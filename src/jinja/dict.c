/* SPDX-License-Identifier: Apache-2.0 */
/* dict.c - insertion-ordered dictionaries, and hashing consistent with qr_jinja_equal. */
#include "jinja/dict.h"
#include "base/error.h"
#include "jinja/compare.h"
#include "jinja/interp.h"
#include "jinja/value.h"
#include <math.h>
#include <string.h>

enum { SMALL = 8 }; /* capacity up to which linear search is faster than an index */

static uint64_t mix(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93u;
    h ^= h >> 32;
    return h;
}

static uint64_t hash_bytes(const char *p, size_t n)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)p[i]) * 0x100000001B3u;
    return mix(h);
}

/* A float with an integral value hashes like that integer: 1 and 1.0 are the same key. */
static uint64_t hash_double(double f)
{
    uint64_t bits;
    if (f >= -9.2e18 && f <= 9.2e18 && f == floor(f))
        return mix((uint64_t)(int64_t)f);
    memcpy(&bits, &f, sizeof bits);
    return mix(bits);
}

/* Bounds the recursion, because templates can nest tuples. */
static quire_status hash_tuple(struct qr_jinja *j, const struct qr_jinja_list *l, uint64_t *out)
{
    uint64_t h = l->n, item;
    QR_TRY(qr_jinja_enter(j));
    for (size_t i = 0; i < l->n; i++) {
        QR_TRY(qr_jinja_hash(j, l->items[i], &item));
        h = mix(h * 31 + item);
    }
    qr_jinja_leave(j);
    *out = h;
    return QUIRE_OK;
}

quire_status qr_jinja_hash(struct qr_jinja *j, struct qr_jinja_value key, uint64_t *out)
{
    *out = 0;
    QR_TRY(qr_jinja_charge(j, 1));
    switch (key.type) {
    case QR_JINJA_BOOL:
    case QR_JINJA_INT:
        *out = mix((uint64_t)qr_jinja_integral(key));
        return QUIRE_OK;
    case QR_JINJA_FLOAT:
        *out = hash_double(key.f);
        return QUIRE_OK;
    case QR_JINJA_STR:
        QR_TRY(qr_jinja_charge_bytes(j, key.s->n));
        *out = hash_bytes(key.s->p, key.s->n);
        return QUIRE_OK;
    case QR_JINJA_LIST:
        if (qr_jinja_is_tuple(key))
            return hash_tuple(j, key.l, out);
        if (key.l->kind == QR_JINJA_LIST_GENERATOR)
            break;
        return qr_jinja_type_error(j, "unhashable type: '%s'", qr_jinja_type_name(key));
    case QR_JINJA_DICT:
        return qr_jinja_type_error(j, "unhashable type: 'dict'");
    default:
        break;
    }
    *out = mix((uint64_t)key.type); /* objects: rare as keys, so all of a type collide */
    return QUIRE_OK;
}

quire_status qr_jinja_dict_new(struct qr_jinja *j, struct qr_jinja_dict **out)
{
    QR_JINJA_NEW(j, *out, 1);
    return QUIRE_OK;
}

/* Index of the entry with this key, or SIZE_MAX. */
static quire_status find(struct qr_jinja *j, const struct qr_jinja_dict *d, uint64_t hash,
                         struct qr_jinja_value key, size_t *out)
{
    bool same = false;
    *out = SIZE_MAX;
    if (!d->n_index) {
        for (size_t i = 0; i < d->n && *out == SIZE_MAX; i++) {
            if (d->entries[i].hash != hash)
                continue;
            QR_TRY(qr_jinja_equal(j, d->entries[i].key, key, &same));
            if (same)
                *out = i;
        }
        return QUIRE_OK;
    }
    const size_t mask = d->n_index - 1;
    for (size_t slot = (size_t)hash & mask; d->index[slot]; slot = (slot + 1) & mask) {
        const size_t i = d->index[slot] - 1;
        /* Charged, so that crafted collisions exhaust the step budget. */
        QR_TRY(qr_jinja_charge(j, 1));
        if (d->entries[i].hash != hash)
            continue;
        QR_TRY(qr_jinja_equal(j, d->entries[i].key, key, &same));
        if (same) {
            *out = i;
            break;
        }
    }
    return QUIRE_OK;
}

/* Inserts a new entry into the index at the first free slot. */
static void index_add(struct qr_jinja_dict *d, size_t entry)
{
    const size_t mask = d->n_index - 1;
    size_t slot = (size_t)d->entries[entry].hash & mask;
    while (d->index[slot])
        slot = (slot + 1) & mask;
    d->index[slot] = (uint32_t)(entry + 1);
}

/* Ensures capacity for one more entry. The load factor of the index is at most 1/2. */
static quire_status grow(struct qr_jinja *j, struct qr_jinja_dict *d)
{
    if (d->n < d->cap)
        return QUIRE_OK;
    const size_t cap = d->cap ? d->cap * 2 : 4;
    struct qr_jinja_entry *entries;
    if (cap > UINT32_MAX / 4) /* GCOVR_EXCL_BR_LINE: takes tens of gigabytes. */
        return qr_jinja_fail(j, QUIRE_E_LIMIT, "template: dictionary too large");
    QR_JINJA_NEW(j, entries, cap);
    if (d->n)
        memcpy(entries, d->entries, d->n * sizeof *entries);
    if (cap > SMALL) {
        QR_JINJA_NEW(j, d->index, cap * 2);
        d->n_index = cap * 2;
    }
    d->entries = entries;
    d->cap = cap;
    for (size_t i = 0; d->n_index && i < d->n; i++)
        index_add(d, i);
    return QUIRE_OK;
}

quire_status qr_jinja_dict_set(struct qr_jinja *j, struct qr_jinja_dict *d,
                               struct qr_jinja_value key, struct qr_jinja_value value)
{
    uint64_t hash;
    size_t at;
    QR_TRY(qr_jinja_hash(j, key, &hash));
    QR_TRY(find(j, d, hash, key, &at));
    if (at == SIZE_MAX) {
        QR_TRY(grow(j, d));
        at = d->n++;
        d->entries[at] = (struct qr_jinja_entry){ .key = key, .hash = hash };
        if (d->n_index)
            index_add(d, at);
    }
    d->entries[at].value = value;
    return QUIRE_OK;
}

quire_status qr_jinja_dict_find_hashed(struct qr_jinja *j, const struct qr_jinja_dict *d,
                                       uint64_t hash, struct qr_jinja_value key,
                                       struct qr_jinja_value **out)
{
    size_t at;
    QR_TRY(find(j, d, hash, key, &at));
    *out = at != SIZE_MAX ? &d->entries[at].value : NULL;
    return QUIRE_OK;
}

quire_status qr_jinja_dict_find(struct qr_jinja *j, const struct qr_jinja_dict *d,
                                struct qr_jinja_value key, struct qr_jinja_value **out)
{
    uint64_t hash;
    *out = NULL;
    QR_TRY(qr_jinja_hash(j, key, &hash));
    return qr_jinja_dict_find_hashed(j, d, hash, key, out);
}

quire_status qr_jinja_dict_find_bytes(struct qr_jinja *j, const struct qr_jinja_dict *d,
                                      const char *key, size_t n, struct qr_jinja_value **out)
{
    const struct qr_jinja_str s = { .p = key, .n = n };
    return qr_jinja_dict_find(j, d, qr_jinja_str_value(&s), out);
}
