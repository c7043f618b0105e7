/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_sender.c - the process that sends traces, with a collector that never answers. */
#include "collector_url.h"
#include "trace_sender.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka.h requires headers above */
#include <cmocka.h>

static int listen_somewhere(struct collector_url *url)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof a;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&a, size) == 0 && listen(fd, 8) == 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    *url = (struct collector_url){ .host = "127.0.0.1", .port = ntohs(a.sin_port), .path = "/" };
    return fd;
}

/* The queue takes what the sender cannot get rid of, up to a limit, and putting never waits. */
static void queue_is_bounded(void **state)
{
    (void)state;
    static char span[8000];
    struct collector_url url;
    struct trace_sender s;
    struct api_error e = { 0 };
    const int fd = listen_somewhere(&url);
    int n = 0;
    memset(span, ' ', sizeof span);
    assert_true(trace_sender_start(&s, &url, "[", "]", false, &e));
    while (n < 10000 && trace_sender_put(&s, span, sizeof span))
        n++;
    assert_in_range(n, 20, 2000);
    assert_false(trace_sender_put(&s, span, 20000)); /* longer than any span */
    assert_int_equal(kill(s.pid, SIGKILL), 0);
    assert_int_equal(waitpid(s.pid, NULL, 0), s.pid);
    assert_false(trace_sender_put(&s, "{}", 2)); /* and without a sender */
    trace_sender_close(&s);
    close(fd);
}

/* One request has the prefix, the spans with commas, and the suffix. */
static void sends_a_batch(void **state)
{
    (void)state;
    struct collector_url url;
    struct trace_sender s;
    struct trace_report report;
    struct api_error e = { 0 };
    char request[1024] = "";
    size_t size = 0;
    const int fd = listen_somewhere(&url);
    strcpy(url.authority, "collector:1");
    assert_true(trace_sender_start(&s, &url, "[", "]", false, &e));
    assert_true(trace_sender_put(&s, "{1}", 3));
    assert_true(trace_sender_put(&s, "{2}", 3));
    trace_sender_finish(&s);
    const int client = accept(fd, NULL, NULL);
    assert_true(client >= 0);
    while (strstr(request, "]") == NULL && size < sizeof request - 1) {
        const ssize_t n = recv(client, request + size, sizeof request - 1 - size, 0);
        assert_true(n > 0);
        size += (size_t)n;
    }
    assert_ptr_equal(strstr(request, "POST / HTTP/1.1\r\nHost: collector:1\r\n"), request);
    assert_non_null(strstr(request, "\r\nContent-Length: 9\r\n"));
    assert_non_null(strstr(request, "\r\n\r\n[{1},{2}]"));
    assert_true(send(client, "HTTP/1.1 200 OK\r\n\r\n", 19, 0) == 19);
    close(client);
    assert_true(trace_sender_report(&s, &report, 10000));
    assert_int_equal(report.sent, 2);
    assert_int_equal(report.failed, 0);
    assert_false(trace_sender_report(&s, &report, 10000)); /* the sender has ended */
    trace_sender_close(&s);
    close(fd);
}

/* A host that cannot be resolved is an error before anything is started. */
static void unknown_host(void **state)
{
    (void)state;
    const struct collector_url url = { .host = "name.invalid", .port = 1, .path = "/" };
    struct trace_sender s;
    struct api_error e = { 0 };
    assert_false(trace_sender_start(&s, &url, "[", "]", false, &e));
    assert_non_null(strstr(e.message, "name.invalid"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_is_bounded),
        cmocka_unit_test(sends_a_batch),
        cmocka_unit_test(unknown_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
