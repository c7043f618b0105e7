/* SPDX-License-Identifier: Apache-2.0 */
/* test_embedding_table.c - ids of embedding rows: one per content and salt, whatever the hash. */
#include "engine/embedding_table.h"
#include "test_embeddings.h"

static void test_table(void **state)
{
    (void)state;
    enum { N = 300, WIDTH = 8 };
    struct fail_alloc f;
    struct qr_embedding_table t;
    float *rows = random_rows(N, WIDTH, 9);
    int32_t ids[N], again;
    const float *copies[N], *copy;
    fail_alloc_init(&f, 0, false);
    assert_status(QUIRE_OK, qr_embedding_table_init(&t, WIDTH, &f.hooks, NULL));
    t.hash_bits = 2;
    for (int i = 0; i < N; i++) {
        assert_status(QUIRE_OK, qr_embedding_table_add(&t, rows + i * WIDTH, (uint64_t)i % 2,
                                                       &ids[i], &copies[i], NULL));
        assert_true(ids[i] <= -2);
        for (int k = 0; k < i; k++)
            assert_true(ids[k] != ids[i]);
    }
    for (int i = 0; i < N; i++) {
        assert_memory_equal(copies[i], rows + i * WIDTH, WIDTH * sizeof *rows);
        assert_status(QUIRE_OK, qr_embedding_table_add(&t, rows + i * WIDTH, (uint64_t)i % 2,
                                                       &again, &copy, NULL));
        assert_true(again == ids[i] && copy == copies[i]);
    }
    assert_int_equal(t.n_rows, N);
    /* another salt is another row, also in the same bucket; -0 is not 0 */
    for (uint64_t salt = 2; salt < 3000; salt++) {
        assert_status(QUIRE_OK, qr_embedding_table_add(&t, rows, salt, &again, &copy, NULL));
        assert_int_equal(t.n_rows, N + 1);
        qr_embedding_table_release(&t, &again, 1);
    }
    const float zeros[2][WIDTH] = { { 0 }, { -0.0f } };
    int32_t signs[2];
    for (int i = 0; i < 2; i++)
        assert_status(QUIRE_OK, qr_embedding_table_add(&t, zeros[i], 0, &signs[i], &copy, NULL));
    assert_true(signs[0] != signs[1]);
    qr_embedding_table_release(&t, signs, 2);
    qr_embedding_table_retain(&t, ids, N);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(t.n_rows, N);
        const int32_t mixed[4] = { 5, -1, ids[0], 0 }; /* token ids are ignored */
        qr_embedding_table_release(&t, mixed, 4);
        qr_embedding_table_release(&t, ids + 1, N - 1);
    }
    assert_int_equal(t.n_rows, 0);
    for (int i = 0; i < N; i++) /* ids are used again */
        assert_status(QUIRE_OK,
                      qr_embedding_table_add(&t, rows + i * WIDTH, 0, &ids[i], &copies[i], NULL));
    assert_true(t.capacity == 512 && t.n_rows == N);
    qr_embedding_table_free(&t);
    assert_int_equal(f.live_count, 0);
    free(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_table) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
