/* SPDX-License-Identifier: Apache-2.0 */
/* test_sandbox.c - children enter the sandbox and try what is denied and what is allowed. Tests of
 * files are skipped on kernels without Landlock. */
#include "landlock.h"
#include "registry.h"
#include "sandbox.h"
#include "syscall_filter.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka.h requires headers above */
#include <cmocka.h>

static char folder[] = "/tmp/quire-test-sandbox-XXXXXX";
static char paths[8][80];
enum { MODEL, PARTS, HUB, BLOBS, CACHE, RUN, OTHER, N_FOLDERS };
static const char *const names[N_FOLDERS] = { "model", "parts", "hub",  "blobs",
                                              "cache", "run",   "other" };

static struct model models[3];
static struct options options;

/* The registry that the sandbox sees. */
struct model *registry_model(struct registry *r, unsigned i)
{
    (void)r;
    return i < 3 ? &models[i] : NULL;
}

static const char *in(int which, const char *name)
{
    static char path[2][200];
    static int turn;
    turn ^= 1;
    snprintf(path[turn], sizeof path[turn], "%s/%s", paths[which], name);
    return path[turn];
}

static void touch(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "data", 4), 4);
    close(fd);
}

static int setup(void **state)
{
    static char model[200], part[200], socket_path[200];
    (void)state;
    if (mkdtemp(folder) == NULL)
        return 1;
    for (int i = 0; i < N_FOLDERS; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
        if (mkdir(paths[i], 0755) != 0)
            return 1;
    }
    touch(strcpy(model, in(MODEL, "m.gguf")));
    touch(in(MODEL, "neighbor.gguf"));
    touch(strcpy(part, in(PARTS, "p-00001-of-00003.gguf")));
    touch(in(PARTS, "p-00002-of-00003.gguf"));
    touch(in(PARTS, "p-00003-of-00003.gguf"));
    touch(in(PARTS, "q-00003-of-00003.gguf"));
    touch(in(BLOBS, "1234"));
    touch(in(BLOBS, "5678"));
    touch(in(BLOBS, "9999"));
    touch(in(HUB, "config.json"));
    touch(strcpy(socket_path, in(RUN, "socket")));
    touch(in(OTHER, "secret"));
    if (symlink("../blobs/1234", in(HUB, "weights")) != 0 || mkdir(in(HUB, "sub"), 0755) != 0 ||
        symlink("../../blobs/5678", in(HUB, "sub/file")) != 0 ||
        symlink("nowhere", in(HUB, "broken")) != 0)
        return 1;
    models[0].path = model;
    models[1].path = part;
    models[2].path = paths[HUB];
    options.cache_dir = paths[CACHE];
    options.unix_socket = socket_path;
    return 0;
}

