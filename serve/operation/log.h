/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - the server's log on standard error: text for people, or one JSON object per line. Neither
 * prompts nor answers nor keys are ever logged. Any thread. */
#ifndef QUIRE_SERVE_LOG_H
#define QUIRE_SERVE_LOG_H
#include <quire/status.h>
#include <stdbool.h>
#include <stdint.h>

struct log;

enum log_format { LOG_TEXT, LOG_JSON };

struct log *log_open(enum log_format format, enum quire_log_level level);
void log_close(struct log *log);

/* A field: NAME and a value, which is a string if `text` is not NULL, otherwise the number. */
struct log_field {
    const char *name, *text;
    double number;
};

/* Writes a line: time, level, message (a constant, e.g. "request finished"), fields. */
void log_line(struct log *log, enum quire_log_level level, const char *message,
              const struct log_field *fields, unsigned n_fields);

/* Adapter for quire_engine_params.logger: user is a struct log_source. */
struct log_source {
    struct log *log;
    const char *model; /* name */
};
void log_library(void *user, enum quire_log_level level, quire_status code, const char *message);

#endif
