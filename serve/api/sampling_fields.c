/* SPDX-License-Identifier: Apache-2.0 */
#include "sampling_fields.h"
#include "keys.h"
#include "server.h"
#include "structure_fields.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
    MAX_ANSWERS = 16,
    MAX_STOP = 16,
    MAX_STOP_TOKENS = 64,
    MAX_STRING = 1024, /* bytes of a stop string, and of a breaker, which the loop tokenizes */
    MAX_BIAS = 1024,
    MAX_BREAKERS = 64,
    MAX_BREAKER_TOKENS = 32,
    MAX_BEAMS = 32,
    PRIORITIES = 1000, /* of requests, within the priority of a key */
};

/* Parameters that are one number of struct quire_sampling_params. */
enum number_type { REAL, SIGNED, UNSIGNED };
struct number_field {
    const char *name, *alias; /* alias may be NULL */
    enum number_type type;
    size_t offset;
    double min, max;
};
#define FIELD(member) offsetof(struct quire_sampling_params, member)
static const struct number_field number_fields[] = {
    { "temperature", NULL, REAL, FIELD(temperature), 0, 100 },
    { "top_p", NULL, REAL, FIELD(top_p), 0, 1 },
    { "top_k", NULL, SIGNED, FIELD(top_k), -1, INT32_MAX },
    { "min_p", NULL, REAL, FIELD(min_p), 0, 1 },
    { "typical_p", NULL, REAL, FIELD(typical_p), 0, 1 },
    { "top_n_sigma", NULL, REAL, FIELD(top_n_sigma), -1, 1000 },
    { "xtc_probability", NULL, REAL, FIELD(xtc_probability), 0, 1 },
    { "xtc_threshold", NULL, REAL, FIELD(xtc_threshold), 0, 1 },
    { "repetition_penalty", "repeat_penalty", REAL, FIELD(repetition_penalty), 1e-3, 100 },
    { "presence_penalty", NULL, REAL, FIELD(presence_penalty), -100, 100 },
    { "frequency_penalty", NULL, REAL, FIELD(frequency_penalty), -100, 100 },
    { "repeat_last_n", NULL, SIGNED, FIELD(penalty_last_n), -1, INT32_MAX },
    { "dynatemp_range", NULL, REAL, FIELD(dynatemp_range), 0, 100 },
    { "dynatemp_exponent", NULL, REAL, FIELD(dynatemp_exponent), 0, 100 },
    { "dry_multiplier", NULL, REAL, FIELD(dry_multiplier), 0, 1000 },
    { "dry_base", NULL, REAL, FIELD(dry_base), 1, 1000 },
    { "dry_allowed_length", NULL, SIGNED, FIELD(dry_allowed_length), 0, QUIRE_DRY_MAX_REPEAT },
    { "dry_penalty_last_n", NULL, SIGNED, FIELD(dry_penalty_last_n), -1, INT32_MAX },
    { "mirostat", NULL, UNSIGNED, FIELD(mirostat), 0, 2 },
    { "mirostat_tau", NULL, REAL, FIELD(mirostat_tau), 0, 100 },
    { "mirostat_eta", NULL, REAL, FIELD(mirostat_eta), 0, 1 },
    { "min_keep", NULL, UNSIGNED, FIELD(min_keep), 0, 1000 },
};
enum { N_NUMBERS = sizeof number_fields / sizeof number_fields[0] };

/* What a request said. The model's recommendations for the rest are known when it is open. */
struct sampling_choice {
    double numbers[N_NUMBERS]; /* NaN: not given */
    bool has_seed, has_samplers;
    uint64_t seed;
    uint8_t samplers[QUIRE_MAX_SAMPLERS];
    const json_t *breakers; /* of DRY, or NULL */
    struct quire_logit_bias *bias;
    uint32_t n_bias;
};

static void read_numbers(struct fields *f, struct sampling_choice *c)
{
    for (unsigned i = 0; i < N_NUMBERS; i++) {
        const struct number_field *n = &number_fields[i];
        const char *const names[] = { n->name, n->alias };
        c->numbers[i] = NAN;
        for (unsigned k = 0; k < 2 && names[k] != NULL; k++) {
            int64_t integer;
            if (n->type == REAL)
                fields_number(f, names[k], n->min, n->max, &c->numbers[i]);
            else if (fields_integer(f, names[k], (int64_t)n->min, (int64_t)n->max, &integer))
                c->numbers[i] = (double)integer;
        }
    }
    int64_t seed;
    if (fields_integer(f, "seed", INT64_MIN, INT64_MAX, &seed)) {
        c->has_seed = seed != -1; /* llama.cpp: random */
        c->seed = (uint64_t)seed;
    }
}

