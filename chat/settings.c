/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - generation settings of a conversation: sampling, length, stop strings. */
#include "settings.h"
#include "terminal.h"
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define SETTING(option, param)                                                                     \
    {                                                                                              \
#option, offsetof(struct options, option), offsetof(struct quire_sampling_params, param)   \
    }

const struct setting settings_reals[] = {
    SETTING(temperature, temperature),
    SETTING(top_p, top_p),
    SETTING(min_p, min_p),
    SETTING(repeat_penalty, repetition_penalty),
    SETTING(presence_penalty, presence_penalty),
    SETTING(frequency_penalty, frequency_penalty),
    SETTING(typical, typical_p),
    SETTING(top_n_sigma, top_n_sigma),
    SETTING(xtc_probability, xtc_probability),
    SETTING(xtc_threshold, xtc_threshold),
    SETTING(dry_multiplier, dry_multiplier),
    SETTING(dry_base, dry_base),
    SETTING(dynatemp_range, dynatemp_range),
    SETTING(dynatemp_exponent, dynatemp_exponent),
    SETTING(mirostat_tau, mirostat_tau),
    SETTING(mirostat_eta, mirostat_eta),
    { NULL, 0, 0 },
};

const struct setting settings_integers[] = {
    SETTING(top_k, top_k),
    SETTING(repeat_last_n, penalty_last_n),
    SETTING(dry_allowed_length, dry_allowed_length),
    SETTING(dry_penalty_last_n, dry_penalty_last_n),
    SETTING(mirostat, mirostat),
    { NULL, 0, 0 },
};

bool settings_add_stop(struct settings *s, const char *text)
{
    char *copy = s->n_stop < MAX_STOPS ? strdup(text) : NULL;
    if (!copy)
        return false;
    s->stop[s->n_stop++] = copy;
    return true;
}

void settings_free(struct settings *s)
{
    while (s->n_stop)
        free(s->stop[--s->n_stop]);
}

void settings_draw_seed(struct settings *s)
{
    uint32_t random = 0; /* 32 bits: short enough to type */
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        print_message("cannot get a random seed: %s; using 0", strerror(errno));
    s->sampling.seed = random;
}

bool settings_apply(struct settings *s, const struct options *given)
{
    struct quire_sampling_params *p = &s->sampling;
    for (const struct setting *i = settings_reals; i->name; i++) {
        const float *value = (const float *)(const void *)((const char *)given + i->option);
        if (!isnan(*value))
            memcpy((char *)p + i->param, value, sizeof *value);
    }
    for (const struct setting *i = settings_integers; i->name; i++) {
        const int32_t *value = (const int32_t *)(const void *)((const char *)given + i->option);
        if (*value != NOT_GIVEN)
            memcpy((char *)p + i->param, value, sizeof *value);
    }
    if (given->samplers) /* its parser has checked it */
        (void)!quire_samplers_parse(given->samplers, p->samplers, NULL);
    if (given->max_tokens != NOT_GIVEN)
        s->max_tokens = given->max_tokens;
    if (given->seed == -1)
        settings_draw_seed(s);
    else if (given->seed != NOT_GIVEN)
        p->seed = (uint64_t)given->seed;
    if (given->stop.n)
        settings_free(s);
    for (uint32_t i = 0; i < given->stop.n; i++)
        if (!settings_add_stop(s, given->stop.text[i]))
            return false;
    return true;
}

bool settings_set(struct settings *s, const char *name, const char *value)
{
    struct options given;
    if (!options_set(&given, name, value))
        return false;
    const struct settings before = *s; /* no option of options_set() touches the stop strings */
    struct quire_error err = QUIRE_ERROR_INIT;
    (void)settings_apply(s, &given);
    if (quire_sampling_validate(&s->sampling, 1, &err) == QUIRE_OK)
        return true;
    *s = before;
    struct text message = { 0 };
    options_add_message(&message, err.msg);
    print_message("%s", message.failed ? err.msg : message.data);
    text_free(&message);
    return false;
}
