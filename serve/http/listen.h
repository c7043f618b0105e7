/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUIRE_SERVE_LISTEN_H
#define QUIRE_SERVE_LISTEN_H
#include "error.h"
#include "options.h"
#include <stdbool.h>
struct listener {
    int fd;
    char url[160];
    bool is_unix;
};
int listen_open(const struct options *o, struct listener out[8], struct api_error *error);
#endif
