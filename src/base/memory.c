/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - available memory: /proc/meminfo and the limits of cgroups v1 and v2. */
#include "base/memory.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, TEXT_BYTES = 8192 };

/* Reads a small text file; false when it is absent or empty. */
static bool read_text(const char *path, char *buf, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t used = 0;
    ssize_t n;
    while (used < size - 1 && (n = read(fd, buf + used, size - 1 - used)) > 0)
        used += (size_t)n;
    close(fd);
    buf[used] = 0;
    return used > 0;
}

/* A decimal number at the start of p; false for "max" and anything else. Saturates. */
static bool read_number(const char *p, uint64_t *out)
{
    if (*p < '0' || *p > '9')
        return false;
    uint64_t v = 0;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(v, 10u, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            v = UINT64_MAX / 16;
    *out = v;
    return true;
}

/* Value of the line that starts with `key` followed by blanks. */
static bool find_number(const char *text, const char *key, uint64_t *out)
{
    const size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, n) == 0 && (line[n] == ' ' || line[n] == '\t'))
            return read_number(line + n + strspn(line + n, " \t"), out);
        if (!*line)
            break;
    }
    return false;
}

static bool file_number(const char *dir, const char *name, uint64_t *out)
{
    char path[PATH_BYTES], text[64];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return read_text(path, text, sizeof text) && read_number(text, out);
}

/* What one cgroup folder leaves; UINT64_MAX without a limit. Pages of files that were read are
 * dropped by the kernel when memory is short, so the inactive ones are not in the way. */
static uint64_t left_in(const char *dir, const char *limit_name, const char *usage_name,
                        const char *cache_key)
{
    uint64_t limit, used, cached = 0;
    if (!file_number(dir, limit_name, &limit) || !file_number(dir, usage_name, &used))
        return UINT64_MAX;
    char path[PATH_BYTES], text[TEXT_BYTES];
    snprintf(path, sizeof path, "%s/memory.stat", dir);
    if (read_text(path, text, sizeof text))
        (void)find_number(text, cache_key, &cached);
    used -= cached < used ? cached : used;
    return limit > used ? limit - used : 0;
}

/* The least over a cgroup and its ancestors up to the mount point. */
static uint64_t left_above(const char *mount, const char *group, bool v2)
{
    char dir[PATH_BYTES];
    const size_t base = strlen(mount);
    if (base + strlen(group) + 1 > sizeof dir)
        return UINT64_MAX;
    snprintf(dir, sizeof dir, "%s%s", mount, group);
    uint64_t least = UINT64_MAX;
    for (;;) {
        const uint64_t left = v2 ? left_in(dir, "memory.max", "memory.current", "inactive_file")
                                 : left_in(dir, "memory.limit_in_bytes", "memory.usage_in_bytes",
                                           "total_inactive_file");
        least = left < least ? left : least;
        char *slash = strrchr(dir + base, '/');
        if (!slash)
            return least;
        *slash = 0;
    }
}

/* Lines of /proc/self/cgroup are "id:controllers:path"; v2 has no controllers. */
static uint64_t cgroup_left(const char *root)
{
    char path[PATH_BYTES], text[TEXT_BYTES];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (!read_text(path, text, sizeof text))
        return UINT64_MAX;
    uint64_t least = UINT64_MAX;
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        const bool v2 = controllers[1] == 0;
        if (!v2 && !strstr(controllers + 1, "memory"))
            continue;
        char mount[PATH_BYTES];
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s", root, v2 ? "" : "/memory");
        const uint64_t left = left_above(mount, strcmp(group, "/") == 0 ? "" : group, v2);
        least = left < least ? left : least;
    }
    return least;
}

uint64_t qr_memory_available_at(const char *root)
{
    char path[PATH_BYTES], text[TEXT_BYTES];
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    uint64_t available = UINT64_MAX, kib;
    if (read_text(path, text, sizeof text) && find_number(text, "MemAvailable:", &kib))
        available = kib * 1024;
    const uint64_t left = cgroup_left(root);
    available = left < available ? left : available;
    return available == UINT64_MAX ? 0 : available;
}

uint64_t qr_memory_available(void) { return qr_memory_available_at(""); }
