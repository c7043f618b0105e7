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
