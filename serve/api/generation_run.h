/* SPDX-License-Identifier: Apache-2.0 */
/* generation_run.h - the running part of a generation: for generation.c and generation_events.c. */
#ifndef QUIRE_SERVE_GENERATION_RUN_H
#define QUIRE_SERVE_GENERATION_RUN_H
#include "generation.h"

struct block;

/* One request of a generation; its address is the user pointer of the request. */
struct item {
    struct generation *g;
    uint32_t index;
    quire_request_id id; /* 0 = not submitted */
    bool ended;
    uint32_t n_done; /* answers that have ended */
};

struct generation_run {
    struct item *items; /* [n_requests] */
    uint32_t n_submitted, n_ended;
    uint32_t answers_per_request; /* n, or beam_width: what counts in the engine */
    uint32_t max_in_flight;       /* requests in the engine at a time */
    struct model_waiter waiter;
    bool waiting, has_model, has_key, listed;
    bool begun; /* the format was told that requests are queued */
    bool
        submitting; /* the job is running: it owns n_submitted and the ids, or it is format->work */
    bool finished;  /* answered, or given up: freed when nothing is running any more */
    struct loop_job job;
    uint32_t job_end;       /* submit up to this request */
    struct api_error error; /* of the job */
    struct loop_timer keep_alive;
    struct block *blocks;
};

/* Tells the format, once, that requests are queued. */
void generation_begin_answer(struct generation *g);

/* Submits requests until max_in_flight are in the engine. May free the generation. */
void generation_submit_more(struct generation *g);

/* The exchange is answered or gone: cancels what runs. May free the generation. */
void generation_close(struct generation *g);

/* Frees a closed generation once nothing refers to it. */
void generation_release(struct generation *g);

#endif
