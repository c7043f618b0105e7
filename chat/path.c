/* SPDX-License-Identifier: Apache-2.0 */
/* path.c - paths of files that the user names. */
#include "path.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void path_add_expanded(struct text *out, const char *path)
{
    const char *home = path[0] == '~' && (!path[1] || path[1] == '/') ? getenv("HOME") : NULL;
    if (home && *home) {
        text_add(out, home, strlen(home));
        path++;
    }
    text_add(out, path, strlen(path));
}

const char *path_obstacle(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? NULL : strerror(errno);
    return S_ISREG(st.st_mode)   ? NULL
           : S_ISLNK(st.st_mode) ? "it is a symbolic link"
                                 : "it is not a regular file";
}
