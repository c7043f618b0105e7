/* SPDX-License-Identifier: Apache-2.0 */
/** Requests of the engine API: what to compute, and how. quire/engine.h includes this header. */
#ifndef QUIRE_ENGINE_REQUEST_H
#define QUIRE_ENGINE_REQUEST_H
#include <quire/beam_search.h>
#include <quire/chat_template.h>
#include <quire/event_callback.h>
#include <quire/grammar.h>
#include <quire/model.h>
#include <quire/prompt_part.h>
#include <quire/sampling.h>
#include <quire/status.h>
#include <quire/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Identifies one request of one engine; ids are never reused. 0 = no request. */
typedef uint64_t quire_request_id;

enum {
    QUIRE_REQUEST_IGNORE_EOS = 1u << 0,   /**< end-of-generation tokens are never sampled */
    QUIRE_REQUEST_NO_REUSE = 1u << 1,     /**< compute the whole prompt, without the prefix cache */
    QUIRE_REQUEST_SHOW_SPECIAL = 1u << 2, /**< special tokens give their text instead of nothing */
    QUIRE_REQUEST_ECHO = 1u << 3, /**< the text and the tokens of the prompt precede the answer */
    /** log-probability of every sampled token, and with ECHO of the tokens of the prompt */
    QUIRE_REQUEST_LOGPROBS = 1u << 4,
    /** draft in every step as many tokens as draft_tokens allows, whether it pays or not */
    QUIRE_REQUEST_FIXED_DRAFT = 1u << 5,
    /** computes the prompt and ends with QUIRE_FINISH_LENGTH, without sampling a token: with ECHO
     *  and log-probabilities it scores a text, otherwise it fills the prefix cache */
    QUIRE_REQUEST_PROMPT_ONLY = 1u << 6,
    /** with a grammar: forced tokens are sampled one by one like others. Without it the engine
     *  appends text that must follow in its canonical tokens and computes it as one chunk */
    QUIRE_REQUEST_NO_FAST_FORWARD = 1u << 7,
};

/** What a request computes. Append only. */
enum quire_task {
    QUIRE_TASK_GENERATE, /**< text that continues the prompt */
    /** one vector from the hidden states of the prompt after the final norm: QUIRE_EVENT_VECTOR */
    QUIRE_TASK_EMBED,
    /** scores of the prompt by the model's classification head, one per label
     *  (quire_model_info.n_labels): QUIRE_EVENT_VECTOR. Cross-encoders (rerankers) score a pair of
     *  texts */
    QUIRE_TASK_SCORE,
};

/** Row of logits before sampling, for quire_request_params.logits_hook. */
struct quire_logits_args {
    uint32_t struct_size;
    quire_request_id id;
    uint32_t choice; /**< index of the answer; in a beam search, the rank of the beam */
    /** [n_tokens] prompt, then answer so far; -1 for each row of embeddings */
    const int32_t *tokens;
    size_t n_tokens;
    float *logits; /**< [n_vocab] may be changed; -INFINITY excludes a token */
    size_t n_vocab;
};

/** Called once per token that is to be sampled, by the thread that runs the step, in the order of
 *  the tokens of one answer. Other answers wait meanwhile. A status other than QUIRE_OK ends the
 *  answer with QUIRE_FINISH_ERROR and this status; so does a NaN in the row (QUIRE_E_NUMERIC). */
typedef quire_status (*quire_logits_hook)(void *user, const struct quire_logits_args *args);

/** One request. The prompt is exactly one of messages, text, tokens and parts; submit copies
 *  everything. */
