/* SPDX-License-Identifier: Apache-2.0 */
/* prompt_parts.c - prompts made of parts: texts, token ids and rows of embeddings. */
#include "engine/prompt_parts.h"
#include "base/alloc.h"
#include "base/error.h"
#include <math.h>
#include <string.h>

/* ---- Shape */

static quire_status check_part(const struct quire_engine *e, const struct quire_prompt_part *part,
                               size_t i, struct quire_error *err)
{
    if (!!part->text + !!part->tokens + !!part->embeddings != 1)
        return qr_fail(err, QUIRE_E_INVALID_ARG,
                       "parts[%zu]: give exactly one of text, tokens and embeddings", i);
    for (size_t k = 0; k < sizeof part->reserved / sizeof *part->reserved; k++)
        if (part->reserved[k])
            return qr_fail(err, QUIRE_E_INVALID_ARG, "parts[%zu].reserved is not 0", i);
    const size_t n = part->text ? part->text_size : part->tokens ? part->n_tokens : part->n_rows;
    if (n == 0 || n > INT32_MAX)
        return qr_fail(err, n ? QUIRE_E_LIMIT : QUIRE_E_INVALID_ARG, "parts[%zu].%s is %zu%s", i,
                       part->text     ? "text_size"
                       : part->tokens ? "n_tokens"
                                      : "n_rows",
                       n, n ? ", the limit is 2^31 - 1" : "");
    if (part->embeddings && part->hidden_size != e->hidden_size)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "parts[%zu].hidden_size is %u, the model has %u",
                       i, part->hidden_size, e->hidden_size);
    if (part->embeddings && e->needs_token_ids)
        return qr_fail(err, QUIRE_E_UNSUPPORTED,
                       "parts[%zu].embeddings: the model has embeddings per layer, which need "
                       "token ids",
                       i);
    return QUIRE_OK;
}

/* ---- Tokens */

/* Appends n tokens; ids NULL: QR_EMBEDDING_TOKEN. */
static quire_status append(const struct quire_engine *e, struct qr_prompt *p, const int32_t *ids,
                           size_t n, struct quire_error *err)
{
    size_t capacity = p->capacity;
    void *tokens = p->tokens;
    if (n > (size_t)INT32_MAX / 2 - p->n) /* growing doubles the capacity */
        return qr_fail(err, QUIRE_E_LIMIT, "parts: the prompt has more than 2^30 tokens");
    if (!qr_grow(e->allocator, &tokens, &capacity, p->n + n, sizeof *p->tokens))
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a prompt of %zu tokens", p->n + n);
    p->tokens = tokens;
    p->capacity = (uint32_t)capacity;
    for (size_t i = 0; i < n; i++)
        p->tokens[p->n + i] = ids ? ids[i] : QR_EMBEDDING_TOKEN;
    p->n += (uint32_t)n;
    return QUIRE_OK;
}

static quire_status append_text(const struct quire_engine *e, const struct quire_prompt_part *part,
                                size_t i, struct qr_prompt *p, struct quire_error *err)
{
    struct qr_prompt text = { 0 };
    struct quire_error local = QUIRE_ERROR_INIT;
    quire_status s =
        qr_prompt_encode_text(e, part->text, part->text_size, part->text_flags, &text, &local);
    if (s != QUIRE_OK)
        return qr_fail(err, s, "parts[%zu].text: %s", i, local.msg);
    s = append(e, p, text.tokens, text.n, err);
    qr_prompt_free(e, &text);
    return s;
}

quire_status qr_prompt_parts_encode(const struct quire_engine *e,
                                    const struct quire_request_params *r, struct qr_prompt *p,
                                    struct quire_error *err)
{
    if (!r->n_parts)
        return qr_fail(err, QUIRE_E_INVALID_ARG, "the prompt is empty: n_parts is 0");
    quire_status s = QUIRE_OK;
    for (size_t i = 0; i < r->n_parts && s == QUIRE_OK; i++) {
        const struct quire_prompt_part *part = &r->parts[i];
        s = check_part(e, part, i, err);
        if (s == QUIRE_OK)
            s = part->text     ? append_text(e, part, i, p, err)
                : part->tokens ? append(e, p, part->tokens, part->n_tokens, err)
                               : append(e, p, NULL, part->n_rows, err);
    }
    if (s != QUIRE_OK)
        qr_prompt_free(e, p);
    return s;
}

