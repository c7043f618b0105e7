/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - the tables of --dry-run and /stats. */
#include "report.h"
#include "numbers.h"
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
    text_addf(out,
              ",\"cache_tokens\":%llu,\"kv_bytes\":%llu,\"kv_budget\":%llu,\"context_bytes\":%llu,"
              "\"tokenizer_bytes\":%llu,\"available_bytes\":%llu",
              (unsigned long long)i->cache_tokens, (unsigned long long)i->kv_bytes,
              (unsigned long long)i->kv_budget, (unsigned long long)i->context_bytes,
              (unsigned long long)i->tokenizer_bytes, (unsigned long long)i->available_bytes);
    if (i->draft_weight_bytes)
        text_addf(out,
                  ",\"draft_weight_bytes\":%llu,\"draft_kv_bytes\":%llu,"
                  "\"draft_context_bytes\":%llu",
                  (unsigned long long)i->draft_weight_bytes, (unsigned long long)i->draft_kv_bytes,
                  (unsigned long long)i->draft_context_bytes);
    text_addf(out, ",\"k_type\":\"%s\",\"v_type\":\"%s\",\"threads\":%u,\"isa\":\"%s\"}\n",
              quire_kv_dtype_name(i->k_dtype), quire_kv_dtype_name(i->v_dtype), i->n_threads,
              s->model.isa);
}

static void add_draft_sizes(const struct quire_engine_info *i, uint64_t bytes, struct text *out)
{
    char weights[24], cache[24], step[24], what[128];
    snprintf(what, sizeof what, "weights %s, KV cache %s, step %s",
             format_bytes(i->draft_weight_bytes, weights), format_bytes(i->draft_kv_bytes, cache),
             format_bytes(i->draft_context_bytes, step));
    add_size(out, "draft", bytes, what);
}

void report_sizes(const struct session *s, struct text *out)
{
    const struct quire_engine_info *i = &s->info;
    if (s->options->json) {
        sizes_as_json(s, out);
        return;
    }
    char what[128];
    text_addf(out, "%-10s %s (%s, %u layers, %.1f M parameters)\n", "model", s->model_name,
              s->model.arch, s->model.n_layers, (double)s->model.n_parameters / 1e6);
    text_addf(out, "%-10s %12u tokens (model: %u)\n", "context", i->context_length,
              i->model_context_length);
    add_size(out, "weights", i->weight_bytes, "packed");
    snprintf(what, sizeof what, "up to %llu tokens, K %s, V %s, block size %u",
             (unsigned long long)i->cache_tokens, quire_kv_dtype_name(i->k_dtype),
             quire_kv_dtype_name(i->v_dtype), i->block_size);
    add_size(out, "KV cache", i->kv_bytes, what);
    snprintf(what, sizeof what, "steps of up to %u tokens", i->max_step_tokens);
    add_size(out, "step", i->context_bytes, what);
    add_size(out, "tokenizer", i->tokenizer_bytes, "");
    const uint64_t draft_bytes = i->draft_weight_bytes + i->draft_kv_bytes + i->draft_context_bytes;
    if (i->draft_weight_bytes)
        add_draft_sizes(i, draft_bytes, out);
    add_size(out, "total",
             i->weight_bytes + i->kv_bytes + i->context_bytes + i->tokenizer_bytes + draft_bytes,
             "");
    add_size(out, "budget", i->kv_budget, "of the KV cache (--kv-mem)");
    add_size(out, "available", i->available_bytes, "before the KV cache is reserved");
    text_addf(out, "%-10s %12u, %s\n", "threads", i->n_threads, s->model.isa);
}

