/* SPDX-License-Identifier: Apache-2.0 */
/** Chat templates: from a conversation to the text a model was trained on.
 *
 *  A model comes with a template in the Jinja language. It is parsed once and rendered for each prompt:
 *
 *      struct quire_chat_template *tmpl;
 *      quire_chat_template_create(source, strlen(source), NULL, &tmpl, &err);
 *      const struct quire_chat_message messages[] = {
 *          { .role = "system", .content = "Be brief." },
 *          { .role = "user", .content = "Hello!" },
 *      };
 *      struct quire_chat_render_args args;
 *      quire_chat_render_args_init(&args, sizeof args);
 *      args.messages = messages;
 *      args.n_messages = 2;
 *      args.add_generation_prompt = true;
 *      struct quire_chat_prompt *prompt;
 *      quire_chat_template_render(tmpl, &args, &prompt, &err);
 *      const char *text = quire_chat_prompt_text(prompt, &len);
 *
 *  The language is that of Jinja2 as Hugging Face sets it up: trim_blocks, lstrip_blocks, break and
 *  continue, generation blocks, the sandbox without mutation, tojson as json.dumps, and the functions
 *  raise_exception and strftime_now. Not supported, each an error that says so: include, import, extends,
 *  autoescape, lipsum, and the filters random, urlize, wordwrap, striptags and pprint. Integers have 64
 *  bits; going beyond is an error.
 *
 *  Templates are untrusted: rendering is bounded in steps, output, memory and recursion (it needs at most
 *  512 KiB of stack), and touches neither files nor the environment.
 *
 *  Whose text it is. Templates build control tokens such as <|im_start|> as text, and a user could type the
 *  same characters. A prompt therefore says which bytes came from the caller's data, tracked through every
 *  operation of the template (concatenation, trimming, slicing, replacing, JSON, ...): they must not be
 *  read as special tokens. The caller's data is every string in messages, tools and variables, object keys
 *  included. Template text is everything else: the template's own text, special_tokens, bos_token and
 *  eos_token, printed numbers, and the role of a message as long as it is a plain name (letters, digits,
 *  '-' and '_', at most 64): a program chooses roles, and templates build markers like <|user|> from them.
 */
#ifndef QUIRE_CHAT_TEMPLATE_H
#define QUIRE_CHAT_TEMPLATE_H

#include <quire/status.h>
#include <quire/text_span.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A parsed template. Immutable: may be rendered by several threads at once. */
struct quire_chat_template;

/** A rendered prompt: text and whose text it is. Immutable, independent of the template it came from. */
struct quire_chat_prompt;

/** Length of a string that ends with NUL. */
#define QUIRE_NUL_TERMINATED ((size_t)-1)

struct quire_chat_template_params {
    uint32_t struct_size; /**< sizeof(struct quire_chat_template_params) */
    /** Borrowed; must outlive the template and its prompts. NULL: the C library. The JSON parser's own
     *  short-lived memory comes from the C library always. */
    const struct quire_allocator *allocator;
    size_t max_steps;        /**< work of one render; 0 = 1,000,000 */
    size_t max_output_bytes; /**< of the text, and of each string on the way; 0 = 16 MiB */
    size_t max_memory_bytes; /**< of the parsed template, and of one render; 0 = 256 MiB */
    /** What strftime_now shows: fills year, month, day, hour, minute and second (local time, if the
     *  program wants that). NULL: the current time in UTC. Called during render, from its thread. */
    void (*now)(void *user, struct tm *out);
    void *now_user;
};
QUIRE_API void quire_chat_template_params_init(struct quire_chat_template_params *params,
                                               size_t struct_size);

/** One message. All pointers are borrowed during the call. */
struct quire_chat_message {
    const char *role;    /**< NUL-terminated, e.g. "user" */
    const char *content; /**< UTF-8; wrong bytes become U+FFFD. NULL: the message has no content */
    size_t content_len;  /**< bytes; 0 or QUIRE_NUL_TERMINATED: up to its NUL */
    /** JSON object with further members (tool_calls, reasoning_content, name, ...), or NULL. A member
     *  `content` (say, a list of parts) replaces the content above. */
    const char *extra_json;
};

