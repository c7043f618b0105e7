/* SPDX-License-Identifier: Apache-2.0 */
/* test_bench_serve.c - quire-bench serve: arrivals, lengths, traces, percentiles, replies, URLs. */
#include "../../bench/bench_serve_log.c"
#include "../../bench/bench_serve_play.c"
#include "../../bench/bench_serve_reply.c"
#define by_value stats_by_value
#include "../../bench/bench_stats.c"
#undef by_value
#define uniform workload_uniform
#include "../../bench/bench_serve_workload.c"
#define submit url_submit
#define cancel url_cancel
#define finish url_finish
#include "../../bench/bench_serve_url.c"
#undef submit
#undef cancel
#undef finish
#include "quire_cmocka.h"

int bench_error(int code, const char *fmt, ...)
{
    (void)fmt;
    return code;
}

/* ---- Distributions */

static void test_lengths(void **state)
{
    (void)state;
    static const char *const bad[] = { "",      "0",    "-1",   "x",   "3-",  "3,",      "5-4",
                                       "1.5-3", "3-4x", "3,-1", "nan", "inf", "2000000", "3,1e9" };
    struct workload_lengths l;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(workload_parse_lengths(bad[i], &l));
    uint64_t rng = 1;
    assert_true(workload_parse_lengths("7", &l));
    assert_int_equal(workload_draw_length(&l, &rng), 7);
    assert_true(workload_parse_lengths("3-5", &l));
    uint32_t counts[6] = { 0 };
    for (int i = 0; i < 3000; i++) {
        const uint32_t n = workload_draw_length(&l, &rng);
        assert_in_range(n, 3, 5);
        counts[n]++;
    }
    for (int n = 3; n <= 5; n++)
        assert_in_range(counts[n], 900, 1100);
    /* log-normal: mean and deviation are those of the lengths, not of their logarithms */
    assert_true(workload_parse_lengths("300,120", &l));
    double sum = 0, squares = 0;
    enum { N = 40000 };
    for (int i = 0; i < N; i++) {
        const double n = workload_draw_length(&l, &rng);
        sum += n;
        squares += n * n;
    }
    assert_true(fabs(sum / N - 300) < 3);
    assert_true(fabs(sqrt(squares / N - sum / N * sum / N) - 120) < 5);
    assert_true(workload_parse_lengths("1,1000", &l));
    for (int i = 0; i < 1000; i++)
        assert_in_range(workload_draw_length(&l, &rng), 1, WORKLOAD_MAX_TOKENS);
}

static void test_arrivals(void **state)
{
    (void)state;
    struct workload_params p = { .n = 20000, .rate = 8, .seed = 5 };
    assert_true(workload_parse_lengths("10", &p.prompt) && workload_parse_lengths("4", &p.answer));
    struct workload w, again;
    assert_true(workload_generate(&w, &p) && workload_generate(&again, &p));
    double squares = 0;
    for (uint32_t i = 0; i < p.n; i++) {
        const double gap = w.requests[i].arrival - (i ? w.requests[i - 1].arrival : 0);
        assert_true(gap >= 0 && isfinite(gap));
        assert_true(w.requests[i].arrival == again.requests[i].arrival);
        squares += gap * gap;
    }
    const double mean = w.requests[p.n - 1].arrival / p.n;
    assert_true(fabs(mean * 8 - 1) < 0.03);
    assert_true(fabs(squares / p.n / (mean * mean) - 2) < 0.1); /* of an exponential: 2 */
    workload_free(&w);
    workload_free(&again);
    p.seed = 6;
    p.rate = 0;
    assert_true(workload_generate(&w, &p));
    assert_true(w.requests[p.n - 1].arrival == 0);
    workload_free(&w);
}

static void test_prefixes(void **state)
{
    (void)state;
    struct workload_params p = { .n = 4, .n_groups = 2, .shared_prefix = 10, .seed = 1 };
    assert_true(workload_parse_lengths("5", &p.prompt) && workload_parse_lengths("4", &p.answer));
    struct workload w;
    assert_true(workload_generate(&w, &p));
    assert_int_equal(w.requests[0].prompt, 15);
    for (uint32_t k = 0; k < 15; k++) {
        assert_int_equal(workload_token(&w, 0, k) == workload_token(&w, 2, k), k < 10);
        assert_false(workload_token(&w, 0, k) == workload_token(&w, 1, k));
    }
    workload_free(&w);
}

