/* SPDX-License-Identifier: Apache-2.0 */
/* test_sandbox.c - children enter the sandbox and try what is denied and what is allowed. Tests of
 * files are skipped on kernels without Landlock. */
#include "adapter_list.h"
#include "landlock.h"
#include "model_list.h"
#include "registry.h"
#include "sandbox.h"
#include "sandbox_child.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

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

const struct adapter_entry *adapter_list_at(const struct registry *r, unsigned i)
{
    (void)r;
    (void)i;
    return NULL;
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

static void enter_sandbox(void)
{
    struct api_error e = { 0 };
    if (!sandbox_enter(&options, NULL, &e)) {
        fprintf(stderr, "%s\n", e.message);
        _exit(2);
    }
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files),
        cmocka_unit_test(refusals),
        cmocka_unit_test(kernel_without_landlock),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
