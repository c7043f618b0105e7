/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - generation settings of a conversation: sampling, length, stop strings. */
#ifndef QUIRE_CHAT_SETTINGS_H
#define QUIRE_CHAT_SETTINGS_H
#include "options.h"

/* Owns its stop strings. */
struct settings {
    struct quire_sampling_params sampling;
    int32_t max_tokens; /* -1 = no limit */
    char *stop[MAX_STOPS];
    uint32_t n_stop;
};

/* Numbers of the sampling parameters that are options, under the name of the field in struct
 * options, which is also their name in a conversation file. Offsets in struct options and struct
 * quire_sampling_params. A table ends with a name of NULL. */
struct setting {
    const char *name;
    size_t option, param;
};
extern const struct setting settings_reals[];    /* float */
extern const struct setting settings_integers[]; /* int32_t, at least -1 */

bool settings_add_stop(struct settings *s, const char *text); /* false: too many, or no memory */
void settings_free(struct settings *s);

void settings_draw_seed(struct settings *s); /* at random */

/* Sets the values that the options give; the others stay. Stop strings replace the previous ones.
 * False: out of memory. */
bool settings_apply(struct settings *s, const struct options *given);

/* Sets one value by the name of its option without dashes, with the checks of the command line. A
 * failure is printed on standard error and changes nothing. */
bool settings_set(struct settings *s, const char *name, const char *value);

#endif
