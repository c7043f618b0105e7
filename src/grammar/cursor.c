/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/cursor.h"
#include "base/error.h"
#include <string.h>

void qr_cursor_init(struct qr_cursor *c, struct qr_automaton *automaton,
                    const struct quire_tokenizer *tok)
{
    *c = (struct qr_cursor){ .automaton = automaton, .tok = tok };
}

void qr_cursor_free(struct qr_cursor *c)
{
    for (int i = 0; i < 2; i++)
        qr_free(c->automaton->a, c->buffers[i], c->capacities[i], sizeof *c->buffers[i]);
}

/* The buffer that does not hold the state, with room for n pairs. NULL: no memory. */
static struct qr_pair *other_buffer(struct qr_cursor *c, size_t n)
{
    const int i = c->pairs == c->buffers[0] && c->pairs != NULL;
    if (!qr_grow(c->automaton->a, (void **)&c->buffers[i], &c->capacities[i], n,
                 sizeof *c->buffers[i]))
        return NULL;
    return c->buffers[i];
}

quire_status qr_cursor_set(struct qr_cursor *c, const struct qr_pair *pairs, size_t n)
{
    struct qr_pair *to = other_buffer(c, n + 1);
    if (to == NULL)
        return QUIRE_E_NOMEM;
    memcpy(to, pairs, n * sizeof *to);
    c->pairs = to;
    c->n = n;
    return QUIRE_OK;
}

quire_status qr_cursor_byte(struct qr_cursor *c, uint8_t byte)
{
    struct qr_pair *to = other_buffer(c, c->n + 1);
    if (to == NULL)
        return QUIRE_E_NOMEM;
    QR_TRY(qr_automaton_step(c->automaton, c->pairs, c->n, byte, to, &c->n));
    c->pairs = to;
    return QUIRE_OK;
}

quire_status qr_cursor_token(struct qr_cursor *c, int32_t token)
{
    size_t size;
    if (quire_tokenizer_is_special(c->tok, token)) {
        struct qr_pair *to = other_buffer(c, 1);
        if (to == NULL)
            return QUIRE_E_NOMEM;
        QR_TRY(qr_automaton_token(c->automaton, c->pairs, c->n, token, to, &c->n));
        c->pairs = to;
        return QUIRE_OK;
    }
    const char *bytes = quire_tokenizer_token_bytes(c->tok, token, &size);
    if (size == 0)
        c->n = 0;
    for (size_t i = 0; i < size && c->n > 0; i++)
        QR_TRY(qr_cursor_byte(c, (uint8_t)bytes[i]));
    return QUIRE_OK;
}
