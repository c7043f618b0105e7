/* SPDX-License-Identifier: Apache-2.0 */
#include "template_fields.h"
#include "json_build.h"
#include "json_text.h"
#include "text.h"
#include <string.h>

const char *template_fields_dump(struct generation *g, const json_t *value, struct api_error *error)
{
    struct text text = { 0 };
    if (value != NULL)
        json_text_write(&text, value);
    else
        text.failed = true;
    char *copy = text.failed ? NULL : generation_alloc(g, text.size + 1);
    if (copy != NULL)
        memcpy(copy, text.data, text.size);
    else
        api_fail(error, 500, NULL, NULL, "out of memory");
    text_free(&text);
    return copy;
}

void template_fields_set_effort(json_t **variables, const char *effort)
{
    const bool least = strcmp(effort, "none") == 0 || strcmp(effort, "minimal") == 0;
    json_build_set(variables, "reasoning_effort", json_string(effort));
    if (*variables != NULL && json_object_get(*variables, "reasoning_strength") == NULL)
        json_build_set(variables, "reasoning_strength", json_string(least ? "low" : effort));
}

bool template_fields_read(struct fields *f, struct generation *g)
{
    static const char *const efforts[] = {
        "none", "minimal", "low", "medium", "high", "xhigh", NULL
    };
    json_t *given = NULL, *documents = NULL;
    unsigned effort;
    fields_object(f, "chat_template_kwargs", &given);
    json_t *variables = json_object();
    if (given != NULL && json_object_update(variables, given) != 0)
        api_fail(f->error, 500, NULL, NULL, "out of memory");
    if (fields_choice(f, "reasoning_effort", efforts, &effort))
        template_fields_set_effort(&variables, efforts[effort]);
    if (fields_array(f, "documents", 1024, &documents))
        json_build_set(&variables, "documents", json_incref(documents));
    if (f->error->status == 0 && (variables == NULL || json_object_size(variables) > 0))
        g->requests[0].variables_json = template_fields_dump(g, variables, f->error);
    json_decref(variables);
    return f->error->status == 0;
}

bool template_fields_read_ending(struct fields *f, struct generation *g)
{
    const struct quire_request_params *r = &g->requests[0];
    const bool continues =
        r->n_messages > 0 && strcmp(r->messages[r->n_messages - 1].role, "assistant") == 0;
    bool add = !continues, go_on = continues;
    fields_boolean(f, "add_generation_prompt", &add);
    const bool given = fields_boolean(f, "continue_final_message", &go_on);
    if (go_on && !continues)
        return fields_fail(f, "continue_final_message",
                           "continue_final_message needs a last message of the assistant.");
    if (!go_on && continues)
        return fields_fail(f, "continue_final_message",
                           "A last message of the assistant is always continued.");
    if (!add && !continues)
        return fields_fail(f, "add_generation_prompt",
                           "add_generation_prompt must be true unless the last message is "
                           "continued.");
    if (add && given && go_on)
        return fields_fail(f, "add_generation_prompt",
                           "add_generation_prompt and continue_final_message exclude each other.");
    return f->error->status == 0;
}
