/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.h - all heap memory of the library goes through these helpers and so through the host's hooks. */
#ifndef QR_BASE_ALLOC_H
#define QR_BASE_ALLOC_H
#include <quire/status.h>
#include <stddef.h>

/* Every helper takes a NULL allocator as "the C library". Sizes are in elements times element bytes and
 * checked for overflow. Zero-element requests return a unique pointer that can be freed. NULL on failure. */
void *qr_alloc(const struct quire_allocator *a, size_t n,
               size_t elem_size); /* 16-byte aligned, undefined */
void *qr_calloc(const struct quire_allocator *a, size_t n,
                size_t elem_size); /* 16-byte aligned, zeroed */
void *qr_alloc_aligned(const struct quire_allocator *a, size_t bytes,
                       size_t align); /* undefined contents */
/* Frees what one of the above returned; n and elem_size as given then (aligned: bytes, 1). NULL is a no-op. */
void qr_free(const struct quire_allocator *a, void *p, size_t n, size_t elem_size);

/* Copies s (NUL-terminated) or the first n bytes of s, and terminates it. Free with qr_strfree. */
char *qr_strdup(const struct quire_allocator *a, const char *s);
char *qr_strndup(const struct quire_allocator *a, const char *s, size_t n);
void qr_strfree(const struct quire_allocator *a,
                char *s); /* s had no NUL inside; NULL is a no-op */

/* Grows *p (capacity *cap elements) to at least `need` elements, at least doubling. False: *p is as it was. */
_Bool qr_grow(const struct quire_allocator *a, void **p, size_t *cap, size_t need,
              size_t elem_size);

/* An arena: many small allocations, freed together. Chunks grow up to 1 MiB. Not thread-safe. */
struct qr_arena_chunk;
struct qr_arena {
    const struct quire_allocator *allocator; /* borrowed, outlives the arena */
    struct qr_arena_chunk *chunks;
    size_t total_bytes; /* taken from the allocator so far */
    size_t limit_bytes; /* allocation fails beyond this; 0 = no limit */
};
void qr_arena_init(struct qr_arena *arena, const struct quire_allocator *allocator,
                   size_t limit_bytes);
void *qr_arena_alloc(struct qr_arena *arena, size_t n,
                     size_t elem_size); /* 16-byte aligned, zeroed; NULL on failure */
char *qr_arena_strndup(struct qr_arena *arena, const char *s, size_t n);
void qr_arena_free(struct qr_arena *arena); /* frees everything; the arena can be used again */

#endif
