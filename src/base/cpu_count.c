/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_count.c - default thread count from the affinity mask, the cgroup CPU quota and the
 * performance cores of hybrid CPUs. */
#include "base/cpu_count.h"
#include "base/fnv1a.h"
#include "base/read_text.h"
#include "base/topology.h"
#include <quire/threads.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };

/* Parses "quota period" in microseconds: "200000 100000" is 2 CPUs, "max 100000" no limit. Rounds
 * up: a quota of 1.5 CPUs gives two threads. */
static uint32_t parse_quota(const char *text)
{
    char *end;
    const long long quota = strtoll(text, &end, 10);
    if (end == text || quota <= 0)
        return UINT32_MAX;
    const long long period = strtoll(end, NULL, 10);
    return period > 0 ? (uint32_t)((quota + period - 1) / period) : UINT32_MAX;
}

/* Smallest quota of a v2 cgroup and its ancestors. Overwrites path. */
static uint32_t quota_v2(const char *root, char *path)
{
    uint32_t least = UINT32_MAX;
    for (;;) {
        char file[PATH_BYTES], text[64];
        snprintf(file, sizeof file, "%s/sys/fs/cgroup%s/cpu.max", root, path);
        if (qr_read_text(file, text, sizeof text)) {
            const uint32_t q = parse_quota(text);
            least = q < least ? q : least;
        }
        char *slash = strrchr(path, '/');
        if (!slash)
            return least;
        *slash = 0;
    }
}

static uint32_t quota_v1(const char *root, const char *path)
{
    static const char *const mounts[] = { "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct" };
    const char *const folders[] = { path, "" }; /* in a container the group is often the root */
    for (size_t i = 0; i < 4; i++) {
        char file[PATH_BYTES], both[96], quota[40], period[40];
        snprintf(file, sizeof file, "%s%s%s/cpu.cfs_quota_us", root, mounts[i / 2], folders[i % 2]);
        if (!qr_read_text(file, quota, sizeof quota))
            continue;
        snprintf(file, sizeof file, "%s%s%s/cpu.cfs_period_us", root, mounts[i / 2],
                 folders[i % 2]);
        if (!qr_read_text(file, period, sizeof period))
            continue;
        snprintf(both, sizeof both, "%.30s %.30s", quota, period);
        return parse_quota(both);
    }
    return UINT32_MAX;
}

static uint32_t cgroup_quota(const char *root)
{
    char text[4096], file[PATH_BYTES];
    snprintf(file, sizeof file, "%s/proc/self/cgroup", root);
    if (!qr_read_text(file, text, sizeof text))
        return UINT32_MAX;
    uint32_t least = UINT32_MAX;
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path || strlen(path) > 500)
            continue;
        *path++ = 0;
        uint32_t q = UINT32_MAX;
        if (controllers[1] == 0)
            q = quota_v2(root, path);
        else if (strstr(controllers + 1, "cpu"))
            q = quota_v1(root, path);
        least = q < least ? q : least;
    }
    return least;
}

uint32_t qr_cpu_count_at(const char *root, const cpu_set_t *allowed)
{
    cpu_set_t set = *allowed;
    qr_topology_drop_slow(root, &set);
    const uint32_t quota = cgroup_quota(root), n = (uint32_t)CPU_COUNT(&set);
    const uint32_t least = quota < n ? quota : n;
    return least ? least : 1;
}

/* The affinity mask; without one, as many CPUs as are online. */
static void get_allowed(cpu_set_t *set)
{
    if (sched_getaffinity(0, sizeof *set, set) == 0)
        return;
    CPU_ZERO(set);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    for (long i = 0; i < online && i < CPU_SETSIZE; i++)
        CPU_SET((size_t)i, set);
}

uint32_t quire_threads_default_count(void)
{
    cpu_set_t allowed;
    get_allowed(&allowed);
    return qr_cpu_count_at("", &allowed);
}

uint64_t qr_cpu_signature_at(const char *root, const cpu_set_t *allowed)
{
    const uint32_t quota = cgroup_quota(root);
    return qr_fnv1a(qr_fnv1a(QR_FNV1A_INIT, allowed, sizeof *allowed), &quota, sizeof quota);
}

uint64_t qr_cpu_signature(void)
{
    cpu_set_t allowed;
    get_allowed(&allowed);
    return qr_cpu_signature_at("", &allowed);
}
