/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c - slash commands. */
#include "commands.h"
#include "conversation_file.h"
#include "report.h"
#include "terminal.h"
#include "turn.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef bool command_fn(struct session *s, const char *argument);

static command_fn help, system_message, set, stats, regenerate, resume, undo, reset, save, load,
    begin, switch_to, list, close_current, quit;

static const struct command {
    const char *name, *argument, *help; /* argument: NULL = none; in brackets: optional */
    command_fn *run;
} commands[] = {
    { "/help", NULL, "list the commands", help },
    { "/system", "[TEXT]", "set the system message; without TEXT remove it", system_message },
    { "/set", "NAME VALUE", "set a sampling parameter or the length: temp, top-k, predict, ...",
      set },
    { "/stats", NULL, "print speed, context use, sampling parameters and seed", stats },
    { "/regen", NULL, "generate the last answer again", regenerate },
    { "/continue", NULL, "continue the last answer", resume },
    { "/undo", NULL, "remove the last turn", undo },
    { "/reset", NULL, "clear the conversation but the system message", reset },
    { "/clear", NULL, "the same as /reset", reset },
    { "/save", "FILE", "save the conversation and its settings", save },
    { "/load", "FILE", "load a saved conversation, or a JSON array of messages", load },
    { "/new", "[NAME]", "begin a conversation with the same system message", begin },
    { "/switch", "NAME|NUMBER", "go on with another conversation", switch_to },
    { "/list", NULL, "list the conversations", list },
    { "/close", NULL, "remove this conversation", close_current },
    { "/exit", NULL, "exit (also exit, quit and Ctrl-D)", quit },
    { "/quit", NULL, "the same as /exit", quit },
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static bool help(struct session *s, const char *argument)
{
    (void)s, (void)argument;
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(stderr, "  %-9s %-11s %s\n", commands[i].name,
                commands[i].argument ? commands[i].argument : "", commands[i].help);
    fputs(
        "  \"\"\"                   begins and ends a multi-line turn; pasted lines are one turn\n"
        "  Alt-Enter             begins a new line of the turn\n"
        "  Tab                   completes commands, file names and conversations\n"
        "  Ctrl-C                cancels the answer; pressed again, exits\n",
        stderr);
    return false;
}

/* Confirms a command. */
static void confirm(const struct session *s, const char *what)
{
    if (!s->options->quiet)
        print_message("%s", what);
}

static bool system_message(struct session *s, const char *argument)
{
    if (session_set_system(s, *argument ? argument : NULL))
        confirm(s, *argument ? "the system message is set" : "the system message is removed");
    else
        print_message("out of memory");
    return false;
}

static bool set(struct session *s, const char *argument)
{
    const size_t n = strcspn(argument, " \t");
    char *name = strndup(argument, n);
    const char *value = argument + n + strspn(argument + n, " \t");
    if (!name)
        print_message("out of memory");
    else if (!*value)
        print_message("/set needs a NAME and a VALUE");
    else if (settings_set(&s->settings, name, value))
        confirm(s, "set; /stats prints all parameters");
    free(name);
    return false;
}

static bool regenerate(struct session *s, const char *argument)
{
    (void)argument;
    quire_status status;
    (void)turn_regenerate(s, &status);
    return false;
}

static bool resume(struct session *s, const char *argument)
{
    (void)argument;
    quire_status status;
    (void)turn_continue(s, &status);
    return false;
}

static bool undo(struct session *s, const char *argument)
{
    (void)argument;
    if (session_undo(s))
        confirm(s, "the last turn is removed");
    else
        print_message("there is no turn to remove");
    return false;
}

static bool reset(struct session *s, const char *argument)
{
    (void)argument;
    session_reset(s);
    confirm(s, "the conversation is cleared");
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
    if (conversation_save(argument, s->conversation, &s->settings, s->model_name) &&
        !s->options->quiet)
        print_message("saved %zu messages to %s", s->conversation->n, argument);
    return false;
}

static bool load(struct session *s, const char *argument)
{
    if (session_load(s, argument) == 0 && !s->options->quiet)
        print_message("loaded %zu messages from %s", s->conversation->n, argument);
    return false;
}

/* Argument of a command without blanks at its end. NULL: out of memory, which is printed. */
static char *copy_name(const char *argument)
{
    size_t n = strlen(argument);
    while (n && (argument[n - 1] == ' ' || argument[n - 1] == '\t'))
        n--;
    char *name = strndup(argument, n);
    if (!name)
        print_message("out of memory");
    return name;
}

static size_t count_turns(const struct conversation *c)
{
    size_t n = 0;
    for (size_t i = conversation_next_turn(c, 0); i < c->n; i = conversation_next_turn(c, i + 1))
        n++;
    return n;
}

/* Prints which conversation is the current one. */
static void confirm_current(const struct session *s)
{
    const struct conversation *c = s->conversation;
    const size_t n = count_turns(c);
    struct text name = { 0 };
    conversation_add_name(c, &name);
    if (!s->options->quiet && !name.failed && (c->name || n))
        print_message("conversation %" PRIu64 ": %s, %zu turn%s", c->number, name.data, n,
                      n == 1 ? "" : "s");
    else if (!s->options->quiet)
        print_message("conversation %" PRIu64 ", %zu turns", c->number, n);
    text_free(&name);
}

static bool begin(struct session *s, const char *argument)
{
    char *name = copy_name(argument);
    const char *problem =
        name && *name ? conversation_list_check_name(&s->conversations, name) : NULL;
    if (problem)
        print_message("/new: %s", problem);
    else if (name && !session_new(s, *name ? name : NULL))
        print_message("out of memory");
    else if (name)
        confirm_current(s);
    free(name);
    return false;
}

static bool switch_to(struct session *s, const char *argument)
{
    const char *problem = NULL;
    char *name = copy_name(argument);
    struct conversation *c =
        name ? conversation_list_find(&s->conversations, name, &problem) : NULL;
    free(name);
    if (c) {
        s->conversation = c;
        confirm_current(s);
    } else if (problem) {
        print_message("/switch: %s", problem);
    }
    return false;
}

static bool list(struct session *s, const char *argument)
{
    (void)argument;
    struct text out = { 0 };
    text_addf(&out, "      turns  tokens  name\n");
    for (size_t i = 0; i < s->conversations.n; i++) {
        const struct conversation *c = s->conversations.items[i];
        text_addf(&out, "%c%4" PRIu64 " %6zu", c == s->conversation ? '*' : ' ', c->number,
                  count_turns(c));
        if (c->n_tokens)
            text_addf(&out, " %7" PRIu32 "  ", c->n_tokens);
        else
            text_addf(&out, "       -  ");
        conversation_add_name(c, &out); /* has no control characters */
        text_add(&out, "\n", 1);
    }
    if (!out.failed)
        fwrite(out.data, 1, out.size, stderr);
    text_free(&out);
    return false;
}

static bool close_current(struct session *s, const char *argument)
{
    (void)argument;
    const uint64_t number = s->conversation->number;
    if (!session_close_conversation(s)) {
        print_message("out of memory");
        return false;
    }
    if (!s->options->quiet)
        print_message("conversation %" PRIu64 " is closed", number);
    confirm_current(s);
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
        const bool optional = c->argument && c->argument[0] == '[';
        if (optional || !c->argument == !*argument)
            return c->run(s, argument);
        if (c->argument)
            print_message("%s needs %s", c->name, c->argument);
        else
            print_message("%s takes no argument", c->name);
        return false;
    }
    print_message("unknown command %.*s; /help lists the commands", (int)n, line);
    return false;
}
