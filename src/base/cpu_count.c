/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_count.c - default thread count from the affinity mask, the cgroup CPU quota and the
 * performance cores of hybrid CPUs. */
#include "base/read_text.h"
#include <quire/threads.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
static uint32_t quota_v2(char *path)
{
    uint32_t least = UINT32_MAX;
    for (;;) {
        char file[640], text[64];
        snprintf(file, sizeof file, "/sys/fs/cgroup%s/cpu.max", path);
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

static uint32_t quota_v1(const char *path)
{
    static const char *const mounts[] = { "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct" };
    const char *const folders[] = { path, "" }; /* in a container the group is often the root */
    for (size_t i = 0; i < 4; i++) {
        char file[640], both[96], quota[40], period[40];
        snprintf(file, sizeof file, "%s%s/cpu.cfs_quota_us", mounts[i / 2], folders[i % 2]);
        if (!qr_read_text(file, quota, sizeof quota))
            continue;
        snprintf(file, sizeof file, "%s%s/cpu.cfs_period_us", mounts[i / 2], folders[i % 2]);
        if (!qr_read_text(file, period, sizeof period))
            continue;
        snprintf(both, sizeof both, "%.30s %.30s", quota, period);
        return parse_quota(both);
    }
    return UINT32_MAX;
}

static uint32_t cgroup_quota(void)
{
    char text[4096];
    if (!qr_read_text("/proc/self/cgroup", text, sizeof text))
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
            q = quota_v2(path);
        else if (strstr(controllers + 1, "cpu"))
            q = quota_v1(path);
        least = q < least ? q : least;
    }
    return least;
}

/* Relative speed of a CPU as the kernel reports it (Arm, hybrid x86); 0 where unknown. */
static long cpu_capacity(int cpu)
{
    char path[96], text[32];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpu_capacity", cpu);
    return qr_read_text(path, text, sizeof text) ? strtol(text, NULL, 10) : 0;
}

/* Intersects the set with a list such as "0-7,16", unless the intersection is empty. */
static void intersect(cpu_set_t *set, const char *list)
{
    cpu_set_t listed;
    CPU_ZERO(&listed);
    for (const char *p = list; *p >= '0' && *p <= '9';) {
        char *end;
        long a = strtol(p, &end, 10), b = a;
        if (*end == '-')
            b = strtol(end + 1, &end, 10);
        for (; a <= b && a < CPU_SETSIZE; a++)
            CPU_SET((size_t)a, &listed);
        p = *end == ',' ? end + 1 : end;
    }
    CPU_AND(&listed, &listed, set);
    if (CPU_COUNT(&listed) > 0)
        *set = listed;
}

/* Removes cores with less than 2/3 of the highest capacity: every barrier waits for the slowest
 * thread. */
static void drop_slow_cores(cpu_set_t *set)
{
    char text[256];
    if (qr_read_text("/sys/devices/cpu_core/cpus", text, sizeof text)) { /* Intel hybrid */
        intersect(set, text);
        return;
    }
    long best = 0;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, set)) {
            const long c = cpu_capacity(i);
            if (c == 0)
                return;
            best = c > best ? c : best;
        }
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, set) && cpu_capacity(i) * 3 < best * 2)
            CPU_CLR((size_t)i, set);
}

uint32_t quire_threads_default_count(void)
{
    cpu_set_t set;
    uint32_t n;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        drop_slow_cores(&set);
        n = (uint32_t)CPU_COUNT(&set);
    } else {
        const long online = sysconf(_SC_NPROCESSORS_ONLN);
        n = online > 0 ? (uint32_t)online : 1;
    }
    const uint32_t quota = cgroup_quota();
    n = quota < n ? quota : n;
    return n ? n : 1;
}
