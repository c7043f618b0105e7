/* SPDX-License-Identifier: Apache-2.0 */
/* jinja_dict.c - insertion-ordered dictionaries and hashing with Python's idea of equal keys. */
#include "jinja/text.h"
#include <math.h>

enum { SMALL = 8 }; /* up to here a walk over the entries beats an index */

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

/* A float that equals an integer hashes like it, for 1 == 1.0 are one key. */
static uint64_t hash_double(double f)
{
    uint64_t bits;
    if (f >= -9.2e18 && f <= 9.2e18 && f == floor(f))
        return mix((uint64_t)(int64_t)f);
    memcpy(&bits, &f, sizeof bits);
    return mix(bits);
}

/* Depth is guarded: tuples can be nested by a template. */
static quire_status hash_tuple(struct qr_j *j, const struct qr_j_list *l, uint64_t *out)
{
    uint64_t h = l->n, item;
    QR_TRY(qr_j_enter(j));
    for (size_t i = 0; i < l->n; i++) {
        QR_TRY(qr_j_hash(j, l->items[i], &item));
        h = mix(h * 31 + item);
    }
    qr_j_leave(j);
    *out = h;
    return QUIRE_OK;
}

quire_status qr_j_hash(struct qr_j *j, struct qr_j_value key, uint64_t *out)
{
    *out = 0;
    QR_TRY(qr_j_step(j, 1));
    switch (key.type) {
    case QR_J_BOOL:
    case QR_J_INT:
        *out = mix((uint64_t)qr_j_intlike(key));
        return QUIRE_OK;
    case QR_J_FLOAT:
        *out = hash_double(key.f);
        return QUIRE_OK;
    case QR_J_STR:
        QR_TRY(qr_j_work(j, key.s->n));
        *out = hash_bytes(key.s->p, key.s->n);
        return QUIRE_OK;
    case QR_J_LIST:
        if (qr_j_is_tuple(key))
            return hash_tuple(j, key.l, out);
        if (key.l->flavor == QR_J_GENERATOR)
            break;
        return qr_j_type_error(j, "unhashable type: '%s'", qr_j_type_name(key));
    case QR_J_DICT:
        return qr_j_type_error(j, "unhashable type: 'dict'");
    default:
        break;
    }
    *out = mix((uint64_t)key.type); /* objects: rare as keys, told apart by comparing */
    return QUIRE_OK;
}

quire_status qr_j_dict_new(struct qr_j *j, struct qr_j_dict **out)
{
    QR_J_NEW(j, *out, 1);
    return QUIRE_OK;
}

/* Number of the entry with this key, or SIZE_MAX. */
static quire_status find(struct qr_j *j, const struct qr_j_dict *d, uint64_t hash,
                         struct qr_j_value key, size_t *out)
{
    bool same = false;
    *out = SIZE_MAX;
    if (!d->n_index) {
        for (size_t i = 0; i < d->n && *out == SIZE_MAX; i++) {
            if (d->entries[i].hash != hash)
                continue;
            QR_TRY(qr_j_equal(j, d->entries[i].key, key, &same));
            if (same)
                *out = i;
        }
        return QUIRE_OK;
    }
    const size_t mask = d->n_index - 1;
    for (size_t slot = (size_t)hash & mask; d->index[slot]; slot = (slot + 1) & mask) {
        const size_t i = d->index[slot] - 1;
        /* keys made to collide cost steps, not unbounded time */
        QR_TRY(qr_j_step(j, 1));
        if (d->entries[i].hash != hash)
            continue;
        QR_TRY(qr_j_equal(j, d->entries[i].key, key, &same));
        if (same) {
            *out = i;
            break;
        }
    }
    return QUIRE_OK;
}

/* The entry is known to be new, so the first free slot is right. */
static void index_add(struct qr_j_dict *d, size_t entry)
{
    const size_t mask = d->n_index - 1;
    size_t slot = (size_t)d->entries[entry].hash & mask;
    while (d->index[slot])
        slot = (slot + 1) & mask;
    d->index[slot] = (uint32_t)(entry + 1);
}

/* Makes room for one more entry; the index stays at most half full. */
static quire_status grow(struct qr_j *j, struct qr_j_dict *d)
{
    if (d->n < d->cap)
        return QUIRE_OK;
    const size_t cap = d->cap ? d->cap * 2 : 4;
    struct qr_j_entry *entries;
    if (cap > UINT32_MAX / 4)
        return qr_j_fail(j, QUIRE_E_LIMIT, "chat template: dictionary too large");
    QR_J_NEW(j, entries, cap);
    if (d->n)
        memcpy(entries, d->entries, d->n * sizeof *entries);
    if (cap > SMALL) {
        QR_J_NEW(j, d->index, cap * 2);
        d->n_index = cap * 2;
    }
    d->entries = entries;
    d->cap = cap;
    for (size_t i = 0; d->n_index && i < d->n; i++)
        index_add(d, i);
    return QUIRE_OK;
}

quire_status qr_j_dict_set(struct qr_j *j, struct qr_j_dict *d, struct qr_j_value key,
                           struct qr_j_value value)
{
    uint64_t hash;
    size_t at;
    QR_TRY(qr_j_hash(j, key, &hash));
    QR_TRY(find(j, d, hash, key, &at));
    if (at == SIZE_MAX) {
        QR_TRY(grow(j, d));
        at = d->n++;
        d->entries[at] = (struct qr_j_entry){ .key = key, .hash = hash };
        if (d->n_index)
            index_add(d, at);
    }
    d->entries[at].value = value;
    return QUIRE_OK;
}

quire_status qr_j_dict_find_hashed(struct qr_j *j, const struct qr_j_dict *d, uint64_t hash,
                                   struct qr_j_value key, struct qr_j_value **out)
{
    size_t at;
    QR_TRY(find(j, d, hash, key, &at));
    *out = at != SIZE_MAX ? &d->entries[at].value : NULL;
    return QUIRE_OK;
}

quire_status qr_j_dict_find(struct qr_j *j, const struct qr_j_dict *d, struct qr_j_value key,
                            struct qr_j_value **out)
{
    uint64_t hash;
    *out = NULL;
    QR_TRY(qr_j_hash(j, key, &hash));
    return qr_j_dict_find_hashed(j, d, hash, key, out);
}

quire_status qr_j_dict_find_text(struct qr_j *j, const struct qr_j_dict *d, const char *key,
                                 size_t n, struct qr_j_value **out)
{
    const struct qr_j_str s = { .p = key, .n = n };
    return qr_j_dict_find(j, d, qr_j_str_value(&s), out);
}