/* The samplers that are off by default. */
static void add_samplers(struct text *out, const struct quire_sampling_params *p)
{
    const char *line = "\n          ";
    struct text t = { 0 };
    if (p->dynatemp_range > 0)
        text_addf(&t, "%sdynamic temperature, range %g, exponent %g", line,
                  (double)p->dynatemp_range,
                  p->dynatemp_exponent != 0 ? (double)p->dynatemp_exponent : 1);
    if (p->typical_p > 0 && p->typical_p < 1)
        text_addf(&t, "%stypical %g", line, (double)p->typical_p);
    if (p->top_n_sigma > 0)
        text_addf(&t, "%stop-n-sigma %g", line, (double)p->top_n_sigma);
    if (p->xtc_probability > 0)
        text_addf(&t, "%sXTC probability %g, threshold %g", line, (double)p->xtc_probability,
                  p->xtc_threshold != 0 ? (double)p->xtc_threshold : 0.1);
    if (p->dry_multiplier > 0)
        text_addf(&t, "%sDRY multiplier %g, base %g, allowed length %d", line,
                  (double)p->dry_multiplier, p->dry_base != 0 ? (double)p->dry_base : 1.75,
                  p->dry_allowed_length ? p->dry_allowed_length : 2);
    if (p->mirostat)
        text_addf(&t, "%smirostat %u, %g bits, learning rate %g", line, p->mirostat,
                  p->mirostat_tau != 0 ? (double)p->mirostat_tau : 5,
                  p->mirostat_eta != 0 ? (double)p->mirostat_eta : 0.1);
    for (int i = 0; i < QUIRE_MAX_SAMPLERS && p->samplers[i]; i++)
        text_addf(&t, "%s%s", i ? ";" : "\n          ", quire_sampler_name(p->samplers[i]));
    if (t.size && !t.failed)
        text_addf(out, "%s\n", t.data + 1);
    text_free(&t);
}

static void add_drafts(const struct session *s, struct text *out)
{
    struct quire_engine_stats stats;
    quire_engine_stats_init(&stats, sizeof stats);
    if (!session_draft_tokens(s->options) || quire_engine_get_stats(s->engine, &stats) != QUIRE_OK)
        return;
    text_addf(out,
              "drafts    %llu of %llu tokens of the draft model accepted, %llu of %llu copied "
              "ones\n",
              (unsigned long long)stats.model_accepted_tokens,
              (unsigned long long)stats.model_drafted_tokens,
              (unsigned long long)stats.lookup_accepted_tokens,
              (unsigned long long)stats.lookup_drafted_tokens);
}

void report_stats(const struct session *s, struct text *out)
{
    const struct quire_usage *u = &s->last;
    const struct quire_sampling_params *p = &s->settings.sampling;
    text_addf(out, "model     %s\n", s->model_name);
    if (s->n_answers) {
        const uint32_t computed = u->prompt_tokens - u->cached_tokens;
        text_addf(out, "prompt    %u tokens, %u cached, prefill %.2f s (%.1f tokens/s)\n",
                  u->prompt_tokens, u->cached_tokens, u->prompt_seconds,
                  u->prompt_seconds > 0 ? computed / u->prompt_seconds : 0);
        text_addf(out, "answer    %u tokens, decode %.2f s (%.1f tokens/s)\n", u->completion_tokens,
                  u->generate_seconds, tokens_per_second(u));
    }
    add_drafts(s, out);
    if (s->conversation->n_tokens)
        text_addf(out, "context   %u of %u tokens\n", s->conversation->n_tokens,
                  s->info.context_length);
    text_addf(out, "session   %llu answers, %llu prompt tokens, %llu cached, %llu generated\n",
              (unsigned long long)s->n_answers, (unsigned long long)s->total_prompt,
              (unsigned long long)s->total_cached, (unsigned long long)s->total_completion);
    text_addf(out, "sampling  seed %llu, temperature %g, top-k %d, top-p %g, min-p %g\n",
              (unsigned long long)p->seed, (double)p->temperature, p->top_k, (double)p->top_p,
              (double)p->min_p);
    text_addf(out, "          repeat %g, presence %g, frequency %g over %d tokens\n",
              (double)p->repetition_penalty, (double)p->presence_penalty,
              (double)p->frequency_penalty, p->penalty_last_n);
    add_samplers(out, p);
    if (!isnan(s->model.temperature) || !isnan(s->model.top_p) || !isnan(s->model.min_p) ||
        s->model.top_k >= 0)
        text_addf(out, "          including recommendations of the model\n");
    text_addf(out, "machine   %u threads, %s\n", s->info.n_threads, s->model.isa);
}
