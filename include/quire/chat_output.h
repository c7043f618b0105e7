/* SPDX-License-Identifier: Apache-2.0 */
/** Model output: splits the text of an answer into content, reasoning and tool calls while it is
 *  generated.
 *
 *      struct quire_chat_output_params params;
 *      quire_chat_output_params_init(&params, sizeof params);
 *      params.format = quire_chat_output_detect(template_text, strlen(template_text));
 *      params.tools_json = tools;                 // as given to the template
 *      params.prompt_end = last_bytes_of_prompt;  // tells whether the prompt opened a think block
 *      params.prompt_end_size = n;
 *      quire_chat_output_create(&params, &out, &err);
 *      for each piece of text:
 *          quire_chat_output_push(out, text, size, is_control_token, &err);
 *          while (quire_chat_output_next(out, &delta))
 *              send(&delta);
 *      quire_chat_output_finish(out, &err);
 *      while (quire_chat_output_next(out, &delta))
 *          send(&delta);
 *
 *  The concatenated deltas do not depend on how the text was cut into pieces. A delta is never
 *  taken back. Text that could still become markup is held until the next push or finish. The
 *  arguments of a call concatenate to JSON text, whatever the notation of the model, typed by the
 *  schemas of the tools; arguments that the model left broken are passed on as they are. A call
 *  with a name that was not offered is dropped if tools are given, and one with U+0000 in its name
 *  always.
 *
 *  Threads: an object is used by one thread at a time. */
#ifndef QUIRE_CHAT_OUTPUT_H
#define QUIRE_CHAT_OUTPUT_H
#include <quire/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A parser of one answer. */
struct quire_chat_output;

/** Name of format i, a static string; NULL for i beyond the last. docs/structured-output.md lists
 *  the formats. */
QUIRE_API const char *quire_chat_output_format_name(size_t i);

/** Chooses the format by the marks in the text of a chat template, which need not be a valid one.
 *  Returns a static name; "generic_json" for a template without any known mark, NULL if text is
 *  NULL. */
QUIRE_API const char *quire_chat_output_detect(const char *template_text, size_t size);

/** Whether a chat template holds a marker of the format's thinking blocks: the model may think
 *  before it answers. size: bytes, or QUIRE_NUL_TERMINATED. False for an unknown format, and if
 *  format or template_text is NULL. Keeps nothing; any thread may call it. */
QUIRE_API bool quire_chat_output_has_thinking(const char *format, const char *template_text,
                                              size_t size);

/** What to do with reasoning. Append only. */
enum quire_reasoning_format {
    QUIRE_REASONING_AUTO, /**< split off as QUIRE_CHAT_REASONING */
    QUIRE_REASONING_NONE, /**< stays in the content with its markers */
};

/** Whether the prompt ended inside a thinking block. Append only. */
enum quire_thinking {
    QUIRE_THINKING_BY_PROMPT, /**< decided by prompt_end; without it: closed */
    QUIRE_THINKING_OPEN,
    QUIRE_THINKING_CLOSED,
};

/** Which calls the answer may have. Append only. */
enum quire_tool_choice {
    QUIRE_TOOL_CHOICE_AUTO,     /**< content or calls */
    QUIRE_TOOL_CHOICE_NONE,     /**< content: markup of calls is text */
    QUIRE_TOOL_CHOICE_REQUIRED, /**< at least one call */
    QUIRE_TOOL_CHOICE_NAMED,    /**< calls of one tool */
};

struct quire_chat_output_params {
    uint32_t struct_size;
    enum quire_reasoning_format reasoning;
    enum quire_thinking thinking;
    enum quire_tool_choice tool_choice;
    const struct quire_allocator *allocator; /**< borrowed until destroy; NULL = C library */
    const char *format;                      /**< name of a format; NULL: all text is content */
    /** tools on offer, an array of `{"type":"function","function":{name, description,
     *  parameters}}`, or of the inner objects; NUL-terminated, copied. NULL: unknown, any name is a
     *  call and arguments are typed by their look; an empty array: none, markup is dropped as calls
     *  of unknown tools */
    const char *tools_json;
    /** end of the rendered prompt, 256 bytes are enough; borrowed during the call; may be NULL */
    const char *prompt_end;
    size_t prompt_end_size;
    bool single_call; /**< only the first call counts */
    /** content is constrained by a response schema: only markup of reasoning is recognized, unless
     *  tools are given */
    bool response_is_json;
    bool reserved_[6];
    /** seed of the ids of calls for which the text has none: 9 letters and digits, a function of
     *  the seed and the index of the call */
    uint64_t id_seed;
    /** limit of the text in bytes; 0 = 64 MiB. The parser keeps all text it has sent for
     *  quire_chat_output_get_message */
    size_t max_bytes;
};
QUIRE_API void quire_chat_output_params_init(struct quire_chat_output_params *params,
                                             size_t struct_size);

/** Creates a parser at the start of an answer. *out is NULL on failure.
 *  QUIRE_E_INVALID_ARG an argument, an unknown format, two tools of one name, a tool without a name
 *  or with parameters that are no schema: the message names tools[i]; QUIRE_E_FORMAT tools_json is
 *  no JSON; QUIRE_E_LIMIT; QUIRE_E_NOMEM; QUIRE_E_MISUSE struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_chat_output_create(const struct quire_chat_output_params *params,
                         struct quire_chat_output **out, struct quire_error *err);
/** NULL is a no-op. */
QUIRE_API void quire_chat_output_destroy(struct quire_chat_output *out);

