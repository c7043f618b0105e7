/* SPDX-License-Identifier: Apache-2.0 */
/** Grammar API: constrained decoding without the engine. A grammar is compiled for a vocabulary; a
 *  matcher follows one sequence and says which tokens may come next.
 *
 *      quire_grammar_vocab_create(tokenizer, NULL, &vocab, &err);
 *      struct quire_grammar_params gp;
 *      quire_grammar_params_init(&gp, sizeof gp);
 *      gp.kind = QUIRE_GRAMMAR_JSON_SCHEMA;
 *      gp.text = "{\"type\":\"object\",\"properties\":{\"age\":{\"type\":\"integer\"}}}";
 *      gp.text_size = QUIRE_NUL_TERMINATED;
 *      quire_grammar_compile(vocab, &gp, &grammar, &err);
 *      quire_grammar_matcher_create(grammar, &matcher, &err);
 *      for (;;) {
 *          quire_grammar_matcher_mask(matcher, mask, n_words, &err);
 *          quire_grammar_apply_mask(mask, n_words, logits, n_logits);
 *          int32_t token = sample(logits);
 *          if (quire_tokenizer_is_eog(tokenizer, token))
 *              break;
 *          quire_grammar_matcher_commit(matcher, &token, 1, &err);
 *      }
 *
 *  What a grammar cannot express is refused by compile with the place in its text: a grammar never
 *  accepts more than its text says.
 *
 *  Threads: vocabularies and grammars may be used by any number of threads concurrently; a matcher
 *  by one thread at a time. Matchers of one grammar share its lazily built automaton under a
 *  lock. */
#ifndef QUIRE_GRAMMAR_H
#define QUIRE_GRAMMAR_H
#include <quire/status.h>
#include <quire/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The tokens of a vocabulary, prepared for masks: a trie of their bytes and precomputed slices. */
struct quire_grammar_vocab;
struct quire_grammar;
struct quire_grammar_matcher;

/** Prepares a vocabulary. Control tokens match no text; they are allowed where a grammar names
 *  them, and end-of-generation tokens where the grammar may end.
 *  tok        borrowed until destroy
 *  allocator  copied; NULL = C library
 *  QUIRE_E_INVALID_ARG, QUIRE_E_NOMEM. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_grammar_vocab_create(
    const struct quire_tokenizer *tok, const struct quire_allocator *allocator,
    struct quire_grammar_vocab **out, struct quire_error *err);
/** Its grammars must be destroyed first. NULL is a no-op. */
QUIRE_API void quire_grammar_vocab_destroy(struct quire_grammar_vocab *vocab);

/** Number of words of a mask: one bit per token of the vocabulary, bit t % 32 of word t / 32. */
QUIRE_API size_t quire_grammar_mask_words(const struct quire_grammar_vocab *vocab);

/** What the text of a grammar is. Append only. */
enum quire_grammar_kind {
    QUIRE_GRAMMAR_JSON_SCHEMA, /**< JSON Schema, drafts 4 to 2020-12 (docs/structured-output.md) */
    QUIRE_GRAMMAR_JSON_OBJECT, /**< any JSON object; no text */
    QUIRE_GRAMMAR_REGEX,       /**< the whole answer matches the expression */
    QUIRE_GRAMMAR_CHOICE,      /**< a JSON array of strings: the answer is one of them */
    QUIRE_GRAMMAR_GBNF,        /**< llama.cpp's notation, start rule "root" */
    QUIRE_GRAMMAR_LARK,        /**< Lark-like EBNF, start rule "start" */
    /** free text in which triggers start grammars; a JSON description
     *  (docs/structured-output.md) */
    QUIRE_GRAMMAR_STRUCTURAL_TAG,
};

enum {
    /** JSON: no white space outside strings; default: in one place up to two blanks, or two line
     *  ends and 32 blanks */
    QUIRE_GRAMMAR_COMPACT = 1u << 0,
    /** JSON Schema: properties in the order of the schema; default: in any order. More text is
     *  forced, so that answers take fewer steps */
    QUIRE_GRAMMAR_ORDERED = 1u << 1,
};

struct quire_grammar_params {
    uint32_t struct_size;
    enum quire_grammar_kind kind;
    const char *text; /**< UTF-8; not used after compile */
    size_t text_size; /**< bytes, or QUIRE_NUL_TERMINATED */
    uint32_t flags;   /**< QUIRE_GRAMMAR_* */
    uint32_t reserved;
    /** limits of compilation; 0 = 1 second and 64 MiB. max_seconds is CPU time of the calling
     *  thread, so that the result does not depend on the load of the machine. max_bytes is for all
     *  memory of the grammar, with the automaton and the masks that are built later, without the
     *  history of matchers */
    double max_seconds;
    uint64_t max_bytes;
    const struct quire_allocator *allocator; /**< copied; NULL = C library */
};
/** Sets the defaults: JSON_OBJECT, no flags, default limits. */
QUIRE_API void quire_grammar_params_init(struct quire_grammar_params *params, size_t struct_size);

