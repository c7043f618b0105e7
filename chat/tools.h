/* SPDX-License-Identifier: Apache-2.0 */
/* tools.h - --tools, --tool-choice and --tool-exec. */
#ifndef QUIRE_CHAT_TOOLS_H
#define QUIRE_CHAT_TOOLS_H
#include "options.h"
#include "tool_list.h"
#include <quire/chat_output.h>

struct tools {
    struct tool_list list; /* empty: none are offered */
    enum quire_tool_choice choice;
    const char *name; /* the tool of QUIRE_TOOL_CHOICE_NAMED, borrowed from the options */
    char **words;     /* of --tool-exec, ended by NULL; or NULL */
    int terminal;     /* descriptor of the terminal that is asked before a call, or -1 */
};

/* Reads the tools and checks the options. Returns 0, or after printing the failure its exit code:
 * no answer is generated without the tools. */
int tools_open(struct tools *t, const struct options *o);
void tools_close(struct tools *t);

/* Whether the model sees the tools. */
bool tools_are_offered(const struct tools *t);

#endif
