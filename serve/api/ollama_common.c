/* SPDX-License-Identifier: Apache-2.0 */
#include "ollama_common.h"
#include "json_build.h"
#include "model_list.h"
#include "openai_answer.h"
#include "sampling_fields.h"
#include "server.h"
#include <stdio.h>
#include <string.h>

bool ollama_read_model(struct fields *f, struct generation *g)
{
    static const char tag[] = ":latest";
    const char *name = NULL;
    char plain[256];
    openai_count_ignored(f, g);
    if (!fields_string(f, "model", &name) && !fields_string(f, "name", &name))
        return fields_fail(f, "model", "model is missing.");
    snprintf(plain, sizeof plain, "%s", name);
    const size_t n = strlen(plain);
    if (n > sizeof tag - 1 && strcmp(plain + n - (sizeof tag - 1), tag) == 0)
        plain[n - (sizeof tag - 1)] = '\0';
    return generation_find_model(g, plain, f->error);
}

/* Options of llama.cpp's runner that do not change an answer here. */
static const char *const harmless[] = { "num_ctx",          "num_keep",   "num_gpu",  "main_gpu",
                                        "num_batch",        "num_thread", "numa",     "low_vram",
                                        "f16_kv",           "vocab_only", "use_mmap", "use_mlock",
                                        "penalize_newline", NULL };

bool ollama_read_options(struct fields *f, struct generation *g)
{
    struct fields o;
    json_t *options = NULL;
    int64_t n = -1;
    if (!fields_object(f, "options", &options)) {
        if (f->error->status != 0)
            return false;
        options = json_object(); /* the body keeps it */
        if (json_object_set_new(g->body, "options", options) != 0)
            return api_fail(f->error, 500, NULL, NULL, "out of memory");
    }
    fields_init(&o, options, "options", f->error);
    if (!sampling_fields_read(&o, g))
        return false;
    o.ignored = f->ignored;
    o.user = f->user;
    fields_integer(&o, "num_predict", -2, INT32_MAX, &n); /* -1 and -2: no limit */
    g->requests[0].max_tokens = n > 0 ? (uint32_t)n : 0;
    if (n == 0)
        g->requests[0].flags |= QUIRE_REQUEST_PROMPT_ONLY;
    if (g->requests[0].n > 1)
        return fields_fail(&o, "n", "n must be 1.");
    return fields_finish(&o, harmless);
}

json_t *ollama_time(time_t seconds)
{
    struct tm tm;
    char text[40];
    if (gmtime_r(&seconds, &tm) == NULL || strftime(text, sizeof text, "%FT%TZ", &tm) == 0)
        return NULL;
    return json_string(text);
}

static json_t *nanoseconds(double seconds) { return json_integer((json_int_t)(seconds * 1e9)); }

void ollama_add_durations(json_t **object, const struct generation *g, bool with_text)
{
    const struct generation_usage u = generation_usage(g);
    const struct quire_usage *first = &g->answers[0].usage;
    json_build_set(object, "total_duration", nanoseconds(loop_now(g->server->loop) - g->started));
    json_build_set(object, "load_duration", nanoseconds(first->queue_seconds));
    json_build_set(object, "prompt_eval_count", json_integer((json_int_t)u.prompt_tokens));
    if (!with_text)
        return;
    json_build_set(object, "prompt_eval_duration", nanoseconds(first->prompt_seconds));
    json_build_set(object, "eval_count", json_integer((json_int_t)u.completion_tokens));
    json_build_set(object, "eval_duration", nanoseconds(first->generate_seconds));
}
