/* Examples as batches: each once in an epoch, in an order that is a function of seed and epoch. */
#include "tests/test.h"
#include "train/source.h"

enum { COUNT = 50, BATCH = 8, BATCHES = 7 };

static wg_error error;
static int32_t numbers[COUNT];
static const wg_field field = {"i", WG_I32, {0}, numbers};

static int make_numbers(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT; i++)
        numbers[i] = i;
    return 0;
}

static wgi_source opened(const wg_examples *e, uint64_t seed)
{
    wgi_source s;
    check_that(wgi_source_open(&s, e, NULL, seed, "data", &error) == WG_OK, "%s", error.text);
    return s;
}

/* The examples of an epoch in their order; how many they are. */
static int epoch_of(const wgi_source *s, int64_t epoch, int32_t seen[COUNT])
{
    int32_t row[COUNT];
    int n = 0;
    for (int64_t i = 0; i < s->s.batches; i++) {
        wg_shape shape;
        wg_batch_size size = {0};
        void *const to[] = {row};
        assert_int_equal(s->s.describe(s->s.context, epoch, i, &shape, &size, NULL), WG_OK);
        assert_true(shape.rank == 1 && shape.dim[0] == size.weight && n + size.weight <= COUNT);
        assert_int_equal(s->s.fill(s->s.context, epoch, i, to, NULL), WG_OK);
        for (int64_t k = 0; k < size.weight; k++)
            seen[n++] = row[k];
    }
    return n;
}

static void check_each_once(const int32_t seen[COUNT], int n)
{
    bool found[COUNT] = {false};
    for (int i = 0; i < n; i++) {
        assert_true(seen[i] >= 0 && seen[i] < COUNT && !found[seen[i]]);
        found[seen[i]] = true;
    }
}

static void an_epoch_has_each_example_once(void **state)
{
    (void)state;
    static const int64_t epochs[] = {0, 1, 0};
    int32_t seen[3][COUNT], other[COUNT];
    const wg_examples e = {&field, 1, COUNT, .batch = BATCH};
    wgi_source s = opened(&e, 5), t = opened(&e, 6);
    assert_int_equal(s.s.batches, BATCHES);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(epoch_of(&s, epochs[k], seen[k]), COUNT);
        check_each_once(seen[k], COUNT);
    }
    assert_memory_equal(seen[0], seen[2], sizeof seen[0]);
    assert_true(memcmp(seen[0], seen[1], sizeof seen[0]) != 0);
    assert_int_equal(epoch_of(&t, 0, other), COUNT);
    assert_true(memcmp(seen[0], other, sizeof other) != 0);
    assert_true(s.s.hash && s.s.hash == t.s.hash);
    wgi_source_close(&s);
    wgi_source_close(&t);
}

static void the_last_batch_is_smaller_or_dropped(void **state)
{
    (void)state;
    int32_t seen[COUNT];
    const wg_examples given = {&field, 1, COUNT, .batch = BATCH, .order = WG_ORDER_GIVEN},
                      dropped = {&field, 1, COUNT, .batch = BATCH, .last = WG_LAST_DROPPED},
                      few = {&field, 1, 5, .last = WG_LAST_DROPPED},
                      whole = {&field, 1, COUNT, .batch = COUNT, .last = WG_LAST_DROPPED};
    wgi_source s = opened(&given, 1);
    assert_int_equal(epoch_of(&s, 3, seen), COUNT);
    assert_memory_equal(seen, numbers, sizeof seen);
    wgi_source_close(&s);
    s = opened(&dropped, 1);
    assert_int_equal(epoch_of(&s, 0, seen), COUNT / BATCH * BATCH);
    check_each_once(seen, COUNT / BATCH * BATCH);
    wgi_source_close(&s);
    s = opened(&few, 1); /* fewer than a batch are one */
    assert_int_equal(s.s.batches, 1);
    assert_int_equal(epoch_of(&s, 0, seen), 5);
    wgi_source_close(&s);
    s = opened(&whole, 1); /* a batch that is whole by itself */
    assert_int_equal(s.s.batches, 1);
    assert_int_equal(epoch_of(&s, 0, seen), COUNT);
    wgi_source_close(&s);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    static const wg_field nameless = {NULL, WG_I32, {0}, numbers}, untyped = {"i", 0, {0}, numbers},
                          empty = {"i", WG_I32, {1, {0}}, numbers}, none = {"i", WG_I32, {0}, NULL};
    const struct {
        wg_examples examples;
        const char *words;
    } cases[] = {
        {{&nameless, 1, .count = COUNT}, "data: field 0 (): expected a name, got none"},
        {{&untyped, 1, .count = COUNT}, "data: field 0 (i): expected a dtype, got none"},
        {{&empty, 1, .count = COUNT}, "data: field 0 (i): an example has no elements"},
        {{&none, 1, .count = COUNT}, "data: field 0 (i): expected data, since there is no `read`"},
        {{&field, 0, .count = COUNT}, "data: expected fields, got none"},
        {{&field, 1, COUNT, .batch = -1}, "data: expected batch >= 0"},
        {{&field, 1, .count = -3}, "data: expected 1 to 4294967295 examples, got -3"},
    };
    wgi_source s;
    for (int i = 0; i < WG_COUNT(cases); i++) {
        assert_int_equal(wgi_source_open(&s, &cases[i].examples, NULL, 1, "data", &error),
                         WG_EINVAL);
        assert_string_equal(error.text, cases[i].words);
        wgi_source_close(&s);
    }
    const wg_source blank = {&field, 1, 5, NULL, NULL, NULL, 0, NULL};
    assert_int_equal(wgi_source_open(&s, NULL, &blank, 1, "data", &error), WG_EINVAL);
    assert_int_equal(wgi_source_open(&s, &cases[0].examples, &blank, 1, "data", &error), WG_EINVAL);
    assert_string_equal(error.text, "data: expected examples or a source, got both");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epoch_has_each_example_once),
        cmocka_unit_test(the_last_batch_is_smaller_or_dropped),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, make_numbers, NULL);
}
