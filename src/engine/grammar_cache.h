/* SPDX-License-Identifier: Apache-2.0 */
/* grammar_cache.h - compiled grammars of an engine, by their whole texts. */
#ifndef QR_ENGINE_GRAMMAR_CACHE_H
#define QR_ENGINE_GRAMMAR_CACHE_H
#include <pthread.h>
#include <quire/engine_request.h>
#include <quire/grammar.h>

/* A compiled grammar that requests share. */
struct qr_shared_grammar {
    struct quire_grammar *grammar;
    /* protected by the lock of the cache */
    struct qr_shared_grammar *next; /* in the cache, the last used one first */
    uint32_t refs;
    uint64_t bytes; /* when it was last used; valid while refs is 0 */
    uint32_t kind, flags;
    size_t size;
    char *text; /* [size] */
};

struct qr_grammar_cache {
    const struct quire_allocator *a;
    const struct quire_tokenizer *tok;
    pthread_mutex_t lock;
    bool lock_ready;
    struct quire_grammar_vocab *vocab; /* made by the first grammar */
    struct qr_shared_grammar *first;
    uint32_t n;
};

quire_status qr_grammar_cache_init(struct qr_grammar_cache *c, const struct quire_tokenizer *tok,
                                   const struct quire_allocator *a,
                                   struct quire_error *err) QUIRE_MUST_CHECK;
/* All grammars have been released. Safe on zeroes. */
void qr_grammar_cache_free(struct qr_grammar_cache *c);

/* The vocabulary of the tokenizer, which is prepared by the first call. Any thread. */
quire_status qr_grammar_cache_vocab(struct qr_grammar_cache *c, struct quire_grammar_vocab **out,
                                    struct quire_error *err) QUIRE_MUST_CHECK;

/* The grammar of a request, compiled by the calling thread unless it is there. Errors of
 * quire_grammar_compile(). */
quire_status qr_grammar_cache_acquire(struct qr_grammar_cache *c,
                                      const struct quire_request_params *p,
                                      struct qr_shared_grammar **out,
                                      struct quire_error *err) QUIRE_MUST_CHECK;
/* NULL is a no-op. */
void qr_grammar_cache_release(struct qr_grammar_cache *c, struct qr_shared_grammar *g);

#endif
