/* SPDX-License-Identifier: Apache-2.0 */
/* template_variables.h - --template-variables, --think and --no-think. */
#ifndef QUIRE_CHAT_TEMPLATE_VARIABLES_H
#define QUIRE_CHAT_TEMPLATE_VARIABLES_H
#include "options.h"

/* Sets *out to the variables as a JSON object, to be freed, or NULL if there are none. The switch
 * of reasoning has two names in templates, enable_thinking and thinking; both are set but for those
 * that --template-variables sets. template_text may be NULL. Returns 0, or after printing the
 * failure its exit code. */
int template_variables_open(const struct options *o, const char *template_text, char **out);

#endif
