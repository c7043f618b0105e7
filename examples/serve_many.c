/* SPDX-License-Identifier: Apache-2.0 */
/* serve_many.c - several threads ask one engine, which has a thread of its own, and print their
 * answers as they stream. Usage: serve_many MODEL QUESTION... */
#include <pthread.h>
#include <quire/quire.h>
#include <stdio.h>

enum { MAX_USERS = 16 };

/* One thread that asks one question. */
struct user {
    pthread_t thread;
    struct quire_engine *engine;
    const char *question;
    int number;
    quire_status status;
};

static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;

/* Prints a piece of an answer, in a new line when another user has printed last. */
static void print_piece(const struct user *u, const char *text, size_t size)
{
    static int last;
    pthread_mutex_lock(&output);
    if (size && last != u->number)
        printf("%s[%d] ", last ? "\n" : "", u->number);
    last = size ? u->number : last;
    fwrite(text, 1, size, stdout);
    fflush(stdout);
    pthread_mutex_unlock(&output);
}

/* Prints the events of one request until it has ended. Only this thread consumes them. */
static quire_status print_answer(const struct user *u, quire_request_id id, struct quire_error *err)
{
    struct quire_event ev;
    quire_event_init(&ev, sizeof ev);
    for (;;) {
        quire_status s = quire_engine_wait(u->engine, id, -1, &ev, err);
        if (s != QUIRE_OK)
            return s;
        if (ev.kind == QUIRE_EVENT_TEXT)
            print_piece(u, ev.text, ev.text_size);
        if (ev.kind != QUIRE_EVENT_DONE)
            continue;
        char end[160];
        const int n = snprintf(end, sizeof end, "  (%s; %u of %u prompt tokens from the cache)",
                               quire_finish_reason_name(ev.reason), ev.usage->cached_tokens,
                               ev.usage->prompt_tokens);
        print_piece(u, end, (size_t)n);
        return ev.status;
    }
}

static void *ask(void *arg)
{
    struct user *u = arg;
    struct quire_error err = QUIRE_ERROR_INIT;
    const struct quire_chat_message messages[] = {
        { .role = "system",
          .content = "Answer in one sentence.",
          .content_len = QUIRE_NUL_TERMINATED },
        { .role = "user", .content = u->question, .content_len = QUIRE_NUL_TERMINATED },
    };
    struct quire_request_params rp;
    quire_request_params_init(&rp, sizeof rp);
    rp.messages = messages;
    rp.n_messages = 2;
    rp.max_tokens = 60;
    rp.client = (uint64_t)u->number; /* users take fair turns */
    quire_request_id id;
    u->status = quire_engine_submit(u->engine, &rp, &id, &err);
    if (u->status == QUIRE_OK)
        u->status = print_answer(u, id, &err);
    if (u->status != QUIRE_OK)
        fprintf(stderr, "\nuser %d: %s\n", u->number, err.msg);
    return NULL;
}

int main(int argc, char **argv)
{
    const int n = argc - 2;
    if (n < 1 || n > MAX_USERS)
        return fprintf(stderr, "usage: serve_many MODEL QUESTION...\n"), 64;
    struct quire_error err = QUIRE_ERROR_INIT;
    (void)quire_cpu_allow_amx(&err); /* on failure a lower ISA level runs */
    struct quire_engine *engine;
    struct quire_engine_params ep;
    quire_engine_params_init(&ep, sizeof ep);
    ep.model_path = argv[1];
    ep.max_requests = MAX_USERS;
    if (quire_engine_open(&ep, &engine, &err) != QUIRE_OK ||
        quire_engine_start(engine, &err) != QUIRE_OK) {
        fprintf(stderr, "%s\n", err.msg);
        quire_engine_close(engine); /* NULL if it was not opened */
        return 65;
    }
    struct user users[MAX_USERS];
    int n_started = 0, n_failed = 0;
    for (; n_started < n; n_started++) {
        struct user *u = &users[n_started];
        *u = (struct user){ .engine = engine, .question = argv[2 + n_started],
                            .number = n_started + 1 };
        if (pthread_create(&u->thread, NULL, ask, u) != 0)
            break;
    }
    for (int i = 0; i < n_started; i++) {
        pthread_join(users[i].thread, NULL);
        n_failed += users[i].status != QUIRE_OK;
    }
    putchar('\n');
    quire_engine_close(engine);
    return n_failed || n_started < n;
}
