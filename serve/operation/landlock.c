/* SPDX-License-Identifier: Apache-2.0 */
/* landlock.c - the three system calls of Landlock (landlock(7)), which have no wrappers in libc. */
#include "landlock.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Numbers and structs of linux/landlock.h, of which older versions lack some. The numbers of the
 * system calls are the same on all architectures. */
enum {
    CREATE_RULESET = 444,
    ADD_RULE = 445,
    RESTRICT_SELF = 446,
    GET_VERSION = 1,
    PATH_BENEATH = 1,
    NET_PORT = 2,
};

#define FS_EXECUTE     (UINT64_C(1) << 0)
#define FS_WRITE_FILE  (UINT64_C(1) << 1)
#define FS_READ_FILE   (UINT64_C(1) << 2)
#define FS_READ_DIR    (UINT64_C(1) << 3)
#define FS_REMOVE_FILE (UINT64_C(1) << 5)
#define FS_MAKE_REG    (UINT64_C(1) << 8)
#define FS_TRUNCATE    (UINT64_C(1) << 14)
#define NET_CONNECT    (UINT64_C(1) << 1)
#define NET_ALL        (UINT64_C(3)) /* bind and connect of TCP sockets */
#define SCOPE_ALL      (UINT64_C(3)) /* abstract Unix sockets, signals */

struct ruleset {
    uint64_t fs, net, scoped;
};

struct path_rule {
    uint64_t allowed;
    int32_t fd;
} __attribute__((packed));

struct port_rule {
    uint64_t allowed, port;
};

/* Rights on files that a version of the interface handles. */
static uint64_t fs_rights(int abi)
{
    static const int n_rights[] = { 0, 13, 14, 15, 15, 16 };
    const int known = sizeof n_rights / sizeof n_rights[0] - 1;
    return (UINT64_C(1) << n_rights[abi < known ? abi : known]) - 1;
}

bool landlock_create(struct landlock *l, struct api_error *error)
{
    *l = (struct landlock){ .fd = -1 };
    l->abi = (int)syscall(CREATE_RULESET, NULL, 0, GET_VERSION);
    if (l->abi < 1)
        return api_fail(error, 500, NULL, NULL, "--sandbox needs Landlock, %s",
                        errno == EOPNOTSUPP
                            ? "which this kernel has switched off (boot parameter lsm=landlock,...)"
                            : "which this kernel does not have (Linux 5.13 or newer, with "
                              "CONFIG_SECURITY_LANDLOCK)");
    const struct ruleset rules = {
        .fs = fs_rights(l->abi),
        .net = l->abi >= 4 ? NET_ALL : 0,
        .scoped = l->abi >= 6 ? SCOPE_ALL : 0,
    };
    const size_t size = l->abi >= 6 ? 24 : l->abi >= 4 ? 16 : 8;
    l->fd = (int)syscall(CREATE_RULESET, &rules, size, 0);
    return l->fd >= 0 ||
           api_fail(error, 500, NULL, NULL, "--sandbox: Landlock: %s", strerror(errno));
}

static uint64_t allowed(enum landlock_access access, bool is_folder)
{
    if (!is_folder)
        return access == LANDLOCK_WRITE ? FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE : FS_READ_FILE;
    switch (access) {
    case LANDLOCK_FILES:
        return FS_READ_FILE;
    case LANDLOCK_WRITE:
        return FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE | FS_MAKE_REG | FS_REMOVE_FILE |
               FS_TRUNCATE;
    case LANDLOCK_REMOVE:
        return FS_REMOVE_FILE;
    default:
        return FS_READ_FILE | FS_READ_DIR;
    }
}

bool landlock_allow(struct landlock *l, const char *path, enum landlock_access access,
                    struct api_error *error)
{
    struct stat st;
    struct path_rule rule = { .fd = open(path, O_PATH | O_CLOEXEC) };
    bool ok = rule.fd >= 0 && fstat(rule.fd, &st) == 0;
    if (ok) {
        rule.allowed = allowed(access, S_ISDIR(st.st_mode)) & fs_rights(l->abi);
        ok = syscall(ADD_RULE, l->fd, PATH_BENEATH, &rule, 0) == 0;
    }
    const int e = errno;
    if (rule.fd >= 0)
        close(rule.fd);
    return ok || api_fail(error, 500, NULL, NULL, "--sandbox: %s: %s", path, strerror(e));
}

bool landlock_allow_port(struct landlock *l, uint16_t port, struct api_error *error)
{
    const struct port_rule rule = { .allowed = NET_CONNECT, .port = port };
    return l->abi < 4 || syscall(ADD_RULE, l->fd, NET_PORT, &rule, 0) == 0 ||
           api_fail(error, 500, NULL, NULL, "--sandbox: Landlock: %s", strerror(errno));
}

bool landlock_enter(struct landlock *l, struct api_error *error)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(RESTRICT_SELF, l->fd, 0) != 0)
        api_fail(error, 500, NULL, NULL, "--sandbox: Landlock: %s", strerror(errno));
    landlock_close(l);
    return error->status == 0;
}

void landlock_close(struct landlock *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}
