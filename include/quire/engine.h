/* SPDX-License-Identifier: Apache-2.0 */
/** The engine: open a model, submit requests, receive text.
 *
 *      struct quire_engine_params ep;
 *      quire_engine_params_init(&ep, sizeof ep);
 *      ep.model_path = "model.gguf";
 *      quire_engine_open(&ep, &engine, &err);
 *
 *      struct quire_chat_message ask = { "user", "Why?", QUIRE_NUL_TERMINATED, NULL };
 *      struct quire_request_params rp;
 *      quire_request_params_init(&rp, sizeof rp);
 *      rp.messages = &ask;
 *      rp.n_messages = 1;
 *      quire_engine_submit(engine, &rp, &id, &err);
 *
 *      struct quire_event ev = { .struct_size = sizeof ev };
 *      do {
 *          quire_engine_step(engine, &err);
 *          while (quire_engine_poll(engine, &ev, NULL) == QUIRE_OK && ev.kind != QUIRE_EVENT_NONE)
 *              fwrite(ev.text, 1, ev.text_size, stdout);
 *      } while (quire_engine_active_count(engine));
 *      quire_engine_close(engine);
 *
 *  Requests wait in line and run in the order in which they were submitted; this version runs
 *  one at a time. What a request gives depends on its parameters only, not on what ran before
 *  it: keys and values that an earlier request left in the cache are reused as far as the tokens
 *  agree, and the result has the same bits as without.
 *
 *  Threads: one call at a time per engine (a second one gets QUIRE_E_BUSY), but for
 *  quire_request_cancel(), which may be called from any thread and from signal handlers, and for
 *  what describes the engine: quire_engine_info(), _model(), _tokenizer() and
 *  _sampling_default().
 */
#ifndef QUIRE_ENGINE_H
#define QUIRE_ENGINE_H
#include <quire/chat_template.h>
#include <quire/kv_cache.h>
#include <quire/model.h>
#include <quire/sampling.h>
#include <quire/status.h>
#include <quire/threads.h>
#include <quire/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif

struct quire_engine;

enum {
    QUIRE_ENGINE_LOCK_CACHE = 1u << 0, /**< touch and lock the whole KV pool at open (mlock) */
    /** compute every size, keep neither pool nor context: quire_engine_info() works,
     *  quire_engine_submit() is refused */
    QUIRE_ENGINE_DRY_RUN = 1u << 1,
};

struct quire_engine_params {
    uint32_t struct_size;
    /* exactly one of model_path, model_data and model */
    const char *model_path; /**< GGUF file or Hugging Face folder */
    const void *model_data; /**< a GGUF image in memory, borrowed until close */
    size_t model_bytes;
    /** an open model, borrowed until close: several engines may share its weights. Needs tokenizer;
     *  isa and compute are the model's */
    struct quire_model *model;
    const struct quire_tokenizer *tokenizer; /**< with model only; borrowed until close */
    const char *chat_template;               /**< Jinja source, copied; NULL = the model's own */
    const char *isa;                         /**< exact level, NULL = best (quire/cpu.h) */
    enum quire_compute compute;
    struct quire_threads *threads; /**< borrowed until close; NULL: made by the next two */
    enum quire_thread_backend thread_backend;
    uint32_t n_threads; /**< 0 = quire_threads_default_count() */
    /** tokens of prompt and answer; 0 = the least of the model's own, 8192 and what fits into
     *  kv_bytes */
    uint32_t context_length;
    uint64_t kv_bytes;   /**< budget for the KV cache; 0 = half of the memory that is available */
    uint32_t block_size; /**< tokens per block, a multiple of 16; 0 = 64 */
    /** default f16; latent groups store keys only and have no use for v_dtype */
    enum quire_kv_dtype k_dtype, v_dtype;
    uint32_t max_step_tokens; /**< most prompt tokens of one step; 0 = 256 */
    /** waiting, running and finished but not polled, together; 0 = 16, at most 256 */
    uint32_t max_requests;
    uint32_t flags;                          /**< QUIRE_ENGINE_* */
    const struct quire_allocator *allocator; /**< borrowed until close; NULL = C library */
    const struct quire_logger *logger;       /**< borrowed until close; NULL = silent */
    quire_progress_fn progress;              /**< of loading; may be NULL */
    void *progress_user;
    const char *pack_cache; /**< as in quire_model_params; only with model_path; not in a dry run */
};

