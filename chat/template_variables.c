/* SPDX-License-Identifier: Apache-2.0 */
#include "template_variables.h"
#include "json_text.h"
#include "terminal.h"
#include "json/parse.h"
#include <stddef.h>
#include <string.h>
#include <sysexits.h>

static void add_switch(struct text *out, const struct qr_json *given, const char *name, bool on)
{
    if (!qr_json_get(given, name))
        text_addf(out, "%s\"%s\": %s", out->size > 1 ? ", " : "", name, on ? "true" : "false");
}

static char *write_variables(const struct options *o, const struct qr_json *given)
{
    struct text out = { 0 }, object = { 0 };
    text_add(&out, "{", 1);
    if (o->think || o->no_think) {
        add_switch(&out, given, "enable_thinking", o->think);
        add_switch(&out, given, "thinking", o->think);
    }
    if (given)
        text_add_json_value(&object, given);
    if (object.size > 2) { /* not {} */
        text_add(&out, ", ", out.size > 1 ? 2 : 0);
        text_add(&out, object.data + 1, object.size - 2);
    }
    text_add(&out, "}", 1);
    if (out.failed || object.failed)
        text_free(&out);
    text_free(&object);
    return out.data;
}

int template_variables_open(const struct options *o, const char *template_text, char **out)
{
    struct qr_json_error error;
    const char *text = o->template_variables;
    struct qr_json *given = text ? qr_json_parse(text, strlen(text), 0, NULL, &error) : NULL;
    *out = NULL;
    if (text && !qr_json_is_object(given)) {
        print_message("--template-variables: %s %s", given ? "it is not a JSON object" : error.text,
                      given ? "" : error.key);
        qr_json_free(given);
        return EX_USAGE;
    }
    const bool switches = o->think || o->no_think;
    if (switches && !o->quiet && (!template_text || !strstr(template_text, "thinking")))
        print_message("%s has no effect: the chat template has no such switch",
                      o->think ? "--think" : "--no-think");
    if (switches || text)
        *out = write_variables(o, given);
    qr_json_free(given);
    return *out || !(switches || text) ? 0 : EX_TEMPFAIL;
}
