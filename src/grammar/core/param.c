/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/core/param.h"
#include <string.h>

/* Words of a parameter. */
enum { COUNT, POSITION, BITS };

static const uint32_t *contents(const struct qr_params *p, uint32_t param, uint32_t *n)
{
    *n = p->offsets[param + 1] - p->offsets[param];
    return p->words + p->offsets[param];
}

static uint64_t hash_words(const uint32_t *words, size_t n)
{
    uint64_t h = n;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ words[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h;
}

static size_t find_slot(const struct qr_params *p, const uint32_t *words, uint32_t n)
{
    size_t i = hash_words(words, n) & (p->index_size - 1);
    for (; p->index[i] != 0; i = (i + 1) & (p->index_size - 1)) {
        uint32_t size;
        const uint32_t *found = contents(p, p->index[i] - 1, &size);
        if (size == n && memcmp(found, words, n * sizeof *words) == 0)
            break;
    }
    return i;
}

static bool rehash(struct qr_params *p)
{
    const size_t size = p->index_size ? 2 * p->index_size : 64;
    uint32_t *index = qr_calloc(p->a, size, sizeof *index);
    if (index == NULL)
        return false;
    qr_free(p->a, p->index, p->index_size, sizeof *index);
    p->index = index;
    p->index_size = size;
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t n;
        const uint32_t *words = contents(p, i, &n);
        index[find_slot(p, words, n)] = i + 1;
    }
    return true;
}

/* The id of the contents that stand behind the others. */
static quire_status intern(struct qr_params *p, uint32_t n, uint32_t *out)
{
    if (2 * (p->n + 1) > p->index_size && !rehash(p))
        return QUIRE_E_NOMEM;
    const size_t slot = find_slot(p, p->words + p->n_words, n);
    if (p->index[slot] != 0) {
        *out = p->index[slot] - 1;
        return QUIRE_OK;
    }
    if (!qr_grow(p->a, (void **)&p->offsets, &p->offsets_capacity, p->n + 2, sizeof *p->offsets))
        return QUIRE_E_NOMEM;
    *out = (uint32_t)p->n++;
    p->index[slot] = *out + 1;
    p->n_words += n;
    p->offsets[p->n] = (uint32_t)p->n_words;
    return QUIRE_OK;
}

quire_status qr_params_init(struct qr_params *p, const struct quire_allocator *a)
{
    uint32_t start;
    *p = (struct qr_params){ .a = a };
    if (!qr_grow(a, (void **)&p->offsets, &p->offsets_capacity, 16, sizeof *p->offsets) ||
        !qr_grow(a, (void **)&p->words, &p->words_capacity, 64, sizeof *p->words))
        return QUIRE_E_NOMEM;
    p->offsets[0] = 0;
    p->words[COUNT] = p->words[POSITION] = 0;
    return intern(p, BITS, &start);
}

void qr_params_free(struct qr_params *p)
{
    qr_free(p->a, p->words, p->words_capacity, sizeof *p->words);
    qr_free(p->a, p->offsets, p->offsets_capacity, sizeof *p->offsets);
    qr_free(p->a, p->index, p->index_size, sizeof *p->index);
}

/* ---- Loops ---- */

static bool seen(const uint32_t *words, uint32_t n, uint32_t bit)
{
    return BITS + bit / 32 < n && (words[BITS + bit / 32] >> (bit % 32) & 1);
}

/* Members that must still come, other than `except`; those behind position `from` in an ordered
 * loop. *lost: one of them can no longer come. */
static uint32_t missing(const struct qr_network *net, const struct qr_net_loop *loop,
                        const uint32_t *words, uint32_t n, uint32_t from, uint32_t except,
                        bool *lost)
{
    uint32_t count = 0;
    *lost = false;
    for (uint32_t i = 0; i < loop->n_members && loop->n_required > 0; i++) {
        const struct qr_net_member *m = &net->members[loop->members + i];
        if (!m->required || i == except)
            continue;
        if (loop->ordered && i >= words[POSITION]) {
            *lost = *lost || i < from;
            count++;
        } else if (!loop->ordered && !seen(words, n, m->bit)) {
            count++;
        }
    }
    return count;
}

bool qr_param_may_end(const struct qr_params *p, const struct qr_network *net,
                      const struct qr_net_loop *loop, uint32_t param)
{
    uint32_t n;
    bool lost;
    const uint32_t *words = contents(p, param, &n);
    return words[COUNT] >= loop->min && missing(net, loop, words, n, 0, UINT32_MAX, &lost) == 0;
}

/* Number of once members that may still come behind position `from` of an ordered loop. */
static uint32_t once_behind(const struct qr_network *net, const struct qr_net_loop *loop,
                            uint32_t from)
{
    uint32_t count = 0;
    for (uint32_t i = from; i < loop->n_members; i++) {
        const struct qr_net_member *m = &net->members[loop->members + i];
        count += m->once && net->states[m->start].productive;
    }
    return count;
}

bool qr_param_may_pick(const struct qr_params *p, const struct qr_network *net,
                       const struct qr_net_loop *loop, uint32_t param, uint32_t i)
{
    uint32_t n;
    bool lost;
    const uint32_t *words = contents(p, param, &n);
    const struct qr_net_member *m = &net->members[loop->members + i];
    const uint32_t count = words[COUNT];
    if (!net->states[m->start].productive || count >= loop->max)
        return false;
    if (m->once && (loop->ordered ? i < words[POSITION] : seen(words, n, m->bit)))
        return false;
    /* in an ordered loop a repeated member ends the part of the once members */
    const uint32_t from = !loop->ordered ? 0 : m->once ? i : loop->n_members;
    const uint32_t others = missing(net, loop, words, n, from, m->once ? i : UINT32_MAX, &lost);
    if (lost || others > loop->max - count - 1)
        return false;
    if (loop->ordered && !loop->repeats && loop->min > count + 1)
        return once_behind(net, loop, i + 1) >= loop->min - count - 1;
    return true;
}

uint32_t qr_param_count(const struct qr_params *p, uint32_t param)
{
    return p->words[p->offsets[param] + COUNT];
}

quire_status qr_param_after(struct qr_params *p, const struct qr_network *net,
                            const struct qr_net_loop *loop, uint32_t param, uint32_t i,
                            uint32_t *out)
{
    const struct qr_net_member *m = &net->members[loop->members + i];
    const uint32_t bits = loop->ordered ? 0 : (loop->n_once + 31) / 32, size = BITS + bits;
    uint32_t n;
    if (!qr_grow(p->a, (void **)&p->words, &p->words_capacity, p->n_words + size, sizeof *p->words))
        return QUIRE_E_NOMEM;
    const uint32_t *old = contents(p, param, &n);
    uint32_t *words = p->words + p->n_words;
    memset(words, 0, size * sizeof *words);
    memcpy(words, old, (n < size ? n : size) * sizeof *words);
    words[COUNT]++;
    /* without a maximum only whether the minimum is reached matters */
    if (loop->max == QR_REGEX_UNBOUNDED && words[COUNT] > (loop->min > 1 ? loop->min : 1))
        words[COUNT]--;
    if (loop->ordered)
        words[POSITION] = m->once ? i + 1 : loop->n_members;
    else if (m->once)
        words[BITS + m->bit / 32] |= 1u << (m->bit % 32);
    return intern(p, size, out);
}