static int teardown(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* ---- Children ---- */

static void complain(const char *what, int line, int error)
{
    fprintf(stderr, "line %d: %s: %s\n", line, what, strerror(error));
    _exit(1);
}

/* In a child: the call fails with this errno, or succeeds. */
#define DENIED(error, call)                                                                        \
    do {                                                                                           \
        errno = 0;                                                                                 \
        if ((long)(call) != -1 || errno != (error))                                                \
            complain("not denied: " #call, __LINE__, errno);                                       \
    } while (0)
#define ALLOWED(call)                                                                              \
    do {                                                                                           \
        if ((long)(call) == -1)                                                                    \
            complain(#call, __LINE__, errno);                                                      \
    } while (0)

static void enter_sandbox(void)
{
    struct api_error e = { 0 };
    if (!sandbox_enter(&options, NULL, &e)) {
        fprintf(stderr, "%s\n", e.message);
        _exit(2);
    }
}

static void enter_filter(enum syscall_set set)
{
    struct api_error e = { 0 };
    if (!syscall_filter_enter(set, &e)) {
        fprintf(stderr, "%s\n", e.message);
        _exit(2);
    }
}

/* Runs fn in a child; returns the status of wait(2). */
static int run(void (*fn)(void))
{
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        fn();
        _exit(0);
    }
    int status = -1;
    assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
    return status;
}

static void assert_passes(void (*fn)(void)) { assert_int_equal(run(fn), 0); }

static void need_landlock(void)
{
    struct api_error e = { 0 };
    struct landlock l;
    if (landlock_create(&l, &e)) {
        landlock_close(&l);
        return;
    }
    printf("skipped: %s\n", e.message);
    skip();
}

/* ---- Files ---- */

static int try_open(const char *path, int flags)
{
    const int fd = open(path, flags | O_CLOEXEC, 0644);
    if (fd >= 0)
        close(fd);
    return fd;
}

static void open_files(void)
{
    enter_sandbox();
    ALLOWED(try_open(in(MODEL, "m.gguf"), O_RDONLY));
    ALLOWED(try_open(in(PARTS, "p-00001-of-00003.gguf"), O_RDONLY));
    ALLOWED(try_open(in(PARTS, "p-00003-of-00003.gguf"), O_RDONLY));
    ALLOWED(try_open(in(HUB, "config.json"), O_RDONLY));
    ALLOWED(try_open(in(HUB, "weights"), O_RDONLY));
    ALLOWED(try_open(in(HUB, "sub/file"), O_RDONLY));
    ALLOWED(try_open(paths[HUB], O_RDONLY | O_DIRECTORY));
    ALLOWED(try_open("/proc/meminfo", O_RDONLY));
    ALLOWED(try_open("/proc/self/cgroup", O_RDONLY));
    DENIED(EACCES, try_open(in(MODEL, "neighbor.gguf"), O_RDONLY));
    DENIED(EACCES, try_open(in(PARTS, "q-00003-of-00003.gguf"), O_RDONLY));
    DENIED(EACCES, try_open(in(BLOBS, "9999"), O_RDONLY));
    DENIED(EACCES, try_open(in(OTHER, "secret"), O_RDONLY));
    DENIED(EACCES, try_open(paths[MODEL], O_RDONLY | O_DIRECTORY));
    DENIED(EACCES, try_open("/etc/passwd", O_RDONLY));
    DENIED(EACCES, try_open("/", O_RDONLY | O_DIRECTORY));
    DENIED(EACCES, try_open("/proc", O_RDONLY | O_DIRECTORY));
    DENIED(EACCES, try_open("/dev/null", O_WRONLY));
    DENIED(EACCES, try_open("/bin/sh", O_RDONLY));
}

static void write_files(void)
{
    enter_sandbox();
    ALLOWED(try_open(in(CACHE, "new"), O_WRONLY | O_CREAT | O_EXCL));
    ALLOWED(rename(in(CACHE, "new"), in(CACHE, "m.cache")));
    ALLOWED(try_open(in(CACHE, "m.cache"), O_RDWR | O_TRUNC));
    ALLOWED(unlink(in(CACHE, "m.cache")));
    ALLOWED(unlink(options.unix_socket));
    DENIED(EACCES, try_open(in(MODEL, "m.gguf"), O_WRONLY));
    DENIED(EACCES, try_open(in(MODEL, "new"), O_WRONLY | O_CREAT));
    DENIED(EACCES, try_open(in(HUB, "config.json"), O_RDWR));
    DENIED(EACCES, try_open(in(RUN, "new"), O_WRONLY | O_CREAT));
    DENIED(EACCES, try_open("/tmp/quire-test-sandbox", O_WRONLY | O_CREAT));
    DENIED(EACCES, try_open("/proc/self/oom_score_adj", O_WRONLY));
    DENIED(EACCES, unlink(in(MODEL, "m.gguf")));
    DENIED(EACCES, rename(in(MODEL, "m.gguf"), in(MODEL, "n.gguf")));
    DENIED(EPERM, truncate(in(MODEL, "m.gguf"), 0));
    DENIED(EPERM, link(in(OTHER, "secret"), in(CACHE, "x")));
    DENIED(EPERM, symlink("/etc/passwd", in(CACHE, "x")));
    DENIED(EPERM, mkdir(in(CACHE, "x"), 0755));
    DENIED(EPERM, chmod(in(CACHE, "x"), 0777));
}

/* Environment and memory of a process outside are hidden, also of one of the same user. */
static void read_other_process(void)
{
    char environ_path[64], memory_path[64];
    snprintf(environ_path, sizeof environ_path, "/proc/%d/environ", (int)getppid());
    snprintf(memory_path, sizeof memory_path, "/proc/%d/mem", (int)getppid());
    ALLOWED(try_open(environ_path, O_RDONLY));
    enter_sandbox();
    DENIED(EACCES, try_open(environ_path, O_RDONLY));
    DENIED(EACCES, try_open(memory_path, O_RDONLY));
}

static void *open_in_thread(void *unused)
{
    (void)unused;
    DENIED(EACCES, try_open("/etc/passwd", O_RDONLY));
    ALLOWED(try_open(in(MODEL, "m.gguf"), O_RDONLY));
    return NULL;
}

static void open_files_in_thread(void)
{
    pthread_t thread;
    enter_sandbox();
    if (pthread_create(&thread, NULL, open_in_thread, NULL) != 0)
        complain("pthread_create", __LINE__, errno);
    pthread_join(thread, NULL);
}

static void files(void **state)
{
    (void)state;
    need_landlock();
    assert_passes(open_files);
    assert_passes(write_files);
    touch(options.unix_socket);
    assert_passes(read_other_process);
    assert_passes(open_files_in_thread);
}

static void enter_without_model(void)
{
    struct api_error e = { 0 };
    models[0].path = "/nonexistent/model.gguf";
    if (sandbox_enter(&options, NULL, &e) || strstr(e.message, models[0].path) == NULL)
        complain(e.message, __LINE__, 0);
    ALLOWED(try_open("/etc/passwd", O_RDONLY)); /* nothing has changed */
}

static void *wait_for_end(void *unused)
{
    (void)unused;
    pause();
    return NULL;
}

static void enter_with_thread(void)
{
    struct api_error e = { 0 };
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_for_end, NULL) != 0)
        complain("pthread_create", __LINE__, errno);
    if (sandbox_enter(&options, NULL, &e) || strstr(e.message, "threads") == NULL)
        complain(e.message, __LINE__, 0);
}

static void refusals(void **state)
{
    (void)state;
    need_landlock();
    assert_passes(enter_without_model);
    assert_passes(enter_with_thread);
}

/* ---- Without Landlock ---- */

static void deny_landlock(void)
{
    struct api_error e = { 0 };
    enter_filter(SYSCALLS_SERVER); /* the system calls do not exist any more */
    if (sandbox_enter(&options, NULL, &e) ||
        strstr(e.message, "--sandbox needs Landlock, which this kernel does not have") == NULL)
        complain(e.message, __LINE__, 0);
}

static void kernel_without_landlock(void **state)
{
    (void)state;
    assert_passes(deny_landlock);
}

/* ---- System calls ---- */

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
    char byte;
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

static void system_calls(void **state)
{
    (void)state;
    assert_passes(start_programs);
    assert_passes(open_sockets);
    assert_passes(serve_connections);
    assert_passes(touch_other_processes);
    assert_passes(change_the_system);
    assert_passes(compute);
    assert_passes(connect_as_client);
    const int status = run(end_by_abort);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files),
        cmocka_unit_test(refusals),
        cmocka_unit_test(kernel_without_landlock),
        cmocka_unit_test(system_calls),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
