/* SPDX-License-Identifier: Apache-2.0 */
/** Engine API: open a model, submit requests for text, embeddings or scores, poll events.
 *
 *      struct quire_engine_params ep;
 *      quire_engine_params_init(&ep, sizeof ep);
 *      ep.model_path = "model.gguf";
 *      quire_engine_open(&ep, &engine, &err);
 *
 *      struct quire_chat_message message = { "user", "Why?", QUIRE_NUL_TERMINATED, NULL };
 *      struct quire_request_params rp;
 *      quire_request_params_init(&rp, sizeof rp);
 *      rp.messages = &message;
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
 *  Continuous batching: every step computes one token of each request that generates, and fills the
 *  rest of its token budget with chunks of prompts. Requests with a higher priority go first; among
 *  equals the client that has been served the fewest tokens; then the order of submission. When the
 *  KV cache is full, the newest request of the lowest priority gives back its blocks and continues
 *  later. Blocks of all earlier requests stay in the prefix cache until their memory is needed.
 *
 *  The result of a request depends on its own parameters only: batching, chunking, prefix cache
 *  hits and preemption change no bit of it.
 *
 *  Who computes: either the host calls quire_engine_step() (or quire_engine_wait(), which does), or
 *  quire_engine_start() gives the engine a thread of its own.
 *
 *  Threads: all functions may be called from any thread at any time while the engine is open,
 *  except that quire_engine_close() must not overlap any other call, quire_engine_step() returns
 *  QUIRE_E_BUSY while another thread runs a step or saves or restores the prefix cache, and the
 *  events of one request are consumed by one thread at a time. quire_request_cancel() may also be
 *  called from signal handlers. Hooks and allocators must not call this engine, except
 *  quire_request_cancel(); for event callbacks see quire/event_callback.h. In a child of fork() an
 *  engine with a thread of its own can only be closed. */
#ifndef QUIRE_ENGINE_H
#define QUIRE_ENGINE_H
#include <quire/engine_adapter.h>
#include <quire/engine_request.h>
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
    QUIRE_ENGINE_LOCK_CACHE = 1u << 0, /**< prefault and lock the whole KV pool at open (mlock) */
    /** compute all sizes, keep neither pool nor context: quire_engine_get_info() works,
     *  quire_engine_submit() is rejected */
    QUIRE_ENGINE_DRY_RUN = 1u << 1,
    /** QUIRE_MODEL_ALLOW_UNKNOWN (quire/model.h) for the model that the engine opens; unsafe */
    QUIRE_ENGINE_ALLOW_UNKNOWN = 1u << 2,
    /** QUIRE_MODEL_STRICT (quire/model.h) for the model that the engine opens */
    QUIRE_ENGINE_STRICT = 1u << 3,
    /** The model's own head of multi-token prediction (quire_model_params.mtp_of) drafts for
     *  requests with draft_tokens, in place of a draft model; draft_cache_tokens, max_draft_tokens
     *  and the sizes and counters of the draft model are the head's. Without such a head in the
     *  files: QUIRE_E_UNSUPPORTED. With `model`, open its head and give it as draft_model */
    QUIRE_ENGINE_MTP = 1u << 4,
    /** int4 keys are stored after a Walsh-Hadamard transform (QUIRE_KV_ROTATE_K); with this flag
     *  they are not */
    QUIRE_ENGINE_PLAIN_KEYS = 1u << 5,
    /** int4 values are stored after the transform as well (QUIRE_KV_ROTATE_V). Either flag without
     *  a cache of int4 keys, or values: QUIRE_E_INVALID_ARG */
    QUIRE_ENGINE_ROTATE_VALUES = 1u << 6,
    /** QUIRE_MODEL_BF16_STATES (quire/model.h) for the models that the engine opens */
    QUIRE_ENGINE_BF16_STATES = 1u << 7,
};

