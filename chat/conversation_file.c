/* SPDX-License-Identifier: Apache-2.0 */
/* conversation_file.c - saves and loads conversations as JSON files. */
#include "conversation_file.h"
#include "messages_json.h"
#include "numbers.h"
#include "path.h"
#include "terminal.h"
#include "text.h"
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#define FORMAT "quire-chat conversation"
enum { VERSION = 1, MAX_FILE = 64 << 20 };

/* ---- To JSON */

/* The shortest decimal that round-trips to the same float: 0.8, not 0.800000012. */
static json_t *shortest_real(float value)
{
    double v = value;
    for (int digits = 6; digits <= 9; digits++) {
        char text[40];
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (parse_real(text, &v) && (float)v == value)
            break;
    }
    return json_real(v);
}

static json_t *settings_to_json(const struct settings *s)
{
    const struct quire_sampling_params *p = &s->sampling;
    json_t *stop = json_array();
    for (uint32_t i = 0; stop && i < s->n_stop; i++)
        json_array_append_new(stop, json_string(s->stop[i]));
    return json_pack("{s:o*, s:i, s:o*, s:o*, s:o*, s:o*, s:o*, s:i, s:I, s:i, s:o*}",
                     "temperature", shortest_real(p->temperature), "top_k", (int)p->top_k, "top_p",
                     shortest_real(p->top_p), "min_p", shortest_real(p->min_p), "repeat_penalty",
                     shortest_real(p->repetition_penalty), "presence_penalty",
                     shortest_real(p->presence_penalty), "frequency_penalty",
                     shortest_real(p->frequency_penalty), "repeat_last_n", (int)p->penalty_last_n,
                     "seed", (json_int_t)p->seed, "max_tokens", (int)s->max_tokens, "stop", stop);
}

static json_t *to_json(const struct conversation *c, const struct settings *s, const char *model)
{
    json_t *messages = json_array();
    for (size_t i = 0; messages && i < c->n; i++)
        if (json_array_append_new(messages, json_pack("{s:s, s:s}", "role", c->messages[i].role,
                                                      "content", c->messages[i].content)) != 0) {
            json_decref(messages);
            return NULL;
        }
    return json_pack("{s:s, s:i, s:s, s:o, s:o}", "format", FORMAT, "version", VERSION, "model",
                     model, "options", settings_to_json(s), "messages", messages);
}

static bool sync_folder(const char *path)
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    const int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const bool ok =
        fsync(fd) == 0 || errno == EINVAL; /* file systems without fsync of directories */
    close(fd);
    return ok;
}

/* Returns NULL, or what failed. */
static const char *write_file(const char *path, const json_t *root)
{
    const char *reason = path_obstacle(path);
    if (reason)
        return reason;
    char temporary[PATH_MAX];
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= sizeof temporary)
        return strerror(ENAMETOOLONG);
    const int fd = mkostemp(temporary, O_CLOEXEC); /* mode 0600 */
    if (fd < 0)
        return strerror(errno);
    errno = EIO;
    bool ok = json_dumpfd(root, fd, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) == 0 &&
              write(fd, "\n", 1) == 1 && fsync(fd) == 0;
    ok = close(fd) == 0 && ok;
    ok = ok && rename(temporary, path) == 0 && sync_folder(path);
    if (ok)
        return NULL;
    reason = strerror(errno);
    unlink(temporary);
    return reason;
}

bool conversation_save(const char *path, const struct conversation *c, const struct settings *s,
                       const char *model)
{
    struct text full = { 0 };
    path_add_expanded(&full, path);
    json_t *root = to_json(c, s, model);
    const char *reason = root && !full.failed ? write_file(full.data, root) : "out of memory";
    if (reason)
        print_message("cannot save %s: %s", path, reason);
    json_decref(root);
    text_free(&full);
    return !reason;
}

/* ---- From JSON */

/* Optional number. */
static bool read_real(const json_t *object, const char *key, float *out)
{
    const json_t *v = json_object_get(object, key);
    if (json_is_number(v))
        *out = (float)json_number_value(v);
    return !v || json_is_number(v);
}

static bool read_integer(const json_t *object, const char *key, json_int_t min, json_int_t max,
                         json_int_t *out)
{
    const json_t *v = json_object_get(object, key);
    if (!v)
        return true;
    *out = json_integer_value(v);
    return json_is_integer(v) && *out >= min && *out <= max;
}