/** What to render. JSON texts are NUL-terminated UTF-8, nested at most 64 deep, integers within 64 bits;
 *  the order of object members is kept. All pointers are borrowed during the call. */
struct quire_chat_render_args {
    uint32_t struct_size; /**< sizeof(struct quire_chat_render_args) */
    const struct quire_chat_message *messages;
    size_t n_messages;
    const char *messages_json; /**< the messages as a JSON array instead; then n_messages is 0 */
    const char *tools_json;    /**< variable `tools`, a JSON array of definitions; NULL: none */
    /** Object: names of special tokens (bos_token, eos_token, pad_token, ...) to their text, which is
     *  template text and may become special tokens. NULL: none. */
    const char *special_tokens_json;
    /** Object: further variables (documents, enable_thinking, date_string, ...). Their strings are the
     *  caller's data. NULL: none. */
    const char *variables_json;
    const char *bos_token; /**< NUL-terminated; NULL: as in special_tokens_json, or undefined */
    const char *eos_token; /**< likewise */
    bool add_generation_prompt; /**< end where the assistant's answer begins */
};
QUIRE_API void quire_chat_render_args_init(struct quire_chat_render_args *args, size_t struct_size);

/** Parse a template.
 *  source  source_len bytes of UTF-8 (QUIRE_NUL_TERMINATED: up to its NUL), copied
 *  params  may be NULL for all defaults
 *  out     set to NULL on failure; free with quire_chat_template_destroy
 *  Returns QUIRE_OK; QUIRE_E_FORMAT for a syntax error (err->offset is the byte, with each line end
 *  counted as one, err->detail the line); QUIRE_E_UNSUPPORTED; QUIRE_E_LIMIT for nesting deeper than 128
 *  or too much memory; QUIRE_E_NOMEM; QUIRE_E_INVALID_ARG; QUIRE_E_MISUSE for a wrong struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_chat_template_create(
    const char *source, size_t source_len, const struct quire_chat_template_params *params,
    struct quire_chat_template **out, struct quire_error *err);

/** Free a template; NULL is a no-op. Prompts made with it stay valid. */
QUIRE_API void quire_chat_template_destroy(struct quire_chat_template *tmpl);

/** Render a conversation.
 *  out  set to NULL on failure; free with quire_chat_prompt_destroy
 *  Returns QUIRE_OK; QUIRE_E_INVALID_ARG when the template refuses the conversation (err->msg is the
 *  template's own message) or the input is inconsistent; QUIRE_E_FORMAT for malformed JSON, and when the
 *  template uses a value wrongly (err->msg is worded like Jinja2's, err->detail the line);
 *  QUIRE_E_RANGE for integers beyond 64 bits; QUIRE_E_LIMIT when a budget is exhausted;
 *  QUIRE_E_UNSUPPORTED; QUIRE_E_NOMEM; QUIRE_E_MISUSE for a wrong struct_size.
 *  Threads: safe, also on one template. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_chat_template_render(
    const struct quire_chat_template *tmpl, const struct quire_chat_render_args *args,
    struct quire_chat_prompt **out, struct quire_error *err);

/** The text, NUL-terminated (it may contain NULs when the template does), and its length in *len, which
 *  may be NULL. Valid as long as the prompt. */
QUIRE_API const char *quire_chat_prompt_text(const struct quire_chat_prompt *prompt, size_t *len);

/** The spans, which cover the text from its beginning to its end without overlap, neighbours differing in
 *  is_user_text; *n_spans is their number. They are no borders for tokenisation: tokenise across them, only
 *  recognise special tokens where all of a token's bytes are template text. Valid as long as the prompt. */
QUIRE_API const struct quire_text_span *quire_chat_prompt_spans(
    const struct quire_chat_prompt *prompt, size_t *n_spans);

/** Free a prompt; NULL is a no-op. */
QUIRE_API void quire_chat_prompt_destroy(struct quire_chat_prompt *prompt);

#ifdef __cplusplus
}
#endif
#endif
