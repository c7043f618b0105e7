/* SPDX-License-Identifier: Apache-2.0 */
/* check_events.c - checks the output of quire-chat --json. Usage: check_events FILE
 *
 * Every line must be an event, and every done event must hold the concatenated text of its token
 * events. Prints one line per event other than token, for grep. Exit code 1: malformed. */
#include <jansson.h>
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

static int check_token(const json_t *event, int line)
{
    const json_t *text = json_object_get(event, "text");
    if (!json_is_string(text) || json_object_size(event) != 2 || json_string_length(text) == 0)
        return malformed(line, "a token event without text");
    if (n_pieces + json_string_length(text) >= sizeof pieces)
        return malformed(line, "more text than the test can hold");
    memcpy(pieces + n_pieces, json_string_value(text), json_string_length(text));
    n_pieces += json_string_length(text);
    return 0;
}

static int check_done(json_t *event, int line)
{
    const char *reason, *text;
    size_t size;
    json_int_t prompt, cached, completion, seed;
    double speed;
    int full;
    if (json_unpack(event, "{s:s, s:s%, s:I, s:I, s:I, s:I, s:F, s:b}", "reason", &reason, "text",
                    &text, &size, "prompt_tokens", &prompt, "cached_tokens", &cached,
                    "completion_tokens", &completion, "seed", &seed, "tokens_per_second", &speed,
                    "context_full", &full) != 0)
        return malformed(line, "a done event with missing fields");
    if (size != n_pieces || memcmp(text, pieces, size) != 0)
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
    json_error_t error;
    json_t *event = json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    const char *kind = json_string_value(json_object_get(event, "event"));
    int bad;
    if (!kind)
        bad = malformed(line, event ? "no event" : error.text);
    else if (strcmp(kind, "token") == 0)
        bad = check_token(event, line);
    else if (strcmp(kind, "done") == 0)
        bad = check_done(event, line);
    else
        bad = printf("%s code=%s\n", kind, json_string_value(json_object_get(event, "code"))) < 0;
    json_decref(event);
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
