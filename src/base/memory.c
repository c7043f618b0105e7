/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - available memory from /proc/meminfo and the limits of cgroups v1 and v2. */
#include "base/memory.h"
#include "base/read_text.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 1024, TEXT_BYTES = 8192 };

/* Parses a decimal number at p; false for "max" and other text. Overflow yields a huge number. */
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

/* Parses the number in the line that starts with `key` and a blank. */
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
    return qr_read_text(path, text, sizeof text) && read_number(text, out);
}

/* Bytes left under the limit of one cgroup; UINT64_MAX without a limit. The kernel reclaims
 * inactive page cache under memory pressure, so it does not count as used. */
static uint64_t cgroup_headroom(const char *dir, const char *limit_name, const char *usage_name,
                                const char *cache_key)
{
    uint64_t limit, used, cached = 0;
    if (!file_number(dir, limit_name, &limit) || !file_number(dir, usage_name, &used))
        return UINT64_MAX;
    char path[PATH_BYTES], text[TEXT_BYTES];
    snprintf(path, sizeof path, "%s/memory.stat", dir);
    if (qr_read_text(path, text, sizeof text))
        (void)find_number(text, cache_key, &cached);
    used -= cached < used ? cached : used;
    return limit > used ? limit - used : 0;
}

/* Minimum over a cgroup and its ancestors up to the mount point. */
static uint64_t hierarchy_headroom(const char *mount, const char *group, bool v2)
{
    char dir[PATH_BYTES];
    const size_t base = strlen(mount), size = strlen(group) + 1;
    if (base + size > sizeof dir)
        return UINT64_MAX;
    memcpy(dir, mount, base);
    memcpy(dir + base, group, size);
    uint64_t least = UINT64_MAX;
    for (;;) {
        const uint64_t left =
            v2 ? cgroup_headroom(dir, "memory.max", "memory.current", "inactive_file")
               : cgroup_headroom(dir, "memory.limit_in_bytes", "memory.usage_in_bytes",
                                 "total_inactive_file");
        least = left < least ? left : least;
        char *slash = strrchr(dir + base, '/');
        if (!slash)
            return least;
        *slash = 0;
    }
}

/* Minimum over all cgroups of the process. Lines of /proc/self/cgroup are "id:controllers:path";
 * the list of controllers is empty for v2. */
static uint64_t process_headroom(const char *root)
{
    char path[PATH_BYTES], text[TEXT_BYTES];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (!qr_read_text(path, text, sizeof text))
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
        const uint64_t left = hierarchy_headroom(mount, strcmp(group, "/") == 0 ? "" : group, v2);
        least = left < least ? left : least;
    }
    return least;
}

uint64_t qr_memory_available_at(const char *root)
{
    char path[PATH_BYTES], text[TEXT_BYTES];
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    uint64_t available = UINT64_MAX, kib;
    if (qr_read_text(path, text, sizeof text) && find_number(text, "MemAvailable:", &kib))
        available = kib * 1024;
    const uint64_t left = process_headroom(root);
    available = left < available ? left : available;
    return available == UINT64_MAX ? 0 : available;
}

uint64_t qr_memory_available(void) { return qr_memory_available_at(""); }
