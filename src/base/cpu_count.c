/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_count.c - how many threads this process can really use: affinity, cgroup quota, performance cores. */
#include <fcntl.h>
#include <quire/threads.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads a small text file whole; false when it is absent or empty. */
static bool read_text(const char *path, char *buf, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t n = read(fd, buf, size - 1);
    close(fd);
    buf[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* "200000 100000" (v2), "max 100000" = no limit. Rounded up: 1.5 CPUs are worth two threads. */
static uint32_t quota_of(const char *text)
{
    char *end;
    const long long quota = strtoll(text, &end, 10);
    if (end == text || quota <= 0)
        return UINT32_MAX;
    const long long period = strtoll(end, NULL, 10);
    return period > 0 ? (uint32_t)((quota + period - 1) / period) : UINT32_MAX;
}

/* Smallest quota of a v2 cgroup path and its ancestors. */
static uint32_t quota_v2(char *path)
{
    uint32_t least = UINT32_MAX;
    for (;;) {
        char file[640], text[64];
        snprintf(file, sizeof file, "/sys/fs/cgroup%s/cpu.max", path);
        if (read_text(file, text, sizeof text)) {
            const uint32_t q = quota_of(text);
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
    const char *const folders[] = { path, "" }; /* inside a container the path is often the root */
    for (size_t i = 0; i < 4; i++) {
        char file[640], both[96], quota[40], period[40];
        snprintf(file, sizeof file, "%s%s/cpu.cfs_quota_us", mounts[i / 2], folders[i % 2]);
        if (!read_text(file, quota, sizeof quota))
            continue;
        snprintf(file, sizeof file, "%s%s/cpu.cfs_period_us", mounts[i / 2], folders[i % 2]);
        if (!read_text(file, period, sizeof period))
            continue;
        snprintf(both, sizeof both, "%.30s %.30s", quota, period);
        return quota_of(both);
    }
    return UINT32_MAX;
}

static uint32_t cgroup_quota(void)
{
    char text[4096];
    if (!read_text("/proc/self/cgroup", text, sizeof text))
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

/* Relative speed of a CPU on machines that tell (Arm, hybrid x86); 0 where unknown. */
static long cpu_capacity(int cpu)
{
    char path[96], text[32];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpu_capacity", cpu);
    return read_text(path, text, sizeof text) ? strtol(text, NULL, 10) : 0;
}

/* Removes from the set what is not in a list such as "0-7,16". Keeps the set if nothing would be left. */
static void keep_listed(cpu_set_t *set, const char *list)
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

/* Slow cores make every barrier wait: leave out those under 2/3 of the fastest one's capacity. */
static void drop_slow_cores(cpu_set_t *set)
{
    char text[256];
    if (read_text("/sys/devices/cpu_core/cpus", text, sizeof text)) { /* Intel hybrid */
        keep_listed(set, text);
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
