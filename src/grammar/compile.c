/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/compile.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/struct_size.h"
#include "grammar/core/front_end.h"
#include "grammar/front_end/choice.h"
#include "grammar/front_end/gbnf.h"
#include "grammar/front_end/lark.h"
#include "grammar/front_end/regex.h"
#include "grammar/front_end/structural_tag.h"
#include "grammar/json_schema/schema.h"
#include <math.h>
#include <string.h>
#include <time.h>

#define DEFAULT_SECONDS 1.0
#define DEFAULT_BYTES (64ull << 20)

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void quire_grammar_params_init(struct quire_grammar_params *params, size_t struct_size)
{
    if (params == NULL)
        return;
    const struct quire_grammar_params defaults = { .struct_size = (uint32_t)struct_size,
                                                   .kind = QUIRE_GRAMMAR_JSON_OBJECT,
                                                   .text_size = QUIRE_NUL_TERMINATED };
    qr_struct_copy_out(params, struct_size, &defaults, sizeof defaults);
}
