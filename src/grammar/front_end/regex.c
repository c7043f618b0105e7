/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/front_end/regex.h"
#include "base/error.h"
#include "grammar/regex/regex_syntax.h"

quire_status qr_regex_build(struct qr_front_end *f, const char *text, size_t size, qr_node *out,
                            struct quire_error *err)
{
    qr_regex r;
    QR_TRY(qr_regex_parse(qr_builder_regexes(f->builder), text, size, 0, f->deadline, &r, err));
    *out = qr_build_lexeme(f->builder, r);
    return QUIRE_OK;
}
