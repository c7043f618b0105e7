/* SPDX-License-Identifier: Apache-2.0 */
/* syscall_filter.c - limits the system calls of the process by seccomp.
 *
 * The filter is a program for the kernel's interpreter of socket filters (BPF), a list of
 * comparisons: it has no loops and needs no library to be made. What is not listed is denied; so
 * are arguments that would start a process, address a datagram, or signal another process. */
#include "syscall_filter.h"
#include <asm/termbits.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

enum {
    MAX_INSTRUCTIONS = 512,
    /* The newest system call of Linux 5.11, on all architectures. The C library falls back to older
     * ones when a newer one does not exist. */
    NEWEST = 441,
    X32_BIT = 0x40000000, /* the second set of system calls on x86-64 */
};

/* PR_SET_VMA: newer versions of the C library name their mappings. */
enum { SET_VMA = 0x53564d41 };

static const int allowed[] = {
    /* in the order of their frequency */
    SYS_futex,
    SYS_epoll_pwait,
    SYS_read,
    SYS_write,
    SYS_recvfrom,
    SYS_sendmsg,
    SYS_clock_gettime,
    SYS_sched_yield,
    SYS_pread64,
    /* sockets and descriptors */
    SYS_accept4,
    SYS_recvmsg,
    SYS_shutdown,
    SYS_setsockopt,
    SYS_getsockopt,
    SYS_getsockname,
    SYS_getpeername,
    SYS_sendfile,
    SYS_readv,
    SYS_writev,
    SYS_close,
    SYS_dup,
    SYS_dup3,
    SYS_fcntl,
    SYS_pipe2,
    SYS_eventfd2,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_ppoll,
    SYS_pselect6,
    SYS_timerfd_create,
    SYS_timerfd_settime,
    SYS_signalfd4,
    /* files: Landlock limits which ones */
    SYS_openat,
    SYS_newfstatat,
    SYS_fstat,
    SYS_statx,
    SYS_statfs,
    SYS_fstatfs,
    SYS_lseek,
    SYS_getdents64,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_readlinkat,
    SYS_getcwd,
    SYS_pwrite64,
    SYS_preadv,
    SYS_pwritev,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fsync,
    SYS_fdatasync,
    SYS_flock,
    SYS_fadvise64,
    SYS_readahead,
    SYS_renameat,
    SYS_renameat2,
    SYS_unlinkat,
    SYS_fchmod,
    SYS_umask,
    /* memory */
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_mlock,
    SYS_mlock2,
    SYS_mlockall,
    SYS_munlock,
    SYS_mincore,
    SYS_msync,
    SYS_mbind,
    SYS_get_mempolicy,
    SYS_set_mempolicy,
    SYS_membarrier,
    /* threads, signals, time */
    SYS_exit,
    SYS_exit_group,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_set_tid_address,
    SYS_gettid,
    SYS_getpid,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_sched_get_priority_max,
    SYS_sched_get_priority_min,
    SYS_getcpu,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigpending,
    SYS_rt_sigtimedwait,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_clock_getres,
    SYS_gettimeofday,
    SYS_wait4,
    /* information */
    SYS_getrandom,
    SYS_getrusage,
    SYS_sysinfo,
    SYS_uname,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getppid,
    SYS_times,
#if defined(__x86_64__)
    /* older forms, which aarch64 does not have; arch_prctl enables AMX */
    SYS_epoll_wait,
    SYS_poll,
    SYS_select,
    SYS_open,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_rename,
    SYS_unlink,
    SYS_dup2,
    SYS_pipe,
    SYS_time,
    SYS_getdents,
    SYS_arch_prctl,
#endif
};

/* System calls that are allowed with some values of an argument: those that equal one of `values`
 * after masking. */
struct condition {
    int number;
    unsigned argument;
    uint32_t mask; /* of the lower half; the upper half must be 0 if the mask has all bits */
    uint32_t values[4];
    unsigned n_values;
};

enum { OWN_PROCESS = 0xffffffff }; /* as a value: the id of this process */

