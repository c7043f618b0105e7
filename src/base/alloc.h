/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.h - heap allocation through the host's allocator hooks, and the arena. */
#ifndef QR_BASE_ALLOC_H
#define QR_BASE_ALLOC_H
#include <quire/status.h>
#include <stddef.h>

/* All heap memory of the library comes from these functions. `a` NULL means the C library. Sizes
 * are n elements of elem_size bytes; the product is checked for overflow. A request of zero bytes
 * returns a unique pointer that must be freed. NULL on failure. */

/* 16-byte aligned, uninitialized. */
void *qr_alloc(const struct quire_allocator *a, size_t n, size_t elem_size);
/* 16-byte aligned, zeroed. */
void *qr_calloc(const struct quire_allocator *a, size_t n, size_t elem_size);
/* Uninitialized; align is a power of two. */
void *qr_alloc_aligned(const struct quire_allocator *a, size_t bytes, size_t align);
/* n and elem_size must equal those of the allocation (qr_alloc_aligned: bytes, 1). NULL is a
 * no-op. */
void qr_free(const struct quire_allocator *a, void *p, size_t n, size_t elem_size);

/* Copies a NUL-terminated string, or n bytes plus a terminator. Freed by qr_strfree. */
char *qr_strdup(const struct quire_allocator *a, const char *s);
char *qr_strndup(const struct quire_allocator *a, const char *s, size_t n);
/* s must contain no NUL before its end, since its size is computed by strlen. NULL is a no-op. */
void qr_strfree(const struct quire_allocator *a, char *s);

/* Grows *p from *cap elements to at least `need`, at least doubling. On failure returns false and
 * leaves *p and *cap unchanged. */
_Bool qr_grow(const struct quire_allocator *a, void **p, size_t *cap, size_t need,
              size_t elem_size);

/* Arena: many small allocations that are freed together. Chunks grow up to 1 MiB. Not
 * thread-safe. */
struct qr_arena_chunk;
struct qr_arena {
    const struct quire_allocator *allocator; /* borrowed, outlives the arena */
    struct qr_arena_chunk *chunks;
    size_t total_bytes; /* allocated from the allocator so far */
    size_t limit_bytes; /* upper bound of total_bytes; 0 = none */
};
void qr_arena_init(struct qr_arena *arena, const struct quire_allocator *allocator,
                   size_t limit_bytes);
/* 16-byte aligned, zeroed; NULL on failure. */
void *qr_arena_alloc(struct qr_arena *arena, size_t n, size_t elem_size);
char *qr_arena_strndup(struct qr_arena *arena, const char *s, size_t n);
/* Frees all chunks; the arena can be reused. */
void qr_arena_free(struct qr_arena *arena);

#endif
