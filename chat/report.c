/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - tables about sizes and speed. */
#include "numbers.h"
#include "session.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_size(struct text *out, const char *label, uint64_t bytes, const char *what)
{
    char size[24];
    text_addf(out, "%-10s %12llu bytes  %10s  %s\n", label, (unsigned long long)bytes,
              format_bytes(bytes, size), what);
}

static void sizes_as_json(const struct session *s, struct text *out)
{
    const struct quire_engine_info *i = &s->info;
    text_addf(out, "{\"event\":\"sizes\",\"model\":");
    text_add_json(out, s->model_name, strlen(s->model_name));
    text_addf(out, ",\"context\":%u,\"model_context\":%u,\"weight_bytes\":%llu", i->context_length,
              i->model_context_length, (unsigned long long)i->weight_bytes);
    text_addf(
        out,
        ",\"kv_bytes\":%llu,\"kv_budget\":%llu,\"context_bytes\":%llu,\"available_bytes\":%llu",
        (unsigned long long)i->kv_bytes, (unsigned long long)i->kv_budget,
        (unsigned long long)i->context_bytes, (unsigned long long)i->available_bytes);
    text_addf(out, ",\"k_type\":\"%s\",\"v_type\":\"%s\",\"threads\":%u,\"isa\":\"%s\"}\n",
              quire_kv_dtype_name(i->k_dtype), quire_kv_dtype_name(i->v_dtype), i->n_threads,
              s->model.isa);
}

void report_sizes(const struct session *s, struct text *out)
{
    const struct quire_engine_info *i = &s->info;
    if (s->options->json) {
        sizes_as_json(s, out);
        return;
    }
    char what[96];
    text_addf(out, "%-10s %s (%s, %u layers, %.1f M parameters)\n", "model", s->model_name,
              s->model.arch, s->model.n_layers, (double)s->model.n_parameters / 1e6);
    text_addf(out, "%-10s %12u tokens of the model's %u\n", "context", i->context_length,
              i->model_context_length);
    add_size(out, "weights", i->weight_bytes, "packed");
    snprintf(what, sizeof what, "keys %s, values %s, blocks of %u tokens",
             quire_kv_dtype_name(i->k_dtype), quire_kv_dtype_name(i->v_dtype), i->block_size);
    add_size(out, "cache", i->kv_bytes, what);
    snprintf(what, sizeof what, "activations of up to %u tokens a step", i->max_step_tokens);
    add_size(out, "step", i->context_bytes, what);
    add_size(out, "total", i->weight_bytes + i->kv_bytes + i->context_bytes, "");
    add_size(out, "budget", i->kv_budget, "for the cache (--kv-mem)");
    add_size(out, "available", i->available_bytes, "before the cache is made");
    text_addf(out, "%-10s %12u, %s\n", "threads", i->n_threads, s->model.isa);
}

void report_stats(const struct session *s, struct text *out)
{
    const struct quire_usage *u = &s->last;
    const struct quire_sampling_params *p = &s->settings.sampling;
    text_addf(out, "model     %s\n", s->model_name);
    if (s->answers) {
        const uint32_t computed = u->prompt_tokens - u->cached_tokens;
        text_addf(out,
                  "prompt    %u tokens, %u of them cached, the rest in %.2f s (%.1f tokens/s)\n",
                  u->prompt_tokens, u->cached_tokens, u->prompt_seconds,
                  u->prompt_seconds > 0 ? computed / u->prompt_seconds : 0);
        text_addf(out, "answer    %u tokens in %.2f s (%.1f tokens/s)\n", u->completion_tokens,
                  u->generate_seconds, tokens_per_second(u));
        text_addf(out, "context   %u of %u tokens\n", u->prompt_tokens + u->completion_tokens,
                  s->info.context_length);
    }
    text_addf(out, "session   %llu answers, %llu tokens read, %llu of them cached, %llu written\n",
              (unsigned long long)s->answers, (unsigned long long)s->total_prompt,
              (unsigned long long)s->total_cached, (unsigned long long)s->total_completion);
    text_addf(out, "sampling  seed %llu, temperature %g, top-k %d, top-p %g, min-p %g\n",
              (unsigned long long)p->seed, (double)p->temperature, p->top_k, (double)p->top_p,
              (double)p->min_p);
    text_addf(out, "          repeat %g, presence %g, frequency %g over %d tokens\n",
              (double)p->repetition_penalty, (double)p->presence_penalty,
              (double)p->frequency_penalty, p->penalty_last_n);
    if (!isnan(s->model.temperature) || !isnan(s->model.top_p) || !isnan(s->model.min_p) ||
        s->model.top_k >= 0)
        text_addf(out, "          with what the model recommends where no option says otherwise\n");
    text_addf(out, "runs on   %u threads, %s\n", s->info.n_threads, s->model.isa);
}
