/* SPDX-License-Identifier: Apache-2.0 */
/* roll.c - keeps the prompt of a long conversation within the context. */
#include "roll.h"

/* Parts of the context: 1 / ROLL_ROOM, 1 / ROLL_KEEP. */
enum { ROLL_ROOM = 4, ROLL_KEEP = 2 };

/* Fills the prompt from message `first` on and counts its tokens. SIZE_MAX: counting fails. */
static size_t fill(const struct roll_args *a, struct quire_request_params *request, size_t first)
{
    size_t n_tokens;
    request->n_messages = prompt_fill(a->prompt, first);
    const quire_status s = quire_engine_count_tokens(a->engine, request, &n_tokens, NULL);
    return s == QUIRE_OK ? n_tokens : SIZE_MAX;
}

/* First turn from which on the prompt has at most `most` tokens, or the last one. */
static size_t first_turn_that_fits(const struct roll_args *a, struct quire_request_params *request,
                                   size_t first, size_t most)
{
    const struct conversation *c = a->prompt->conversation;
    size_t low = conversation_next_turn(c, first + 1);
    size_t high = conversation_last_turn(c, a->prompt->n);
    /* invariant: the turn at `high` is the answer if no turn in [low, high) fits */
    while (low < high) {
        const size_t middle = conversation_next_turn(c, low + (high - low) / 2);
        const size_t tried = middle < high ? middle : low;
        if (fill(a, request, tried) <= most)
            high = tried;
        else
            low = conversation_next_turn(c, tried + 1);
    }
    return high;
}

bool roll_prompt(const struct roll_args *a, struct quire_request_params *request, size_t *first)
{
    const struct conversation *c = a->prompt->conversation;
    uint32_t room = a->context_length / ROLL_ROOM;
    if (request->max_tokens && request->max_tokens < room)
        room = request->max_tokens;
    const size_t n_tokens = fill(a, request, *first);
    const size_t head = conversation_next_turn(c, 0);
    const size_t oldest = *first > head ? *first : head; /* turn of the prompt */
    if (n_tokens == SIZE_MAX || n_tokens <= a->context_length - room ||
        oldest >= conversation_last_turn(c, a->prompt->n))
        return false;
    *first = first_turn_that_fits(a, request, oldest, a->context_length / ROLL_KEEP);
    (void)fill(a, request, *first);
    return true;
}
