/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c - slash commands. */
#include "commands.h"
#include "conversation_file.h"
#include "report.h"
#include "terminal.h"
#include <stdio.h>
#include <string.h>

typedef bool command_fn(struct session *s, const char *argument);

static command_fn help, reset, regenerate, stats, save, load, quit;

static const struct command {
    const char *name, *argument, *help;
    command_fn *run;
} commands[] = {
    { "/help", NULL, "list the commands", help },
    { "/reset", NULL, "clear the conversation", reset },
    { "/regen", NULL, "generate the last answer again", regenerate },
    { "/stats", NULL, "print speed, context use, sampling parameters and seed", stats },
    { "/save", "FILE", "save the conversation", save },
    { "/load", "FILE", "load a conversation", load },
    { "/quit", NULL, "exit (also exit, quit and Ctrl-D)", quit },
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static bool help(struct session *s, const char *argument)
{
    (void)s, (void)argument;
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(stderr, "  %-7s %-5s %s\n", commands[i].name,
                commands[i].argument ? commands[i].argument : "", commands[i].help);
    fputs("  \"\"\"           begins and ends a multi-line turn; pasted lines are one turn\n"
          "  Alt-Enter     begins a new line of the turn\n"
          "  Tab           completes commands and file names\n"
          "  Ctrl-C        cancels the answer; pressed again, exits\n",
          stderr);
    return false;
}

static bool reset(struct session *s, const char *argument)
{
    (void)argument;
    if (!session_reset(s))
        print_message("out of memory");
    return false;
}

static bool regenerate(struct session *s, const char *argument)
{
    (void)argument;
    quire_status status;
    (void)session_regenerate(s, &status);
    return false;
}

static bool stats(struct session *s, const char *argument)
{
    (void)argument;
    struct text out = { 0 }, safe = { 0 };
    report_stats(s, &out);
    text_add_escaped(&safe, out.data, out.size); /* the model name comes from the file: untrusted */
    if (!safe.failed)
        fwrite(safe.data, 1, safe.size, stderr);
    text_free(&out);
    text_free(&safe);
    return false;
}

static bool save(struct session *s, const char *argument)
{
    if (conversation_save(argument, &s->conversation, &s->settings, s->model_name))
        print_message("saved %zu messages to %s", s->conversation.n, argument);
    return false;
}

static bool load(struct session *s, const char *argument)
{
    if (conversation_load(argument, &s->conversation, &s->settings)) {
        s->regenerations = 0;
        print_message("loaded %zu messages from %s", s->conversation.n, argument);
    }
    return false;
}

static bool quit(struct session *s, const char *argument)
{
    (void)s, (void)argument;
    return true;
}

const char *command_name(size_t i, const char **argument)
{
    *argument = i < N_COMMANDS ? commands[i].argument : NULL;
    return i < N_COMMANDS ? commands[i].name : NULL;
}

static bool is_quit(const char *turn)
{
    const bool word = strncmp(turn, "exit", 4) == 0 || strncmp(turn, "quit", 4) == 0;
    return word && !turn[4 + strspn(turn + 4, " \t")];
}

bool is_command(const char *turn)
{
    return is_quit(turn) || (turn[0] == '/' && !strchr(turn, '\n'));
}

bool run_command(struct session *s, const char *line)
{
    if (is_quit(line))
        return true;
    const size_t n = strcspn(line, " \t");
    const char *argument = line + n + strspn(line + n, " \t");
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const struct command *c = &commands[i];
        if (strlen(c->name) != n || strncmp(c->name, line, n) != 0)
            continue;
        if (!c->argument == !*argument)
            return c->run(s, argument);
        print_message(c->argument ? "%s needs a file name" : "%s takes no argument", c->name);
        return false;
    }
    print_message("unknown command %.*s; /help lists the commands", (int)n, line);
    return false;
}
