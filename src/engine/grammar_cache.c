/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/grammar_cache.h"
#include "base/alloc.h"
#include "base/error.h"
#include <string.h>

/* Grammars that are kept without a request: as long as the cache has at most so many, and these at
 * most so many bytes. */
enum { MAX_GRAMMARS = 32, MAX_UNUSED_BYTES = 256 << 20 };

quire_status qr_grammar_cache_init(struct qr_grammar_cache *c, const struct quire_tokenizer *tok,
                                   const struct quire_allocator *a, struct quire_error *err)
{
    *c = (struct qr_grammar_cache){ .a = a, .tok = tok };
    const int error = pthread_mutex_init(&c->lock, NULL);
    c->lock_ready = error == 0;
    return error ? qr_fail_errno(err, QUIRE_E_NOMEM, error, "no lock for grammars") : QUIRE_OK;
}

static void destroy(struct qr_grammar_cache *c, struct qr_shared_grammar *g)
{
    quire_grammar_destroy(g->grammar);
    qr_free(c->a, g->text, g->size + 1, 1);
    qr_free(c->a, g, 1, sizeof *g);
}

void qr_grammar_cache_free(struct qr_grammar_cache *c)
{
    while (c->first) {
        struct qr_shared_grammar *g = c->first;
        c->first = g->next;
        destroy(c, g);
    }
    quire_grammar_vocab_destroy(c->vocab);
    if (c->lock_ready)
        pthread_mutex_destroy(&c->lock);
    *c = (struct qr_grammar_cache){ 0 };
}

quire_status qr_grammar_cache_vocab(struct qr_grammar_cache *c, struct quire_grammar_vocab **out,
                                    struct quire_error *err)
{
    quire_status s = QUIRE_OK;
    pthread_mutex_lock(&c->lock);
    if (!c->vocab)
        s = quire_grammar_vocab_create(c->tok, c->a, &c->vocab, err);
    *out = c->vocab;
    pthread_mutex_unlock(&c->lock);
    return s;
}

static size_t text_size(const struct quire_request_params *p)
{
    if (!p->grammar_text)
        return 0;
    return p->grammar_text_size == QUIRE_NUL_TERMINATED ? strlen(p->grammar_text)
                                                        : p->grammar_text_size;
}

/* Takes a reference to the grammar of a text and makes it the first one; NULL: it is not there. */
static struct qr_shared_grammar *find(struct qr_grammar_cache *c,
                                      const struct quire_request_params *p, size_t size)
{
    for (struct qr_shared_grammar **link = &c->first; *link; link = &(*link)->next) {
        struct qr_shared_grammar *g = *link;
        if (g->kind != p->grammar_kind || g->flags != p->grammar_flags || g->size != size ||
            (size && memcmp(g->text, p->grammar_text, size) != 0))
            continue;
        *link = g->next;
        g->next = c->first;
        c->first = g;
        g->refs++;
        return g;
    }
    return NULL;
}

static bool is_full(const struct qr_grammar_cache *c)
{
    uint64_t bytes = 0;
    for (const struct qr_shared_grammar *g = c->first; g; g = g->next)
        bytes += g->refs == 0 ? g->bytes : 0;
    return c->n > MAX_GRAMMARS || bytes > MAX_UNUSED_BYTES;
}

/* Unlinks what was unused the longest while there is too much; returns a list to destroy. */
static struct qr_shared_grammar *evict(struct qr_grammar_cache *c)
{
    struct qr_shared_grammar *out = NULL;
    while (is_full(c)) {
        struct qr_shared_grammar **oldest = NULL;
        for (struct qr_shared_grammar **link = &c->first; *link; link = &(*link)->next)
            if ((*link)->refs == 0)
                oldest = link;
        if (!oldest)
            break;
        struct qr_shared_grammar *g = *oldest;
        *oldest = g->next;
        g->next = out;
        out = g;
        c->n--;
    }
    return out;
}

static void destroy_list(struct qr_grammar_cache *c, struct qr_shared_grammar *list)
{
    while (list) {
        struct qr_shared_grammar *g = list;
        list = g->next;
        destroy(c, g);
    }
}

static quire_status compile(struct qr_grammar_cache *c, const struct quire_request_params *p,
                            size_t size, struct qr_shared_grammar **out, struct quire_error *err)
{
    struct quire_grammar_vocab *vocab;
    struct quire_grammar_params gp;
    QR_TRY(qr_grammar_cache_vocab(c, &vocab, err));
    struct qr_shared_grammar *g = qr_calloc(c->a, 1, sizeof *g);
    if (!g)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for the grammar");
    *g = (struct qr_shared_grammar){
        .refs = 1, .kind = p->grammar_kind, .flags = p->grammar_flags, .size = size
    };
    g->text = qr_strndup(c->a, p->grammar_text ? p->grammar_text : "", size);
    quire_grammar_params_init(&gp, sizeof gp);
    gp.kind = p->grammar_kind;
    gp.flags = p->grammar_flags;
    gp.text = p->grammar_text;
    gp.text_size = size;
    gp.allocator = c->a;
    const quire_status s = g->text ? quire_grammar_compile(vocab, &gp, &g->grammar, err)
                                   : qr_fail(err, QUIRE_E_NOMEM, "no memory for the grammar");
    if (s != QUIRE_OK) {
        if (g->text)
            qr_free(c->a, g->text, size + 1, 1);
        qr_free(c->a, g, 1, sizeof *g);
        return s;
    }
    *out = g;
    return QUIRE_OK;
}

quire_status qr_grammar_cache_acquire(struct qr_grammar_cache *c,
                                      const struct quire_request_params *p,
                                      struct qr_shared_grammar **out, struct quire_error *err)
{
    const size_t size = text_size(p);
    struct qr_shared_grammar *made = NULL, *evicted;
    pthread_mutex_lock(&c->lock);
    *out = find(c, p, size);
    pthread_mutex_unlock(&c->lock);
    if (*out)
        return QUIRE_OK;
    QR_TRY(compile(c, p, size, &made, err)); /* without the lock: it may take long */
    pthread_mutex_lock(&c->lock);
    *out = find(c, p, size); /* another thread may have been faster */
    if (!*out) {
        made->next = c->first;
        c->first = *out = made;
        c->n++;
        made = NULL;
    }
    evicted = evict(c);
    pthread_mutex_unlock(&c->lock);
    if (made)
        destroy(c, made);
    destroy_list(c, evicted);
    return QUIRE_OK;
}

void qr_grammar_cache_release(struct qr_grammar_cache *c, struct qr_shared_grammar *g)
{
    if (!g)
        return;
    struct quire_grammar_info info = { .struct_size = sizeof info };
    pthread_mutex_lock(&c->lock);
    if (--g->refs == 0 && quire_grammar_get_info(g->grammar, &info) == QUIRE_OK)
        g->bytes = info.bytes;
    struct qr_shared_grammar *evicted = evict(c);
    pthread_mutex_unlock(&c->lock);
    destroy_list(c, evicted);
}
