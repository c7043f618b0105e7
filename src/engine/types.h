/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - the engine object, its requests and the batch of one step. */
#ifndef QR_ENGINE_TYPES_H
#define QR_ENGINE_TYPES_H
#include "base/handle.h"
#include "engine/output_text.h"
#include "engine/sequence.h"
#include <quire/engine.h>

enum qr_request_state {
    QR_REQUEST_FREE,
    QR_REQUEST_WAITING,
    QR_REQUEST_RUNNING,
    QR_REQUEST_FINISHED, /* the caller has not polled its last event */
    QR_REQUEST_REPORTED, /* last event polled; its pointers stay valid until the next call */
};

struct qr_request {
    uint64_t tag; /* atomic: id * 2, plus 1 once cancelled; 0 = the slot holds no live request */
    enum qr_request_state state;
    quire_request_id id;
    int32_t *tokens; /* [capacity] prompt, then output */
    uint32_t capacity, n_prompt, n_tokens;
    uint32_t n_computed;           /* leading tokens whose keys and values are in the KV cache */
    uint32_t n_cached;             /* prompt tokens taken from the prefix cache */
    uint32_t n_output, max_output; /* sampled tokens, the end-of-generation token included */
    uint32_t n_polled;             /* leading tokens reported by poll, the prompt included */
    uint32_t flags, stream;
    struct quire_sampling_params sampling;      /* owns logit_bias and dry_breakers */
    struct quire_sampling_state sampling_state; /* after the last sampled token */
    struct qr_output_text output;
    bool prompt_event_due; /* QUIRE_EVENT_PROMPT */
    bool text_event_due;   /* QUIRE_EVENT_TEXT */
    enum quire_finish_reason reason;
    bool context_full;
    struct quire_error error; /* of QUIRE_FINISH_ERROR */
    struct quire_usage usage; /* as of the last event polled */
    /* qr_clock_now() in seconds; 0 = not reached */
    double submit_time, start_time, first_token_time, last_token_time;
};

/* Block tables and slot mapping of one step, reserved at open. */
struct qr_batch {
    uint32_t n_groups, max_tokens;
    int64_t *slot_mapping;                      /* [n_groups][max_tokens] */
    struct quire_attention_batch_group *groups; /* [n_groups] */
};

struct quire_engine {
    struct qr_handle handle;
    const struct quire_allocator *allocator;
    bool busy; /* atomic */
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
    struct quire_kv_cache *kv;
    struct quire_context *context;
    struct quire_sampler *sampler;
    float *logits;                      /* [vocab_size] */
    uint32_t vocab_size, n_text_tokens; /* rows of the LM head; tokens that have a text */
    int32_t *eog;                       /* [n_eog] end-of-generation tokens */
    uint32_t n_eog;
    struct quire_engine_info info;
    struct qr_sequence sequence; /* the cached sequence; survives its request as prefix cache */
    struct qr_batch batch;
    uint64_t n_submitted;
    uint32_t n_requests;         /* slots */
    struct qr_request *requests; /* [n_requests] */
};

#endif
