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
#include "engine/adapters.h"
#include "engine/batch.h"
#include "engine/chunk_size.h"
#include "engine/embedding_table.h"
#include "engine/grammar_cache.h"
#include "engine/output_text.h"
#include "engine/scheduler.h"
#include "engine/speculation/draft_depth.h"
#include "engine/speculation/suffix_automaton.h"
#include "engine/step_cost.h"
#include "engine/team_size.h"
#include <pthread.h>
#include <quire/engine.h>

struct qr_draft_model;

enum { QR_MAX_STOP_TOKENS = 64, QR_MAX_CHOICES = 128, QR_MAX_LOGPROBS = 20, QR_HASH_BITS = 128 };

enum qr_request_state {
    QR_REQUEST_FREE,
    QR_REQUEST_CLAIMED,  /* a thread prepares it */
    QR_REQUEST_QUEUED,   /* submitted, not yet seen by a step */
    QR_REQUEST_ACTIVE,   /* known to the scheduler */
    QR_REQUEST_FINISHED, /* its last event is not polled */
    QR_REQUEST_POLLED,   /* a leader whose group has events left */
};

/* The vector of an EMBED or SCORE request. */
struct qr_vector {
    enum quire_task task; /* GENERATE: the rest is unused */
    enum quire_pooling pooling;
    bool normalize, raw_scores;
    bool dense;        /* the model's dense layers follow the pooling */
    float *values;     /* [capacity] sum of the pooled rows so far; then the vector */
    int32_t *type_ids; /* [n_prompt] token types of an encoder; NULL: all 0 */
    uint32_t width;    /* elements of the model's output or state */
    uint32_t capacity, n_values;
};

/* Outputs of a step for the vectors of its requests; allocated when the first of them comes. */
struct qr_vector_buffers {
    float *hidden;     /* [max_step_tokens][hidden_size] final hidden states */
    float *pooled;     /* encoders: [max_seqs][hidden_size] outputs of the pooler */
    float *scores;     /* encoders: [max_seqs][n_labels] outputs of the classification head */
    int32_t *type_ids; /* encoders: [max_step_tokens] token types */
};

/* Operands of the encoder pass of a step (source.h); all zero: the model has no sources. */
struct qr_source_pass {
    int32_t *query_start_loc; /* [max_seqs + 1] */
    int32_t *token_ids;       /* [max_source_tokens] */
    int64_t *slot_mapping;    /* [max_source_tokens] in the cross group */
    uint32_t n_tokens;        /* of the current step */
};

struct qr_beam_search;

/* The grammar of an answer; all zero: none. */
struct qr_constraint {
    struct quire_grammar_matcher *matcher;
    uint32_t *mask; /* [n_words] of the next token, or scratch */
    size_t n_words;
    size_t n_draft; /* tokens of the draft model that the matcher is ahead of the answer */
    struct qr_shared_grammar *shared; /* reference to a grammar of the engine's cache, or NULL */
    bool waits;                       /* in this step: others are sampled before */
    /* the mask that is computed ahead: protected by the lock of qr_mask_ahead; while it is under
     * way, its thread uses them together with matcher and mask */
    enum { QR_MASK_NONE, QR_MASK_QUEUED, QR_MASK_RUNNING, QR_MASK_FINISHED } ahead;
    struct qr_constraint *next_ahead; /* in the queue */
    quire_status ahead_status;
    struct quire_error ahead_error;
};

/* The thread that computes masks ahead (mask_ahead.h); all zero: none. */
struct qr_mask_ahead {
    pthread_t thread;
    bool ready, started, failed; /* of the thread that runs the steps */
    pthread_mutex_t lock;
    pthread_cond_t queued, finished;
    /* protected by `lock` */
    struct qr_constraint *first; /* of the queue */
    bool paused, stop;
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
    uint32_t text_flags;          /* QUIRE_DETOKENIZE_* of the output */
    struct qr_beam_search *beams; /* leader: NULL = no beam search */

    /* of the step */
    struct qr_task task;
    uint32_t n_output; /* sampled tokens, the end-of-generation token included */
    struct qr_output_text output;
    double start_time, first_token_time, last_token_time; /* 0 = not reached */
    struct quire_sampling_state sampling_state;           /* after the last sampled token */
    double sum_logprob;      /* of the output, where log-probabilities are computed */
    int32_t *draft;          /* [max_draft]; NULL = no speculative decoding */
    float *draft_confidence; /* [max_draft] of the drafter in these; NULL: it has none */
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
    struct qr_vector vector;        /* its values are published with the end */
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

