/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - the engine object and its requests.
 *
 * Two parties access an engine concurrently: the thread that runs a step, and the threads that
 * submit requests and consume events. What they share is protected by `lock`: the lists of new and
 * of free slots, and the part of a request marked "published". Everything else of a request belongs
 * to the step from the moment it is queued until it has finished.
 *
 * Saving and restoring the prefix cache takes the place of a step (qr_engine_exclude_steps). Order
 * of locks: `stepping` before `lock`; no file is read or written under `lock`. */
#ifndef QR_ENGINE_TYPES_H
#define QR_ENGINE_TYPES_H
#include "base/handle.h"
#include "engine/batch.h"
#include "engine/output_text.h"
#include "engine/scheduler.h"
#include "engine/speculation/draft_depth.h"
#include "engine/speculation/suffix_automaton.h"
#include "engine/step_cost.h"
#include "engine/team_size.h"
#include <pthread.h>
#include <quire/engine.h>

enum { QR_MAX_STOP_TOKENS = 64, QR_MAX_CHOICES = 128, QR_MAX_LOGPROBS = 20 };

enum qr_request_state {
    QR_REQUEST_FREE,
    QR_REQUEST_CLAIMED,  /* a thread prepares it */
    QR_REQUEST_QUEUED,   /* submitted, not yet seen by a step */
    QR_REQUEST_ACTIVE,   /* known to the scheduler */
    QR_REQUEST_FINISHED, /* its last event is not polled */
    QR_REQUEST_POLLED,   /* a leader whose group has events left */
};

/* One answer. A request with n answers is a group of n of these; the first one is its leader. */
struct qr_request {
    uint64_t tag; /* atomic, of the leader: id * 2, plus 1 once cancelled; 0 = no live request */
    quire_request_id id;       /* of the group */
    struct qr_request *leader; /* itself in a group of one */
    struct qr_request *next;   /* in the group */
    uint32_t choice;           /* index in the group */

    /* set by submit, read by the step */
    int32_t *tokens; /* [capacity] prompt, then output */
    uint32_t capacity, max_output, min_output;
    uint32_t flags, stream;
    struct quire_sampling_params sampling; /* owns logit_bias and dry_breakers */
    int32_t stop_tokens[QR_MAX_STOP_TOKENS];
    uint32_t n_stop_tokens;
    uint32_t n_logprobs; /* entries of `logprobs` per token; 0 = none */
    quire_logits_hook logits_hook;
    void *logits_hook_user;
    void *user;
    double submit_time, deadline; /* qr_clock_now() in seconds; deadline 0 = none */
    uint32_t n_returned;          /* leader: answers that are returned, at most those generated */

    /* of the step */
    struct qr_task task;
    uint32_t n_output; /* sampled tokens, the end-of-generation token included */
    struct qr_output_text output;
    double start_time, first_token_time, last_token_time; /* 0 = not reached */
    struct quire_sampling_state sampling_state;           /* after the last sampled token */
    double sum_logprob;                                   /* of the output, for best_of */
    int32_t *draft; /* [max_draft]; NULL = no speculative decoding */
    uint32_t max_draft, draft_available, draft_class;
    struct qr_suffix_automaton automaton; /* of the tokens */
    struct qr_draft_depth draft_depth;
    bool group_waits; /* leader: the others wait for its prompt */
    bool finished;    /* no token follows; final_* are set */
    bool dirty;       /* in the engine's list of requests to publish */
    bool flushed;     /* the last text has been released */
    struct qr_request *next_dirty;
    enum quire_finish_reason final_reason;
    bool final_context_full;
    struct quire_error final_error; /* of QUIRE_FINISH_ERROR */
    uint32_t n_unfinished;          /* leader: answers of the group that go on */
    struct qr_text_buffer grown;    /* larger buffer for `text`, while it is published */

    /* published: protected by the engine's lock */
    enum qr_request_state state;
    struct qr_request *next_new;          /* in the engine's list of new requests */
    bool held;                            /* events are withheld until best_of has chosen */
    struct qr_text_buffer text, polled;   /* not yet polled; returned by the last poll */
    struct quire_token_logprob *logprobs; /* [capacity][n_logprobs] of tokens, by position */
    uint32_t n_published, n_polled;       /* leading tokens */
    bool prompt_event_due;                /* QUIRE_EVENT_PROMPT */
    bool text_event_due;                  /* QUIRE_EVENT_TEXT */
    struct quire_usage usage, polled_usage;
    enum quire_finish_reason reason;
    bool context_full;
    struct quire_error error; /* of QUIRE_FINISH_ERROR */
    uint32_t n_unpolled;      /* leader: answers whose last event is not polled */
    /* in the engine's list of answers with an event, oldest first */
    bool ready;
    uint64_t ready_number; /* ascending in the list */
    struct qr_request *next_ready, *previous_ready;
};

struct quire_engine {
    struct qr_handle handle;
    const struct quire_allocator *allocator;
    bool dry_run;
    struct quire_threads *threads; /* borrowed, or own_threads */
    struct quire_threads *own_threads;
    struct quire_model *model; /* borrowed, or own_model */
    struct quire_model *own_model;
    const struct quire_tokenizer *tokenizer; /* borrowed, or own_tokenizer */
    struct quire_tokenizer *own_tokenizer;
    struct quire_chat_template *chat_template; /* NULL: none, or it failed with template_error */
    struct quire_error template_error;
    char *special_tokens_json;
    uint32_t vocab_size, n_text_tokens; /* rows of the LM head; tokens that have a text */
    int32_t *eog;                       /* [n_eog] end-of-generation tokens */
    uint32_t n_eog;
    struct quire_engine_info info;

    /* of the step */
    bool stepping;        /* atomic: a step runs, or a call that excludes steps */
    uint32_t n_excluding; /* atomic: calls that exclude steps, or wait for the end of one */
    struct quire_kv_cache *kv;
    struct quire_context *context;
    struct quire_sampler *sampler;
    float *logits; /* [max_logits + 1][vocab_size]; the last row is a copy for forked answers */
    struct qr_sequence_memory memory;
    struct qr_scheduler scheduler;
    struct qr_batch batch;
    struct qr_request *dirty; /* requests whose state changed in this step */
    struct quire_engine_stats counters;
    double target_itl, seconds_per_prompt_token, decode_seconds; /* measured; 0 = not yet */
    struct qr_step_cost step_cost;
    struct qr_team_size team_size;
    double machine_time;               /* when the team sizes were last told about the machine */
    struct qr_draft_costs draft_costs; /* of the current step */

    /* shared, protected by `lock` */
    pthread_mutex_t lock;
    pthread_cond_t events_changed; /* an event became due or a request ended */
    pthread_cond_t work_changed;   /* a request was submitted, or the thread shall stop */
    bool lock_ready;
    struct qr_request *requests;     /* [n_requests] */
    struct qr_request *new_requests; /* submitted since the last step, oldest first */
    uint32_t n_requests, n_free;
    uint64_t n_submitted;
    uint32_t n_active; /* atomic for readers without the lock */
    bool draining;
    struct quire_engine_stats stats;
    struct quire_usage last_usage; /* of events whose struct has no room for them */
    struct quire_error last_error;
    int event_fd; /* -1 = none */
    bool event_fd_set;
    pthread_t thread;
    bool thread_started; /* atomic for readers without the lock */
    bool thread_stop;
    uint32_t fork_count;                         /* of the process that has the thread */
    struct qr_request *first_ready, *last_ready; /* answers with an event */
    uint64_t n_ready;                            /* that were ever added to the list */
};

#endif
