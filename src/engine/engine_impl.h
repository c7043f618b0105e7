/* SPDX-License-Identifier: Apache-2.0 */
/* engine_impl.h - the engine object and its requests, shared by the files of this folder. */
#ifndef QR_ENGINE_ENGINE_IMPL_H
#define QR_ENGINE_ENGINE_IMPL_H
#include "engine/answer.h"
#include "engine/sequence.h"
#include <quire/engine.h>

enum qr_request_state {
    QR_REQUEST_FREE,
    QR_REQUEST_WAITING,
    QR_REQUEST_RUNNING,
    QR_REQUEST_ENDED,     /* its last events were not polled yet */
    QR_REQUEST_DELIVERED, /* polled; memory lives on until the next call */
};

struct qr_request {
    uint64_t tag; /* atomic: id * 2, plus 1 once cancelled; 0 = no live request here */
    enum qr_request_state state;
    quire_request_id id;
    int32_t *tokens; /* [capacity] prompt, then answer */
    uint32_t capacity, n_prompt, n_tokens;
    uint32_t n_computed;           /* of tokens: in the cache */
    uint32_t n_cached;             /* of the prompt: taken over from an earlier request */
    uint32_t n_chosen, max_chosen; /* tokens of the answer, the end token included */
    uint32_t n_polled;             /* of tokens: handed out by poll, the prompt included */
    uint32_t flags, stream;
    struct quire_sampling_params sampling; /* logit_bias is our copy */
    struct qr_answer answer;
    bool prompt_moved; /* a QUIRE_EVENT_PROMPT is due */
    bool text_moved;   /* a QUIRE_EVENT_TEXT is due */
    enum quire_finish_reason reason;
    bool context_full;
    struct quire_usage usage;                           /* of the last event polled */
    struct quire_error error;                           /* of QUIRE_FINISH_ERROR */
    double submitted, started, first_token, last_token; /* seconds; 0 = not yet */
};

/* Where one step of one sequence is put together; all arrays are reserved. */
struct qr_batch {
    uint32_t n_groups, max_tokens;
    int64_t *slots;                             /* [n_groups][max_tokens] */
    struct quire_attention_batch_group *groups; /* [n_groups] */
};

struct quire_engine {
    const struct quire_allocator *allocator;
    bool busy; /* atomic */
    bool dry_run;
    struct quire_threads *threads; /* borrowed, or own_threads */
    struct quire_threads *own_threads;
    struct quire_model *model;
    struct quire_tokenizer *tokenizer;
    struct quire_chat_template *chat_template; /* NULL: none, or it failed with template_error */
    struct quire_error template_error;
    char *special_tokens_json;
    struct quire_kv_cache *kv;
    struct quire_context *context;
    struct quire_sampler *sampler;
    float *logits;                      /* [vocab_size] */
    uint32_t vocab_size, n_text_tokens; /* rows of the head; tokens that have a text */
    int32_t *eog;                       /* [n_eog] tokens that end an answer */
    uint32_t n_eog;
    struct quire_engine_info info;
    struct qr_sequence sequence; /* what the cache holds, kept from request to request */
    struct qr_batch batch;
    uint64_t n_submitted;
    uint32_t n_requests;         /* slots */
    struct qr_request *requests; /* [n_requests] */
};

/* One call at a time: enter fails with QUIRE_E_BUSY while another call runs. */
quire_status qr_engine_enter(struct quire_engine *e, struct quire_error *err);
void qr_engine_leave(struct quire_engine *e);

double qr_engine_now(void); /* seconds of a clock that never steps */

#endif