static void read_samplers(struct fields *f, struct sampling_choice *c)
{
    json_t *list;
    char names[512] = "";
    size_t n = 0;
    if (!fields_array(f, "samplers", QUIRE_MAX_SAMPLERS - 1, &list))
        return;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name == NULL || n + strlen(name) + 2 > sizeof names) {
            fields_fail(f, "samplers", "samplers must be an array of names.");
            return;
        }
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ";" : "", name);
    }
    struct quire_error err = QUIRE_ERROR_INIT;
    c->has_samplers = quire_samplers_parse(names, c->samplers, &err) == QUIRE_OK;
    if (!c->has_samplers)
        fields_fail(f, "samplers", "samplers: %s", err.msg);
}

/* One pair of a token and its bias; `false` as a bias excludes the token. */
static bool read_bias(const char *token_text, const json_t *token, const json_t *value,
                      struct quire_logit_bias *out)
{
    char *end = NULL;
    const long long id = token_text ? strtoll(token_text, &end, 10) : json_integer_value(token);
    if (token_text ? end == token_text || *end != '\0' : !json_is_integer(token))
        return false;
    if (id < 0 || id > INT32_MAX || !(json_is_number(value) || json_is_false(value)))
        return false;
    out->token = (int32_t)id;
    out->bias = json_is_false(value) ? -INFINITY : (float)json_number_value(value);
    return !isnan(out->bias) && out->bias <= 1e6f;
}

/* {"ID": BIAS, ...} or [[ID, BIAS], ...] */
static void read_logit_bias(struct fields *f, struct generation *g, struct sampling_choice *c)
{
    json_t *v, *value;
    const char *key;
    bool ok = true;
    if (!fields_value(f, "logit_bias", &v))
        return;
    const size_t n = json_is_object(v) ? json_object_size(v) : json_array_size(v);
    if ((!json_is_object(v) && !json_is_array(v)) || n > MAX_BIAS) {
        fields_fail(f, "logit_bias", "logit_bias must be an object of at most %d members.",
                    MAX_BIAS);
        return;
    }
    c->bias = generation_alloc(g, (n + 1) * sizeof *c->bias);
    if (c->bias == NULL) {
        api_fail(f->error, 500, NULL, NULL, "out of memory");
        return;
    }
    if (json_is_object(v)) {
        json_object_foreach(v, key, value) ok =
            ok && read_bias(key, NULL, value, &c->bias[c->n_bias++]);
    } else {
        for (size_t i = 0; i < n; i++) {
            const json_t *pair = json_array_get(v, i);
            ok = ok && json_array_size(pair) == 2 &&
                 read_bias(NULL, json_array_get(pair, 0), json_array_get(pair, 1),
                           &c->bias[c->n_bias++]);
        }
    }
    if (!ok)
        fields_fail(f, "logit_bias", "logit_bias must map token ids to numbers.");
}

/* A string, or an array of strings. */
static void read_stop(struct fields *f, const char *name, struct generation *g,
                      struct quire_request_params *r)
{
    json_t *v;
    if (!fields_value(f, name, &v))
        return;
    const size_t n = json_is_array(v) ? json_array_size(v) : 1;
    if (r->n_stop + n > MAX_STOP) {
        fields_fail(f, name, "%s has %zu strings; at most %d are allowed.", name, n, MAX_STOP);
        return;
    }
    const char **stop = generation_alloc(g, (r->n_stop + n + 1) * sizeof *stop);
    if (stop == NULL) {
        api_fail(f->error, 500, NULL, NULL, "out of memory");
        return;
    }
    if (r->n_stop > 0) /* of the parameter's other name */
        memcpy(stop, r->stop, r->n_stop * sizeof *stop);
    for (size_t i = 0; i < n; i++) {
        const json_t *s = json_is_array(v) ? json_array_get(v, i) : v;
        stop[r->n_stop] = json_string_value(s);
        if (stop[r->n_stop] == NULL || strlen(stop[r->n_stop]) != json_string_length(s) ||
            json_string_length(s) > MAX_STRING) {
            fields_fail(f, name, "%s must be a string or an array of strings of at most %d bytes.",
                        name, MAX_STRING);
            return;
        }
        r->n_stop += stop[r->n_stop][0] != '\0';
    }
    r->stop = stop;
}

