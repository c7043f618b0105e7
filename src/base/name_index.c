/* SPDX-License-Identifier: Apache-2.0 */
/* name_index.c - keyed hash index for duplicate checks and lookups by name. */
#include "base/name_index.h"
#include "base/alloc.h"
#include "base/checked.h"
#include "base/keyed_hash.h"
#include <string.h>
#include <sys/random.h>

bool qr_name_index_init(struct qr_name_index *x, size_t n_names, const struct quire_allocator *a)
{
    *x = (struct qr_name_index){ 0 };
    size_t want, n = 8;
    if (n_names >= UINT32_MAX || !qr_add_size(n_names, n_names / 3, &want))
        return false;
    while (n < want)
        n *= 2;
    x->slots = qr_calloc(a, n, sizeof *x->slots);
    if (!x->slots)
        return false;
    x->n_slots = n;
    /* Without a random source the seed comes from addresses, which differ from run to run. */
    if (getrandom(&x->seed, sizeof x->seed, GRND_NONBLOCK) != (ssize_t)sizeof x->seed)
        x->seed = qr_hash_mix((uint64_t)(uintptr_t)x->slots, (uint64_t)(uintptr_t)&want | 1);
    return true;
}

void qr_name_index_free(struct qr_name_index *x, const struct quire_allocator *a)
{
    qr_free(a, x->slots, x->n_slots, sizeof *x->slots);
    *x = (struct qr_name_index){ 0 };
}

/* Finds the slot of the key, or the free slot to insert it. */
static size_t probe(const struct qr_name_index *x, const void *owner, qr_name_fn name,
                    const char *key, size_t key_len)
{
    const size_t mask = x->n_slots - 1;
    size_t at = (size_t)qr_hash_bytes(x->seed, key, key_len) & mask;
    for (; x->slots[at]; at = (at + 1) & mask) {
        size_t len;
        const char *s = name(owner, x->slots[at] - 1, &len);
        if (len == key_len && memcmp(s, key, len) == 0)
            break;
    }
    return at;
}

uint32_t qr_name_index_add(struct qr_name_index *x, const void *owner, qr_name_fn name, uint32_t i)
{
    size_t len;
    const char *s = name(owner, i, &len);
    const size_t at = probe(x, owner, name, s, len);
    if (x->slots[at])
        return x->slots[at] - 1;
    x->slots[at] = i + 1;
    return i;
}

bool qr_name_index_find(const struct qr_name_index *x, const void *owner, qr_name_fn name,
                        const char *key, size_t key_len, uint32_t *i)
{
    if (!x->slots)
        return false;
    const size_t at = probe(x, owner, name, key, key_len);
    if (!x->slots[at])
        return false;
    *i = x->slots[at] - 1;
    return true;
}
