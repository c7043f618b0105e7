/* SPDX-License-Identifier: Apache-2.0 */
/* hf_text.c - texts of config.json as Python writes them. */
#include "model/config/hf_text.h"
#include <string.h>

size_t qr_hf_replace_infinities(char *text, size_t size)
{
    static const char word[] = "Infinity";
    enum { LENGTH = sizeof word - 1 };
    size_t found = 0;
    for (size_t i = 0, quoted = 0; i < size; i++) {
        if (text[i] == '"')
            quoted = !quoted;
        else if (text[i] == '\\' && quoted)
            i++;
        if (quoted || size - i < LENGTH || memcmp(text + i, word, LENGTH) != 0)
            continue;
        const size_t begin = i > 0 && text[i - 1] == '-' ? i - 1 : i;
        memset(text + begin, ' ', i + LENGTH - begin);
        memcpy(text + begin, "null", 4);
        i += LENGTH - 1;
        found++;
    }
    return found;
}
