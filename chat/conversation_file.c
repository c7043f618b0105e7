/* SPDX-License-Identifier: Apache-2.0 */
/* conversation_file.c - saves and loads conversations as JSON files. */
#include "conversation_file.h"
#include "base/fnv1a.h"
#include "messages_json.h"
#include "numbers.h"
#include "path.h"
#include "terminal.h"
#include "text.h"
#include "json/parse.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#define FORMAT "quire-chat conversation"
/* Version 2 ends with a checksum: FNV-1a of all bytes before its digits. */
enum { VERSION = 2, FIRST_VERSION = 1, CHECKSUM_DIGITS = 16, MAX_FILE = 64 << 20 };
#define CHECKSUM_KEY "  \"checksum\": \""
#define END          "\"\n}\n"

/* ---- To JSON */

static void add_string(struct text *t, const char *key, const char *value)
{
    text_addf(t, "  \"%s\": ", key);
    text_add_json(t, value, strlen(value));
    text_add(t, ",\n", 2);
}

/* The shortest decimal that round-trips to the same float: 0.8, not 0.800000012. */
static void add_real(struct text *t, const char *key, float value)
{
    char text[40];
    double v;
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (parse_real(text, &v) && (float)v == value)
            break;
    }
    text_addf(t, "    \"%s\": %s,\n", key, text);
}

static void add_integer(struct text *t, const char *key, int64_t value)
{
    text_addf(t, "    \"%s\": %" PRId64 ",\n", key, value);
}

static void add_settings(struct text *t, const struct settings *s)
{
    const struct quire_sampling_params *p = &s->sampling;
    text_addf(t, "  \"options\": {\n");
    for (const struct setting *i = settings_reals; i->name; i++) {
        float value;
        memcpy(&value, (const char *)p + i->param, sizeof value);
        add_real(t, i->name, value);
    }
    for (const struct setting *i = settings_integers; i->name; i++) {
        int32_t value;
        memcpy(&value, (const char *)p + i->param, sizeof value);
        add_integer(t, i->name, value);
    }
    text_addf(t, "    \"samplers\": \"");
    for (int i = 0; i < QUIRE_MAX_SAMPLERS && p->samplers[i]; i++)
        text_addf(t, "%s%s", i ? ";" : "", quire_sampler_name(p->samplers[i]));
    text_addf(t, "\",\n");
    add_integer(t, "seed", (int64_t)p->seed);
    add_integer(t, "max_tokens", s->max_tokens);
    text_addf(t, "    \"stop\": [");
    for (uint32_t i = 0; i < s->n_stop; i++) {
        text_addf(t, i ? ", " : "");
        text_add_json(t, s->stop[i], strlen(s->stop[i]));
    }
    text_addf(t, "]\n  },\n");
}

static void add_messages(struct text *t, const struct conversation *c)
{
    text_addf(t, "  \"messages\": [");
    for (size_t i = 0; i < c->n; i++) {
        const struct message *m = &c->messages[i];
        text_addf(t, "%s    { \"role\": ", i ? ",\n" : "\n");
        text_add_json(t, m->role, strlen(m->role));
        text_addf(t, ", \"content\": ");
        text_add_json(t, m->content, strlen(m->content));
        message_add_members(t, m);
        text_addf(t, " }");
    }
    text_addf(t, "\n  ],\n");
}

