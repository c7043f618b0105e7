/* SPDX-License-Identifier: Apache-2.0 */
/* test_replace_file.c - several writers of one path, each of which removes leftovers of others. */
#include "format/replace_file.h"
#include "quire_cmocka.h"
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WRITERS = 4, ROUNDS = 100, VALUES = 64 };

static char dir[] = "/tmp/quire-test-XXXXXX";
static char path[64];

static quire_status write_once(uint32_t value)
{
    struct qr_replacement r;
    struct quire_error err;
    uint32_t values[VALUES];
    for (int i = 0; i < VALUES; i++)
        values[i] = value;
    qr_replace_remove_leftovers(path, NULL);
    qr_replace_begin(&r, path, 0600, sizeof values, NULL);
    qr_replace_put(&r, values, sizeof values);
    qr_replace_commit(&r);
    return qr_replace_end(&r, &err);
}

/* Returns the number of failed writes. */
static void *write_often(void *value)
{
    uintptr_t failures = 0;
    for (int i = 0; i < ROUNDS; i++)
        failures += write_once((uint32_t)(uintptr_t)value) != QUIRE_OK;
    return (void *)failures;
}

static int n_files(void)
{
    DIR *d = opendir(dir);
    int n = -2; /* . and .. */
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* A writer that looks for leftovers meets files that were created a moment ago and are not locked
 * yet: their writers must notice, and no write may fail. */
static void many_writers(void **state)
{
    (void)state;
    pthread_t threads[WRITERS];
    uint32_t values[VALUES];
    void *failures;
    for (uintptr_t i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_often, (void *)(i + 1)), 0);
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_join(threads[i], &failures), 0);
        assert_null(failures);
    }
    assert_int_equal(n_files(), 1);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(values, sizeof values[0], VALUES, f), VALUES);
    fclose(f);
    assert_in_range(values[0], 1, WRITERS);
    for (int i = 1; i < VALUES; i++)
        assert_int_equal(values[i], values[0]);
}

static void leftovers(void **state)
{
    (void)state;
    char name[128];
    (void)snprintf(name, sizeof name, "%s.0123456789abcdef.tmp", path);
    fclose(fopen(name, "wb"));
    assert_int_equal(n_files(), 2);
    assert_status(QUIRE_OK, write_once(7));
    assert_int_equal(n_files(), 1);
}

static int make_dir(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(path, sizeof path, "%s/file", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_writers),
        cmocka_unit_test(leftovers),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