/* ---- Values */

static quire_status check_ids(const struct quire_engine *e, const struct quire_prompt_part *part,
                              size_t i, struct quire_error *err)
{
    for (size_t k = 0; k < part->n_tokens; k++)
        if (part->tokens[k] < 0 || (uint32_t)part->tokens[k] >= e->vocab_size)
            return qr_fail(err, QUIRE_E_RANGE, "parts[%zu].tokens[%zu] is %d, the model has %u", i,
                           k, part->tokens[k], e->vocab_size);
    return QUIRE_OK;
}

static quire_status check_rows(const struct quire_prompt_part *part, size_t i,
                               struct quire_error *err)
{
    for (size_t row = 0; row < part->n_rows; row++)
        for (size_t k = 0; k < part->hidden_size; k++) {
            const float x = part->embeddings[row * part->hidden_size + k];
            if (!isfinite(x))
                return qr_fail(err, QUIRE_E_NUMERIC, "parts[%zu].embeddings: row %zu has %s", i,
                               row, isnan(x) ? "a NaN" : "an infinity");
        }
    return QUIRE_OK;
}

quire_status qr_prompt_parts_check_values(const struct quire_engine *e,
                                          const struct quire_request_params *r,
                                          struct quire_error *err)
{
    for (size_t i = 0; i < r->n_parts; i++) {
        const struct quire_prompt_part *part = &r->parts[i];
        if (part->tokens)
            QR_TRY(check_ids(e, part, i, err));
        if (part->embeddings)
            QR_TRY(check_rows(part, i, err));
    }
    return QUIRE_OK;
}

/* ---- Embeddings of an answer */

/* Enters the rows of all parts into the table, at the positions of QR_EMBEDDING_TOKEN. */
static quire_status add_rows(struct quire_engine *e, struct qr_request *r,
                             const struct quire_request_params *p, struct quire_error *err)
{
    uint32_t at = 0;
    for (size_t i = 0; i < p->n_parts; i++) {
        const struct quire_prompt_part *part = &p->parts[i];
        for (size_t row = 0; part->embeddings && row < part->n_rows; row++) {
            while (r->tokens[at] != QR_EMBEDDING_TOKEN)
                at++;
            QR_TRY(qr_embedding_table_add(&e->embeddings,
                                          part->embeddings + row * part->hidden_size, p->cache_salt,
                                          &r->keys[at], &r->embeddings[at], err));
            at++;
        }
    }
    return QUIRE_OK;
}

quire_status qr_prompt_parts_attach(struct quire_engine *e, struct qr_request *r,
                                    const struct quire_request_params *p, uint32_t n_prompt,
                                    struct quire_error *err)
{
    bool any = false;
    for (size_t i = 0; p->parts && i < p->n_parts && !any; i++)
        any = p->parts[i].embeddings != NULL;
    r->keys = r->tokens;
    if (!any)
        return QUIRE_OK;
    r->n_embeddings = n_prompt;
    r->embeddings = qr_calloc(e->allocator, n_prompt, sizeof *r->embeddings);
    r->keys = qr_alloc(e->allocator, r->capacity, sizeof *r->keys);
    if (!r->embeddings || !r->keys)
        return qr_fail(err, QUIRE_E_NOMEM, "no memory for a prompt with embeddings of %u tokens",
                       n_prompt);
    memcpy(r->keys, r->tokens, n_prompt * sizeof *r->keys);
    return add_rows(e, r, p, err);
}

void qr_prompt_parts_detach(struct quire_engine *e, struct qr_request *r)
{
    if (r->embeddings && r->keys)
        qr_embedding_table_release(&e->embeddings, r->keys, r->n_embeddings);
    if (r->keys != r->tokens)
        qr_free(e->allocator, r->keys, r->capacity, sizeof *r->keys);
    qr_free(e->allocator, r->embeddings, r->n_embeddings, sizeof *r->embeddings);
    r->keys = NULL;
    r->embeddings = NULL;
}