struct quire_engine_params {
    uint32_t struct_size;
    /* exactly one of model_path, model_data and model */
    const char *model_path; /**< GGUF file or Hugging Face folder */
    const void *model_data; /**< a GGUF image in memory, borrowed until close */
    size_t model_bytes;
    /** an open model, borrowed until close: several engines may share its weights. Requires
     *  tokenizer; isa and compute are those of the model */
    struct quire_model *model;
    const struct quire_tokenizer *tokenizer; /**< with model only; borrowed until close */
    const char *chat_template;               /**< Jinja source, copied; NULL = the model's own */
    const char *isa;                         /**< exact ISA level name, NULL = best (quire/cpu.h) */
    enum quire_compute compute;
    /** borrowed until close; NULL: created from thread_backend and n_threads */
    struct quire_threads *threads;
    enum quire_thread_backend thread_backend;
    uint32_t n_threads; /**< 0 = quire_threads_default_count() */
    /** maximum length of prompt and answer together in tokens; 0 = the minimum of the model's
     *  context_length, 8192 and what fits into kv_bytes; of an encoder, which has no KV cache, at
     *  most the model's, and 0 = the minimum of that and max_step_tokens (8192 if that is 0) */
    uint32_t context_length;
    uint64_t kv_bytes;   /**< memory budget of the KV cache; 0 = half of the available memory */
    uint32_t block_size; /**< tokens per block, a multiple of 16; 0 = 64 */
    /** default f16; latent groups store keys only and ignore v_dtype. Encoders keep keys and values
     *  of a pass in f32; they ignore kv_bytes, block_size and the dtypes, and refuse other
     *  parameters of the cache and of drafts */
    enum quire_kv_dtype k_dtype, v_dtype;
    /** token budget of one step, at least max_seqs; 0 = 256. Of an encoder, which computes whole
     *  sequences, at least context_length; 0 = the larger of that and 256 */
    uint32_t max_step_tokens;
    /** maximum number of requests that are queued, running, or finished but not polled, each of the
     *  n answers of a request counted; 0 = 16, at most 65536 */
    uint32_t max_requests;
    uint32_t flags;                          /**< QUIRE_ENGINE_* */
    const struct quire_allocator *allocator; /**< borrowed until close; NULL = C library */
    const struct quire_logger *logger;       /**< borrowed until close; NULL = silent */
    quire_progress_fn progress;              /**< progress of loading; may be NULL */
    void *progress_user;
    const char *pack_cache; /**< as in quire_model_params; only with model_path; not in a dry run */
    /** file of scales for an fp8 cache (quire_model_kv_scales), or NULL: the checkpoint's, or 1.
     *  QUIRE_E_INVALID_ARG if neither k_dtype nor v_dtype is fp8 */
    const char *kv_scales;
    /** maximum number of sequences that run at a time; 0 = the smallest of 8, max_requests and
     *  max_step_tokens */
    uint32_t max_seqs;
    /** maximum number of drafted tokens that one step verifies, of all requests together; 0 = no
     *  request may ask for drafts, at most 1024. With recurrent layers, the states before a draft
     *  take one slot per sequence that can draft, in kv_bytes */
    uint32_t max_draft_tokens;
    /** capacity of the KV cache in tokens, shared by running sequences and the prefix cache; at
     *  least context_length. 0 = max_seqs * context_length, or what fits into kv_bytes */
    uint64_t cache_tokens;
    /** target inter-token latency in seconds: while answers are generated, chunks of prompts are
     *  made so short that a step takes about this long, by the measured speed, but not shorter than
     *  16 tokens. 0 = 2.5 times as long as the measured steps without prompts, more in proportion
     *  while the prompts of more requests are computed than answers generated, up to 10 times;
     *  INFINITY = no target */
    double target_itl;
    /** Draft model: a smaller model with the same vocabulary that drafts for requests with
     *  draft_tokens. At most one of a GGUF file or folder and an open model, borrowed until close;
     *  with max_draft_tokens only. isa, compute, KV dtypes and flags as for the model; its KV cache
     *  and recurrent states count against kv_bytes. Or a head of multi-token prediction of the
     *  model in files of its own (quire_model_params.mtp_of): EAGLE-3, or the assistant of Gemma 4,
     *  which reads the model's KV cache */
    const char *draft_model_path;
    struct quire_model *draft_model;
    /** with draft_model only; borrowed by open; of a head of multi-token prediction any tokenizer,
     *  such as the model's */
    const struct quire_tokenizer *draft_tokenizer;
    /** capacity of its KV cache in tokens; sequences without room skip it; 0 = cache_tokens; must
     *  be 0 for a head that reads the KV cache of the model */
    uint64_t draft_cache_tokens;
    /** largest rank of the adapters of requests (quire/engine_adapter.h), up to
     *  QUIRE_ADAPTER_MAX_RANK; 0 = adapters are refused. Decoders only */
    uint32_t max_adapter_rank;
    uint32_t reserved; /**< 0 */
};