static void add_document(struct text *t, const struct conversation *c, const struct settings *s,
                         const char *model)
{
    text_addf(t, "{\n");
    add_string(t, "format", FORMAT);
    text_addf(t, "  \"version\": %d,\n", VERSION);
    add_string(t, "model", model);
    add_settings(t, s);
    add_messages(t, c);
    text_addf(t, CHECKSUM_KEY);
    text_addf(t, "%016" PRIx64 END, qr_fnv1a(QR_FNV1A_INIT, t->data, t->size));
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

static bool temporary_name(const char *path, char out[PATH_MAX])
{
    if ((size_t)snprintf(out, PATH_MAX, "%s.tmp", path) < PATH_MAX)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

/* Removes the temporary file of a save that was killed. A running save holds a lock on its file. */
static void remove_leftover(const char *temporary)
{
    struct stat st;
    const int fd = open(temporary, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        if (errno == ELOOP) /* a symbolic link */
            unlink(temporary);
        return;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlink(temporary);
    close(fd);
}

static bool write_all(int fd, const char *data, size_t size)
{
    while (size) {
        const ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n ? errno : EIO;
            return false;
        }
        data += n;
        size -= (size_t)n;
    }
    return true;
}

static bool write_file(const char *path, const struct text *t)
{
    char temporary[PATH_MAX];
    if (!temporary_name(path, temporary))
        return false;
    remove_leftover(temporary);
    const int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    (void)flock(fd, LOCK_EX | LOCK_NB); /* best effort: some file systems have no locks */
    bool ok = write_all(fd, t->data, t->size) && fsync(fd) == 0;
    ok = ok && rename(temporary, path) == 0 && sync_folder(path);
    const int saved_errno = errno;
    if (close(fd) != 0 && ok)
        return false;
    if (!ok)
        unlink(temporary);
    errno = saved_errno;
    return ok;
}

bool conversation_save(const char *path, const struct conversation *c, const struct settings *s,
                       const char *model)
{
    struct text document = { 0 }, full = { 0 };
    path_add_expanded(&full, path);
    add_document(&document, c, s, model);
    const char *reason =
        document.failed || full.failed ? "out of memory" : path_obstacle(full.data);
    if (!reason && !write_file(full.data, &document))
        reason = strerror(errno);
    if (reason)
        print_message("cannot save %s: %s", path, reason);
    text_free(&document);
    text_free(&full);
    return !reason;
}

/* ---- From JSON */

/* Optional number. */
static bool read_real(const struct qr_json *object, const char *key, float *out)
{
    const struct qr_json *v = qr_json_get(object, key);
    if (qr_json_is_number(v))
        *out = (float)qr_json_number(v);
    return !v || qr_json_is_number(v);
}

static bool read_integer(const struct qr_json *object, const char *key, int64_t min, int64_t max,
                         int64_t *out)
{
    const struct qr_json *v = qr_json_get(object, key);
    if (!v)
        return true;
    *out = qr_json_integer(v);
    return qr_json_is_integer(v) && *out >= min && *out <= max;
}

static bool read_numbers(const struct qr_json *o, struct quire_sampling_params *p)
{
    for (const struct setting *i = settings_reals; i->name; i++)
        if (!read_real(o, i->name, (float *)(void *)((char *)p + i->param)))
            return false;
    for (const struct setting *i = settings_integers; i->name; i++) {
        int32_t *field = (int32_t *)(void *)((char *)p + i->param);
        int64_t value = *field;
        if (!read_integer(o, i->name, -1, INT32_MAX, &value))
            return false;
        *field = (int32_t)value;
    }
    return true;
}

static bool read_settings(const struct qr_json *o, struct settings *out)
{
    struct quire_sampling_params *p = &out->sampling;
    int64_t seed = (int64_t)p->seed, max = out->max_tokens;
    if (!qr_json_is_object(o) || !read_numbers(o, p) ||
        !read_integer(o, "seed", 0, INT64_MAX, &seed) ||
        !read_integer(o, "max_tokens", -1, INT32_MAX, &max))
        return false;
    const struct qr_json *samplers = qr_json_get(o, "samplers");
    const char *names = qr_json_string(samplers);
    if (samplers)
        memset(p->samplers, 0, sizeof p->samplers);
    if (samplers &&
        (!names || (*names && quire_samplers_parse(names, p->samplers, NULL) != QUIRE_OK)))
        return false;
    p->seed = (uint64_t)seed;
    out->max_tokens = (int32_t)max;
    const struct qr_json *stop = qr_json_get(o, "stop");
    for (struct qr_json_iter i = qr_json_iterate(stop); qr_json_next(&i);) {
        const char *text = qr_json_string(i.value);
        if (!text || !*text || !settings_add_stop(out, text))
            return false;
    }
    struct quire_error err = QUIRE_ERROR_INIT;
    return quire_sampling_validate(p, 1, &err) == QUIRE_OK;
}

/* Reads size bytes, or up to the end, and terminates them. */
static bool read_all(int fd, char *data, size_t size, size_t *n)
{
    for (*n = 0; *n < size;) {
        const ssize_t got = read(fd, data + *n, size - *n);
        if (got == 0)
            break;
        if (got < 0 && errno != EINTR)
            return false;
        *n += got > 0 ? (size_t)got : 0;
    }
    data[*n] = 0;
    return true;
}

/* Contents of the file, to be freed. NULL after a message; *code is then the exit code. */
static char *read_file(const char *path, size_t *size, int *code)
{
    struct stat st;
    char *text = NULL;
    const char *reason = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* do not block on a FIFO */
    *code = EX_NOINPUT;
    if (fd < 0 || fstat(fd, &st) != 0) {
        reason = strerror(errno);
    } else if (!S_ISREG(st.st_mode)) {
        reason = "it is not a regular file";
    } else if (st.st_size > MAX_FILE) {
        reason = "it exceeds 64 MiB";
        *code = EX_DATAERR;
    } else if (!(text = malloc((size_t)st.st_size + 1))) {
        reason = "out of memory";
        *code = EX_TEMPFAIL;
    } else if (!read_all(fd, text, (size_t)st.st_size, size)) {
        reason = strerror(errno);
        *code = EX_IOERR;
        free(text);
        text = NULL;
    }
    if (fd >= 0)
        close(fd);
    if (reason)
        print_message("cannot load %s: %s", path, reason);
    return text;
}

static bool checksum_matches(const char *text, size_t size)
{
    enum { TAIL = CHECKSUM_DIGITS + sizeof END - 1 };
    char want[TAIL + 1];
    if (size < TAIL)
        return false;
    snprintf(want, sizeof want, "%016" PRIx64 END, qr_fnv1a(QR_FNV1A_INIT, text, size - TAIL));
    return memcmp(text + size - TAIL, want, TAIL) == 0;
}

/* Why the document is not a conversation of this program, or NULL. */
static const char *check_document(const struct qr_json *root, const char *text, size_t size)
{
    const char *format = qr_json_string(qr_json_get(root, "format"));
    const int64_t version = qr_json_integer(qr_json_get(root, "version"));
    if (!format || strcmp(format, FORMAT) != 0)
        return "neither a conversation file of this program nor an array of messages";
    if (version < FIRST_VERSION || version > VERSION)
        return "another version of the file format";
    if (version == VERSION && !checksum_matches(text, size))
        return "the checksum does not match: the file is damaged, or was edited "
               "(set \"version\" to 1 to load it)";
    return NULL;
}

/* Describes in problem what is wrong. An array has messages alone: the settings stay. */
static bool read_document(const char *text, size_t size, const struct qr_json *root,
                          struct conversation *c, struct settings *s, struct text *problem)
{
    if (qr_json_is_array(root))
        return messages_from_json(root, c, problem);
    const char *what = check_document(root, text, size);
    if (what)
        text_add(problem, what, strlen(what));
    else if (messages_from_json(qr_json_get(root, "messages"), c, problem) &&
             !read_settings(qr_json_get(root, "options"), s))
        text_addf(problem, "invalid options");
    return !problem->size;
}

/* Parses a file and replaces conversation and settings by its contents. */
static int load_text(const char *path, const char *text, size_t size, struct conversation *c,
                     struct settings *s)
{
    struct conversation messages = { 0 };
    struct settings settings = { .sampling = s->sampling, .max_tokens = s->max_tokens };
    struct text problem = { 0 };
    struct qr_json_error error;
    struct qr_json *root = qr_json_parse(text, size, 0, NULL, &error);
    const bool ok = root && read_document(text, size, root, &messages, &settings, &problem);
    if (!root)
        print_message("cannot load %s: line %u: %s %s", path, error.line, error.text, error.key);
    else if (!ok)
        print_message("cannot load %s: %s", path, problem.failed ? "out of memory" : problem.data);
    if (ok)
        conversation_replace(c, &messages);
    conversation_free(&messages);
    if (ok && !qr_json_is_array(root)) {
        settings_free(s);
        *s = settings;
    } else {
        settings_free(&settings);
    }
    qr_json_free(root);
    text_free(&problem);
    return ok ? 0 : EX_DATAERR;
}

int conversation_load(const char *path, struct conversation *c, struct settings *s)
{
    struct text full = { 0 };
    char temporary[PATH_MAX];
    size_t size = 0;
    int code = EX_TEMPFAIL;
    path_add_expanded(&full, path);
    if (!full.failed && temporary_name(full.data, temporary))
        remove_leftover(temporary);
    char *text = full.failed ? NULL : read_file(full.data, &size, &code);
    text_free(&full);
    if (!text)
        return code;
    code = load_text(path, text, size, c, s);
    free(text);
    return code;
}
