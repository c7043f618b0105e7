/* SPDX-License-Identifier: Apache-2.0 */
/* error.h - errors of the HTTP API. */
#ifndef QUIRE_SERVE_ERROR_H
#define QUIRE_SERVE_ERROR_H
#include <jansson.h>
#include <quire/status.h>
#include <stdbool.h>

/* Shapes of the error object.
 *  OPENAI     {"error": {"message", "type", "param", "code"}}
 *  ANTHROPIC  {"type": "error", "error": {"type", "message"}, "request_id"}
 *  OLLAMA     {"error": message} */
enum api_dialect { DIALECT_OPENAI, DIALECT_ANTHROPIC, DIALECT_OLLAMA };

struct api_error {
    int status;         /* HTTP status, 0 = no error */
    const char *code;   /* e.g. "context_length_exceeded"; NULL = none; static storage */
    char param[128];    /* name of the parameter, e.g. "messages[2].content"; "" = none */
    char message[640];  /* UTF-8 */
    double retry_after; /* seconds, with 429 and 503; 0 = none */
};

/* Sets the error and returns false. param and code may be NULL. The first error stays: later calls
 * change nothing. */
__attribute__((format(printf, 5, 6))) bool api_fail(struct api_error *e, int status,
                                                    const char *code, const char *param,
                                                    const char *format, ...);

/* Sets an error of the library: the HTTP status follows from the code (INVALID_ARG, RANGE, NUMERIC,
 * UNSUPPORTED and LIMIT of a request are 400, AGAIN 429, CANCELLED 503, others 500), the message
 * without its prefix of API names. Returns false. */
bool api_fail_status(struct api_error *e, quire_status status, const struct quire_error *error);

/* The error object; the caller drops the reference. */
json_t *api_error_json(const struct api_error *e, enum api_dialect dialect, const char *request_id);

/* "invalid_request_error", "authentication_error", ... as OpenAI or Anthropic name the status. */
const char *api_error_type(const struct api_error *e, enum api_dialect dialect);

#endif
