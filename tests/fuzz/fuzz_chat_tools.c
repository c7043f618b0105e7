/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_chat_tools.c - tools and commands of the chat program.
 *
 * Checks that the tools of a text are an array that gives the same tools again and that templates
 * and parsers of answers can read, and that the words of a command are made of its bytes. */
#include "command_words.h"
#include "fuzz.h"
#include "json_mutator.h"
#include "tool_list.h"
#include "json/parse.h"
#include <quire/chat_output.h>
#include <stdlib.h>
#include <string.h>

static void check_again(const struct tool_list *list)
{
    struct tool_list again;
    struct text problem = { 0 };
    fuzz_check(tool_list_parse(&again, list->json, strlen(list->json), &problem), "%s: %s",
               list->json, problem.data);
    fuzz_check(again.n == list->n && strcmp(again.json, list->json) == 0, "%s, then %s", list->json,
               again.json);
    for (size_t i = 0; i < list->n; i++)
        fuzz_check(strcmp(again.tools[i].name, list->tools[i].name) == 0, "name %zu", i);
    tool_list_free(&again);
    text_free(&problem);
}

/* Wrapped tools, each with its name. */
static void check_json(const struct tool_list *list)
{
    struct qr_json_error error;
    struct qr_json *root = qr_json_parse(list->json, strlen(list->json), 0, NULL, &error);
    fuzz_check(qr_json_is_array(root) && qr_json_size(root) == list->n, "%s: %s", list->json,
               root ? "size" : error.text);
    for (struct qr_json_iter i = qr_json_iterate(root); qr_json_next(&i);) {
        const char *name = qr_json_string(qr_json_get(qr_json_get(i.value, "function"), "name"));
        fuzz_check(name && strcmp(name, list->tools[i.index].name) == 0, "tool %zu of %s", i.index,
                   list->json);
    }
    qr_json_free(root);
}

/* The library reads the array, or says why it does not. */
static void check_library(const struct tool_list *list)
{
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_chat_output *out;
    struct quire_chat_output_params p;
    quire_chat_output_params_init(&p, sizeof p);
    p.format = "hermes";
    p.tools_json = list->json;
    const quire_status s = quire_chat_output_create(&p, &out, &err);
    fuzz_check(s == QUIRE_OK || err.msg[0], "status %d without a message", (int)s);
    quire_chat_output_destroy(out);
}

static void check_tools(const char *text, size_t size)
{
    struct tool_list list;
    struct text problem = { 0 };
    if (tool_list_parse(&list, text, size, &problem)) {
        fuzz_check(list.n && !problem.size, "%zu tools, %s", list.n, problem.data);
        check_json(&list);
        check_again(&list);
        check_library(&list);
    } else {
        fuzz_check(problem.size && !list.json && !list.n, "a refusal without a reason");
    }
    tool_list_free(&list);
    text_free(&problem);
}

static void check_words(const char *command)
{
    const char *problem;
    char **words = command_words(command, &problem);
    size_t bytes = 0;
    fuzz_check(!words == !!problem, "%s", problem ? problem : "no words and no problem");
    for (size_t i = 0; words && words[i]; i++)
        bytes += strlen(words[i]);
    fuzz_check(!words || (words[0] && *words[0] && bytes <= strlen(command)), "%zu bytes", bytes);
    free(words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    check_tools(text, size);
    check_words(text);
    free(text);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    return json_mutate(data, size, max_size, seed);
}
