/* SPDX-License-Identifier: Apache-2.0 */
/* bundled.c - embeds the model file named by QUIRE_BUNDLED_MODEL, if the build defines it. */
#include "bundled.h"

#ifdef QUIRE_BUNDLED_MODEL
__asm__(".section .rodata.quire_bundled_model, \"a\"\n"
        ".balign 64\n"
        ".global quire_bundled_model\n"
        ".hidden quire_bundled_model\n"
        "quire_bundled_model:\n"
        ".incbin \"" QUIRE_BUNDLED_MODEL "\"\n"
        ".global quire_bundled_model_end\n"
        ".hidden quire_bundled_model_end\n"
        "quire_bundled_model_end:\n"
        ".previous\n");
extern const unsigned char quire_bundled_model[], quire_bundled_model_end[];

const unsigned char *bundled_model(size_t *size)
{
    /* cppcheck-suppress comparePointers ; symbols of one section, above */
    *size = (size_t)(quire_bundled_model_end - quire_bundled_model);
    return quire_bundled_model;
}
#else
const unsigned char *bundled_model(size_t *size)
{
    *size = 0;
    return 0;
}
#endif