static bool read_settings(const json_t *o, struct settings *out)
{
    struct quire_sampling_params *p = &out->sampling;
    json_int_t top_k = p->top_k, last_n = p->penalty_last_n, seed = (json_int_t)p->seed,
               max = out->max_tokens;
    if (!json_is_object(o) || !read_real(o, "temperature", &p->temperature) ||
        !read_real(o, "top_p", &p->top_p) || !read_real(o, "min_p", &p->min_p) ||
        !read_real(o, "repeat_penalty", &p->repetition_penalty) ||
        !read_real(o, "presence_penalty", &p->presence_penalty) ||
        !read_real(o, "frequency_penalty", &p->frequency_penalty) ||
        !read_integer(o, "top_k", -1, INT32_MAX, &top_k) ||
        !read_integer(o, "repeat_last_n", -1, INT32_MAX, &last_n) ||
        !read_integer(o, "seed", 0, INT64_MAX, &seed) ||
        !read_integer(o, "max_tokens", -1, INT32_MAX, &max))
        return false;
    p->top_k = (int32_t)top_k;
    p->penalty_last_n = (int32_t)last_n;
    p->seed = (uint64_t)seed;
    out->max_tokens = (int32_t)max;
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(o, "stop"), i, item)
    {
        if (!json_is_string(item) || !*json_string_value(item) ||
            !settings_add_stop(out, json_string_value(item)))
            return false;
    }
    struct quire_error err = QUIRE_ERROR_INIT;
    return quire_sampling_validate(p, 1, &err) == QUIRE_OK;
}

/* Returns the parsed file, or NULL after printing the failure, whose exit code is *code. */
static json_t *read_file(const char *path, int *code)
{
    struct stat st;
    json_error_t error;
    json_t *root = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* do not block on a FIFO */
    *code = EX_DATAERR;
    if (fd < 0 || fstat(fd, &st) != 0) {
        *code = EX_NOINPUT;
        print_message("cannot load %s: %s", path, strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        *code = EX_NOINPUT;
        print_message("cannot load %s: it is not a regular file", path);
    } else if (st.st_size > MAX_FILE) {
        print_message("cannot load %s: it exceeds %d MiB", path, MAX_FILE >> 20);
    } else if (!(root = json_loadfd(fd, JSON_REJECT_DUPLICATES, &error))) {
        print_message("cannot load %s: line %d: %s", path, error.line, error.text);
    }
    if (fd >= 0)
        close(fd);
    return root;
}

/* Describes in problem what is wrong. */
static bool read_root(json_t *root, struct conversation *c, struct settings *s,
                      struct text *problem)
{
    if (json_is_array(root))
        return messages_from_json(root, c, problem);
    const char *format = json_string_value(json_object_get(root, "format"));
    if (!format || strcmp(format, FORMAT) != 0)
        text_addf(problem, "neither a conversation file of this program nor an array of messages");
    else if (json_integer_value(json_object_get(root, "version")) != VERSION)
        text_addf(problem, "the file has another version than %d", VERSION);
    else if (messages_from_json(json_object_get(root, "messages"), c, problem) &&
             !read_settings(json_object_get(root, "options"), s))
        text_addf(problem, "invalid options");
    return !problem->size;
}

int conversation_load(const char *path, struct conversation *c, struct settings *s)
{
    struct text full = { 0 }, problem = { 0 };
    path_add_expanded(&full, path);
    int code = EX_TEMPFAIL;
    json_t *root = NULL;
    if (full.failed)
        print_message("cannot load %s: out of memory", path);
    else
        root = read_file(full.data, &code);
    text_free(&full);
    if (!root)
        return code;
    struct conversation messages = { 0 };
    struct settings settings = { .sampling = s->sampling, .max_tokens = s->max_tokens };
    const bool keeps_settings = json_is_array(root);
    const bool ok = read_root(root, &messages, &settings, &problem);
    json_decref(root);
    if (!ok) {
        print_message("cannot load %s: %s", path, problem.failed ? "out of memory" : problem.data);
        text_free(&problem);
        conversation_free(&messages);
        settings_free(&settings);
        return EX_DATAERR;
    }
    conversation_free(c);
    *c = messages;
    if (keeps_settings)
        return 0;
    settings_free(s);
    *s = settings;
    return 0;
}
