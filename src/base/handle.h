/* SPDX-License-Identifier: Apache-2.0 */
/* handle.h - kinds of the public objects, to detect handles of destroyed and of other objects. */
#ifndef QR_BASE_HANDLE_H
#define QR_BASE_HANDLE_H
#include <quire/status.h>
#include <stdbool.h>
#include <stdint.h>

enum qr_kind {
    QR_KIND_DEAD,
    /* a value that other memory is unlikely to begin with */
    QR_KIND_ENGINE = 0x51750001,
    QR_KIND_MODEL,
    QR_KIND_CONTEXT,
    QR_KIND_KV_CACHE,
    QR_KIND_PLAN,
    QR_KIND_DENSE,
    QR_KIND_MLA_WEIGHTS,
    QR_KIND_SAMPLER,
    QR_KIND_TOKENIZER,
    QR_KIND_DETOKENIZER,
    QR_KIND_CHAT_TEMPLATE,
    QR_KIND_CHAT_PROMPT,
    QR_KIND_THREADS,
    QR_KIND_HOST_TEAM,
    QR_KIND_GRAMMAR_VOCAB,
    QR_KIND_GRAMMAR,
    QR_KIND_GRAMMAR_MATCHER,
    QR_KIND_CHAT_OUTPUT,
    QR_KIND_STATE_POOL,
    QR_KIND_ADAPTER,
};

/* First member of a public object. Objects are created with their kind; qr_handle_end precedes the
 * release of their memory. */
struct qr_handle {
    uint32_t kind; /* atomic */
};

/* Whether the object at p, which may be NULL, is alive and of this kind. Reads one word at p: the
 * memory of a destroyed object is recognized as long as it has not been unmapped or reused. */
static inline bool qr_handle_is(const void *p, enum qr_kind kind)
{
    return p && __atomic_load_n(&((const struct qr_handle *)p)->kind, __ATOMIC_RELAXED) == kind;
}

/* Marks the object as destroyed. False if it is NULL, destroyed already or of another kind. */
static inline bool qr_handle_end(void *p, enum qr_kind kind)
{
    if (!qr_handle_is(p, kind))
        return false;
    __atomic_store_n(&((struct qr_handle *)p)->kind, QR_KIND_DEAD, __ATOMIC_RELAXED);
    return true;
}

/* QUIRE_E_INVALID_ARG, with a message that names the argument, unless the object is alive and of
 * this kind. */
quire_status qr_handle_check(const void *p, enum qr_kind kind, const char *name,
                             struct quire_error *err);

#endif