static void read_stop_tokens(struct fields *f, struct generation *g, struct quire_request_params *r)
{
    json_t *list;
    if (!fields_array(f, "stop_token_ids", MAX_STOP_TOKENS, &list))
        return;
    const size_t n = json_array_size(list);
    int32_t *ids = generation_alloc(g, (n + 1) * sizeof *ids);
    if (ids == NULL)
        api_fail(f->error, 500, NULL, NULL, "out of memory");
    for (size_t i = 0; i < n && ids != NULL; i++) {
        const json_t *v = json_array_get(list, i);
        if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > INT32_MAX) {
            fields_fail(f, "stop_token_ids", "stop_token_ids must be an array of token ids.");
            return;
        }
        ids[i] = (int32_t)json_integer_value(v);
    }
    r->stop_tokens = ids;
    r->n_stop_tokens = (uint32_t)n;
}

static void set_flag(struct fields *f, const char *name, bool initial, bool flag_value,
                     uint32_t flag, uint32_t *flags)
{
    bool value = initial;
    fields_boolean(f, name, &value);
    if (value == flag_value)
        *flags |= flag;
}

/* Beam search with the parameters of vLLM. */
static void read_beams(struct fields *f, struct quire_request_params *r)
{
    bool beams = false, early = false;
    fields_boolean(f, "use_beam_search", &beams);
    fields_boolean(f, "early_stopping", &early);
    fields_number(f, "length_penalty", -100, 100, &r->length_penalty);
    if (!beams)
        return;
    r->beam_width = r->best_of ? r->best_of : r->n;
    r->best_of = 0;
    r->early_stopping = early ? QUIRE_BEAM_STOP_WHEN_FULL : QUIRE_BEAM_STOP_HEURISTIC;
    if (r->beam_width < 2 || r->beam_width > MAX_BEAMS)
        fields_fail(f, "best_of", "use_beam_search needs n or best_of of 2 to %d.", MAX_BEAMS);
}

static void read_request(struct fields *f, struct generation *g)
{
    struct quire_request_params *r = &g->requests[0];
    int64_t n = 1, best_of = 0, min_tokens = 0, priority = 0;
    fields_integer(f, "n", 1, MAX_ANSWERS, &n);
    fields_integer(f, "best_of", 1, MAX_BEAMS, &best_of);
    if (best_of != 0 && best_of < n)
        fields_fail(f, "best_of", "best_of must be at least n.");
    fields_integer(f, "min_tokens", 0, INT32_MAX, &min_tokens);
    fields_integer(f, "priority", -PRIORITIES / 2, PRIORITIES / 2, &priority);
    r->n = (uint32_t)n;
    r->best_of = (uint32_t)best_of;
    r->min_tokens = (uint32_t)min_tokens;
    /* in vLLM requests of lower numbers come first */
    r->priority = g->exchange->key->priority * PRIORITIES - (int32_t)priority;
    set_flag(f, "ignore_eos", false, true, QUIRE_REQUEST_IGNORE_EOS, &r->flags);
    set_flag(f, "cache_prompt", true, false, QUIRE_REQUEST_NO_REUSE, &r->flags);
    set_flag(f, "skip_special_tokens", true, false, QUIRE_REQUEST_SHOW_SPECIAL, &r->flags);
    read_beams(f, r);
    read_stop(f, "stop", g, r);
    read_stop(f, "stop_sequences", g, r); /* Anthropic's name */
    read_stop_tokens(f, g, r);
}

