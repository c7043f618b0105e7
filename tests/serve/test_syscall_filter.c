/* SPDX-License-Identifier: Apache-2.0 */
/* test_syscall_filter.c - children enter the filter of system calls and try what is denied and what
 * is allowed. */
#include "sandbox_child.h"
#include <linux/sched.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

static void start_programs(void)
{
    char *const arguments[] = { "/bin/true", NULL };
    pid_t pid;
    enter_filter(SYSCALLS_SERVER);
    DENIED(EPERM, execv("/bin/true", arguments));
    DENIED(EPERM, syscall(SYS_execveat, -1, "/bin/true", arguments, NULL, 0));
    DENIED(EPERM, fork());
    DENIED(EPERM, vfork());
    DENIED(EPERM, syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    DENIED(EPERM, syscall(SYS_clone, CLONE_VM | SIGCHLD, 0, 0, 0, 0));
    DENIED(EPERM, syscall(SYS_clone, CLONE_THREAD, 0, 0, 0, 0));
    struct clone_args args = { .exit_signal = SIGCHLD };
    DENIED(ENOSYS, syscall(SYS_clone3, &args, sizeof args));
    if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ) != EPERM)
        complain("posix_spawn", __LINE__, 0);
}

static struct sockaddr_in loopback(void)
{
    return (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void open_sockets(void)
{
    struct sockaddr_in a = loopback();
    struct sockaddr *address = (struct sockaddr *)&a;
    struct sockaddr_un local = { .sun_family = AF_UNIX, .sun_path = "/run/systemd/notify" };
    int pair[2];
    const int tcp = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0);
    const int ipc = socket(AF_UNIX, SOCK_DGRAM, 0);
    a.sin_port = htons(9);
    enter_filter(SYSCALLS_SERVER);
    DENIED(EPERM, socket(AF_INET, SOCK_STREAM, 0));
    DENIED(EPERM, socket(AF_INET6, SOCK_DGRAM, 0));
    DENIED(EPERM, socket(AF_UNIX, SOCK_STREAM, 0));
    DENIED(EPERM, socket(AF_NETLINK, SOCK_RAW, 0));
    DENIED(EPERM, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    DENIED(EPERM, connect(tcp, address, sizeof a));
    DENIED(EPERM, bind(tcp, address, sizeof a));
    DENIED(EPERM, listen(tcp, 1));
    DENIED(EPERM, sendto(udp, "x", 1, 0, address, sizeof a));
    DENIED(EPERM, sendto(ipc, "x", 1, 0, (struct sockaddr *)&local, sizeof local));
}

static void serve_connections(void)
{
    struct sockaddr_in a = loopback();
    socklen_t size = sizeof a;
    char text[8] = "";
    const int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    ALLOWED(bind(server, (struct sockaddr *)&a, size));
    ALLOWED(listen(server, 1));
    ALLOWED(getsockname(server, (struct sockaddr *)&a, &size));
    ALLOWED(connect(client, (struct sockaddr *)&a, size));
    enter_filter(SYSCALLS_SERVER);
    const int accepted = accept4(server, NULL, NULL, SOCK_CLOEXEC);
    ALLOWED(accepted);
    ALLOWED(send(client, "hello", 5, 0));
    if (recv(accepted, text, sizeof text, 0) != 5 || strcmp(text, "hello") != 0)
        complain("recv", __LINE__, errno);
    ALLOWED(shutdown(accepted, SHUT_RDWR));
    ALLOWED(close(accepted));
}

static void touch_other_processes(void)
{
    const pid_t parent = getppid();
    struct rlimit limit;
    char byte = 0;
    ALLOWED(getrlimit(RLIMIT_NOFILE, &limit));
    enter_filter(SYSCALLS_SERVER);
    DENIED(EPERM, kill(parent, 0));
    DENIED(EPERM, syscall(SYS_tgkill, parent, parent, 0));
    DENIED(EPERM, ptrace(PTRACE_ATTACH, parent, 0, 0));
    DENIED(EPERM, syscall(SYS_process_vm_readv, parent, &byte, 1, &byte, 1, 0));
    DENIED(EPERM, syscall(SYS_pidfd_open, parent, 0));
    DENIED(EPERM, setrlimit(RLIMIT_NOFILE, &limit));
    DENIED(EPERM, setpriority(PRIO_PROCESS, (id_t)parent, 0));
    DENIED(EPERM, prctl(PR_SET_DUMPABLE, 1));
    DENIED(EPERM, ioctl(0, TIOCSTI, &byte));
    ALLOWED(getrlimit(RLIMIT_NOFILE, &limit));
}

static void change_the_system(void)
{
    static const int denied[] = {
        SYS_mount,
        SYS_umount2,
        SYS_pivot_root,
        SYS_chroot,
        SYS_setns,
        SYS_unshare,
        SYS_init_module,
        SYS_finit_module,
        SYS_delete_module,
        SYS_kexec_load,
        SYS_reboot,
        SYS_keyctl,
        SYS_add_key,
        SYS_request_key,
        SYS_bpf,
        SYS_perf_event_open,
        SYS_userfaultfd,
        SYS_io_uring_setup,
        SYS_setuid,
        SYS_setgid,
        SYS_setresuid,
        SYS_capset,
        SYS_memfd_create,
        SYS_shmget,
        SYS_swapon,
        SYS_settimeofday,
        SYS_clock_settime,
        SYS_sethostname,
        SYS_syslog,
        SYS_personality,
        SYS_quotactl,
        SYS_acct,
        SYS_name_to_handle_at,
        SYS_open_by_handle_at,
        SYS_fanotify_init,
        SYS_inotify_init1,
        SYS_mknodat,
        SYS_linkat,
        SYS_symlinkat,
        SYS_mkdirat,
        SYS_fchmodat,
        SYS_fchownat,
        SYS_setxattr,
        SYS_chdir,
        SYS_seccomp,
    };
    enter_filter(SYSCALLS_SERVER);
    for (size_t i = 0; i < sizeof denied / sizeof denied[0]; i++) {
        errno = 0;
        if (syscall(denied[i], 0, 0, 0, 0, 0, 0) != -1 || errno != EPERM) {
            fprintf(stderr, "system call %d: %s\n", denied[i], strerror(errno));
            _exit(1);
        }
    }
    DENIED(ENOSYS, syscall(5000, 0)); /* newer than the filter */
#if defined(__x86_64__)
    DENIED(EPERM, syscall(0x40000000 + SYS_getpid)); /* x32 */
#endif
}

static void *set_flag(void *flag)
{
    *(int *)flag = 1;
    return flag;
}

static void compute(void)
{
    enter_filter(SYSCALLS_SERVER);
    pthread_t thread;
    cpu_set_t cpus;
    int flag = 0;
    if (pthread_create(&thread, NULL, set_flag, &flag) != 0 || pthread_join(thread, NULL) != 0 ||
        flag != 1)
        complain("thread", __LINE__, errno);
    void *p = mmap(NULL, 1 << 21, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ALLOWED(p);
    ALLOWED(madvise(p, 1 << 21, MADV_HUGEPAGE) == 0 || errno == EINVAL ? 0 : -1);
    ALLOWED(mlock(p, 4096));
    ALLOWED(munmap(p, 1 << 21));
    ALLOWED(sched_getaffinity(0, sizeof cpus, &cpus));
    ALLOWED(sched_setaffinity(0, sizeof cpus, &cpus));
    ALLOWED(prctl(PR_SET_NAME, "renamed"));
    ALLOWED(usleep(1));
    free(malloc(1 << 20));
}

static void end_by_abort(void)
{
    enter_filter(SYSCALLS_SERVER);
    abort();
}

static void connect_as_client(void)
{
    struct sockaddr_in a = loopback();
    char *const arguments[] = { "/bin/true", NULL };
    a.sin_port = htons(9); /* nobody listens there */
    enter_filter(SYSCALLS_CLIENT);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    ALLOWED(fd);
    DENIED(ECONNREFUSED, connect(fd, (struct sockaddr *)&a, sizeof a));
    DENIED(EPERM, bind(fd, (struct sockaddr *)&a, sizeof a));
    DENIED(EPERM, execv("/bin/true", arguments));
    DENIED(EPERM, fork());
}

static void denies(void **state)
{
    (void)state;
    assert_passes(start_programs);
    assert_passes(open_sockets);
    assert_passes(touch_other_processes);
    assert_passes(change_the_system);
}

static void allows(void **state)
{
    (void)state;
    assert_passes(serve_connections);
    assert_passes(compute);
    const int status = run_child(end_by_abort);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void client_connects(void **state)
{
    (void)state;
    assert_passes(connect_as_client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(denies),
        cmocka_unit_test(allows),
        cmocka_unit_test(client_connects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
