/* SPDX-License-Identifier: Apache-2.0 */
#include "tools.h"
#include "command_words.h"
#include "input_file.h"
#include "terminal.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

static int check_options(const struct options *o)
{
    const char *needs = o->tool_exec ? "--tool-exec" : o->tool_choice ? "--tool-choice" : NULL;
    if (o->tool_yes && !o->tool_exec)
        print_message("--tool-yes needs --tool-exec");
    else if (o->tool_timeout == 0)
        print_message("--tool-timeout: 0 seconds; give 1 or more");
    else if (!o->tools && needs)
        print_message("%s needs --tools", needs);
    else if (o->tools && o->raw)
        print_message("--tools is not possible with --no-cnv: the chat template describes them");
    else if (o->tools && (o->grammar || o->regex))
        print_message("--tools is not combined with --grammar and --regex");
    else
        return 0;
    return EX_USAGE;
}

static int read_list(struct tools *t, const char *path)
{
    struct text text = { 0 }, problem = { 0 };
    int code = input_file_read(path, &text);
    if (code == 0 && !tool_list_parse(&t->list, text.data, text.size, &problem)) {
        print_message("--tools %s: %s", path, problem.failed ? "out of memory" : problem.data);
        code = EX_DATAERR;
    }
    text_free(&text);
    text_free(&problem);
    return code;
}

static int set_choice(struct tools *t, const char *choice)
{
    static const char *const names[] = { "auto", "none", "required" };
    static const enum quire_tool_choice values[] = { QUIRE_TOOL_CHOICE_AUTO, QUIRE_TOOL_CHOICE_NONE,
                                                     QUIRE_TOOL_CHOICE_REQUIRED };
    for (int i = 0; i < 3; i++)
        if (!choice || strcmp(choice, names[i]) == 0) {
            t->choice = values[i];
            return 0;
        }
    t->choice = QUIRE_TOOL_CHOICE_NAMED;
    t->name = choice;
    if (tool_list_find(&t->list, choice))
        return 0;
    print_message("--tool-choice: '%s' is neither auto, none or required nor a tool", choice);
    return EX_USAGE;
}

/* Without a terminal nobody can be asked. */
static int open_exec(struct tools *t, const struct options *o)
{
    const char *problem;
    t->words = command_words(o->tool_exec, &problem);
    if (!t->words) {
        print_message("--tool-exec: %s", problem);
        return EX_USAGE;
    }
    const int error = command_check(t->words[0]);
    if (error) {
        print_message("--tool-exec: cannot run %s: %s", t->words[0], strerror(error));
        return EX_NOINPUT;
    }
    t->terminal = o->tool_yes ? -1 : open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (t->terminal >= 0 || o->tool_yes)
        return 0;
    print_message("--tool-exec asks before each call, and there is no terminal: --tool-yes runs "
                  "calls without asking");
    return EX_USAGE;
}

int tools_open(struct tools *t, const struct options *o)
{
    *t = (struct tools){ .terminal = -1 };
    int code = check_options(o);
    if (code || !o->tools)
        return code;
    code = read_list(t, o->tools);
    if (code == 0)
        code = set_choice(t, o->tool_choice);
    if (code == 0 && o->tool_exec)
        code = open_exec(t, o);
    return code;
}

void tools_close(struct tools *t)
{
    tool_list_free(&t->list);
    free(t->words);
    t->words = NULL;
    if (t->terminal > 2)
        close(t->terminal);
    t->terminal = -1;
}

bool tools_are_offered(const struct tools *t)
{
    return t->list.json && t->choice != QUIRE_TOOL_CHOICE_NONE;
}
