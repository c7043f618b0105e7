/* SPDX-License-Identifier: Apache-2.0 */
/* test_listen.c - listening sockets: TCP, Unix, passed by systemd; messages to the supervisor. */
#include "listen.h"
#include "notify.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka.h requires headers above */
#include <cmocka.h>

static char folder[] = "/tmp/quire-listen-XXXXXX";
static struct listener out[LISTEN_MAX];
static struct api_error error;

static int begin(void **state)
{
    (void)state;
    error = (struct api_error){ 0 };
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_PID");
    return 0;
}

static int open_host(const char *host, uint16_t port)
{
    const struct options o = { .host = host, .port = port };
    error = (struct api_error){ 0 };
    return listen_open(&o, out, &error);
}

static int open_path(const char *path)
{
    const struct options o = { .unix_socket = path };
    error = (struct api_error){ 0 };
    return listen_open(&o, out, &error);
}

static unsigned port_of_url(const char *url)
{
    const char *colon = strrchr(url, ':');
    return colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
}

static void tcp(void **state)
{
    (void)state;
    assert_int_equal(open_host("127.0.0.1", 0), 1);
    const int fd = out[0].fd;
    const unsigned port = port_of_url(out[0].url);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%u", port);
    assert_string_equal(out[0].url, url);
    assert_true(port > 0 && !out[0].is_unix);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    /* a client connects */
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&a, sizeof a), 0);
    close(client);
    /* a second server does not get the port */
    assert_int_equal(open_host("127.0.0.1", (uint16_t)port), 0);
    assert_non_null(strstr(error.message, url));
    assert_non_null(strstr(error.message, "another program listens there"));
    close(fd);
    /* after a restart the port is there at once, TIME_WAIT or not */
    assert_int_equal(open_host("127.0.0.1", (uint16_t)port), 1);
    close(out[0].fd);
}

static void loopback(void **state)
{
    (void)state;
    static const struct listener local = { .is_loopback = true }, other = { .is_unix = true };
    assert_int_equal(open_host("127.0.0.1", 0), 1);
    assert_true(listen_is_loopback(out, 1));
    close(out[0].fd);
    assert_int_equal(open_host("0.0.0.0", 0), 1);
    assert_false(listen_is_loopback(out, 1));
    close(out[0].fd);
    assert_true(listen_is_loopback((const struct listener[]){ local, local }, 2));
    assert_false(listen_is_loopback((const struct listener[]){ local, other }, 2));
    assert_false(listen_is_loopback(out, 0));
}

static void scheme(void **state)
{
    (void)state;
    const struct options o = { .host = "127.0.0.1", .tls_cert = "c", .tls_key = "k" };
    assert_int_equal(listen_open(&o, out, &error), 1);
    assert_memory_equal(out[0].url, "https://127.0.0.1:", 18);
    close(out[0].fd);
}

/* The name "twice" has one address two times, as some /etc/hosts give for localhost. */
int __real_getaddrinfo(const char *, const char *, const struct addrinfo *, struct addrinfo **);
int __wrap_getaddrinfo(const char *, const char *, const struct addrinfo *, struct addrinfo **);
int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **list)
{
    const bool twice = strcmp(host, "twice") == 0;
    const char *name = twice ? "127.0.0.1" : host;
    const int code = __real_getaddrinfo(name, service, hints, list);
    return twice && code == 0 ? __real_getaddrinfo(name, service, hints, &(*list)->ai_next) : code;
}

static void one_address_twice(void **state)
{
    (void)state;
    assert_int_equal(open_host("twice", 0), 1);
    close(out[0].fd);
}

/* IPv6 addresses and names; a machine may have no IPv6, and know no names. */
static void other_hosts(void **state)
{
    (void)state;
    if (open_host("::1", 0) == 1) {
        assert_memory_equal(out[0].url, "http://[::1]:", 13);
        close(out[0].fd);
    } else {
        assert_non_null(strstr(error.message, "http://[::1]:0"));
    }
    struct addrinfo *found = NULL;
    const bool known = getaddrinfo("localhost", NULL, NULL, &found) == 0;
    const int n = open_host("localhost", 0);
    if (known)
        freeaddrinfo(found);
    else
        assert_non_null(strstr(error.message, "localhost"));
    assert_true(known ? n >= 1 : n < 1);
    for (int i = 0; i < n; i++) {
        assert_int_equal(port_of_url(out[i].url), port_of_url(out[0].url));
        close(out[i].fd);
    }
    assert_int_equal(open_host("0.0.0.0", 0), 1);
    close(out[0].fd);
}

static void bad_hosts(void **state)
{
    (void)state;
    assert_int_equal(open_host("no such host.invalid", 0), 0);
    assert_non_null(strstr(error.message, "--host no such host.invalid"));
    assert_int_equal(open_host("192.0.2.1", 0), 0); /* a documentation address */
    assert_non_null(strstr(error.message, "http://192.0.2.1:0"));
}