bool sampling_fields_read(struct fields *f, struct generation *g)
{
    struct sampling_choice *c = generation_alloc(g, sizeof *c);
    json_t *breakers;
    if (c == NULL)
        return api_fail(f->error, 500, NULL, NULL, "out of memory");
    g->sampling_choice = c;
    read_numbers(f, c);
    read_samplers(f, c);
    read_logit_bias(f, g, c);
    if (fields_array(f, "dry_sequence_breakers", MAX_BREAKERS, &breakers))
        c->breakers = breakers;
    for (size_t i = 0; i < json_array_size(c->breakers); i++)
        if (!json_is_string(json_array_get(c->breakers, i)) ||
            json_string_length(json_array_get(c->breakers, i)) > MAX_STRING)
            fields_fail(f, "dry_sequence_breakers",
                        "dry_sequence_breakers must be an array of strings of at most %d bytes.",
                        MAX_STRING);
    read_request(f, g);
    structure_fields_read(f, g);
    return f->error->status == 0;
}

/* ---- When the model is open ---- */

static void set_numbers(struct quire_sampling_params *s, const struct sampling_choice *c)
{
    for (unsigned i = 0; i < N_NUMBERS; i++) {
        const double x = c->numbers[i];
        void *member = (char *)s + number_fields[i].offset;
        if (isnan(x))
            continue;
        if (number_fields[i].type == REAL)
            *(float *)member = (float)x;
        else if (number_fields[i].type == SIGNED)
            *(int32_t *)member = (int32_t)x;
        else
            *(uint32_t *)member = (uint32_t)x;
    }
}

/* Breakers of DRY as token ids, each followed by -1. */
static bool set_breakers(struct generation *g, const struct sampling_choice *c,
                         struct api_error *error)
{
    const struct quire_tokenizer *tok = quire_engine_tokenizer(g->model->engine);
    const size_t n = json_array_size(c->breakers);
    int32_t *ids = generation_alloc(g, (n + 1) * MAX_BREAKER_TOKENS * sizeof *ids);
    uint32_t end = 0;
    if (ids == NULL)
        return api_fail(error, 500, NULL, NULL, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const json_t *s = json_array_get(c->breakers, i);
        struct quire_error err = QUIRE_ERROR_INIT;
        size_t count = 0;
        if (quire_tokenizer_encode(tok, json_string_value(s), json_string_length(s), 0, ids + end,
                                   MAX_BREAKER_TOKENS - 1, &count, &err) != QUIRE_OK)
            return api_fail(error, 400, NULL, "dry_sequence_breakers",
                            "dry_sequence_breakers[%zu]: %s", i, err.msg);
        if (count == 0)
            continue;
        end += (uint32_t)count;
        ids[end++] = -1;
    }
    g->sampling.dry_breakers = ids;
    g->sampling.n_dry_breakers = end;
    return true;
}

bool sampling_fields_apply(struct generation *g, struct api_error *error)
{
    const struct sampling_choice *c = g->sampling_choice;
    struct quire_sampling_params *s = &g->sampling;
    if (c == NULL)
        return true;
    s->struct_size = sizeof *s;
    if (quire_engine_default_sampling(g->model->engine, s) != QUIRE_OK)
        quire_sampling_params_init(s, sizeof *s);
    set_numbers(s, c);
    s->seed = c->seed;
    if (!c->has_seed && getrandom(&s->seed, sizeof s->seed, 0) != sizeof s->seed)
        return api_fail(error, 500, NULL, NULL, "no random numbers");
    if (c->has_samplers)
        memcpy(s->samplers, c->samplers, sizeof s->samplers);
    s->logit_bias = c->bias;
    s->n_logit_bias = c->n_bias;
    if (c->breakers != NULL && !set_breakers(g, c, error))
        return false;
    struct quire_error err = QUIRE_ERROR_INIT;
    const quire_status status = quire_sampling_validate(s, g->model->model_info.vocab_size, &err);
    if (status != QUIRE_OK)
        return generation_engine_error(g, 0, status, &err, error);
    g->requests[0].sampling = s;
    for (uint32_t i = 1; i < g->n_requests; i++)
        sampling_fields_copy(&g->requests[i], &g->requests[0]);
    return true;
}

void sampling_fields_copy(struct quire_request_params *to, const struct quire_request_params *from)
{
    struct quire_request_params copy = *from;
    copy.messages = to->messages;
    copy.n_messages = to->n_messages;
    copy.text = to->text;
    copy.text_size = to->text_size;
    copy.text_flags = to->text_flags;
    copy.tokens = to->tokens;
    copy.n_tokens = to->n_tokens;
    copy.parts = to->parts;
    copy.n_parts = to->n_parts;
    copy.stream = to->stream;
    *to = copy;
}
