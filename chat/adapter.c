/* SPDX-License-Identifier: Apache-2.0 */
/* adapter.c - the adapter of --lora. */
#include "adapter.h"
#include "exit_code.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char name[] = "lora"; /* in the engine */

float adapter_parse(const char *value, char *path, size_t size)
{
    const char *equals = strrchr(value, '=');
    char *end = NULL;
    const float scale = equals ? strtof(equals + 1, &end) : 1;
    const bool scaled = equals && end != equals + 1 && *end == 0 && isfinite(scale);
    const size_t n = scaled ? (size_t)(equals - value) : strlen(value);
    snprintf(path, size, "%.*s", (int)n, value);
    return scaled ? scale : 1;
}

int adapter_open(struct session *s)
{
    char path[4096];
    struct quire_error err = QUIRE_ERROR_INIT;
    struct quire_engine_adapter_params p;
    quire_engine_adapter_params_init(&p, sizeof p);
    if (!s->options->lora)
        return 0;
    s->lora_scale = adapter_parse(s->options->lora, path, sizeof path);
    p.name = name;
    p.path = path;
    p.flags = s->options->allow_unknown ? QUIRE_ADAPTER_ALLOW_UNKNOWN : 0;
    const quire_status status = quire_engine_add_adapter(s->engine, &p, &err);
    if (status == QUIRE_OK)
        return 0;
    session_report_error(s, status, err.msg, path);
    return exit_code_of_status(status, &err, true);
}

void adapter_set_request(const struct session *s, struct quire_request_params *request)
{
    if (!s->options->lora)
        return;
    request->adapter_name = name;
    request->adapter_scale = s->lora_scale;
}