static void unix_socket(void **state)
{
    (void)state;
    char path[100], url[120];
    struct stat st;
    snprintf(path, sizeof path, "%s/socket", folder);
    snprintf(url, sizeof url, "unix:%s", path);
    const mode_t before = umask(0022);
    assert_int_equal(open_path(path), 1);
    assert_string_equal(out[0].url, url);
    assert_true(out[0].is_unix && out[0].is_own);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode, S_IFSOCK | 0660);
    const struct listener first = out[0];
    /* somebody listens */
    assert_int_equal(open_path(path), 0);
    assert_non_null(strstr(error.message, path));
    assert_non_null(strstr(error.message, "another server listens there"));
    /* nobody listens any more: the file is replaced */
    close(first.fd);
    assert_int_equal(open_path(path), 1);
    listen_remove_files(out, 1);
    assert_int_equal(stat(path, &st), -1);
    close(out[0].fd);
    umask(before);
}

static void bad_paths(void **state)
{
    (void)state;
    char path[300];
    snprintf(path, sizeof path, "%s/file", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("precious", f);
    fclose(f);
    assert_int_equal(open_path(path), 0);
    assert_non_null(strstr(error.message, "not a socket"));
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 8);
    snprintf(path, sizeof path, "%s/none/socket", folder);
    assert_int_equal(open_path(path), 0);
    assert_non_null(strstr(error.message, path));
    snprintf(path, sizeof path, "%s/%0200d", folder, 1);
    assert_int_equal(open_path(path), 0);
    assert_non_null(strstr(error.message, "107 bytes"));
}

/* ---- Sockets passed by systemd, which begin at descriptor 3: in a process of their own */

enum passed { LISTENING, NOT_LISTENING, TOO_MANY, OTHER_PROCESS };

static int open_passed(enum passed kind)
{
    char pid[32];
    struct sockaddr_in a = { .sin_family = AF_INET };
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0)
        return 100;
    if (kind != NOT_LISTENING && listen(fd, 1) != 0)
        return 101;
    if (dup2(fd, 3) != 3)
        return 102;
    snprintf(pid, sizeof pid, "%d", kind == OTHER_PROCESS ? 1 : (int)getpid());
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", kind == TOO_MANY ? "9" : "1", 1);
    const int n = open_host("127.0.0.1", 0);
    if (n == 1 && kind == LISTENING)
        return out[0].fd == 3 && (fcntl(3, F_GETFL) & O_NONBLOCK) &&
               (fcntl(3, F_GETFD) & FD_CLOEXEC) && !out[0].is_own && !getenv("LISTEN_FDS") &&
               port_of_url(out[0].url) > 0;
    return n == 1 ? 2 : strstr(error.message, "LISTEN_FDS") ? 3 : 4;
}

static int in_child(enum passed kind)
{
    const pid_t pid = fork();
    if (pid == 0)
        _exit(open_passed(kind));
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void passed_sockets(void **state)
{
    (void)state;
    assert_int_equal(in_child(LISTENING), 1);
    assert_int_equal(in_child(NOT_LISTENING), 3);
    assert_int_equal(in_child(TOO_MANY), 3);
    assert_int_equal(in_child(OTHER_PROCESS), 2); /* ignored: a socket of its own */
}

static void notifications(void **state)
{
    (void)state;
    char name[100], text[64];
    for (int abstract = 0; abstract < 2; abstract++) {
        struct sockaddr_un a = { .sun_family = AF_UNIX };
        snprintf(name, sizeof name, "%s%s/notify", abstract ? "@" : "", folder);
        memcpy(a.sun_path, name, strlen(name));
        if (abstract)
            a.sun_path[0] = '\0';
        const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
        assert_int_equal(bind(fd, (struct sockaddr *)&a, size), 0);
        setenv("NOTIFY_SOCKET", name, 1);
        const int sender = notify_open();
        assert_true(sender >= 0);
        notify_send(sender, "READY=1");
        const ssize_t n = read(fd, text, sizeof text);
        assert_int_equal(n, 7);
        assert_memory_equal(text, "READY=1", 7);
        for (int i = 0; i < 1000; i++) /* a full queue does not block */
            notify_send(sender, "STOPPING=1");
        close(fd);
        notify_send(sender, "STOPPING=1"); /* nor does a supervisor that has gone */
        close(sender);
    }
    static const char *const none[] = { "relative", "", "/", "/no/such/socket" };
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        setenv("NOTIFY_SOCKET", none[i], 1);
        assert_int_equal(notify_open(), -1);
    }
    unsetenv("NOTIFY_SOCKET");
    assert_int_equal(notify_open(), -1);
    notify_send(-1, "READY=1");
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = { "socket", "file", "notify" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[100];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(tcp, begin),
        cmocka_unit_test_setup(loopback, begin),
        cmocka_unit_test_setup(scheme, begin),
        cmocka_unit_test_setup(one_address_twice, begin),
        cmocka_unit_test_setup(other_hosts, begin),
        cmocka_unit_test_setup(bad_hosts, begin),
        cmocka_unit_test_setup(unix_socket, begin),
        cmocka_unit_test_setup(bad_paths, begin),
        cmocka_unit_test_setup(passed_sockets, begin),
        cmocka_unit_test_setup(notifications, begin),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