/** Defaults: native compute, f16 cache, everything automatic. */
QUIRE_API void quire_engine_params_init(struct quire_engine_params *params, size_t struct_size);

/** Opens the model with its tokenizer and chat template and reserves everything a step needs: no
 *  step allocates. A model without chat template opens: only chat requests are refused.
 *  QUIRE_E_INVALID_ARG, QUIRE_E_MISUSE (struct_size); QUIRE_E_IO, QUIRE_E_FORMAT,
 *  QUIRE_E_UNSUPPORTED from the files; QUIRE_E_LIMIT a context that does not fit into the budget,
 *  or a budget below one block: the message has the sizes; QUIRE_E_NOMEM; QUIRE_E_CANCELLED by
 *  progress. *out is NULL on failure. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_open(const struct quire_engine_params *params,
                                                          struct quire_engine **out,
                                                          struct quire_error *err);

/** Ends all requests without further events and frees everything. NULL is a no-op. Not while
 *  another call runs. */
QUIRE_API void quire_engine_close(struct quire_engine *engine);

/** Sizes and choices of an open engine. */
struct quire_engine_info {
    uint32_t struct_size;          /**< set by the caller */
    uint32_t context_length;       /**< tokens in use */
    uint32_t model_context_length; /**< tokens the model was made for */
    uint32_t block_size, n_threads, max_step_tokens;
    enum quire_kv_dtype k_dtype, v_dtype;
    uint64_t weight_bytes;  /**< packed weights */
    uint64_t kv_bytes;      /**< pool and its tables, exactly as reserved */
    uint64_t kv_budget;     /**< what kv_bytes of the parameters allowed */
    uint64_t context_bytes; /**< activations, plan and scratch of a step, logits and sampler */
    /** that were free before the cache was reserved, without what mapped weights will take; 0 =
     *  unknown */
    uint64_t available_bytes;
    bool has_chat_template; /**< chat requests can be rendered */
};
QUIRE_API void quire_engine_info_init(struct quire_engine_info *info, size_t struct_size);
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_info(const struct quire_engine *engine,
                                                          struct quire_engine_info *info);

/** The engine's model and tokenizer, borrowed; NULL for NULL. */
QUIRE_API const struct quire_model *quire_engine_model(const struct quire_engine *engine);
QUIRE_API const struct quire_tokenizer *quire_engine_tokenizer(const struct quire_engine *engine);

/* ---- Requests ---- */

/** Names one request of one engine for good: ids are not used again. 0 is none. */
typedef uint64_t quire_request_id;

enum {
    QUIRE_REQUEST_IGNORE_EOS = 1u << 0,   /**< tokens that end the answer are never chosen */
    QUIRE_REQUEST_NO_REUSE = 1u << 1,     /**< compute the whole prompt, also what is cached */
    QUIRE_REQUEST_SHOW_SPECIAL = 1u << 2, /**< special tokens give their text, not nothing */
};

/** What to do. The prompt is exactly one of messages, text and tokens; everything is copied by
 *  submit. */
struct quire_request_params {
    uint32_t struct_size;
    /** [n_messages] rendered by the chat template, answer to follow. Their contents are never read
     *  as special tokens */
    const struct quire_chat_message *messages;
    size_t n_messages;
    const char *text;      /**< UTF-8 to be continued, without any template */
    size_t text_size;      /**< bytes */
    uint32_t text_flags;   /**< QUIRE_ENCODE_* for text; default QUIRE_ENCODE_ADD_BOS */
    const int32_t *tokens; /**< [n_tokens] ids, taken as they are */
    size_t n_tokens;
    uint32_t max_tokens; /**< of the answer; 0 = until the context is full */
    /** [n_stop] the answer ends before the first of these texts. At most 16, of 1 .. 1024 bytes of
     *  UTF-8 each */
    const char *const *stop;
    uint32_t n_stop;
    uint32_t flags; /**< QUIRE_REQUEST_* */
    /** copied by submit; NULL = quire_engine_default_sampling() */
    const struct quire_sampling_params *sampling;
    uint32_t stream; /**< other numbers give other random choices with the same seed */
};

/** No prompt, no limit, sampling by quire_sampling_params_init(). */
QUIRE_API void quire_request_params_init(struct quire_request_params *params, size_t struct_size);