/** Sets the defaults: native compute, f16 cache, everything else automatic. */
QUIRE_API void quire_engine_params_init(struct quire_engine_params *params, size_t struct_size);

/** Opens a decoder, an encoder or an encoder-decoder with its tokenizer and chat template and
 *  reserves all memory of a step: steps do not allocate. A model without a chat template opens;
 *  only chat requests are rejected. *out is NULL on failure.
 *  QUIRE_E_INVALID_ARG, QUIRE_E_MISUSE (struct_size); QUIRE_E_IO, QUIRE_E_FORMAT,
 *  QUIRE_E_UNSUPPORTED from the files; QUIRE_E_MISMATCH the draft model has another vocabulary;
 *  QUIRE_E_LIMIT the context does not fit into the budget, the budget is below one block, or the KV
 *  cache exceeds the free memory (not in a dry run): the message has the sizes; QUIRE_E_NOMEM;
 *  QUIRE_E_CANCELLED by progress. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_open(const struct quire_engine_params *params,
                                                          struct quire_engine **out,
                                                          struct quire_error *err);

/** Ends all requests without further events and frees everything; waits for the callbacks of a
 *  running step. No-op for NULL and in an event callback of this engine. Must not overlap any other
 *  call. */
QUIRE_API void quire_engine_close(struct quire_engine *engine);

/** Sizes and settings of an open engine. */
struct quire_engine_info {
    uint32_t struct_size;          /**< set by the caller */
    uint32_t context_length;       /**< maximum length of prompt and answer in use, in tokens */
    uint32_t model_context_length; /**< context length of the model in tokens */
    uint32_t block_size, n_threads, max_step_tokens;
    enum quire_kv_dtype k_dtype, v_dtype;
    uint64_t weight_bytes; /**< packed weights */
    uint64_t kv_bytes;     /**< pools and their tables, exactly as reserved */
    uint64_t kv_budget;    /**< budget from kv_bytes of the parameters */
    /** activations, plan and scratch of a step, logits, sampler and queue */
    uint64_t context_bytes;
    /** free memory before the cache was reserved, less the size of mapped weights; 0 = unknown */
    uint64_t available_bytes;
    bool has_chat_template; /**< chat requests can be rendered */
    uint64_t cache_tokens;  /**< capacity of the KV cache in tokens */
    uint32_t max_seqs;
    uint32_t max_draft_tokens;
    /* of the draft model, not in the sizes above; 0 = none. draft_kv_bytes, of its KV cache and
     * recurrent states, is part of kv_budget */
    uint64_t draft_weight_bytes, draft_kv_bytes, draft_context_bytes, draft_cache_tokens;
    uint64_t tokenizer_bytes; /**< tables of the vocabulary */
    /** part of kv_bytes: recurrent states of max_seqs sequences and of their drafts, and
     *  checkpoints of states in the prefix cache; 0 for models without recurrent layers */
    uint64_t state_bytes;
    uint32_t n_state_checkpoints; /**< prefixes that can be continued; 0 without */
    uint32_t max_adapter_rank;
};
QUIRE_API void quire_engine_info_init(struct quire_engine_info *info, size_t struct_size);
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_get_info(const struct quire_engine *engine,
                                                              struct quire_engine_info *info);

/** The engine's model and tokenizer, borrowed; NULL for NULL. */
QUIRE_API const struct quire_model *quire_engine_model(const struct quire_engine *engine);
QUIRE_API const struct quire_tokenizer *quire_engine_tokenizer(const struct quire_engine *engine);

