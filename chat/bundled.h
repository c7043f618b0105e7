/* SPDX-License-Identifier: Apache-2.0 */
/* bundled.h - the model embedded in the program. */
#ifndef QUIRE_CHAT_BUNDLED_H
#define QUIRE_CHAT_BUNDLED_H
#include <stddef.h>

/* A GGUF image and its size in bytes, or NULL in a build without one. */
const unsigned char *bundled_model(size_t *size);

#endif