/** Adds a piece of decoded text, with the texts of control tokens.
 *  text        [size] valid UTF-8 as a whole: a character may be split between pieces. NUL bytes
 *              are text
 *  is_special  the piece is the text of one control token (or user-defined token). Inside string
 *              values, markers of which the opening one was special are recognized from control
 *              tokens only: the same characters as plain text are data. Pieces that are all pushed
 *              as plain text are recognized by their characters
 *  QUIRE_E_INVALID_ARG text NULL with size > 0; QUIRE_E_MISUSE after finish; QUIRE_E_LIMIT
 *  max_bytes; QUIRE_E_NOMEM: the parser accepts no more text. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_chat_output_push(struct quire_chat_output *out,
                                                               const char *text, size_t size,
                                                               bool is_special,
                                                               struct quire_error *err);

/** Ends the answer: text that was held is decided. A second call does nothing.
 *  QUIRE_E_NOMEM, QUIRE_E_INVALID_ARG. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_chat_output_finish(struct quire_chat_output *out,
                                                                 struct quire_error *err);

/** Append only. */
enum quire_chat_delta_kind {
    QUIRE_CHAT_CONTENT,
    QUIRE_CHAT_REASONING,
    QUIRE_CHAT_TOOL_CALL_BEGIN,     /**< once per call; text is the name, id the id */
    QUIRE_CHAT_TOOL_CALL_ARGUMENTS, /**< text is a piece of the arguments */
    QUIRE_CHAT_TOOL_CALL_END,       /**< no text */
};

struct quire_chat_delta {
    enum quire_chat_delta_kind kind;
    uint32_t tool_index; /**< of a call: 0, 1, 2, ... */
    /** [size], not NUL-terminated; may end inside a character of several bytes if a piece did.
     *  Valid until the next push, finish or get_message */
    const char *text;
    size_t size;
    const char *id; /**< [id_size] of TOOL_CALL_BEGIN, else NULL; valid as long as text */
    size_t id_size;
};
/** Takes the next delta. False: none is waiting. */
QUIRE_API bool quire_chat_output_next(struct quire_chat_output *out,
                                      struct quire_chat_delta *delta);

struct quire_chat_tool_call {
    const char *id, *name, *arguments; /**< NUL-terminated; arguments: JSON text */
    size_t arguments_size;
};
/** The message so far: all deltas up to now, taken or not. */
struct quire_chat_output_message {
    uint32_t struct_size; /**< set by the caller */
    uint32_t n_tool_calls;
    const char *content; /**< [content_size], NUL-terminated; "" if there is none */
    size_t content_size;
    const char *reasoning; /**< [reasoning_size], NUL-terminated; "" if there is none */
    size_t reasoning_size;
    const struct quire_chat_tool_call *tool_calls; /**< [n_tool_calls] */
};
/** Fills *message. Its pointers are valid until the next push, finish or destroy.
 *  QUIRE_E_INVALID_ARG; QUIRE_E_MISUSE struct_size; QUIRE_E_NOMEM. */
QUIRE_API QUIRE_MUST_CHECK quire_status
quire_chat_output_get_message(struct quire_chat_output *out,
                              struct quire_chat_output_message *message, struct quire_error *err);

/* ---- Constrained calls */

struct quire_chat_tool_grammar_params {
    uint32_t struct_size;
    enum quire_tool_choice tool_choice;
    const struct quire_allocator *allocator; /**< borrowed; NULL = C library */
    const char *format;                      /**< name of a format, required */
    const char *tools_json;                  /**< as in quire_chat_output_params; required unless
                                              *   tool_choice is NONE */
    const char *tool_name;                   /**< NAMED: the tool */
    const char *response_schema_json;        /**< schema of the content, or NULL */
    const char *prompt_end;                  /**< as in quire_chat_output_params */
    size_t prompt_end_size;
    enum quire_thinking thinking;
    bool single_call; /**< at most one call */
    /** the answer begins without a thinking block, unless the prompt opens one: for models that do
     *  not think (quire_chat_output_has_thinking) */
    bool no_thinking;
    bool reserved_[2];
};
QUIRE_API void quire_chat_tool_grammar_params_init(struct quire_chat_tool_grammar_params *params,
                                                   size_t struct_size);

/** Writes the structural tag (QUIRE_GRAMMAR_STRUCTURAL_TAG) that lets an answer hold calls of the
 *  tools only, in the notation of the format, with arguments that follow the schemas.
 *  *out   NUL-terminated JSON text; freed with quire_chat_tool_grammar_free. NULL on failure, and
 *         with QUIRE_OK if the answer needs no grammar (tool_choice NONE without a schema)
 *  QUIRE_E_INVALID_ARG an argument, an unknown format or tool_name, tools as in
 *  quire_chat_output_create; QUIRE_E_FORMAT malformed JSON; QUIRE_E_UNSUPPORTED the format cannot
 *  write a call of this tool: the message names it; QUIRE_E_NOMEM; QUIRE_E_MISUSE struct_size. */
QUIRE_API QUIRE_MUST_CHECK quire_status quire_chat_tool_grammar(
    const struct quire_chat_tool_grammar_params *params, char **out, struct quire_error *err);
/** allocator: as in the params of the call. NULL text is a no-op. */
QUIRE_API void quire_chat_tool_grammar_free(const struct quire_allocator *allocator, char *text);

#ifdef __cplusplus
}
#endif
#endif
