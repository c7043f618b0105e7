/* SPDX-License-Identifier: Apache-2.0 */
/* generation.h - the requests of one exchange to the engine of one model, and their answers.
 *
 * A route parses its body into a generation: one or several requests for text, vectors or scores.
 * generation_start() opens the model if necessary, submits the requests and calls the format for
 * every event on the event loop. When the client has gone the requests are cancelled. */
#ifndef QUIRE_SERVE_GENERATION_H
#define QUIRE_SERVE_GENERATION_H
#include "answer.h"
#include "error.h"
#include "exchange.h"
#include "loop.h"
#include "output_choice.h"
#include "registry.h"
#include "trace.h"
#include <jansson.h>
#include <quire/quire.h>
#include <stdbool.h>
#include <stdint.h>

enum generation_flags {
    KEEP_TEXT = 1u << 0,  /* collect text, reasoning and calls of the answers */
    KEEP_ALIVE = 1u << 1, /* while nothing is sent, an SSE comment every 10 s once streaming */
};

struct generation;

struct generation_format {
    /* Name of the parameter with the prompts, in errors, e.g. "input". May be NULL. */
    const char *input;
    /* Instead of requests: computes something with the open model, on a thread; then `finish` is
     * called. On failure it sets *error and returns false. NULL: requests are submitted. */
    bool (*work)(struct generation *g, struct api_error *error);
    /* The requests are queued: a streaming format begins its stream. May be NULL. */
    void (*started)(struct generation *g);
    /* Event of request `index`, after the answer was updated and split into answer->pieces. May be
     * NULL. */
    void (*event)(struct generation *g, uint32_t index, struct answer *answer,
                  const struct quire_event *ev);
    /* All requests have ended: completes the answer (exchange_reply_json or exchange_end). */
    void (*finish)(struct generation *g);
    /* An error after the stream has begun: writes it as an event of the format. The stream is ended
     * afterwards. May be NULL if the format never streams. */
    void (*stream_error)(struct generation *g, const struct api_error *error);
    /* Frees g->state. May be NULL. */
    void (*destroy)(struct generation *g);
};

struct generation {
    /* set by the route */
    struct exchange *exchange; /* NULL once the client has gone */
    const struct generation_format *format;
    unsigned flags; /* enum generation_flags */
    json_t *body;   /* owned: strings of the requests may point into it */
    json_t *tools;  /* owned: [tools] of the first request in OpenAI's notation, or NULL */
    void *state;    /* of the format */
    struct model *model;
    const char *adapter;                   /* name of an adapter of the model, or NULL */
    struct quire_request_params *requests; /* [n_requests], malloc */
    uint32_t n_requests;
    struct quire_sampling_params sampling;   /* requests[i].sampling points to it or is NULL */
    struct output_choice output;             /* how the first request's answers are split */
    const char *grammar_param;               /* parameter that constrains the answers, or NULL */
    struct sampling_choice *sampling_choice; /* of sampling_fields.c */

    /* managed here */
    struct server *server;
    const struct key *key;          /* of the client */
    struct answer *answers;         /* [n_requests][choices] */
    uint32_t choices;               /* answers per request */
    uint64_t id;                    /* number, for ids of answers and logs */
    double started;                 /* loop_now() */
    double first_token, last_token; /* loop_now(), 0 = none */
    double last_write;              /* loop_now() of the last piece of a stream */
    struct generation_run *run;
    struct trace_span span;
    struct generation *previous, *next; /* of server->generations */
};

/* Creates a generation for an exchange, with room for n_requests initialized requests (n_requests
 * is set) and the parsed body, whose reference it takes also on failure. NULL: *error. */
struct generation *generation_create(struct exchange *x, const struct generation_format *format,
                                     json_t *body, uint32_t n_requests, struct api_error *error);

/* Sets the model and the adapter of a name that a client says. False: *error. */
bool generation_find_model(struct generation *g, const char *name, struct api_error *error);

/* The name of the model in answers: that of the adapter, if there is one. */
const char *generation_model_name(const struct generation *g);

/* Memory that lives as long as the generation; NULL: out of memory. */
void *generation_alloc(struct generation *g, size_t size);

/* Submits the requests. Takes the generation. Fields that it sets: user, client, cache_salt. Errors
 * are answered in the dialect of the route. */
void generation_start(struct generation *g);

/* Answers with the error (or ends the stream with it), cancels what runs, and frees the generation
 * later. Also for generations that were not started. */
void generation_fail(struct generation *g, const struct api_error *error);

/* Sets the error of a call of the engine for request `index`, with the parameter that it refused:
 * the model if it does not support the request; a field whose name begins the message; otherwise
 * the prompt. Returns false. */
bool generation_engine_error(const struct generation *g, uint32_t index, quire_status status,
                             const struct quire_error *err, struct api_error *error);

/* Cancels all generations: the answers end with QUIRE_FINISH_CANCELLED. */
void generation_cancel_all(struct server *server);

/* Sums of usage over all answers; prompt tokens count once per request. */
struct generation_usage {
    uint64_t prompt_tokens, cached_tokens, completion_tokens;
};
struct generation_usage generation_usage(const struct generation *g);

#endif