/** Sampling as the model's author recommends it, where the model says so, over
 *  quire_sampling_params_init(). */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_default_sampling(
    const struct quire_engine *engine, struct quire_sampling_params *sampling);

/** Checks a request, prepares its prompt and puts it in line. On failure nothing changed and *id
 *  is 0.
 *  QUIRE_E_INVALID_ARG names the field, also for an empty prompt, or is the template's own
 *  refusal; QUIRE_E_MISUSE struct_size or a dry run; QUIRE_E_LIMIT the prompt is longer than the
 *  context (the message has both numbers); QUIRE_E_RANGE a token id; QUIRE_E_UNSUPPORTED messages
 *  without a chat template; other codes of quire_chat_template_render(); QUIRE_E_AGAIN
 *  max_requests; QUIRE_E_NOMEM; QUIRE_E_BUSY. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_engine_submit(struct quire_engine *engine, const struct quire_request_params *params,
                    quire_request_id *id, struct quire_error *err);

/** Asks one request to end; it does at its next step, with QUIRE_FINISH_CANCELLED and the text
 *  so far. Safe in signal handlers and from any thread while the engine is open; twice is as
 *  good as once. QUIRE_E_RANGE when the request has ended or never was. */
QUIRE_API quire_status quire_request_cancel(struct quire_engine *engine, quire_request_id id);

/** Requests that have not ended yet. */
QUIRE_API uint32_t quire_engine_active_count(const struct quire_engine *engine);

/** Runs one step: a part of a prompt, or one more token of an answer. Without active requests it
 *  does nothing. A failure that concerns one request ends that request with QUIRE_FINISH_ERROR
 *  and is QUIRE_OK here. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_step(struct quire_engine *engine,
                                                          struct quire_error *err);

enum quire_event_kind {
    QUIRE_EVENT_NONE,
    QUIRE_EVENT_PROMPT, /**< part of the prompt was processed: usage.prompt_done tokens so far */
    QUIRE_EVENT_TEXT,   /**< more of the answer */
    QUIRE_EVENT_DONE,   /**< the request has ended; its last event */
};

/** Append only. */
enum quire_finish_reason {
    QUIRE_FINISH_NONE,
    QUIRE_FINISH_STOP,   /**< the model ended its answer, or a stop text came */
    QUIRE_FINISH_LENGTH, /**< max_tokens, or the context is full */
    QUIRE_FINISH_CANCELLED,
    QUIRE_FINISH_ERROR,
};

/** "stop", "length", "cancelled", "error"; "" for NONE and unknown numbers. Static storage. */
QUIRE_API const char *quire_finish_reason_name(enum quire_finish_reason reason);

struct quire_usage {
    uint32_t prompt_tokens;     /**< of the whole prompt */
    uint32_t prompt_done;       /**< of them in the cache now */
    uint32_t cached_tokens;     /**< of them reused from an earlier request */
    uint32_t completion_tokens; /**< chosen so far, end-of-answer tokens included */
    double queue_seconds;       /**< from submit to the first step */
    double prompt_seconds;      /**< from the first step to the first token */
    double generate_seconds;    /**< from the first token to the last */
};

/** Pointers are valid until the next call of quire_engine_step(), _poll(), _submit() or
 *  _close(). */
struct quire_event {
    uint32_t struct_size; /**< set by the caller */
    enum quire_event_kind kind;
    quire_request_id id;
    /** TEXT: well-formed UTF-8, not NUL-terminated; never NULL. Empty while the start of a
     *  character or of a stop text is held back */
    const char *text;
    size_t text_size;
    const int32_t *tokens; /**< TEXT: ids chosen since the last event, in order */
    size_t n_tokens;
    enum quire_finish_reason reason; /**< DONE */
    bool context_full;               /**< DONE: LENGTH means the context, not max_tokens */
    quire_status status;             /**< DONE with ERROR: what failed */
    const char *message;             /**< DONE: text of the failure, else ""; never NULL */
    const struct quire_usage *usage; /**< all kinds but NONE, which gives NULL */
};
QUIRE_API void quire_event_init(struct quire_event *event, size_t struct_size);

/** Hands over the next event, or kind NONE. What is not polled is kept and given in larger
 *  pieces later. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_poll(struct quire_engine *engine,
                                                          struct quire_event *event,
                                                          struct quire_error *err);

#ifdef __cplusplus
}
#endif
#endif