/** Compiles a grammar. *out is NULL on failure.
 *  QUIRE_E_INVALID_ARG an argument, or a text that is malformed: the message has the offset, the
 *  line or the JSON pointer; QUIRE_E_UNSUPPORTED a valid text with a construct that is not
 *  supported, or that contradicts itself so that no answer satisfies it: the message names the
 *  construct and its place; QUIRE_E_LIMIT max_seconds, max_bytes, or nesting;
 *  QUIRE_E_MISUSE struct_size; QUIRE_E_NOMEM. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_grammar_compile(struct quire_grammar_vocab *vocab, const struct quire_grammar_params *params,
                      struct quire_grammar **out, struct quire_error *err);
/** Its matchers must be destroyed first. NULL is a no-op. */
QUIRE_API void quire_grammar_destroy(struct quire_grammar *grammar);

/** Creates a matcher at the start of the text. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_grammar_matcher_create(
    struct quire_grammar *grammar, struct quire_grammar_matcher **out, struct quire_error *err);
/** Creates a matcher in the state of another, without its history: it cannot be rolled back behind
 *  this point. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_grammar_matcher_clone(const struct quire_grammar_matcher *matcher,
                            struct quire_grammar_matcher **out, struct quire_error *err);
QUIRE_API void quire_grammar_matcher_destroy(struct quire_grammar_matcher *matcher);

/** Computes the tokens that may come next.
 *  mask  [n_words] n_words = quire_grammar_mask_words(); 1 = allowed
 *  End-of-generation tokens are allowed if and only if the text may end here. At least one token is
 *  allowed unless the vocabulary has no token for what must follow (QUIRE_E_MISMATCH).
 *  QUIRE_E_LIMIT the automaton needs more than max_bytes; QUIRE_E_NOMEM. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_grammar_matcher_mask(
    struct quire_grammar_matcher *matcher, uint32_t *mask, size_t n_words, struct quire_error *err);

/** Advances by tokens. End-of-generation tokens are not committed.
 *  QUIRE_E_MISMATCH tokens[i] is not allowed at its place: the message has i and the offset; the
 *  matcher is unchanged. QUIRE_E_RANGE an id outside the vocabulary; QUIRE_E_LIMIT;
 *  QUIRE_E_NOMEM. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_grammar_matcher_commit(struct quire_grammar_matcher *matcher, const int32_t *tokens,
                             size_t n_tokens, struct quire_error *err);

/** Number of leading tokens that commit would accept, without a change; for drafts. */
QUIRE_API size_t quire_grammar_matcher_check(struct quire_grammar_matcher *matcher,
                                             const int32_t *tokens, size_t n_tokens);

/** Takes back the last n tokens.
 *  QUIRE_E_RANGE fewer were committed: nothing has changed. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_grammar_matcher_rollback(
    struct quire_grammar_matcher *matcher, size_t n_tokens, struct quire_error *err);

/** Forgets the history before the last n_tokens tokens, whose memory is freed. */
QUIRE_API void quire_grammar_matcher_trim(struct quire_grammar_matcher *matcher, size_t n_tokens);

/** Whether the text may end here, and whether it must. */
QUIRE_API bool quire_grammar_matcher_can_end(const struct quire_grammar_matcher *matcher);
QUIRE_API bool quire_grammar_matcher_must_end(struct quire_grammar_matcher *matcher);

/** The bytes that must follow, whatever the model says, e.g. `{"name":"`.
 *  bytes    capacity of max_bytes bytes
 *  n_bytes  receives their number, at most max_bytes; 0: more than one continuation is possible, or
 *           the text may end here */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_grammar_matcher_forced_bytes(struct quire_grammar_matcher *matcher, char *bytes,
                                   size_t max_bytes, size_t *n_bytes, struct quire_error *err);

/** The tokens that must follow (fast-forward): the canonical tokenization of the forced bytes,
 *  without the last ones, which the following text could merge with others. The caller appends and
 *  commits them without sampling.
 *  before    [n_before] the tokens before this place, as many as are known: pre-tokenization needs
 *            their text
 *  tokens    capacity of max_tokens
 *  n_tokens  receives their number, at most max_tokens; 0 = none */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_grammar_matcher_forced_tokens(
    struct quire_grammar_matcher *matcher, const int32_t *before, size_t n_before, int32_t *tokens,
    size_t max_tokens, size_t *n_tokens, struct quire_error *err);

/** Sets the logits of tokens outside the mask, and logits without a bit, to -INFINITY.
 *  mask    [n_words]
 *  logits  f32 [n_logits] */
QUIRE_API void quire_grammar_apply_mask(const uint32_t *mask, size_t n_words, float *logits,
                                        size_t n_logits);

/** Sizes and times of a grammar, for monitoring. */
struct quire_grammar_info {
    uint32_t struct_size; /**< set by the caller */
    uint32_t n_states;    /**< states of the lexer's automaton built so far */
    uint64_t bytes;       /**< memory in use, at most max_bytes */
    double compile_seconds;
};
QUIRE_API void quire_grammar_info_init(struct quire_grammar_info *info, size_t struct_size);
/** QUIRE_E_INVALID_ARG, QUIRE_E_MISUSE struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_grammar_get_info(struct quire_grammar *grammar,
                                                               struct quire_grammar_info *info);

#ifdef __cplusplus
}
#endif
#endif