static void test_traces(void **state)
{
    (void)state;
    struct workload w;
    char message[128];
    const char *text = "{\"arrival\": 0.5, \"prompt_tokens\": 7, \"answer_tokens\": 3}\r\n\n"
                       "{\"arrival\": 0.5, \"prompt_tokens\": 8, \"answer_tokens\": 1, "
                       "\"prefix_group\": 4}";
    assert_true(workload_parse_trace(&w, text, strlen(text), message, sizeof message));
    assert_int_equal(w.n, 2);
    assert_true(w.requests[0].arrival == 0.5 && w.requests[0].group == 0);
    assert_int_equal(w.requests[1].prompt, 8);
    assert_int_equal(w.requests[1].group, 5);
    workload_free(&w);
    assert_false(workload_parse_trace(&w, "\n\n{}", 4, message, sizeof message));
    assert_string_equal(message, "line 3: arrival is missing");
    assert_null(w.requests);
}

/* ---- Figures */

static void test_percentiles(void **state)
{
    (void)state;
    assert_true(isnan(serve_percentile(NULL, 0, 0.5)));
    double v[101];
    for (int i = 0; i <= 100; i++)
        v[i] = (i * 37) % 101;
    const struct serve_summary s = serve_summarize(v, 101);
    assert_true(s.n == 101 && s.mean == 50 && s.p50 == 50 && s.p90 == 90 && s.p99 == 99 &&
                s.max == 100);
    const double two[] = { 1, 2 };
    assert_true(serve_percentile(two, 2, 0) == 1 && serve_percentile(two, 2, 1) == 2);
    assert_true(fabs(serve_percentile(two, 2, 0.25) - 1.25) < 1e-12);
    assert_true(serve_percentile(two, 1, 0.99) == 1);
}

static void test_log(void **state)
{
    (void)state;
    struct serve_log log;
    assert_true(serve_log_open(&log, 4));
    for (uint32_t i = 0; i < 4; i++)
        serve_log_arrive(&log, i, i);
    serve_log_tokens(&log, 0, 1, 0.5);
    serve_log_tokens(&log, 1, 2, 1.25);
    serve_log_tokens(&log, 0, 3, 2.5); /* arrive together: gaps 2, 0, 0 */
    serve_log_tokens(&log, 2, 1, 9);
    serve_log_end(&log, 0, SERVE_DONE, NULL);
    serve_log_end(&log, 1, SERVE_DONE, NULL);
    serve_log_end(&log, 2, SERVE_FAILED, "lost");
    serve_log_end(&log, 3, SERVE_CANCELLED, NULL);
    assert_string_equal(log.error, "request 3: lost");
    const struct serve_summary itl = serve_log_summary(&log, SERVE_ITL),
                               ttft = serve_log_summary(&log, SERVE_TTFT);
    assert_true(itl.n == 4 && itl.max == 2 && itl.mean == 0.5);
    assert_true(ttft.n == 2 && ttft.max == 0.5 && ttft.mean == 0.375);
    assert_true(serve_log_summary(&log, SERVE_QUEUE).n == 0);
    assert_true(serve_log_gaps_between(&log, 1.25, 2.5, 1).n == 3);
    assert_true(serve_log_gaps_between(&log, 0, 2.4, 9).n == 1);
    /* request 0: TTFT 0.5, mean latency 2 / 3; request 1: 0.25, 0. Three requests count. */
    assert_true(fabs(serve_log_goodput(&log, 0, 0).share - 2. / 3) < 1e-12);
    assert_true(fabs(serve_log_goodput(&log, 0.4, 0).share - 1. / 3) < 1e-12);
    assert_true(fabs(serve_log_goodput(&log, 0.5, 0.7).share - 2. / 3) < 1e-12);
    assert_true(fabs(serve_log_goodput(&log, 0, 0.6).share - 1. / 3) < 1e-12);
    assert_int_equal(serve_log_goodput(&log, 0.4, 0).n, 1);
    serve_log_close(&log);
}

/* ---- Playing: a target that gives one token to every open request per wait */

struct fake {
    const struct workload *w;
    struct serve_log *log;
    uint32_t n_open, most_open, n_submitted, n_cancelled;
};

static void fake_end(struct fake *f, uint32_t i, enum serve_state how)
{
    f->n_open--;
    serve_log_end(f->log, i, how, "");
}

static void fake_submit(void *self, uint32_t i)
{
    struct fake *f = self;
    assert_int_equal(i, f->n_submitted++);
    f->n_open++;
    if (f->n_open > f->most_open)
        f->most_open = f->n_open;
    if (f->w->requests[i].group) /* refused at once */
        fake_end(f, i, SERVE_FAILED);
}

