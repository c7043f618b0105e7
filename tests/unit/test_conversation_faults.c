/* SPDX-License-Identifier: Apache-2.0 */
/* test_conversation_faults.c - conversation files: every changed bit, and every failure and kill of
 * a save. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* System calls of a save. One call fails, writes half, or ends the process. */
static long faulty_write(int fd, const void *data, size_t n);
static int faulty_fsync(int fd);
static int faulty_close(int fd);
static int faulty_rename(const char *from, const char *to);
#define write  faulty_write
#define fsync  faulty_fsync
#define close  faulty_close
#define rename faulty_rename
#include "../../chat/conversation.c"
#include "../../chat/conversation_file.c"
#include "../../chat/json_text.c"
#include "../../chat/messages_json.c"
#include "../../chat/numbers.c"
#include "../../chat/option_table.c"
#include "../../chat/options.c"
#include "../../chat/path.c"
#include "../../chat/settings.c"
#include "../../chat/text.c"
#undef write
#undef fsync
#undef close
#undef rename
#include "quire_cmocka.h"
#include "test_dir.h"
#include <sys/wait.h>

void print_message(const char *format, ...) { (void)format; }

static int calls_left = -1; /* the call after these has the fault; -1: none */
static enum { FAIL, HALF, KILL } fault;

static bool is_faulty(int error)
{
    if (calls_left < 0 || calls_left-- > 0)
        return false;
    if (fault == KILL)
        _exit(9);
    errno = error;
    return true;
}

static long faulty_write(int fd, const void *data, size_t n)
{
    if (!is_faulty(ENOSPC))
        return write(fd, data, n);
    if (fault == HALF) /* the disk is full from here on */
        calls_left = 0;
    return fault == HALF && n > 1 ? write(fd, data, n / 2) : -1;
}

static int faulty_fsync(int fd) { return is_faulty(EIO) ? -1 : fsync(fd); }

static int faulty_close(int fd)
{
    const bool fails = is_faulty(EIO);
    return close(fd) || fails ? -1 : 0;
}

static int faulty_rename(const char *from, const char *to)
{
    return is_faulty(EIO) ? -1 : rename(from, to);
}

/* ---- Conversations */

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void make(struct conversation *c, struct settings *s, const char *answer)
{
    *c = (struct conversation){ 0 };
    *s = (struct settings){ .max_tokens = 7 };
    quire_sampling_params_init(&s->sampling, sizeof s->sampling);
    assert_true(settings_add_stop(s, "END"));
    assert_true(conversation_add(c, "user", "How much?", 9));
    assert_true(conversation_add(c, "assistant", answer, strlen(answer)));
}

static bool save(const char *answer)
{
    struct conversation c;
    struct settings s;
    make(&c, &s, answer);
    const bool ok = conversation_save(path_of("talk"), &c, &s, "model");
    conversation_free(&c);
    settings_free(&s);
    return ok;
}

/* Loads the file; its answer, or NULL. */
static const char *answer(void)
{
    static char text[64];
    struct conversation c;
    struct settings s;
    make(&c, &s, "none");
    const bool ok = conversation_load(path_of("talk"), &c, &s) == 0;
    assert_int_equal(c.n, 2);
    snprintf(text, sizeof text, "%s", c.messages[1].content);
    assert_true(ok || strcmp(text, "none") == 0); /* a failed load changes nothing */
    conversation_free(&c);
    settings_free(&s);
    return ok ? text : NULL;
}

static bool temporary_exists(void)
{
    struct stat st;
    return lstat(path_of("talk.tmp"), &st) == 0;
}

static void put(FILE *f, const char *data, size_t n, size_t at)
{
    assert_int_equal(pwrite(fileno(f), data, n, (off_t)at), n);
}

static void every_bit(void **state)
{
    (void)state;
    char text[4096];
    assert_true(save("42 pounds"));
    FILE *f = fopen(path_of("talk"), "r+");
    const size_t n = fread(text, 1, sizeof text, f);
    assert_in_range(n, 300, sizeof text - 1);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        const char changed = (char)(text[bit / 8] ^ (1 << bit % 8));
        put(f, &changed, 1, bit / 8);
        if (answer())
            fail_msg("bit %zu is accepted", bit);
        put(f, &text[bit / 8], 1, bit / 8);
    }
    assert_string_equal(answer(), "42 pounds");
    for (size_t size = 0; size < n; size++) {
        assert_int_equal(ftruncate(fileno(f), (off_t)size), 0);
        assert_null(answer());
        put(f, text, n, 0);
    }
    /* an edited file loads as version 1 */
    char *version = strstr(text, "\"version\": 2"), *digit = strstr(text, "42");
    version[strlen("\"version\": ")] = '1';
    digit[0] = '5';
    put(f, text, n, 0);
    fclose(f);
    assert_string_equal(answer(), "52 pounds");
}

static void every_failure(void **state)
{
    (void)state;
    for (fault = FAIL; fault <= HALF; fault++) {
        bool happened = true;
        for (int n = 0; happened; n++) {
            calls_left = -1;
            assert_true(save("old"));
            calls_left = n;
            const bool ok = save("new");
            happened = calls_left < 0 || (fault == HALF && n == 0);
            calls_left = -1;
            assert_true(ok == !happened || n >= 3); /* after write, fsync and rename */
            assert_string_equal(answer(), ok || n >= 3 ? "new" : "old");
            assert_false(temporary_exists());
        }
    }
}

static void every_kill(void **state)
{
    (void)state;
    bool killed = true;
    fault = KILL;
    for (int n = 0; killed; n++) {
        int status;
        calls_left = -1;
        assert_true(save("old"));
        const pid_t pid = fork();
        if (pid == 0) {
            calls_left = n;
            _exit(save("new") ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        killed = WEXITSTATUS(status) == 9;
        assert_true(killed || WEXITSTATUS(status) == 0);
        const char *now = answer();
        assert_non_null(now);
        assert_true(strcmp(now, "new") == 0 || (killed && strcmp(now, "old") == 0));
        assert_false(temporary_exists()); /* the load removed it */
    }
}

/* The file of a save that still runs is left alone. */
static void running_save(void **state)
{
    (void)state;
    calls_left = -1;
    assert_true(save("old"));
    const int fd = open(path_of("talk.tmp"), O_WRONLY | O_CREAT, 0600);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_string_equal(answer(), "old");
    assert_true(temporary_exists());
    assert_false(save("new"));
    assert_true(temporary_exists());
    close(fd);
    assert_true(save("new"));
    assert_string_equal(answer(), "new");
    assert_false(temporary_exists());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bit),
        cmocka_unit_test(every_failure),
        cmocka_unit_test(every_kill),
        cmocka_unit_test(running_save),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