/** The vocabulary of the engine's tokenizer for quire_grammar_compile(), prepared by the first
 *  call; borrowed. Its grammars are destroyed before the engine is closed.
 *  QUIRE_E_INVALID_ARG, QUIRE_E_NOMEM. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_grammar_vocab(struct quire_engine *engine,
                                                                   struct quire_grammar_vocab **out,
                                                                   struct quire_error *err);

/* ---- Requests (quire/engine_request.h) ---- */

/** Fills in the sampling parameters that the model's author recommends; parameters without a
 *  recommendation are those of quire_sampling_params_init(). */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_default_sampling(
    const struct quire_engine *engine, struct quire_sampling_params *sampling);

/** Checks a request, prepares its prompt and queues it. On failure nothing has changed and *id is
 *  0.
 *  QUIRE_E_INVALID_ARG names the field, also for an empty prompt, or is an exception of the
 *  template; QUIRE_E_MISUSE struct_size or a dry run; QUIRE_E_LIMIT the prompt is longer than the
 *  context (the message has both numbers), or the KV cache is too small for beam_width sequences;
 *  QUIRE_E_RANGE a token id or type; QUIRE_E_NUMERIC embeddings with a NaN or an infinity, the
 *  message names part and row; QUIRE_E_UNSUPPORTED messages without a chat template, a task,
 *  pooling or field that the model does not have; other codes of quire_chat_template_render();
 *  QUIRE_E_AGAIN max_requests is reached; QUIRE_E_NOMEM;
 *  QUIRE_E_BUSY. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_engine_submit(struct quire_engine *engine, const struct quire_request_params *params,
                    quire_request_id *id, struct quire_error *err);

/** Renders and tokenizes the prompt of a request, as submit does, and returns its length in tokens
 *  without queuing it. The length may exceed the context. Works in a dry run too. *n_tokens is 0 on
 *  failure. Errors as of submit, but no QUIRE_E_RANGE, _NUMERIC and _AGAIN, and QUIRE_E_LIMIT
 *  only for a prompt of more than 2^31 - 1 bytes or tokens. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_engine_count_tokens(struct quire_engine *engine, const struct quire_request_params *params,
                          size_t *n_tokens, struct quire_error *err);

/** Renders the messages of a request, as submit does, without queuing it. Works in a dry run too.
 *  params                 messages, tools_json and variables_json; the other fields are checked
 *  add_generation_prompt  true: the prompt that submit computes, which ends where the answer begins
 *                         or with a last assistant message that is continued; false: the
 *                         conversation alone
 *  prompt                 NULL on failure; freed with quire_chat_prompt_destroy() before the engine
 *                         is closed
 *  QUIRE_E_INVALID_ARG names the argument or field, or is an exception of the template;
 *  QUIRE_E_MISUSE struct_size; QUIRE_E_UNSUPPORTED the model has no usable chat template; other
 *  codes of quire_chat_template_render(). */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_render_prompt(
    struct quire_engine *engine, const struct quire_request_params *params,
    bool add_generation_prompt, struct quire_chat_prompt **prompt, struct quire_error *err);

/** Tokenizes a rendered prompt, as submit does: BOS is there once, whether or not the template
 *  writes it, and user text gives no special tokens. ids, ids_max, n_ids and the codes are those of
 *  quire_tokenizer_encode_spans(). */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_encode_prompt(
    const struct quire_engine *engine, const struct quire_chat_prompt *prompt, int32_t *ids,
    size_t ids_max, size_t *n_ids, struct quire_error *err);

/** Cancels a request with all its answers: they end at the next step, with QUIRE_FINISH_CANCELLED
 *  and the text generated so far. Idempotent. Async-signal-safe, and callable from any thread while
 *  the engine is open.
 *  QUIRE_E_RANGE the request has ended (with a callback: its last event is being delivered) or does
 *  not exist. */
QUIRE_API quire_status quire_request_cancel(struct quire_engine *engine, quire_request_id id);

/** Number of answers that have not ended; with a callback, whose last event is not delivered. */
QUIRE_API uint32_t quire_engine_active_count(const struct quire_engine *engine);

