/* SPDX-License-Identifier: Apache-2.0 */
#include "grammar/core/control_token.h"

enum { MAX_NAME = 64 /* bytes */, MAX_PARTS = 64 };

int32_t qr_control_token(const struct quire_tokenizer *tok, const char *text, size_t size,
                         size_t *n)
{
    for (*n = tok == NULL ? 0 : size < MAX_NAME ? size : MAX_NAME; *n > 1; --*n) {
        const int32_t token = quire_tokenizer_find(tok, text, *n);
        if (token != QUIRE_TOKEN_NONE && quire_tokenizer_is_special(tok, token))
            return token;
    }
    return QUIRE_TOKEN_NONE;
}

qr_node qr_build_marked_text(struct qr_builder *b, const struct quire_tokenizer *tok,
                             const char *text, size_t size)
{
    qr_node parts[MAX_PARTS];
    struct qr_regex_set *set = qr_builder_regexes(b);
    size_t n_parts = 0, plain = 0, n;
    for (size_t i = 0; i < size;) {
        const int32_t token = qr_control_token(tok, text + i, size - i, &n);
        if (token == QUIRE_TOKEN_NONE) {
            i++;
            continue;
        }
        if (n_parts + 3 > MAX_PARTS) {
            parts[0] = qr_build_sequence(b, parts, n_parts);
            n_parts = 1;
        }
        if (i > plain)
            parts[n_parts++] = qr_build_lexeme(b, qr_regex_literal(set, text + plain, i - plain));
        parts[n_parts++] = qr_build_token(b, token);
        plain = i += n;
    }
    if (size > plain || n_parts == 0)
        parts[n_parts++] = qr_build_lexeme(b, qr_regex_literal(set, text + plain, size - plain));
    return qr_build_sequence(b, parts, n_parts);
}