static void fake_wait(void *self, double seconds)
{
    struct fake *f = self;
    (void)seconds;
    assert_true(f->n_open > 0);
    for (uint32_t i = 0; i < f->n_submitted; i++)
        if (f->log->records[i].state == SERVE_OPEN) {
            serve_log_tokens(f->log, i, 1, bench_now());
            if (f->log->records[i].n_output == f->w->requests[i].answer)
                fake_end(f, i, SERVE_DONE);
        }
}

static void fake_cancel(void *self, uint32_t i)
{
    struct fake *f = self;
    f->n_cancelled++;
    fake_end(f, i, SERVE_CANCELLED);
}

static void fake_play(const struct workload *w, struct serve_log *log, struct fake *f)
{
    assert_true(serve_log_open(log, w->n));
    *f = (struct fake){ .w = w, .log = log };
    const struct serve_target target = { f, fake_submit, fake_wait, fake_cancel };
    serve_play(w, &target, log);
    assert_int_equal(f->n_submitted, w->n);
    assert_int_equal(f->n_open, 0);
}

static void test_play(void **state)
{
    (void)state;
    enum { N = 9 };
    struct workload_request requests[N];
    struct workload w = { .requests = requests, .n = N };
    struct serve_log log;
    struct fake f;
    for (uint32_t i = 0; i < N; i++)
        requests[i] =
            (struct workload_request){ .arrival = 0.002 * i, .prompt = 1, .answer = 1 + i };
    fake_play(&w, &log, &f);
    for (uint32_t i = 0; i < N; i++) {
        assert_true(log.records[i].arrival == log.begin + requests[i].arrival);
        assert_true(serve_ttft(&log.records[i]) >= 0);
    }
    serve_log_close(&log);
    w.concurrency = 3;
    requests[4].group = 1;
    fake_play(&w, &log, &f);
    assert_int_equal(f.most_open, 3);
    assert_int_equal(log.n_failed, 1);
    serve_log_close(&log);
    /* the last request waits for 3 tokens of all that still run; then those are cancelled */
    w.concurrency = 0;
    w.hold_tokens = 3;
    requests[4].group = 0;
    for (uint32_t i = 0; i < N; i++)
        requests[i].arrival = 0;
    requests[N - 1].answer = 2;
    fake_play(&w, &log, &f);
    assert_int_equal(log.records[7].n_output, 5);
    assert_int_equal(f.n_cancelled, 3); /* answers 6, 7 and 8; shorter ones have ended */
    serve_log_close(&log);
}

/* ---- Replies */

struct events {
    char text[256];
};

static void collect(void *user, const char *data, size_t size)
{
    struct events *e = user;
    const size_t at = strlen(e->text);
    snprintf(e->text + at, sizeof e->text - at, "[%.*s]", (int)size, data);
}

/* Parses a reply in pieces of every size and expects the same events and message. */
static void parses(const char *reply, const char *events, const char *error)
{
    const size_t size = strlen(reply);
    for (size_t piece = 1; piece <= size; piece++) {
        struct events got = { "" };
        struct serve_reply r = { .on_event = collect, .user = &got };
        for (size_t at = 0; at < size; at += piece)
            (void)reply_feed(&r, reply + at, size - at < piece ? size - at : piece);
        assert_int_equal(reply_end(&r), error == NULL);
        assert_string_equal(got.text, events);
        assert_string_equal(r.error, error ? error : "");
        reply_free(&r);
    }
}

#define OK      "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: Chunked\r\n\r\n"

