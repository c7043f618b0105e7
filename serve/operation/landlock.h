/* SPDX-License-Identifier: Apache-2.0 */
/* landlock.h - limits the files that a thread and its descendants may open, by Linux' Landlock. */
#ifndef QUIRE_SERVE_LANDLOCK_H
#define QUIRE_SERVE_LANDLOCK_H
#include "error.h"
#include <stdbool.h>
#include <stdint.h>

/* What is allowed below a path. */
enum landlock_access {
    LANDLOCK_READ,   /* read a file, or a folder and what is in it */
    LANDLOCK_FILES,  /* read files of known names in a folder, but not list it */
    LANDLOCK_WRITE,  /* read, create, replace and remove files of a folder */
    LANDLOCK_REMOVE, /* remove files of a folder */
};

/* Rules that are being made. */
struct landlock {
    int fd;
    int abi; /* version of the kernel's interface: later ones restrict more */
};

/* False: *error says whether the kernel lacks Landlock or has it switched off. */
bool landlock_create(struct landlock *l, struct api_error *error);

/* Adds a rule for what the path names now; a symbolic link is followed. */
bool landlock_allow(struct landlock *l, const char *path, enum landlock_access access,
                    struct api_error *error);

/* Permits TCP connections to a port, which kernels before Linux 6.7 do not restrict. */
bool landlock_allow_port(struct landlock *l, uint16_t port, struct api_error *error);

/* From now on the calling thread, and threads and processes that it creates, may open only what the
 * rules allow; with newer kernels it may neither bind nor connect TCP sockets, nor reach abstract
 * Unix sockets and signal processes outside. Descriptors that are open stay usable. Closes l. */
bool landlock_enter(struct landlock *l, struct api_error *error);

void landlock_close(struct landlock *l);

#endif
