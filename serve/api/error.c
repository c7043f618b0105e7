/* SPDX-License-Identifier: Apache-2.0 */
#include "error.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Length of the well-formed character of UTF-8 at s; 0: there is none. */
static size_t character(const unsigned char *s)
{
    const size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (s[0] > 0xf4 || (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* Replaces bytes that are no UTF-8, such as those of a path or of a character that was cut. */
static void repair_utf8(char *text)
{
    for (char *s = text; *s != '\0';) {
        const size_t n = character((const unsigned char *)s);
        if (n == 0)
            *s = '?';
        s += n ? n : 1;
    }
}

bool api_fail(struct api_error *e, int status, const char *code, const char *param,
              const char *format, ...)
{
    if (e->status != 0)
        return false;
    e->status = status;
    e->code = code;
    snprintf(e->param, sizeof e->param, "%s", param ? param : "");
    repair_utf8(e->param);
    va_list args;
    va_start(args, format);
    vsnprintf(e->message, sizeof e->message, format, args);
    va_end(args);
    repair_utf8(e->message);
    return false;
}

static int http_status(quire_status status)
{
    switch (status) {
    case QUIRE_E_INVALID_ARG:
    case QUIRE_E_RANGE:
    case QUIRE_E_NUMERIC:
    case QUIRE_E_UNSUPPORTED:
    case QUIRE_E_LIMIT:
    case QUIRE_E_FORMAT: /* of a template applied to the request */
        return 400;
    case QUIRE_E_AGAIN:
        return 429;
    case QUIRE_E_CANCELLED:
    case QUIRE_E_BUSY:
        return 503;
    default:
        return 500;
    }
}

bool api_fail_status(struct api_error *e, quire_status status, const struct quire_error *error)
{
    const char *message = error && error->msg[0] ? error->msg : quire_status_text(status);
    for (const char *const *p = (const char *const[]){ "params.", "sampling.",
                                                       "task: ", "response_schema_json: ", NULL };
         *p; p++)
        if (strncmp(message, *p, strlen(*p)) == 0)
            message += strlen(*p);
    const char *code =
        status == QUIRE_E_LIMIT && strstr(message, "context") ? "context_length_exceeded" : NULL;
    if (status == QUIRE_E_AGAIN && e->status == 0)
        e->retry_after = 1;
    return api_fail(e, http_status(status), code, NULL, "%s", message);
}

struct type_name {
    int status;
    const char *openai, *anthropic;
};

static const struct type_name type_names[] = {
    { 400, "invalid_request_error", "invalid_request_error" },
    { 401, "authentication_error", "authentication_error" },
    { 403, "permission_error", "permission_error" },
    { 404, "not_found_error", "not_found_error" },
    { 413, "invalid_request_error", "request_too_large" },
    { 429, "rate_limit_error", "rate_limit_error" },
    { 503, "service_unavailable", "overloaded_error" },
    { 0, "server_error", "api_error" },
};

const char *api_error_type(const struct api_error *e, enum api_dialect dialect)
{
    const struct type_name *t = type_names;
    while (t->status != 0 && t->status != e->status)
        t++;
    if (t->status == 0 && e->status < 500)
        t = type_names;
    return dialect == DIALECT_ANTHROPIC ? t->anthropic : t->openai;
}

json_t *api_error_json(const struct api_error *e, enum api_dialect dialect, const char *request_id)
{
    const char *type = api_error_type(e, dialect);
    switch (dialect) {
    case DIALECT_ANTHROPIC:
        if (e->param[0])
            return json_pack("{s:s, s:{s:s, s:o}, s:s}", "type", "error", "error", "type", type,
                             "message", json_sprintf("%s: %s", e->param, e->message), "request_id",
                             request_id);
        return json_pack("{s:s, s:{s:s, s:s}, s:s}", "type", "error", "error", "type", type,
                         "message", e->message, "request_id", request_id);
    case DIALECT_OLLAMA:
        if (e->param[0])
            return json_pack("{s:o}", "error", json_sprintf("%s: %s", e->param, e->message));
        return json_pack("{s:s}", "error", e->message);
    case DIALECT_OPENAI:
        break;
    }
    return json_pack("{s:{s:s, s:s, s:s?, s:s?}}", "error", "message", e->message, "type", type,
                     "param", e->param[0] ? e->param : NULL, "code", e->code);
}
