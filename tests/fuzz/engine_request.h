/* SPDX-License-Identifier: Apache-2.0 */
/* engine_request.h - a request drawn from bytes, and checks of its events. */
#ifndef QUIRE_FUZZ_ENGINE_REQUEST_H
#define QUIRE_FUZZ_ENGINE_REQUEST_H
#include "fuzz.h"
#include <quire/engine.h>

enum {
    MAX_TEXT = 48,
    MAX_NEW = 24,
    MAX_PARTS = 4,
    HIDDEN = 32, /* of the models */
    CONTEXT = 128,
    MAX_OUTPUT = 4096,
    MAX_VALUES = HIDDEN,
};

/* Parameters and results of a request. */
struct engine_request {
    quire_request_id id;
    struct quire_request_params params;
    struct quire_sampling_params sampling;
    struct quire_chat_message messages[2];
    int32_t prompt[MAX_TEXT];
    struct quire_prompt_part parts[MAX_PARTS];
    float rows[MAX_TEXT][HIDDEN];
    uint32_t events_left; /* before the callback fails; 0 = it does not */
    char text[MAX_TEXT + 1], stop[3];
    const char *stops[1];
    int32_t stop_token;
    int32_t tokens[CONTEXT + 1];
    float logprobs[CONTEXT + 1]; /* of the tokens */
    size_t n_tokens, n_prompt;
    float values[MAX_VALUES];
    size_t n_values;
    char output[MAX_OUTPUT];
    size_t output_size;
    bool cancelled, done;
    enum quire_finish_reason reason;
    bool context_full;
};

/* Prompts of all kinds; mostly valid, with single fields that are not. */
void engine_request_draw(struct engine_request *r, bool encoder, struct fuzz_input *in);

/* Checks an event, and adds what it brings. */
void engine_request_take(struct engine_request *r, const struct quire_event *ev);

#endif
