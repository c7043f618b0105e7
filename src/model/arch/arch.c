/* SPDX-License-Identifier: Apache-2.0 */
/* arch.c - finds a model family by the names of either file format. */
#include "model/arch/arch.h"
#include <string.h>

#define FAMILY(name) &qr_arch_##name,
static const struct qr_arch *const families[] = { QR_FAMILIES(FAMILY) };
enum { N_FAMILIES = sizeof families / sizeof families[0] };

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static bool contains(const char *const *list, size_t n, const char *s, size_t len)
{
    for (size_t i = 0; i < n && list[i]; i++)
        if (strlen(list[i]) == len && memcmp(list[i], s, len) == 0)
            return true;
    return false;
}

const struct qr_arch *qr_arch_by_hf_type(const char *model_type)
{
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (contains(families[i]->hf_types, LENGTH(families[i]->hf_types), model_type,
                     strlen(model_type)))
            return families[i];
    return NULL;
}

const struct qr_arch *qr_arch_by_gguf(const char *architecture, size_t len)
{
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (contains(families[i]->gguf_archs, LENGTH(families[i]->gguf_archs), architecture, len))
            return families[i];
    return NULL;
}

const struct qr_arch *qr_arch_by_name(const char *name)
{
    for (size_t i = 0; i < N_FAMILIES; i++)
        if (strcmp(families[i]->name, name) == 0)
            return families[i];
    return NULL;
}