    /* set by submit, read by the step */
    int32_t *keys; /* [capacity] tokens for the prefix cache: ids of qr_embedding_table in place of
                    * QR_EMBEDDING_TOKEN; `tokens` itself without embeddings */
    const float **embeddings; /* [n_embeddings] as in qr_task; NULL without */
    uint32_t n_embeddings;    /* n_prompt */
    quire_event_callback event_callback;
    void *event_user;
    struct qr_request *next_callback; /* in the engine's list of due callbacks */
    bool callback_due;                /* it is in that list */
    bool vector_event_due;            /* QUIRE_EVENT_VECTOR */
    /* of the step: the draft model's side of the request */
    bool model_draft_planned;  /* for the current step */
    struct qr_task draft_task; /* its sequence is NULL unless the draft model has tokens of it */
    uint32_t n_model_draft;    /* tokens of the draft that are the draft model's */
    uint32_t n_doubtful;       /* further ones that it drew and that are not verified */
    /* with a head of multi-token prediction: the n_hidden rows of the last step from hidden_row on
     * are the positions from hidden_first on; its sequence begins behind position mtp_base */
    uint32_t hidden_row, hidden_first, n_hidden, mtp_base;
    struct quire_sampling_state draft_sampling_state; /* after the last drafted token */
    uint32_t draft_model_retry_at; /* tokens of the sequence below which it is not tried again, for
                                    * there was no memory */
    /* in the engine's list of answers with an event, oldest first */
    bool ready;
    uint64_t ready_number; /* ascending in the list */
    struct qr_request *next_ready, *previous_ready;
    struct qr_constraint constraint;        /* of the step */
    struct quire_adapter *adapter;          /* in use by it; NULL = none */
    struct qr_named_adapter *named_adapter; /* its entry; NULL: the caller's adapter */
};

struct quire_engine {
    struct qr_handle handle;
    const struct quire_allocator *allocator;
    bool dry_run;
    bool encodes;                  /* the model is an encoder */
    struct quire_threads *threads; /* borrowed, or own_threads */
    struct quire_threads *own_threads;
    struct quire_model *model; /* borrowed, or own_model */
    struct quire_model *own_model;
    const struct quire_tokenizer *tokenizer; /* borrowed, or own_tokenizer */
    struct quire_tokenizer *own_tokenizer;
    struct quire_chat_template *chat_template; /* NULL: none, or it failed with template_error */
    struct quire_error template_error;
    char *special_tokens_json;
    uint32_t hidden_size, n_labels, n_token_types; /* of the model */
    bool needs_token_ids;                          /* the model takes no rows of embeddings */
    bool sigmoid_scores;                           /* scores are logistic functions by default */
    uint32_t vocab_size, n_text_tokens; /* rows of the LM head; tokens that have a text */
    int32_t *eog;                       /* [n_eog] end-of-generation tokens */
    uint32_t n_eog;
    struct quire_engine_info info;

    /* of the step */
    bool stepping;             /* atomic: a step runs, or a call that excludes steps */
    uint32_t n_excluding;      /* atomic: calls that exclude steps, or wait for the end of one */
    struct quire_kv_cache *kv; /* NULL: no layer has keys and values in a cache */
    struct quire_state_pool *states; /* NULL: no layer is recurrent */
    struct quire_context *context;
    struct quire_sampler *sampler;
    float *logits; /* [max_logits + 1][vocab_size]; the last row is a copy for forked answers */
    struct qr_sequence_memory memory;
    struct qr_scheduler scheduler;
    struct qr_batch batch;
    struct qr_request *dirty; /* requests whose state changed in this step */
    struct quire_engine_stats counters;
    double target_itl;
    struct qr_step_cost step_cost; /* of steps without prompts */
    struct qr_chunk_size chunk_size;
    struct qr_team_size team_size;
    double machine_time;               /* when the team sizes were last told about the machine */
    struct qr_draft_costs draft_costs; /* of the current step */
    struct qr_vector_buffers vectors;  /* set under `lock`, read by steps with such requests */

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
    uint32_t fork_count; /* of the process that has the thread */

    struct qr_embedding_table embeddings;
    struct qr_request *callbacks, *last_callback; /* of the step: answers with events to deliver */
    const void *callback_thread;  /* atomic: identifies the thread that runs callbacks, or NULL */
    quire_request_id callback_id; /* protected by `lock`: whose callback runs; 0 = none */
    struct qr_draft_model *draft_model; /* NULL = none */
    double model_draft_seconds;         /* of a pass of the draft model, in the current step */
    double markov_seconds; /* of a token of a block drafter's Markov head; 0: it has none */
    struct qr_request *first_ready, *last_ready; /* answers with an event */
    uint64_t n_ready;                            /* that were ever added to the list */
    struct qr_grammar_cache grammars;
    struct qr_mask_ahead mask_ahead;
    uint32_t n_cpus; /* that the process may use */
    /* of encoder-decoders */
    uint32_t max_source_tokens; /* of one step; 0: the model is none */
    uint32_t cross_group;
    int32_t decoder_start_id;
    struct qr_source_pass sources;
    struct qr_engine_adapters adapters;
};

#endif
