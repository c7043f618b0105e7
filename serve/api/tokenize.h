/* SPDX-License-Identifier: Apache-2.0 */
/* tokenize.h - POST /tokenize, /detokenize and /apply-template. */
#ifndef QUIRE_SERVE_TOKENIZE_H
#define QUIRE_SERVE_TOKENIZE_H

struct exchange;

void tokenize_route(struct exchange *x);
void detokenize_route(struct exchange *x);
void apply_template_route(struct exchange *x);

#endif
