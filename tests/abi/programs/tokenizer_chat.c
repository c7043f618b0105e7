/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer_chat.c - tokenizer and chat template from memory: round trip, spans, special tokens.
 * Compiled with the headers of an earlier version and linked with the current library. */
#include <quire/chat_template.h>
#include <quire/tokenizer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A byte-level BPE tokenizer of 10 tokens. */
static const char tokenizer_json[] =
    "{\"version\":\"1.0\",\"normalizer\":null,\"post_processor\":null,"
    "\"added_tokens\":[{\"id\":9,\"content\":\"<|end|>\",\"single_word\":false,\"lstrip\":false,"
    "\"rstrip\":false,\"normalized\":false,\"special\":true}],"
    "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,"
    "\"use_regex\":true},"
    "\"decoder\":{\"type\":\"ByteLevel\"},"
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"<\":2,\"|\":3,\"e\":4,\"n\":5,"
    "\"d\":6,\">\":7,\"ab\":8},\"merges\":[[\"a\",\"b\"]]}}";
static const char template_source[] = "{% for m in messages %}{{ m.content }}<|end|>{% endfor %}";

static void check(quire_status s, const struct quire_error *err)
{
    if (s != QUIRE_OK) {
        fprintf(stderr, "%s: %s\n", quire_status_name(s), err->msg);
        exit(1);
    }
}

static void require(bool condition, const char *text)
{
    if (!condition) {
        fprintf(stderr, "tokenizer_chat: %s\n", text);
        exit(1);
    }
}

static struct quire_chat_prompt *render(const char *content)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_chat_template_params params;
    quire_chat_template_params_init(&params, sizeof params);
    params.max_steps = 1000;
    struct quire_chat_template *tmpl;
    check(quire_chat_template_create(template_source, QUIRE_NUL_TERMINATED, &params, &tmpl, &err),
          &err);
    const struct quire_chat_message message = { .role = "user", .content = content };
    struct quire_chat_render_args args;
    quire_chat_render_args_init(&args, sizeof args);
    args.messages = &message;
    args.n_messages = 1;
    struct quire_chat_prompt *prompt;
    check(quire_chat_template_render(tmpl, &args, &prompt, &err), &err);
    quire_chat_template_destroy(tmpl);
    return prompt;
}

int main(void)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_tokenizer_params params;
    quire_tokenizer_params_init(&params, sizeof params);
    struct quire_tokenizer *tok;
    check(quire_tokenizer_open_memory(tokenizer_json, sizeof tokenizer_json - 1, NULL, 0, &params,
                                      &tok, &err),
          &err);
    require(quire_tokenizer_vocab_size(tok) == 10, "vocabulary size");
    require(quire_tokenizer_token_type(tok, 9) == QUIRE_TOKEN_CONTROL, "type of <|end|>");

    /* the user's <|end|> is encoded as text, the template's as the special token */
    struct quire_chat_prompt *prompt = render("ab<|end|>");
    size_t len, n_spans, n_ids, size;
    const char *text = quire_chat_prompt_text(prompt, &len);
    require(!strcmp(text, "ab<|end|><|end|>"), "rendered text");
    const struct quire_text_span *spans = quire_chat_prompt_spans(prompt, &n_spans);
    require(n_spans == 2 && spans[0].is_user_text && !spans[1].is_user_text, "spans");
    int32_t ids[32];
    check(quire_tokenizer_encode_spans(tok, text, len, spans, n_spans, QUIRE_ENCODE_PARSE_SPECIAL,
                                       ids, 32, &n_ids, &err),
          &err);
    static const int32_t expected[] = { 8, 2, 3, 4, 5, 6, 3, 7, 9 };
    require(n_ids == 9 && !memcmp(ids, expected, sizeof expected), "ids");
    char decoded[64];
    check(quire_tokenizer_decode(tok, ids, n_ids, QUIRE_DETOKENIZE_SPECIAL, decoded, sizeof decoded,
                                 &size, &err),
          &err);
    require(size == len && !memcmp(decoded, text, len), "decoded text");
    require(quire_tokenizer_encode(tok, text, len, 0, ids, 2, &n_ids, &err) == QUIRE_E_LIMIT &&
                err.code == QUIRE_E_LIMIT,
            "an array that is too short");
    printf("tokenizer_chat: %zu ids\n", sizeof expected / sizeof *expected);
    quire_chat_prompt_destroy(prompt);
    quire_tokenizer_close(tok);
    return 0;
}
