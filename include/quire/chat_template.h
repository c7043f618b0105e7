/* SPDX-License-Identifier: Apache-2.0 */
/** Chat templates: render a conversation to the prompt format of a model.
 *
 *  A model comes with a template in the Jinja language. It is parsed once and rendered for each
 *  prompt:
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
 *  The language is Jinja2 in the setup of Hugging Face Transformers: trim_blocks, lstrip_blocks,
 *  break and continue, generation blocks, the sandbox without mutation, tojson as json.dumps, and
 *  the functions raise_exception and strftime_now. Not supported, each with an error that names it:
 *  include, import, extends, autoescape, lipsum, and the filters random, urlize, wordwrap,
 *  striptags and pprint. Integers have 64 bits; overflow is an error.
 *
 *  Templates are untrusted: rendering is bounded in steps, output, memory and recursion (it needs
 *  at most 512 KiB of stack), and accesses neither files nor the environment.
 *
 *  Provenance. Templates write control tokens such as <|im_start|> as text, and a user could type
 *  the same characters. A prompt therefore records the provenance of each byte, user data or
 *  template text, through every operation of the template (concatenation, trimming, slicing,
 *  replacing, JSON, ...). User data must not be parsed as special tokens. User data is every string
 *  in messages, tools and variables, object keys included. Template text is everything else: the
 *  template's own text, special_tokens_json, bos_token and eos_token, printed numbers, and the role
 *  of a message if it is a plain name (letters, digits, '-' and '_', at most 64): the program
 *  selects roles, and templates build markers like <|user|> from them. */
#ifndef QUIRE_CHAT_TEMPLATE_H
#define QUIRE_CHAT_TEMPLATE_H

#include <quire/status.h>
#include <quire/text_span.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A parsed template. Immutable: several threads may render it concurrently. */
struct quire_chat_template;

/** A rendered prompt: text and provenance of each byte. Immutable, independent of its template. */
struct quire_chat_prompt;

struct quire_chat_template_params {
    uint32_t struct_size; /**< sizeof(struct quire_chat_template_params) */
    /** Borrowed; must outlive the template and its prompts. NULL: the C library. The temporary
     *  memory of the JSON parser always comes from the C library. */
    const struct quire_allocator *allocator;
    size_t max_steps;        /**< evaluation steps of one render; 0 = 1,000,000 */
    size_t max_output_bytes; /**< size of the text, and of each intermediate string; 0 = 16 MiB */
    size_t max_memory_bytes; /**< memory of the parsed template, and of one render; 0 = 256 MiB */
    /** Clock of strftime_now: fills in year, month, day, hour, minute and second (local time, if
     *  the program prefers it) of a year from 1 on. NULL: the current time in UTC. Called during
     *  render, from the rendering thread. */
    void (*now)(void *user, struct tm *out);
    void *now_user;
};
QUIRE_API void quire_chat_template_params_init(struct quire_chat_template_params *params,
                                               size_t struct_size);

/** One message. All pointers are borrowed during the call. */
struct quire_chat_message {
    const char *role; /**< NUL-terminated, e.g. "user" */
    /** UTF-8; invalid bytes become U+FFFD. NULL: the message has no content */
    const char *content;
    size_t content_len; /**< bytes; 0 or QUIRE_NUL_TERMINATED: NUL-terminated */
    /** JSON object with additional members (tool_calls, reasoning_content, name, ...), or NULL. A
     *  member `content` (for example a list of parts) replaces the content above. Arguments of a
     *  tool call may be an object, or a string with one as in OpenAI's API: templates see an
     *  object, and its text as it was given where they print it or join it with a string. */
    const char *extra_json;
};

/** Input of a rendering. JSON texts are NUL-terminated UTF-8, nested at most 64 deep, integers
 *  within 64 bits; the order of object members is preserved. All pointers are borrowed during the
 *  call. */