struct quire_request_params {
    uint32_t struct_size;
    /** [n_messages] rendered by the chat template with a generation prompt. Their contents are
     *  never parsed as special tokens. A last message with the role "assistant" is continued, not
     *  answered: its content follows the generation prompt of the messages before it, of which
     *  there is at least one; it has no extra_json */
    const struct quire_chat_message *messages;
    size_t n_messages;
    const char *text;      /**< UTF-8 to be continued, without a template */
    size_t text_size;      /**< bytes */
    uint32_t text_flags;   /**< QUIRE_ENCODE_* for text; default QUIRE_ENCODE_ADD_BOS */
    const int32_t *tokens; /**< [n_tokens] ids, used without change */
    size_t n_tokens;
    uint32_t max_tokens; /**< limit of generated tokens; 0 = until the context is full */
    /** [n_stop] stop strings: the answer ends before the first occurrence of any of them. At most
     *  16, of 1 .. 1024 bytes of UTF-8 each */
    const char *const *stop;
    uint32_t n_stop;
    uint32_t flags; /**< QUIRE_REQUEST_* */
    /** copied by submit; NULL = quire_engine_default_sampling() */
    const struct quire_sampling_params *sampling;
    /** random stream: different numbers give different samples with the same seed. Answer i of a
     *  request uses stream + i */
    uint32_t stream;
    uint64_t client;  /**< key of the client for fairness between clients of equal priority */
    int32_t priority; /**< requests of higher priority are scheduled first; default 0 */
    uint32_t n; /**< number of answers to the prompt, which is computed once; 0 = 1, at most 128 */
    /** number of answers that are generated, of which the n with the highest mean log-probability
     *  per token are returned, best first, without events before the last of them has ended;
     *  0 = n */
    uint32_t best_of;
    uint32_t min_tokens; /**< end-of-generation and stop tokens are not sampled before this many */
    /** Speculative decoding: up to this many tokens that followed an earlier occurrence of the last
     *  ones (prompt lookup), or of the draft model, are computed in the same step and kept if
     *  sampling gives the same tokens. The answer has the same tokens with and without. How many
     *  are drafted, up to 31, adapts to what pays. 0 = none; at most max_draft_tokens */
    uint32_t draft_tokens;
    /** number of most likely tokens whose log-probabilities come with every sampled token, 1 .. 20;
     *  0 = none, see QUIRE_REQUEST_LOGPROBS */
    uint32_t n_logprobs;
    /** [n_stop_tokens] ids that end the answer like an end-of-generation token; at most 64 */
    const int32_t *stop_tokens;
    uint32_t n_stop_tokens;
    uint32_t reserved; /**< 0 */
    /** seconds from submission after which the request ends with QUIRE_FINISH_DEADLINE; 0 = none */
    double deadline;
    /** prefixes are shared between requests of equal salt only: neither results nor response times
     *  of a request reveal prompts of another salt */
    uint64_t cache_salt;
    void *user;                    /**< returned in events */
    quire_logits_hook logits_hook; /**< may be NULL */
    void *logits_hook_user;
    /* for messages: as in struct quire_chat_render_args; NULL = none */
    const char *tools_json;
    const char *variables_json;
    /** [n_parts] joined in this order, e.g. text around the embeddings of an image */
    const struct quire_prompt_part *parts;
    size_t n_parts;
    quire_event_callback event_callback; /**< NULL: events are polled */
    void *event_user;
    /** EMBED and SCORE take text or tokens. Of the other fields they use flags
     *  (QUIRE_REQUEST_NO_REUSE only), client, priority, deadline, cache_salt, user and
     *  event_callback; those of generation must be 0. For text with QUIRE_ENCODE_ADD_BOS they also
     *  append the tokens of QUIRE_ENCODE_ADD_EOS, as the model's settings define both. */
    enum quire_task task;
    /** EMBED: how the hidden states become one vector; default QUIRE_POOLING_DEFAULT. Of a decoder,
     *  LAST reuses prefixes from the cache; MEAN and CLS compute the whole prompt, because hidden
     *  states are not cached */
    enum quire_pooling pooling;
    /** EMBED: length of the vector, the first elements of the pooled state (Matryoshka
     *  embeddings); 0 = hidden_size, which is the maximum */
    uint32_t dimensions;
    bool normalize; /**< EMBED: divide the vector by its Euclidean norm; default true */
    /** SCORE: the outputs of the head. By default the scores are what sentence-transformers
     *  computes: the logistic function of the output if quire_model_info.sigmoid_scores */
    bool raw_scores;
    uint16_t reserved2; /**< 0 */
    /** SCORE: UTF-8, the second text of a pair whose first one is `text`; NULL = `text` alone. The
     *  tokenizer's template for pairs joins them */
    const char *text_pair;
    size_t text_pair_size; /**< bytes */
    /** EMBED and SCORE of an encoder with tokens: [n_tokens] token types; NULL = all 0 */
    const int32_t *token_type_ids;
    /** Beam search instead of sampling (quire/beam_search.h): the number of beams, 2 .. 32 and at
     *  most max_seqs of the engine; 0 = none. The n answers with the highest scores are returned,
     *  best first, without events before the search is over. Counts as beam_width requests of
     *  max_requests; not combined with best_of, draft_tokens and QUIRE_REQUEST_PROMPT_ONLY */
    uint32_t beam_width;
    enum quire_beam_stopping early_stopping; /**< without beam_width no effect */
    double length_penalty; /**< finite: exponent of the length in scores of beams; default 1 */
    /** Constrains the answers: tokens that the grammar does not allow are not sampled, after
     *  logits_hook; the answer ends with QUIRE_FINISH_STOP when the grammar allows nothing more,
     *  and with an end-of-generation token only where it may end. min_tokens and
     *  QUIRE_REQUEST_IGNORE_EOS do not make it longer than the grammar. At most one of `grammar`,
     *  which was compiled for quire_engine_grammar_vocab() and is borrowed until the answers have
     *  ended, and a text that submit compiles (has_grammar); the engine keeps compiled grammars.
     *  Not combined with beam_width. Forced tokens have the log-probability 0 */
    struct quire_grammar *grammar;
    const char *grammar_text; /**< as in struct quire_grammar_params */
    size_t grammar_text_size; /**< bytes, or QUIRE_NUL_TERMINATED */
    enum quire_grammar_kind grammar_kind;
    uint32_t grammar_flags; /**< QUIRE_GRAMMAR_* */
    bool has_grammar;       /**< grammar_kind, grammar_text and grammar_flags are used */
    uint8_t reserved3[7];   /**< 0 */
    /* LoRA: at most one of adapter_name and adapter; the draft model of speculative decoding runs
     * without it */
    const char *adapter_name; /**< of quire_engine_add_adapter(); NULL = none */
    /** open, for the engine's model; borrowed until the last event was returned; NULL = none */
    struct quire_adapter *adapter;
    /** factor of the adapter's update, finite; 0 = as without adapter; default 1. Prefixes are
     *  shared between requests of equal adapters and scales only */
    float adapter_scale;
    uint32_t reserved4; /**< 0 */
};

/** Sets the defaults: no prompt, no limit, sampling by quire_engine_default_sampling();
 *  QUIRE_POOLING_DEFAULT and normalize for EMBED. */
QUIRE_API void quire_request_params_init(struct quire_request_params *params, size_t struct_size);

#ifdef __cplusplus
}
#endif
#endif
