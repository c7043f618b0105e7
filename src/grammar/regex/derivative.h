/* SPDX-License-Identifier: Apache-2.0 */
/* derivative.h - derivatives of expressions. */
#ifndef QR_GRAMMAR_REGEX_DERIVATIVE_H
#define QR_GRAMMAR_REGEX_DERIVATIVE_H
#include "grammar/regex/types.h"

/* The expression of the strings s for which r matches byte s. */
qr_regex qr_regex_derivative(struct qr_regex_set *set, qr_regex r, uint8_t byte);

/* Partitions the bytes into classes that no expression reachable from list[n] tells apart:
 * class_of[byte] is the number of its class, representative[class] one of its bytes. Returns the
 * number of classes, 0 on failure. */
uint32_t qr_regex_byte_classes(struct qr_regex_set *set, const qr_regex *list, size_t n,
                               uint8_t class_of[256], uint8_t representative[256]);

#endif
