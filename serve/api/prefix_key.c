/* SPDX-License-Identifier: Apache-2.0 */
/* prefix_key.c - a hash over the beginning of a conversation. */
#include "prefix_key.h"
#include "exchange.h"
#include "fields.h"
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_MESSAGES = 4096, MAX_PARTS = 4096, PROMPT_BYTES = 256, PROMPT_TOKENS = 64 };
enum { SHA256_BYTES = 32 };

/* The hash of the strings so far. */
struct hash {
    gnutls_hash_hd_t handle;
    bool failed;
};

static void hash_add(struct hash *h, const char *data, size_t size)
{
    h->failed = h->failed || gnutls_hash(h->handle, data, size) != 0;
}

static void hash_string(struct hash *h, const char *s) { hash_add(h, s, strlen(s)); }

/* Ends a string and begins the next one. */
static void hash_next(struct hash *h) { hash_add(h, "\n", 1); }

/* The text of a part: an object with a member `text`, whatever its type. */
static bool hash_part(struct hash *h, json_t *part, const char *path, struct api_error *error)
{
    struct fields f;
    const char *text = NULL;
    if (!fields_init(&f, part, path, error))
        return false;
    if (fields_string(&f, "text", &text))
        hash_string(h, text);
    return error->status == 0;
}

/* A string, an array of parts, or null. `path` names it in errors. */
static bool hash_text(struct hash *h, json_t *content, const char *path, struct api_error *error)
{
    char part_path[128];
    if (content == NULL || json_is_null(content))
        return true;
    if (json_is_string(content)) {
        hash_add(h, json_string_value(content), json_string_length(content));
        return true;
    }
    if (!json_is_array(content) || json_array_size(content) > MAX_PARTS)
        return api_fail(error, 400, NULL, path,
                        "%s must be a string or an array of at most %d parts.", path, MAX_PARTS);
    for (size_t i = 0; i < json_array_size(content); i++) {
        snprintf(part_path, sizeof part_path, "%s[%zu]", path, i);
        if (!hash_part(h, json_array_get(content, i), part_path, error))
            return false;
    }
    return true;
}

/* Adds a message; *last tells that it is the first one of the user. */
static bool hash_message(struct hash *h, json_t *message, const char *path, bool *last,
                         struct api_error *error)
{
    struct fields f;
    char content_path[128];
    const char *role = NULL;
    json_t *content = NULL;
    if (!fields_init(&f, message, path, error))
        return false;
    if (!fields_string(&f, "role", &role))
        return error->status == 0;
    fields_value(&f, "content", &content);
    snprintf(content_path, sizeof content_path, "%s.content", path);
    hash_next(h);
    hash_string(h, role);
    hash_next(h);
    *last = strcmp(role, "user") == 0;
    return hash_text(h, content, content_path, error);
}

static bool hash_messages(struct hash *h, json_t *array, const char *name, struct api_error *error)
{
    char path[64];
    bool last = false;
    for (size_t i = 0; i < json_array_size(array) && !last; i++) {
        snprintf(path, sizeof path, "%s[%zu]", name, i);
        if (!hash_message(h, json_array_get(array, i), path, &last, error))
            return false;
    }
    return true;
}

static bool bad_prompt(struct api_error *error)
{
    return api_fail(error, 400, NULL, "prompt",
                    "prompt must be a string, an array of strings, an array of token ids, or an "
                    "array of such arrays.");
}

static bool hash_tokens(struct hash *h, json_t *array, struct api_error *error)
{
    for (size_t i = 0; i < json_array_size(array) && i < PROMPT_TOKENS; i++) {
        char number[32];
        json_t *token = json_array_get(array, i);
        if (!json_is_integer(token))
            return bad_prompt(error);
        snprintf(number, sizeof number, i ? " %" JSON_INTEGER_FORMAT : "%" JSON_INTEGER_FORMAT,
                 json_integer_value(token));
        hash_string(h, number);
    }
    return true;
}

static bool hash_prompt(struct hash *h, json_t *prompt, struct api_error *error)
{
    json_t *first = json_array_get(prompt, 0); /* NULL if it is no array */
    if (json_is_string(first) || json_is_array(first))
        prompt = first;
    hash_next(h);
    hash_string(h, "prompt");
    hash_next(h);
    if (json_is_array(prompt))
        return hash_tokens(h, prompt, error);
    if (!json_is_string(prompt))
        return bad_prompt(error);
    const size_t n = json_string_length(prompt);
    hash_add(h, json_string_value(prompt), n < PROMPT_BYTES ? n : PROMPT_BYTES);
    return true;
}

/* "system" and the text of a top-level member. */
static bool hash_system(struct hash *h, struct fields *f, const char *name)
{
    json_t *content = NULL;
    if (!fields_value(f, name, &content))
        return true;
    hash_next(h);
    hash_string(h, "system");
    hash_next(h);
    return hash_text(h, content, name, f->error);
}

static bool hash_input(struct hash *h, json_t *input, struct api_error *error)
{
    if (json_is_array(input) && json_array_size(input) <= MAX_MESSAGES)
        return hash_messages(h, input, "input", error);
    if (!json_is_string(input))
        return api_fail(error, 400, NULL, "input",
                        "input must be a string or an array of at most %d items.", MAX_MESSAGES);
    hash_next(h);
    hash_string(h, "user");
    hash_next(h);
    return hash_text(h, input, "input", error);
}

static bool hash_body(struct hash *h, json_t *body, struct api_error *error)
{
    struct fields f;
    const char *model = "";
    json_t *messages = NULL, *input = NULL, *prompt = NULL;
    if (!fields_init(&f, body, "", error))
        return false;
    fields_string(&f, "model", &model);
    fields_array(&f, "messages", MAX_MESSAGES, &messages);
    fields_value(&f, "input", &input);
    fields_value(&f, "prompt", &prompt);
    if (error->status != 0)
        return false;
    hash_string(h, model);
    if (messages != NULL)
        return hash_system(h, &f, "system") && hash_messages(h, messages, "messages", error);
    if (input != NULL)
        return hash_system(h, &f, "instructions") && hash_input(h, input, error);
    if (prompt != NULL)
        return hash_prompt(h, prompt, error);
    return api_fail(error, 400, NULL, "messages", "The body must have messages, input or prompt.");
}

bool prefix_key_compute(json_t *body, char key[PREFIX_KEY_SIZE], struct api_error *error)
{
    struct hash h = { .failed = false };
    unsigned char digest[SHA256_BYTES];
    if (gnutls_hash_init(&h.handle, GNUTLS_DIG_SHA256) != 0)
        return api_fail(error, 500, NULL, NULL, "Out of memory.");
    const bool ok = hash_body(&h, body, error);
    gnutls_hash_deinit(h.handle, digest);
    if (ok && h.failed)
        return api_fail(error, 500, NULL, NULL, "The hash cannot be computed.");
    for (int i = 0; i < PREFIX_KEY_SIZE / 2; i++)
        snprintf(key + 2 * i, 3, "%02x", digest[i]);
    return ok;
}

void prefix_key_route(struct exchange *x)
{
    char key[PREFIX_KEY_SIZE];
    struct api_error error = { 0 };
    json_t *body = fields_parse(x->body, x->body_size, &error);
    if (body == NULL || !prefix_key_compute(body, key, &error))
        exchange_reply_error(x, &error);
    else
        exchange_reply_json(x, 200,
                            json_pack("{s:s, s:s}", "key", key, "header", "X-Quire-Prefix"));
    json_decref(body);
}