struct quire_chat_render_args {
    uint32_t struct_size; /**< sizeof(struct quire_chat_render_args) */
    const struct quire_chat_message *messages;
    size_t n_messages;
    /** the messages as a JSON array, an alternative to messages; n_messages is 0 then */
    const char *messages_json;
    const char *tools_json; /**< variable `tools`, a JSON array of definitions; NULL: none */
    /** JSON object: names of special tokens (bos_token, eos_token, pad_token, ...) to their text,
     *  which is template text and may become special tokens. NULL: none. */
    const char *special_tokens_json;
    /** JSON object: additional variables (documents, enable_thinking, date_string, ...). Their
     *  strings are user data. NULL: none. */
    const char *variables_json;
    const char *bos_token; /**< NUL-terminated; NULL: as in special_tokens_json, or undefined */
    const char *eos_token; /**< likewise */
    bool add_generation_prompt; /**< end the prompt where the assistant's answer begins */
};
QUIRE_API void quire_chat_render_args_init(struct quire_chat_render_args *args, size_t struct_size);

/** Parses a template.
 *  source  source_len bytes of UTF-8 (QUIRE_NUL_TERMINATED: NUL-terminated), copied
 *  params  NULL = defaults
 *  out     set to NULL on failure; freed with quire_chat_template_destroy
 *  Returns QUIRE_OK; QUIRE_E_FORMAT for a syntax error (err->offset is the byte, with each line end
 *  counted as one, err->detail the line); QUIRE_E_UNSUPPORTED; QUIRE_E_LIMIT for nesting deeper
 *  than 128 or exceeded memory; QUIRE_E_NOMEM; QUIRE_E_INVALID_ARG; QUIRE_E_MISUSE for a wrong
 *  struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_chat_template_create(
    const char *source, size_t source_len, const struct quire_chat_template_params *params,
    struct quire_chat_template **out, struct quire_error *err);

/** Frees a template; NULL is a no-op. Prompts rendered from it stay valid. */
QUIRE_API void quire_chat_template_destroy(struct quire_chat_template *tmpl);

/** Renders a conversation.
 *  out  set to NULL on failure; freed with quire_chat_prompt_destroy
 *  Returns QUIRE_OK; QUIRE_E_INVALID_ARG if the template raises an exception (err->msg is the
 *  message of the template) or the input is inconsistent; QUIRE_E_FORMAT for malformed JSON, and
 *  for a type error in the template (err->msg is worded like Jinja2's, err->detail the line);
 *  QUIRE_E_RANGE for integers beyond 64 bits; QUIRE_E_LIMIT when a limit is exceeded;
 *  QUIRE_E_UNSUPPORTED; QUIRE_E_NOMEM; QUIRE_E_MISUSE for a wrong struct_size. Thread-safe, also on
 *  one template. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_chat_template_render(
    const struct quire_chat_template *tmpl, const struct quire_chat_render_args *args,
    struct quire_chat_prompt **out, struct quire_error *err);

/** Returns the text, NUL-terminated (it may contain NULs if the template does), and stores its
 *  length in *len; len may be NULL. Valid as long as the prompt. */
QUIRE_API const char *quire_chat_prompt_text(const struct quire_chat_prompt *prompt, size_t *len);

/** Returns the provenance spans: they cover the text without gap or overlap, and adjacent spans
 *  differ in is_user_text. *n_spans is their number. Span boundaries are not token boundaries:
 *  tokenize across them, and recognize a special token only where all its bytes are template text
 *  (quire_tokenizer_encode_spans). Valid as long as the prompt. */
QUIRE_API const struct quire_text_span *quire_chat_prompt_spans(
    const struct quire_chat_prompt *prompt, size_t *n_spans);

/** Frees a prompt; NULL is a no-op. */
QUIRE_API void quire_chat_prompt_destroy(struct quire_chat_prompt *prompt);

#ifdef __cplusplus
}
#endif
#endif
