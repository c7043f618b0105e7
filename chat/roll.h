/* SPDX-License-Identifier: Apache-2.0 */
/* roll.h - keeps the prompt of a long conversation within the context. */
#ifndef QUIRE_CHAT_ROLL_H
#define QUIRE_CHAT_ROLL_H
#include "prompt.h"

struct roll_args {
    struct quire_engine *engine;
    struct prompt *prompt;
    uint32_t context_length;
};

/* Drops the oldest turns of the prompt if it leaves no room for an answer: a quarter of the
 * context, or the limit of the answer if that is less. Then whole turns are dropped until the
 * prompt takes half of the context or one turn is left; messages before the first turn stay.
 *
 * After a roll the prefix cache holds nothing of the turns that stay, whose positions have changed:
 * they are read again. That is why more is dropped than the next answer needs: the next roll is
 * then a quarter of the context away.
 *
 * request->messages are those of the prompt, filled from *first; both are updated. Returns whether
 * turns were dropped. A failure to count tokens drops nothing. */
bool roll_prompt(const struct roll_args *args, struct quire_request_params *request, size_t *first);

#endif