/** Runs one step of all running requests, then their event callbacks. No-op without active
 *  requests. A failure of a single request ends that request with QUIRE_FINISH_ERROR and returns
 *  QUIRE_OK here.
 *  QUIRE_E_MISUSE in an event callback of this engine.
 *  QUIRE_E_BUSY another thread runs a step, saves or restores the prefix cache, or the engine's own
 *  thread runs steps, or the engine's `threads` run something else: nothing has changed. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_step(struct quire_engine *engine,
                                                          struct quire_error *err);

/** Starts a thread of the engine's own that runs steps whenever there are active requests and
 *  sleeps otherwise. Idempotent. quire_engine_close() ends it.
 *  QUIRE_E_MISUSE a dry run; QUIRE_E_NOMEM no thread can be created. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_start(struct quire_engine *engine,
                                                           struct quire_error *err);

/** Ends the work before quire_engine_close(): submission is refused from now on with
 *  QUIRE_E_CANCELLED, active requests go on for up to `seconds` (negative: without limit) and are
 *  then cancelled. Returns when no request is active; without quire_engine_start() it runs the
 *  steps. Events can still be polled.
 *  QUIRE_E_INVALID_ARG seconds is NaN; QUIRE_E_BUSY another thread runs a step, and errors of
 *  quire_engine_step(), QUIRE_E_MISUSE included. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_drain(struct quire_engine *engine,
                                                           double seconds, struct quire_error *err);

/** Append only. */
enum quire_event_kind {
    QUIRE_EVENT_NONE,
    QUIRE_EVENT_PROMPT, /**< a chunk of the prompt was processed: usage.prompt_done tokens so far */
    QUIRE_EVENT_TEXT,   /**< generated text */
    QUIRE_EVENT_DONE,   /**< the request has ended; its last event */
    QUIRE_EVENT_VECTOR, /**< the vector of EMBED or the scores of SCORE; before DONE */
};

/** Append only. */
enum quire_finish_reason {
    QUIRE_FINISH_NONE,
    /** end-of-generation token or stop string; the vector of EMBED or SCORE is complete */
    QUIRE_FINISH_STOP,
    QUIRE_FINISH_LENGTH, /**< max_tokens is reached, or the context is full */
    QUIRE_FINISH_CANCELLED,
    QUIRE_FINISH_ERROR,
    QUIRE_FINISH_DEADLINE, /**< the deadline has passed */
};

/** "stop", "length", "cancelled", "error", "deadline"; "" for NONE and unknown values. Static
 *  storage. */
QUIRE_API const char *quire_finish_reason_name(enum quire_finish_reason reason);

struct quire_usage {
    uint32_t prompt_tokens;     /**< length of the prompt */
    uint32_t prompt_done;       /**< prompt tokens in the KV cache */
    uint32_t cached_tokens;     /**< prompt tokens reused from the prefix cache */
    uint32_t completion_tokens; /**< tokens sampled so far, end-of-generation tokens included */
    /** from submit to the first step; TTFT = queue_seconds + prompt_seconds */
    double queue_seconds;
    double prompt_seconds; /**< from the first step to the first token */
    /** from the first token to the last; mean ITL = generate_seconds / (completion_tokens - 1) */
    double generate_seconds;
};

/** One event. Pointers are valid until the next event of the same answer is returned, and until
 *  quire_engine_close(). `usage` and `message` point into the event that was passed, also those of
 *  a copy; for a struct_size without usage_data into the engine, until the next event of any
 *  answer. */
