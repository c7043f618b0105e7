/* SPDX-License-Identifier: Apache-2.0 */
/* stop_match.c - which stop sequence ended an answer. */
#include "stop_match.h"
#include <string.h>

const char *stop_completed(const char *before, const char *text, const char *const *stop,
                           uint32_t n_stop)
{
    size_t common = 0;
    while (text[common] && text[common] == before[common])
        common++;
    const char *found = NULL, *completed = NULL;
    for (uint32_t i = 0; i < n_stop; i++) {
        /* an occurrence within the common part would have ended the answer earlier */
        const size_t length = strlen(stop[i]);
        const char *at = strstr(text + (common >= length ? common - length + 1 : 0), stop[i]);
        if (at && (!found || at < found)) {
            found = at;
            completed = stop[i];
        }
    }
    return completed;
}