#define ALL_BITS UINT32_MAX
static const struct condition conditions[] = {
    { SYS_sendto, 4, ALL_BITS, { 0 }, 1 }, /* no address: connected sockets only */
    /* a thread, not a process; clone3, whose flags are in memory, does not exist */
    { SYS_clone, 0, CLONE_VM | CLONE_THREAD, { CLONE_VM | CLONE_THREAD }, 1 },
    { SYS_tgkill, 0, ALL_BITS, { OWN_PROCESS }, 1 }, /* abort() */
    { SYS_prlimit64, 2, ALL_BITS, { 0 }, 1 },        /* reads limits only */
    { SYS_ioctl, 1, ALL_BITS, { TCGETS, FIONREAD, FIONBIO, TIOCGWINSZ }, 4 },
    { SYS_prctl, 0, ALL_BITS, { PR_SET_NAME, PR_GET_NAME, SET_VMA }, 3 },
};

struct program {
    struct sock_filter code[MAX_INSTRUCTIONS];
    unsigned short n;
};

static void add(struct program *p, struct sock_filter instruction)
{
    p->code[p->n++] = instruction;
}

/* The next instruction, or `otherwise` instructions further if the accumulator is not `value`. */
static void jump_unless(struct program *p, uint32_t value, unsigned otherwise)
{
    add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, (uint8_t)otherwise));
}

static void load(struct program *p, size_t offset)
{
    add(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void end(struct program *p, uint32_t action)
{
    add(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void allow(struct program *p, int number)
{
    jump_unless(p, (uint32_t)number, 1);
    end(p, SECCOMP_RET_ALLOW);
}

/* Both architectures are little-endian: the lower half of an argument comes first. */
static size_t argument_at(unsigned i, unsigned half)
{
    return offsetof(struct seccomp_data, args) + 8 * i + 4 * half;
}

static void allow_if(struct program *p, const struct condition *c)
{
    const bool whole = c->mask == ALL_BITS;
    jump_unless(p, (uint32_t)c->number, (whole ? 5 : 3) + 2 * c->n_values);
    if (whole) {
        load(p, argument_at(c->argument, 1));
        jump_unless(p, 0, 2 + 2 * c->n_values);
    }
    load(p, argument_at(c->argument, 0));
    add(p, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, c->mask));
    for (unsigned i = 0; i < c->n_values; i++) {
        const uint32_t value = c->values[i] == OWN_PROCESS ? (uint32_t)getpid() : c->values[i];
        jump_unless(p, value, 1);
        end(p, SECCOMP_RET_ALLOW);
    }
    end(p, SECCOMP_RET_ERRNO | EPERM);
}

static void make_program(struct program *p, enum syscall_set set)
{
    load(p, offsetof(struct seccomp_data, arch));
    add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0));
    end(p, SECCOMP_RET_KILL_PROCESS);
    load(p, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
        allow(p, allowed[i]);
    if (set == SYSCALLS_CLIENT) {
        allow(p, SYS_socket);
        allow(p, SYS_connect);
    }
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++)
        allow_if(p, &conditions[i]);
    jump_unless(p, SYS_clone3, 1);
    end(p, SECCOMP_RET_ERRNO | ENOSYS);
    add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, NEWEST, 0, 2));
    add(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 1, 0));
    end(p, SECCOMP_RET_ERRNO | ENOSYS);
    end(p, SECCOMP_RET_ERRNO | EPERM);
}

bool syscall_filter_enter(enum syscall_set set, struct api_error *error)
{
    struct program p = { .n = 0 };
    make_program(&p, set);
    const struct sock_fprog program = { .len = p.n, .filter = p.code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return api_fail(error, 500, NULL, NULL, "--sandbox: no_new_privs: %s", strerror(errno));
    const long r =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (r == 0)
        return true;
    return api_fail(error, 500, NULL, NULL, "--sandbox needs seccomp filters: %s",
                    r > 0             ? "a thread has a filter of its own"
                    : errno == ENOSYS ? "this kernel does not have them (CONFIG_SECCOMP_FILTER)"
                                      : strerror(errno));
}
