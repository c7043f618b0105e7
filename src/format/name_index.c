/* SPDX-License-Identifier: Apache-2.0 */
/* name_index.c - the keyed hash set behind duplicate checks and look-ups by name. */
#include "format/name_index.h"
#include "base/checked.h"
#include <string.h>
#include <sys/random.h>

/* 64 x 64 -> 128 bit multiply, both halves folded: every input bit reaches every output bit */
static uint64_t mix(uint64_t a, uint64_t b)
{
    const unsigned __int128 p = (unsigned __int128)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static uint64_t hash(uint64_t seed, const char *s, size_t len)
{
    const uint64_t odd1 = 0x9e3779b97f4a7c15u, odd2 = 0xd1b54a32d192ed03u;
    uint64_t h = seed ^ mix(len ^ odd1, odd2), word;
    for (; len > 0; s += 8) {
        const size_t n = len < 8 ? len : 8;
        word = 0;
        memcpy(&word, s, n);
        h = mix(h ^ word, odd1 ^ seed);
        len -= n;
    }
    return mix(h, odd2);
}

bool qr_name_index_init(struct qr_name_index *x, size_t n_names, const struct quire_allocator *a)
{
    *x = (struct qr_name_index){ 0 };
    size_t want, n = 8;
    if (n_names >= UINT32_MAX || !qr_mul_size(n_names, 2, &want))
        return false;
    while (n < want)
        n *= 2;
    x->slots = qr_calloc(a, n, sizeof *x->slots);
    if (!x->slots)
        return false;
    x->n_slots = n;
    /* without a random source the addresses still differ from run to run */
    if (getrandom(&x->seed, sizeof x->seed, GRND_NONBLOCK) != (ssize_t)sizeof x->seed)
        x->seed = mix((uint64_t)(uintptr_t)x->slots, (uint64_t)(uintptr_t)&want | 1);
    return true;
}

void qr_name_index_free(struct qr_name_index *x, const struct quire_allocator *a)
{
    qr_free(a, x->slots, x->n_slots, sizeof *x->slots);
    *x = (struct qr_name_index){ 0 };
}

/* The slot that holds the key, or the free one where it belongs. */
static size_t probe(const struct qr_name_index *x, const void *owner, qr_name_fn name,
                    const char *key, size_t key_len)
{
    const size_t mask = x->n_slots - 1;
    size_t at = (size_t)hash(x->seed, key, key_len) & mask;
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
