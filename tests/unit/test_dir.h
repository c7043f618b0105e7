/* SPDX-License-Identifier: Apache-2.0 */
/* test_dir.h - a temporary directory for a group of tests. */
#ifndef QUIRE_TEST_DIR_H
#define QUIRE_TEST_DIR_H
#include "quire_cmocka.h"
#include <unistd.h>

static char dir[64];

static inline int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/quire-test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static inline int remove_dir(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", dir);
    return system(command);
}

#endif
