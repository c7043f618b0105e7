/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.c - heap allocation through the host's allocator hooks, and the arena. */
#include "base/alloc.h"
#include "base/checked.h"
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_ALIGN = 16, FIRST_CHUNK_BYTES = 4096, MAX_CHUNK_BYTES = 1 << 20 };

void *qr_alloc_aligned(const struct quire_allocator *a, size_t bytes, size_t align)
{
    if (bytes == 0)
        bytes = 1;
    void *p;
    if (a) {
        p = a->alloc(a->user, bytes, align);
        /* a misaligned block from a faulty hook would fault in an aligned vector load */
        if (p && ((uintptr_t)p & (align - 1))) {
            a->free(a->user, p, bytes);
            p = NULL;
        }
        return p;
    }
    size_t rounded;
    if (!qr_align_size(bytes, align, &rounded))
        return NULL;
    return aligned_alloc(align, rounded);
}

void *qr_alloc(const struct quire_allocator *a, size_t n, size_t elem_size)
{
    size_t bytes;
    return qr_mul_size(n, elem_size, &bytes) ? qr_alloc_aligned(a, bytes, DEFAULT_ALIGN) : NULL;
}

void *qr_calloc(const struct quire_allocator *a, size_t n, size_t elem_size)
{
    void *p = qr_alloc(a, n, elem_size);
    if (p)
        memset(p, 0, n * elem_size);
    return p;
}

void qr_free(const struct quire_allocator *a, void *p, size_t n, size_t elem_size)
{
    if (!p)
        return;
    const size_t bytes = n * elem_size;
    if (a)
        a->free(a->user, p, bytes ? bytes : 1);
    else
        free(p);
}

char *qr_strndup(const struct quire_allocator *a, const char *s, size_t n)
{
    size_t bytes;
    char *p = qr_add_size(n, 1, &bytes) ? qr_alloc(a, bytes, 1) : NULL;
    if (p) {
        if (n)
            memcpy(p, s, n);
        p[n] = 0;
    }
    return p;
}

char *qr_strdup(const struct quire_allocator *a, const char *s)
{
    return qr_strndup(a, s, strlen(s));
}

void qr_strfree(const struct quire_allocator *a, char *s)
{
    if (s)
        qr_free(a, s, strlen(s) + 1, 1);
}

_Bool qr_grow(const struct quire_allocator *a, void **p, size_t *cap, size_t need, size_t elem_size)
{
    if (need <= *cap)
        return 1;
    size_t n = *cap < 8 ? 8 : *cap;
    while (n < need)
        if (!qr_mul_size(n, 2, &n))
            return 0;
    void *grown = qr_alloc(a, n, elem_size);
    if (!grown)
        return 0;
    if (*p)
        memcpy(grown, *p, *cap * elem_size);
    qr_free(a, *p, *cap, elem_size);
    *p = grown;
    *cap = n;
    return 1;
}

struct qr_arena_chunk {
    struct qr_arena_chunk *next;
    size_t bytes, used; /* header included */
    size_t pad;         /* makes the header a multiple of DEFAULT_ALIGN */
};

void qr_arena_init(struct qr_arena *arena, const struct quire_allocator *allocator,
                   size_t limit_bytes)
{
    *arena = (struct qr_arena){ .allocator = allocator, .limit_bytes = limit_bytes };
}

static struct qr_arena_chunk *add_chunk(struct qr_arena *arena, size_t payload)
{
    size_t bytes = arena->chunks ? arena->chunks->bytes * 2 : FIRST_CHUNK_BYTES, need, total;
    if (bytes > MAX_CHUNK_BYTES)
        bytes = MAX_CHUNK_BYTES;
    if (!qr_add_size(payload, sizeof(struct qr_arena_chunk), &need))
        return NULL;
    if (bytes < need)
        bytes = need;
    if (!qr_add_size(arena->total_bytes, bytes, &total) ||
        (arena->limit_bytes && total > arena->limit_bytes))
        return NULL;
    struct qr_arena_chunk *c = qr_alloc(arena->allocator, bytes, 1);
    if (!c)
        return NULL;
    *c = (struct qr_arena_chunk){ .next = arena->chunks, .bytes = bytes, .used = sizeof *c };
    arena->chunks = c;
    arena->total_bytes = total;
    return c;
}

void *qr_arena_alloc(struct qr_arena *arena, size_t n, size_t elem_size)
{
    size_t bytes;
    if (!qr_mul_size(n, elem_size, &bytes) ||
        !qr_align_size(bytes ? bytes : 1, DEFAULT_ALIGN, &bytes))
        return NULL;
    struct qr_arena_chunk *c = arena->chunks;
    if (!c || c->bytes - c->used < bytes)
        c = add_chunk(arena, bytes);
    if (!c)
        return NULL;
    void *p = (char *)c + c->used;
    c->used += bytes;
    return memset(p, 0, bytes);
}

char *qr_arena_strndup(struct qr_arena *arena, const char *s, size_t n)
{
    size_t bytes;
    char *p = qr_add_size(n, 1, &bytes) ? qr_arena_alloc(arena, bytes, 1) : NULL;
    if (p && n)
        memcpy(p, s, n);
    return p;
}

void qr_arena_free(struct qr_arena *arena)
{
    for (struct qr_arena_chunk *c = arena->chunks, *next; c; c = next) {
        next = c->next;
        qr_free(arena->allocator, c, c->bytes, 1);
    }
    arena->chunks = NULL;
    arena->total_bytes = 0;
}
