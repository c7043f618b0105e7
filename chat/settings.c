/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - generation settings of a conversation: sampling, length, stop strings. */
#include "settings.h"
#include "terminal.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

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
    const struct {
        float value, *field;
    } reals[] = {
        { given->temperature, &p->temperature },
        { given->top_p, &p->top_p },
        { given->min_p, &p->min_p },
        { given->repeat_penalty, &p->repetition_penalty },
        { given->presence_penalty, &p->presence_penalty },
        { given->frequency_penalty, &p->frequency_penalty },
    };
    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++)
        if (!isnan(reals[i].value))
            *reals[i].field = reals[i].value;
    if (given->top_k != NOT_GIVEN)
        p->top_k = given->top_k;
    if (given->repeat_last_n != NOT_GIVEN)
        p->penalty_last_n = given->repeat_last_n;
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