static void test_replies(void **state)
{
    (void)state;
    parses(OK "\r\ndata: a\n\ndata:b\r\n\r\n: x\ndata: c\rdata:  d\r\revent: e\n\ndata: cut\n",
           "[a][b][c\n d]", NULL);
    parses(CHUNKED "7\r\ndata: a\r\n3;x=1\r\nb\n\n\r\n0\r\nX: y\r\n\r\nmore", "[ab]", NULL);
    parses("HTTP/1.1 100 Continue\r\n\r\n" OK "content-length: 9 \r\n\r\ndata: a\n\ndata: b\n\n",
           "[a]", NULL);
    parses("HTTP/1.0 404 Not Found\r\n\r\nno\x1b\nsuch", "", "HTTP status 404: no  such");
    parses("HTTP/1.0 500\r\nContent-Length: 0\r\n\r\n", "", "HTTP status 500");
    parses("HTTP/2 200 OK\r\n\r\n", "", "no HTTP/1 status line");
    parses(OK, "", "the connection ended before the reply");
    parses(OK "Content-Length: 20\r\n\r\ndata: a\n\n", "[a]",
           "the connection ended within the reply");
    parses(CHUNKED "9\r\ndata: a\n\n\r\n", "[a]", "the connection ended within the reply");
    parses(CHUNKED "2\r\nabc\r\n", "", "a chunk is longer than its size");
    parses(CHUNKED "-1\r\n", "", "bad chunk size");
    parses(CHUNKED "fffffffffffffffff\r\n", "", "bad chunk size");
    parses(OK "Content-Length: 9999999999999999\r\n\r\n", "", "bad Content-Length");
    parses(OK "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "", "two different Content-Length");
    parses(OK "Transfer-Encoding: gzip\r\n\r\n", "", "unknown Transfer-Encoding gzip");
    parses(OK "no name\r\n\r\n", "", "a header line without a name");
}

static void test_reply_limits(void **state)
{
    (void)state;
    static const struct {
        const char *begin, *unit;
        size_t n; /* times the unit */
        const char *error;
    } cases[] = {
        { OK, "aaaaaaaaaaaaaaaa", 2000, "a header line of more than 16384 bytes" },
        { OK, "A: b\r\n", 300, "more than 256 header lines" },
        { CHUNKED "0\r\n", "A: b\r\n", 300, "more than 256 header lines" },
        { OK "\r\n", "aaaaaaaaaaaaaaaa", 70000,
          "a line of the event stream of more than 1048576 bytes" },
        { OK "\r\n", "data: aaaaaaaaaa\n", 100000, "an event of more than 1048576 bytes" },
        { "HTTP/1.1 500 X\r\n\r\n", "", 0, "HTTP status 500" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct events got = { "" };
        struct serve_reply r = { .on_event = collect, .user = &got };
        bool ok = reply_feed(&r, cases[i].begin, strlen(cases[i].begin));
        for (size_t k = 0; k < cases[i].n && ok; k++)
            ok = reply_feed(&r, cases[i].unit, strlen(cases[i].unit));
        assert_false(reply_end(&r));
        assert_string_equal(r.error, cases[i].error);
        reply_free(&r);
    }
}

static void test_chunks(void **state)
{
    (void)state;
    struct completion_chunk c;
#define PARSE(text) completion_parse(text, strlen(text), &c)
    PARSE("[DONE]");
    assert_true(c.done && !c.error[0]);
    PARSE("{\"choices\": [{\"text\": \"a\"}], \"usage\": null}");
    assert_true(c.has_text && !c.has_usage && !c.error[0]);
    PARSE("{\"choices\": [{\"text\": \"\"}]}");
    assert_false(c.has_text);
    PARSE("{\"choices\": [], \"usage\": {\"prompt_tokens\": 7, \"completion_tokens\": -3, "
          "\"prompt_tokens_details\": {\"cached_tokens\": 99999999999}}}");
    assert_true(c.has_usage && c.prompt_tokens == 7 && c.completion_tokens == 0 &&
                c.cached_tokens == INT32_MAX);
    PARSE("{\"error\": {\"message\": \"full\\n\"}}");
    assert_string_equal(c.error, "the server reports: full ");
    PARSE("{\"error\": \"full\"}");
    assert_string_equal(c.error, "the server reports: full");
    PARSE("{\"error\": 3}");
    assert_string_equal(c.error, "the server reports: an error");
    PARSE("[1]");
    assert_string_equal(c.error, "an event is not a JSON object: another value");
    PARSE("{");
    assert_true(c.error[0]);
#undef PARSE
}

static void test_urls(void **state)
{
    (void)state;
    struct serve_address a;
    assert_true(serve_parse_url("http://host:8080/v/", &a));
    assert_string_equal(a.host, "host");
    assert_string_equal(a.port, "8080");
    assert_string_equal(a.path, "/v");
    assert_true(serve_parse_url("http://[::1]", &a) && a.brackets);
    assert_string_equal(a.host, "::1");
    assert_string_equal(a.port, "80");
    assert_string_equal(a.path, "");
    static const char *const bad[] = {
        "",           "host",         "https://host",      "http://",     "http://:80",
        "http://h:",  "http://h:x",   "http://h:65536",    "http://[::1", "http://h:80x",
        "http://a b", "http://h/a b", "http://h/\r\nX: y", "http://[]:80"
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(serve_parse_url(bad[i], &a));
    char longest[600];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    memcpy(longest, "http://", 7);
    assert_false(serve_parse_url(longest, &a));
    longest[8] = '/';
    assert_false(serve_parse_url(longest, &a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),      cmocka_unit_test(test_arrivals),
        cmocka_unit_test(test_prefixes),     cmocka_unit_test(test_traces),
        cmocka_unit_test(test_percentiles),  cmocka_unit_test(test_log),
        cmocka_unit_test(test_play),         cmocka_unit_test(test_replies),
        cmocka_unit_test(test_reply_limits), cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
