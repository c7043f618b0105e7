/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.c - --sandbox: the files of the server, and its system calls. */
#include "sandbox.h"
#include "adapter_list.h"
#include "landlock.h"
#include "model_list.h"
#include "registry.h"
#include "syscall_filter.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What the library reads when it opens a model: free memory, limits of control groups, CPUs. /proc
 * is not listed; memory and environment of processes outside stay hidden. */
static const struct {
    const char *path;
    enum landlock_access access;
} system_paths[] = {
    { "/proc", LANDLOCK_FILES },
    { "/sys/fs/cgroup", LANDLOCK_READ },
    { "/sys/devices", LANDLOCK_READ },
    { "/dev/urandom", LANDLOCK_READ }, /* Jansson seeds its hash tables */
};

static bool exists(const char *path) { return access(path, F_OK) == 0; }

enum { MAX_DEPTH = 4 }; /* folders in folders of a model */

/* What symbolic links in a folder name: in the cache of the Hugging Face hub all files are links to
 * another folder. */
static bool allow_links(struct landlock *l, const char *folder, int depth, struct api_error *error)
{
    char path[PATH_MAX];
    struct stat st;
    DIR *d = opendir(folder);
    if (d == NULL)
        return api_fail(error, 500, NULL, NULL, "--sandbox: %s: %s", folder, strerror(errno));
    bool ok = true;
    for (const struct dirent *e; ok && (e = readdir(d)) != NULL;) {
        const int n = snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || n < 0 ||
            (size_t)n >= sizeof path || lstat(path, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode) && depth < MAX_DEPTH)
            ok = allow_links(l, path, depth + 1, error);
        else if (S_ISLNK(st.st_mode) && exists(path))
            ok = landlock_allow(l, path, LANDLOCK_READ, error);
    }
    closedir(d);
    return ok;
}

/* Parts of a split model that exist: NAME-00001-of-00003.gguf and so on. */
static bool allow_parts(struct landlock *l, const char *path, struct api_error *error)
{
    char part[PATH_MAX];
    unsigned no, count;
    const size_t n = strlen(path), suffix = strlen("-00001-of-00003.gguf");
    int end = 0;
    if (n < suffix || n >= sizeof part ||
        /* NOLINTNEXTLINE(cert-err34-c): five digits */
        sscanf(path + n - suffix, "-%5u-of-%5u.gguf%n", &no, &count, &end) != 2 ||
        (size_t)end != suffix)
        return true;
    memcpy(part, path, n + 1);
    for (no = 1; no <= count; no++) {
        snprintf(part + n - suffix, suffix + 1, "-%05u-of-%05u.gguf", no, count);
        if (exists(part) && !landlock_allow(l, part, LANDLOCK_READ, error))
            return false;
    }
    return true;
}

/* A file or folder that is read; NULL = none. */
static bool allow_input(struct landlock *l, const char *path, struct api_error *error)
{
    struct stat st;
    if (path == NULL)
        return true;
    if (!landlock_allow(l, path, LANDLOCK_READ, error))
        return false;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return allow_links(l, path, 0, error);
    return allow_parts(l, path, error);
}

/* The server removes its Unix socket at its end. */
static bool allow_socket(struct landlock *l, const char *path, struct api_error *error)
{
    char folder[PATH_MAX];
    if (path == NULL)
        return true;
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL)
        strcpy(folder, ".");
    else
        slash[slash == folder] = '\0';
    return landlock_allow(l, folder, LANDLOCK_REMOVE, error);
}

static bool allow_files(struct landlock *l, const struct options *o, struct registry *models,
                        struct api_error *error)
{
    const struct model *m;
    for (unsigned i = 0; (m = registry_model(models, i)) != NULL; i++)
        if (!allow_input(l, m->path, error))
            return false;
    const struct adapter_entry *a;
    for (unsigned i = 0; (a = adapter_list_at(models, i)) != NULL; i++)
        if (!allow_input(l, a->path, error))
            return false;
    for (size_t i = 0; i < sizeof system_paths / sizeof system_paths[0]; i++)
        if (exists(system_paths[i].path) &&
            !landlock_allow(l, system_paths[i].path, system_paths[i].access, error))
            return false;
    return allow_input(l, o->draft_model, error) && allow_input(l, o->template_file, error) &&
           allow_input(l, o->config, error) && allow_input(l, o->kv_scales, error) &&
           (o->cache_dir == NULL || landlock_allow(l, o->cache_dir, LANDLOCK_WRITE, error)) &&
           (o->pack_cache_dir == NULL ||
            landlock_allow(l, o->pack_cache_dir, LANDLOCK_WRITE, error)) &&
           allow_socket(l, o->unix_socket, error);
}

/* One link per thread, and two of the folder itself. */
static bool has_threads(void)
{
    struct stat st;
    return stat("/proc/self/task", &st) == 0 && st.st_nlink > 3;
}

/* Of a server that root runs, keeps what opens files of other users and locks memory. With
 * CAP_PERFMON or CAP_SYS_PTRACE the environment of other processes could be read. */
static bool drop_capabilities(struct api_error *error)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2];
    const uint32_t keep = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_IPC_LOCK;
    bool ok = syscall(SYS_capget, &header, data) == 0;
    if (ok) {
        data[0].effective &= keep;
        data[0].permitted &= keep;
        data[0].inheritable = data[1].inheritable = 0;
        data[1].effective = data[1].permitted = 0;
        ok = syscall(SYS_capset, &header, data) == 0;
    }
    return ok || api_fail(error, 500, NULL, NULL, "--sandbox: capabilities: %s", strerror(errno));
}

bool sandbox_enter(const struct options *o, struct registry *models, struct api_error *error)
{
    struct landlock l;
    if (has_threads())
        return api_fail(error, 500, NULL, NULL, "--sandbox: threads are running already");
    if (!landlock_create(&l, error))
        return false;
    if (!allow_files(&l, o, models, error) || !drop_capabilities(error)) {
        landlock_close(&l);
        return false;
    }
    return landlock_enter(&l, error) && syscall_filter_enter(SYSCALLS_SERVER, error);
}
