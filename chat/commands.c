/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c - what /help, /reset and the others do. */
#include "commands.h"
#include "terminal.h"
#include <stdio.h>
#include <string.h>

typedef bool command_fn(struct session *s, const char *argument);

static command_fn help, reset, again, stats, save, load, quit;

static const struct command {
    const char *name, *argument, *help;
    command_fn *run;
} commands[] = {
    { "/help", NULL, "show this", help },
    { "/reset", NULL, "forget the conversation", reset },
    { "/regen", NULL, "answer the last turn again", again },
    { "/stats", NULL, "speed, context in use, sampling and seed", stats },
    { "/save", "FILE", "write the conversation to a file", save },
    { "/load", "FILE", "go on with a conversation from a file", load },
    { "/quit", NULL, "leave (also Ctrl-D)", quit },
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static bool help(struct session *s, const char *argument)
{
    (void)s, (void)argument;
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(stderr, "  %-7s %-5s %s\n", commands[i].name,
                commands[i].argument ? commands[i].argument : "", commands[i].help);
    fputs("  \"\"\"           begins and ends a turn of several lines\n"
          "  Ctrl-C        stops the answer; a second time it leaves\n",
          stderr);
    return false;
}

static bool reset(struct session *s, const char *argument)
{
    (void)argument;
    if (!session_reset(s))
        complain("out of memory");
    return false;
}

static bool again(struct session *s, const char *argument)
{
    (void)argument;
    quire_status status;
    (void)session_again(s, &status);
    return false;
}

static bool stats(struct session *s, const char *argument)
{
    (void)argument;
    struct text out = { 0 }, safe = { 0 };
    report_stats(s, &out);
    text_add_escaped(&safe, out.data, out.size); /* the model's name is the file's */
    if (!safe.failed)
        fwrite(safe.data, 1, safe.size, stderr);
    text_free(&out);
    text_free(&safe);
    return false;
}

static bool save(struct session *s, const char *argument)
{
    if (conversation_save(argument, &s->talk, &s->settings, s->model_name))
        complain("saved %zu messages to %s", s->talk.n, argument);
    return false;
}

static bool load(struct session *s, const char *argument)
{
    if (conversation_load(argument, &s->talk, &s->settings)) {
        s->attempt = 0;
        complain("loaded %zu messages from %s", s->talk.n, argument);
    }
    return false;
}

static bool quit(struct session *s, const char *argument)
{
    (void)s, (void)argument;
    return true;
}

bool run_command(struct session *s, const char *line)
{
    const size_t n = strcspn(line, " \t");
    const char *argument = line + n + strspn(line + n, " \t");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const struct command *c = &commands[i];
        if (strlen(c->name) != n || strncmp(c->name, line, n) != 0)
            continue;
        if (!c->argument == !*argument)
            return c->run(s, argument);
        complain(c->argument ? "%s needs a file" : "%s takes nothing", c->name);
        return false;
    }
    complain("no command %.*s; /help lists them", (int)n, line);
    return false;
}
