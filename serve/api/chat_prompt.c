/* SPDX-License-Identifier: Apache-2.0 */
#include "chat_prompt.h"
#include "json_build.h"
#include <stdlib.h>
#include <string.h>

/* Writes the special tokens under the names that templates use. */
static void write_special_tokens(struct text *out, const struct quire_tokenizer *tokenizer)
{
    static const struct {
        const char *name;
        enum quire_special_token which;
    } names[] = {
        { "bos_token", QUIRE_SPECIAL_BOS },   { "eos_token", QUIRE_SPECIAL_EOS },
        { "unk_token", QUIRE_SPECIAL_UNK },   { "pad_token", QUIRE_SPECIAL_PAD },
        { "sep_token", QUIRE_SPECIAL_SEP },   { "cls_token", QUIRE_SPECIAL_CLS },
        { "mask_token", QUIRE_SPECIAL_MASK },
    };
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t size;
        const char *text = quire_tokenizer_token_text(
            tokenizer, quire_tokenizer_special(tokenizer, names[i].which), &size);
        if (text != NULL && json_build_is_utf8(text, size)) /* otherwise it stays undefined */
            json_build_set(&object, names[i].name, json_stringn(text, size));
    }
    json_build_write(out, object);
}

static const struct quire_chat_message *last_of_assistant(const struct quire_request_params *r)
{
    const struct quire_chat_message *last = &r->messages[r->n_messages - 1];
    return strcmp(last->role, "assistant") == 0 ? last : NULL;
}

/* Copies the text and its spans, and appends the beginning of an answer. */
static bool copy_prompt(const struct quire_chat_prompt *prompt,
                        const struct quire_chat_message *answer, struct text *out,
                        struct quire_text_span **spans, size_t *n_spans, struct api_error *error)
{
    size_t size;
    const char *text = quire_chat_prompt_text(prompt, &size);
    const struct quire_text_span *from = quire_chat_prompt_spans(prompt, n_spans);
    *spans = calloc(*n_spans + 1, sizeof **spans);
    text_add(out, text, size);
    if (answer != NULL && answer->content != NULL && answer->content_len == QUIRE_NUL_TERMINATED)
        text_add_string(out, answer->content);
    else if (answer != NULL && answer->content != NULL)
        text_add(out, answer->content, answer->content_len);
    if (*spans == NULL || out->failed)
        return api_fail(error, 500, NULL, NULL, "out of memory");
    memcpy(*spans, from, *n_spans * sizeof **spans);
    if (out->size > size)
        (*spans)[(*n_spans)++] = (struct quire_text_span){ size, out->size - size, true };
    return true;
}

bool chat_prompt_render(const struct quire_engine *engine,
                        const struct quire_request_params *request, bool add_generation_prompt,
                        struct text *out, struct quire_text_span **spans, size_t *n_spans,
                        struct api_error *error)
{
    const struct quire_chat_template *template = quire_engine_chat_template(engine);
    const struct quire_chat_message *answer = last_of_assistant(request);
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_chat_render_args args;
    struct quire_chat_prompt *prompt = NULL;
    *spans = NULL;
    if (template == NULL)
        return api_fail(error, 400, NULL, "model", "The model has no usable chat template.");
    if (!add_generation_prompt)
        answer = NULL;
    if (answer != NULL && request->n_messages == 1)
        return api_fail(error, 400, NULL, "messages",
                        "A message of the assistant that begins the conversation cannot be "
                        "continued.");
    struct text special = { 0 };
    write_special_tokens(&special, quire_engine_tokenizer(engine));
    if (special.failed) {
        text_free(&special);
        return api_fail(error, 500, NULL, NULL, "out of memory");
    }
    quire_chat_render_args_init(&args, sizeof args);
    args.messages = request->messages;
    args.n_messages = request->n_messages - (answer != NULL);
    args.tools_json = request->tools_json;
    args.variables_json = request->variables_json;
    args.special_tokens_json = special.data;
    args.add_generation_prompt = add_generation_prompt;
    const quire_status s = quire_chat_template_render(template, &args, &prompt, &err);
    const bool ok = s == QUIRE_OK ? copy_prompt(prompt, answer, out, spans, n_spans, error)
                                  : api_fail_status(error, s, &err);
    quire_chat_prompt_destroy(prompt);
    text_free(&special);
    return ok;
}
