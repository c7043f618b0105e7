/* SPDX-License-Identifier: Apache-2.0 */
/* tool_list.h - the tools of --tools. */
#ifndef QUIRE_CHAT_TOOL_LIST_H
#define QUIRE_CHAT_TOOL_LIST_H
#include "text.h"

struct tool {
    char *name;
    bool always; /* its calls run without a question */
};

/* Owns its memory. Zeroes = no tools. */
struct tool_list {
    /* array of {"type":"function","function":{"name", ...}}, as templates expect it; or NULL */
    char *json;
    struct tool *tools; /* [n] in the order of the text */
    size_t n;
};

/* Reads tools: an array, an object with a member "tools" that is one, or one tool. A tool is
 * {"type":"function","function":{...}}, or the inner object alone. False: what is wrong is
 * described in problem, with its place, and the list is empty. Schemas are not checked. */
bool tool_list_parse(struct tool_list *list, const char *text, size_t size, struct text *problem);
void tool_list_free(struct tool_list *list);

/* The tool of a name, or NULL. */
struct tool *tool_list_find(const struct tool_list *list, const char *name);

#endif