struct quire_event {
    uint32_t struct_size; /**< set by the caller */
    enum quire_event_kind kind;
    quire_request_id id;
    /** TEXT: well-formed UTF-8, not NUL-terminated; never NULL. Empty while the start of a
     *  character or of a stop string is held back */
    const char *text;
    size_t text_size;
    /** TEXT: ids sampled since the last event, in order; -1 for embeddings of an echoed prompt */
    const int32_t *tokens;
    size_t n_tokens;
    enum quire_finish_reason reason; /**< DONE */
    bool context_full;   /**< DONE with LENGTH: the context is full, max_tokens is not reached */
    quire_status status; /**< DONE with ERROR: what failed */
    const char *message; /**< DONE: text of the failure, else ""; never NULL */
    const struct quire_usage *usage; /**< NULL for NONE only */
    void *user;                      /**< of the request */
    /** TEXT of a request with n_logprobs or QUIRE_REQUEST_LOGPROBS: [n_tokens][1 + n_logprobs], the
     *  token and then the most likely ones at its position in descending order; else NULL. Tokens
     *  of an echoed prompt have theirs too, from the logits of the model, to which neither masks
     *  nor logits_hook apply. Their event comes when the whole prompt is computed. The first token
     *  follows nothing: it has NaN, with the id -1 for the most likely ones; so do tokens that an
     *  answer that ended early has not computed */
    const struct quire_token_logprob *logprobs;
    uint32_t n_logprobs; /**< entries per token, 0 without log-probabilities */
    uint32_t choice;     /**< index of the answer, 0 .. n - 1 */
    struct quire_usage usage_data;
    char message_data[488];
    const float *values; /**< VECTOR: [n_values], else NULL */
    size_t n_values;
    /** DONE of requests with log-probabilities, best_of above n, or beam_width: sum of the
     *  log-probabilities of the sampled tokens; else 0 */
    double cumulative_logprob;
};
QUIRE_API void quire_event_init(struct quire_event *event, size_t struct_size);

/** Returns the next event of any request, or kind NONE; requests take turns. Events are not lost if
 *  the caller does not poll: pending text is returned in larger pieces later. Every answer of a
 *  request ends with an event DONE of its own. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_poll(struct quire_engine *engine,
                                                          struct quire_event *event,
                                                          struct quire_error *err);

/** Waits for an event of one request, or of any request (id 0), for at most `seconds` (negative:
 *  without limit; 0: returns at once, like poll). Kind NONE: the time is over, or there is nothing
 *  to wait for, because the request (any request) is not active and has no events left. Without
 *  quire_engine_start() the call runs steps itself, unless another thread does.
 *  QUIRE_E_INVALID_ARG seconds is NaN, and errors of quire_engine_step(). */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_wait(struct quire_engine *engine,
                                                          quire_request_id id, double seconds,
                                                          struct quire_event *event,
                                                          struct quire_error *err);

/** A descriptor that is readable while events may be pending, for poll(2) and event loops: read
 *  events with quire_engine_poll() until kind NONE, which resets it. It belongs to the engine: the
 *  caller neither reads nor closes it. *fd is -1 on failure.
 *  QUIRE_E_UNSUPPORTED not Linux; QUIRE_E_IO no descriptor is left. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_event_fd(struct quire_engine *engine, int *fd,
                                                              struct quire_error *err);

/** Counters since the engine was opened. */
struct quire_engine_stats {
    uint32_t struct_size; /**< set by the caller */
    uint32_t n_waiting, n_running;
    uint64_t n_steps;
    uint64_t prompt_tokens;     /**< computed in prompts, recomputed ones included */
    uint64_t cached_tokens;     /**< of prompts, taken from the prefix cache */
    uint64_t completion_tokens; /**< sampled */
    uint64_t n_preemptions;
    /** KV blocks of the group that has the fewest free: in all, in use by running sequences, and
     *  held by the prefix cache alone */
    uint32_t n_blocks, n_used_blocks, n_cached_blocks;
    /* drafted tokens that were verified and those that were accepted, by source */
    uint64_t lookup_drafted_tokens, lookup_accepted_tokens;
    uint64_t model_drafted_tokens, model_accepted_tokens;
    uint64_t draft_model_steps, draft_model_tokens; /**< its passes; tokens computed in them */
    uint32_t n_draft_blocks, n_used_draft_blocks;   /**< as n_blocks, of the draft model */
};
QUIRE_API void quire_engine_stats_init(struct quire_engine_stats *stats, size_t struct_size);
/** State as of the end of the last step. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_engine_get_stats(struct quire_engine *engine,
                                                               struct quire_engine_stats *stats);

#ifdef __cplusplus
}
#endif

#include <quire/engine_cache.h>
#endif
