/* SPDX-License-Identifier: Apache-2.0 */
/* check_events.c - checks the output of quire-chat --json. Usage: check_events FILE
 *
 * Every line must be an event, and every done event must hold the concatenated text of its token
 * events. Prints one line per event other than token, for grep. Exit code 1: malformed. */
#include "json/parse.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int malformed(int line, const char *what)
{
    printf("line %d: %s\n", line, what);
    return 1;
}

static char pieces[1 << 22]; /* text of the token events since the last done event */
static size_t n_pieces;

static int check_token(const struct qr_json *event, int line)
{
    const struct qr_json *text = qr_json_get(event, "text");
    if (!qr_json_is_string(text) || qr_json_size(event) != 2 || qr_json_string_size(text) == 0)
        return malformed(line, "a token event without text");
    if (n_pieces + qr_json_string_size(text) >= sizeof pieces)
        return malformed(line, "more text than the test can hold");
    memcpy(pieces + n_pieces, qr_json_string(text), qr_json_string_size(text));
    n_pieces += qr_json_string_size(text);
    return 0;
}

static int check_done(const struct qr_json *event, int line)
{
    static const char *const counts[] = { "prompt_tokens", "cached_tokens", "completion_tokens",
                                          "seed" };
    const char *reason = qr_json_string(qr_json_get(event, "reason"));
    const char *text = qr_json_string(qr_json_get(event, "text"));
    const struct qr_json *rate = qr_json_get(event, "tokens_per_second");
    const struct qr_json *context_full = qr_json_get(event, "context_full");
    int64_t count[4];
    for (int i = 0; i < 4; i++) {
        if (!qr_json_is_integer(qr_json_get(event, counts[i])))
            return malformed(line, "a done event without counts");
        count[i] = qr_json_integer(qr_json_get(event, counts[i]));
    }
    if (!reason || !text || !qr_json_is_number(rate) || !qr_json_is_bool(context_full))
        return malformed(line, "a done event with missing fields");
    const int64_t prompt = count[0], cached = count[1], completion = count[2], seed = count[3];
    const double speed = qr_json_number(rate);
    const bool full = qr_json_is_true(context_full);
    if (strlen(text) != n_pieces || memcmp(text, pieces, n_pieces) != 0)
        return malformed(line, "the answer differs from its token events");
    if (prompt < 1 || cached < 0 || cached >= prompt || completion < 0 || speed < 0)
        return malformed(line, "impossible counts");
    n_pieces = 0;
    printf("done reason=%s cached=%s completion=%lld seed=%lld full=%s text=%s\n", reason,
           cached ? "some" : "none", (long long)completion, (long long)seed, full ? "yes" : "no",
           text);
    return 0;
}

static int check_line(const char *text, int line)
{
    struct qr_json_error error;
    struct qr_json *event = qr_json_parse(text, strlen(text), 0, NULL, &error);
    const char *kind = qr_json_string(qr_json_get(event, "event"));
    int bad;
    if (!kind)
        bad = malformed(line, event ? "no event" : error.text);
    else if (strcmp(kind, "token") == 0)
        bad = check_token(event, line);
    else if (strcmp(kind, "done") == 0)
        bad = check_done(event, line);
    else
        bad = printf("%s code=%s\n", kind, qr_json_string(qr_json_get(event, "code"))) < 0;
    qr_json_free(event);
    return bad;
}

int main(int argc, char **argv)
{
    FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (!f)
        return 2;
    char *line = NULL;
    size_t capacity = 0;
    int bad = 0, n = 0;
    while (!bad && getline(&line, &capacity, f) >= 0)
        bad = check_line(line, ++n);
    free(line);
    fclose(f);
    return bad || n == 0;
}
