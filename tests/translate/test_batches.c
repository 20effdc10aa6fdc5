/* Batches: every pair once an epoch, limits, layout, order, and reading on from anywhere. */
#include "tests/allocations.h"
#include "tests/test.h"
#include "wengert/translate/batches.h"

enum { BOS = 1, EOS = 2, PAIRS = 700 };

static wg_error error;

/* ---- corpora of known lengths ---------------------------------------------------------------- */

static wg_vocabulary *letters(void)
{
    wg_vocabulary *v;
    const char *text = "a b c d e f g h\n";
    assert_int_equal(wg_vocabulary_train_text(
                         &v, &(wg_vocabulary_options){.kind = WG_VOCABULARY_WORDS, .size = 20},
                         text, strlen(text), &error),
                     WG_OK);
    return v;
}

/* A line of n words, which depend on `salt`; returns its end. */
static char *put_line(char *to, size_t n, size_t salt)
{
    for (size_t i = 0; i < n; i++) {
        *to++ = (char)('a' + (salt * 31 + i * 7 + i * i) % 8);
        *to++ = ' ';
    }
    *to++ = '\n';
    return to;
}

/* Pairs of 1 to `most` words a side, or as many as lengths[] says, two for each pair. */
static wg_corpus *make_corpus(size_t n, size_t max, const size_t *lengths)
{
    wg_vocabulary *v = letters();
    char *text[2], *end[2];
    uint64_t random = 12345;
    wg_corpus *c;
    for (int side = 0; side < 2; side++) {
        size_t room = 1;
        for (size_t i = 0; i < n; i++)
            room += 2 * (lengths ? lengths[2 * i + side] : max) + 1;
        assert_non_null(text[side] = end[side] = malloc(room));
    }
    for (size_t i = 0; i < n; i++)
        for (int side = 0; side < 2; side++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            size_t words = lengths ? lengths[2 * i + side] : 1 + (size_t)(random >> 33) % max;
            end[side] = put_line(end[side], words, 2 * i + side);
        }
    wg_status status = wg_corpus_of_text(&c, text[0], (size_t)(end[0] - text[0]), text[1],
                                         (size_t)(end[1] - text[1]), v, v,
                                         &(wg_corpus_options){.keep_empty = true}, &error);
    check_that(status == WG_OK, "%s", error.text);
    free(text[0]);
    free(text[1]);
    wg_vocabulary_free(v);
    return c;
}

static wg_batches_options usual(void)
{
    return (wg_batches_options){
        .tokens = 256, .multiple = 4, .bos = BOS, .eos = EOS, .source_eos = EOS};
}

static wg_batches *make(const wg_corpus *c, const wg_batches_options *o)
{
    wg_batches *b;
    check_that(wg_batches_create(&b, c, o, &error) == WG_OK, "%s", error.text);
    return b;
}

static size_t next(wg_batches *b, const wg_batch **batches)
{
    size_t n;
    assert_int_equal(wg_batches_next(b, batches, &n), WG_OK);
    return n;
}

/* ---- what every batch must be ---------------------------------------------------------------- */

/* row[0..size) is first (unless negative), the sentence, last (unless negative), then pad. */
static void check_row(const int32_t *row, int64_t size, int32_t first, wg_sentence s, int32_t last,
                      int32_t pad)
{
    int64_t at = 0;
    if (first >= 0)
        assert_int_equal(row[at++], first);
    for (size_t i = 0; i < s.n; i++)
        assert_int_equal(row[at++], s.ids[i]);
    if (last >= 0)
        assert_int_equal(row[at++], last);
    assert_true(at <= size);
    while (at < size)
        assert_int_equal(row[at++], pad);
}

static void check_filler(const wg_batch *x, int64_t r, const wg_batches_options *o)
{
    const wg_sentence none = {NULL, 0};
    int64_t S = x->source_length, T = x->target_length;
    assert_int_equal(x->source_lengths[r], 0);
    assert_true(x->pairs[r] == SIZE_MAX);
    check_row(x->source + r * S, S, -1, none, -1, o->source_pad < 0 ? 0 : o->source_pad);
    check_row(x->target_in + r * T, T, -1, none, -1, o->pad < 0 ? 0 : o->pad);
    check_row(x->target_out + r * T, T, -1, none, -1, -1);
}

/* Counts in seen[] the pairs of the batch; everything else is compared with the corpus. */
static void check_batch(const wg_batch *x, const wg_corpus *c, const wg_batches_options *o,
                        int *seen)
{
    int64_t S = x->source_length, T = x->target_length, source_tokens = 0, target_tokens = 0,
            longest[2] = {0, 0};
    assert_in_range(x->sentences, 1, x->rows);
    assert_true(x->rows * S <= o->tokens && x->rows * T <= o->tokens);
    assert_true(!o->sentences || x->rows <= o->sentences);
    assert_int_equal(S % o->multiple, 0);
    assert_int_equal(T % o->multiple, 0);
    for (int64_t r = 0; r < x->rows; r++) {
        if (r >= x->sentences) {
            check_filler(x, r, o);
            continue;
        }
        assert_true(x->pairs[r] < wg_corpus_count(c));
        wg_sentence s = wg_corpus_sentence(c, x->pairs[r], 0),
                    t = wg_corpus_sentence(c, x->pairs[r], 1);
        int64_t source = (int64_t)s.n + o->source_begins + (o->source_eos >= 0),
                target = (int64_t)t.n + 1;
        seen[x->pairs[r]]++;
        assert_int_equal(x->source_lengths[r], source);
        check_row(x->source + r * S, S, o->source_begins ? o->source_bos : -1, s, o->source_eos,
                  o->source_pad < 0 ? 0 : o->source_pad);
        check_row(x->target_in + r * T, T, BOS, t, -1, o->pad < 0 ? 0 : o->pad);
        check_row(x->target_out + r * T, T, -1, t, EOS, -1);
        source_tokens += source;
        target_tokens += target;
        longest[0] = source > longest[0] ? source : longest[0];
        longest[1] = target > longest[1] ? target : longest[1];
    }
    assert_int_equal(x->source_tokens, source_tokens);
    assert_int_equal(x->target_tokens, target_tokens);
    assert_true(S - longest[0] < o->multiple ||
                S == o->multiple); /* no more padding than the multiple asks for */
    assert_true(T - longest[1] < o->multiple);
}

/* Reads an epoch; each pair occurs once.  Returns the number of batches. */
static size_t check_epoch(wg_batches *b, const wg_corpus *c, const wg_batches_options *o)
{
    size_t n = wg_corpus_count(c), batches = 0;
    int *seen = calloc(n, sizeof *seen);
    int64_t groups = wg_batches_groups(b), epoch = wg_batches_cursor(b).epoch,
            group = o->group ? o->group : 1;
    assert_non_null(seen);
    assert_true(groups > 0);
    for (int64_t g = 0; g < groups; g++) {
        const wg_batch *x;
        assert_int_equal(wg_batches_cursor(b).epoch, epoch);
        assert_int_equal(wg_batches_cursor(b).group, g);
        size_t got = next(b, &x);
        check_that(g + 1 == groups ? got >= 1 && got <= (size_t)group : got == (size_t)group,
                   "group %lld of %lld has %zu batches", (long long)g, (long long)groups, got);
        for (size_t i = 0; i < got; i++)
            check_batch(&x[i], c, o, seen);
        batches += got;
    }
    assert_int_equal(wg_batches_cursor(b).epoch, epoch + 1);
    assert_int_equal(wg_batches_cursor(b).group, 0);
    for (size_t i = 0; i < n; i++)
        check_that(seen[i] == 1, "pair %zu is read %d times", i, seen[i]);
    free(seen);
    return batches;
}

static void every_pair_once_an_epoch(void **state)
{
    (void)state;
    wg_corpus *c = make_corpus(PAIRS, 40, NULL);
    size_t epochs = 0;
    for (int multiple = 1; multiple <= 8; multiple *= 2)
        for (int flags = 0; flags < 16; flags++) {
            wg_batches_options o = usual();
            o.multiple = multiple;
            o.in_order = flags & 1;
            o.fixed_rows = flags & 2;
            o.group = flags & 4 ? 3 : 0;
            o.sentences = flags & 8 ? 5 : 0;
            o.source_eos = flags & 4 ? -1 : EOS;
            o.source_begins = flags & 2;
            o.source_bos = 5;
            o.pad = flags & 8 ? -1 : 3;
            o.source_pad = flags & 1 ? 3 : -1;
            wg_batches *b = make(c, &o);
            size_t first = check_epoch(b, c, &o), second = check_epoch(b, c, &o);
            assert_int_equal(first, second);
            assert_int_equal(wg_batches_groups(b), (first + (o.group ? 2 : 0)) / (o.group ? 3 : 1));
            epochs += 2;
            wg_batches_free(b);
        }
    assert_int_equal(epochs, 128);
    wg_corpus_free(c);
}

/* ---- order ----------------------------------------------------------------------------------- */

/* A fingerprint of what is read next. */
static uint64_t fingerprint(wg_batches *b)
{
    const wg_batch *x;
    size_t n = next(b, &x);
    uint64_t h = n;
    for (size_t i = 0; i < n; i++) {
        h = h * 1000003 +
            (uint64_t)(x[i].rows * 10007 + x[i].source_length * 101 + x[i].target_length);
        for (int64_t r = 0; r < x[i].rows; r++)
            h = h * 1000003 + x[i].pairs[r];
        for (int64_t k = 0; k < x[i].rows * x[i].target_length; k++)
            h = h * 1000003 + (uint64_t)(uint32_t)(x[i].target_in[k] + 3 * x[i].target_out[k]);
    }
    return h;
}

static void seeking_equals_reading_up_to_it(void **state)
{
    (void)state;
    enum { MAX = 1000 };
    static uint64_t prints[MAX];
    static wg_cursor cursors[MAX];
    wg_corpus *c = make_corpus(PAIRS, 30, NULL);
    for (int in_order = 0; in_order < 2; in_order++) {
        wg_batches_options o = usual();
        o.group = 2;
        o.in_order = in_order;
        o.seed = 42;
        wg_batches *b = make(c, &o);
        int64_t n = 3 * wg_batches_groups(b);
        assert_in_range(n, 100, MAX);
        for (int64_t i = 0; i < n; i++) {
            cursors[i] = wg_batches_cursor(b);
            prints[i] = fingerprint(b);
        }
        for (int64_t i = 0; i < n; i++) { /* there and back, through all of them */
            int64_t k = (i * 37 + 11) % n;
            assert_int_equal(wg_batches_seek(b, cursors[k]), WG_OK);
            check_that(fingerprint(b) == prints[k], "epoch %lld, group %lld",
                       (long long)cursors[k].epoch, (long long)cursors[k].group);
        }
        /* another reader that starts there */
        wg_batches *other = make(c, &o);
        assert_int_equal(wg_batches_seek(other, cursors[n / 2]), WG_OK);
        for (int64_t i = n / 2; i < n; i++)
            assert_true(fingerprint(other) == prints[i]);
        wg_batches_free(other);
        /* the end of an epoch is the start of the next */
        assert_int_equal(wg_batches_seek(b, (wg_cursor){0, n / 3}), WG_OK);
        assert_true(fingerprint(b) == prints[n / 3]);
        wg_batches_free(b);
    }
    wg_corpus_free(c);
}

static void seed_and_epoch_give_the_order(void **state)
{
    (void)state;
    wg_corpus *c = make_corpus(PAIRS, 30, NULL);
    wg_batches_options o = usual();
    wg_batches *a = make(c, &o), *b = make(c, &o);
    o.seed = 1;
    wg_batches *other = make(c, &o);
    int64_t n = wg_batches_groups(a), same_epoch = 0, same_seed = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t first = fingerprint(a);
        assert_true(fingerprint(b) == first);
        same_seed += fingerprint(other) == first;
        assert_int_equal(wg_batches_seek(b, (wg_cursor){1, i}), WG_OK);
        same_epoch += fingerprint(b) == first;
        assert_int_equal(wg_batches_seek(b, (wg_cursor){0, i + 1}), WG_OK);
    }
    assert_true(same_seed <= 1 && same_epoch <= 1);
    wg_batches_free(a);
    wg_batches_free(b);
    wg_batches_free(other);
    wg_corpus_free(c);
}

static void shapes_are_those_of_every_epoch(void **state)
{
    (void)state;
    wg_corpus *c = make_corpus(PAIRS, 30, NULL);
    wg_batches_options o = usual();
    o.fixed_rows = true;
    wg_batches *b = make(c, &o);
    int shapes[3][64][64] = {0};
    size_t repeated = 0;
    for (int epoch = 0; epoch < 3; epoch++)
        for (int64_t g = 0, n = wg_batches_groups(b); g < n; g++) {
            const wg_batch *x;
            assert_int_equal(next(b, &x), 1);
            int64_t larger =
                x->source_length > x->target_length ? x->source_length : x->target_length;
            int64_t rows = o.tokens / larger;
            assert_int_equal(x->rows, rows >= 8 ? rows / 8 * 8 : rows); /* S and T give B */
            repeated += shapes[epoch][x->source_length][x->target_length]++ > 0;
        }
    assert_true(repeated > 30);
    assert_memory_equal(shapes[0], shapes[1], sizeof shapes[0]);
    assert_memory_equal(shapes[0], shapes[2], sizeof shapes[0]);
    wg_batches_free(b);
    wg_corpus_free(c);
}

static void in_order_is_the_order_of_the_corpus(void **state)
{
    (void)state;
    wg_corpus *c = make_corpus(PAIRS, 30, NULL);
    wg_batches_options o = usual();
    o.in_order = true;
    wg_batches *b = make(c, &o);
    for (size_t pair = 0, i = 0; i < 2 * (size_t)wg_batches_groups(b); i++) {
        const wg_batch *x;
        assert_int_equal(next(b, &x), 1);
        for (int64_t r = 0; r < x->sentences; r++, pair++)
            assert_int_equal(x->pairs[r], pair % PAIRS);
    }
    wg_batches_free(b);
    wg_corpus_free(c);
}

/* Lengths that are alike together: little padding. */
static void sorting_by_length_reduces_padding(void **state)
{
    (void)state;
    wg_corpus *c = make_corpus(PAIRS, 30, NULL);
    wg_batches_options o = usual();
    o.multiple = 1;
    int64_t padded[2] = {0, 0};
    for (int in_order = 0; in_order < 2; in_order++) {
        o.in_order = in_order;
        wg_batches *b = make(c, &o);
        for (int64_t i = 0; i < wg_batches_groups(b); i++) {
            const wg_batch *x;
            next(b, &x);
            padded[in_order] += x->rows * (x->source_length + x->target_length);
        }
        wg_batches_free(b);
    }
    assert_true(padded[0] * 5 < padded[1] * 4);
    wg_corpus_free(c);
}

/* ---- limits and refusals --------------------------------------------------------------------- */

static void one_long_sentence(void **state)
{
    (void)state;
    const size_t lengths[] = {3, 4, 31, 2, 5, 5, 1, 31, 2, 2};
    wg_corpus *c = make_corpus(5, 0, lengths);
    wg_batches_options o = usual();
    wg_batches *b = NULL;
    o.tokens = 32; /* 31 tokens and the end */
    o.multiple = 1;
    b = make(c, &o);
    check_epoch(b, c, &o);
    for (int64_t i = 0, alone = 0; i < wg_batches_groups(b); i++) {
        const wg_batch *x;
        next(b, &x);
        alone += x->source_length == 32 || x->target_length == 32;
        assert_true(x->rows == 1 || (x->source_length < 32 && x->target_length < 32));
        assert_true(i + 1 < wg_batches_groups(b) || alone == 2);
    }
    wg_batches_free(b);
    o.tokens = 31;
    assert_int_equal(wg_batches_create(&b, c, &o, &error), WG_EDATA);
    assert_null(b);
    assert_string_equal(
        error.text,
        "pair 1 (counted from 0): expected at most 31 tokens with padding, as a batch has, got 32");
    o.tokens = 33;
    o.multiple = 3; /* padded, 32 is 33 */
    b = make(c, &o);
    check_epoch(b, c, &o);
    wg_batches_free(b);
    o.multiple = 10; /* padded, 32 is 40 */
    assert_int_equal(wg_batches_create(&b, c, &o, NULL), WG_EDATA);
    wg_corpus_free(c);
}

static void empty_sides(void **state)
{
    (void)state;
    const size_t lengths[] = {0, 0, 0, 3, 3, 0};
    wg_corpus *c = make_corpus(3, 0, lengths);
    wg_batches_options o = usual();
    for (int ended = 0; ended < 2; ended++) {
        o.source_eos = ended ? EOS : -1;
        wg_batches *b = make(c, &o);
        check_epoch(b, c, &o);
        wg_batches_free(b);
    }
    wg_corpus_free(c);
}

static void defaults(void **state)
{
    (void)state;
    wg_corpus *c = make_corpus(PAIRS, 30, NULL);
    wg_batches *b = make(c, &(wg_batches_options){.bos = BOS, .eos = EOS});
    wg_batches_options o = {.tokens = 4096, .multiple = 2, .bos = BOS, .eos = EOS};
    assert_in_range(check_epoch(b, c, &o), 2, 20);
    wg_batches_free(b);
    wg_corpus_free(c);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    wg_corpus *c = make_corpus(5, 5, NULL);
    static const wg_batches_options wrong[] = {
        {.tokens = -1, .bos = 1, .eos = 2},
        {.tokens = INT64_MAX, .bos = 1, .eos = 2},
        {.multiple = -1, .bos = 1, .eos = 2},
        {.multiple = 5000, .bos = 1, .eos = 2},
        {.group = -2, .bos = 1, .eos = 2},
        {.sentences = -2, .bos = 1, .eos = 2},
        {.bos = -1, .eos = 2},
        {.bos = 1, .eos = -1},
    };
    wg_batches *b;
    for (size_t i = 0; i < WG_COUNT(wrong); i++) {
        error.text[0] = '\0';
        assert_int_equal(wg_batches_create(&b, c, &wrong[i], &error), WG_EINVAL);
        assert_null(b);
        check_that(strstr(error.text, "expected") && strstr(error.text, "got"), "%zu: %s", i,
                   error.text);
    }
    assert_int_equal(wg_batches_create(NULL, c, NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_batches_create(&b, NULL, NULL, NULL), WG_EINVAL);
    wg_batches_options o = usual();
    o.group = INT64_MAX; /* all of them */
    b = make(c, &o);
    assert_int_equal(wg_batches_groups(b), 1);
    assert_int_equal(wg_batches_seek(b, (wg_cursor){-1, 0}), WG_EINVAL);
    assert_int_equal(wg_batches_seek(b, (wg_cursor){0, -1}), WG_EINVAL);
    assert_int_equal(wg_batches_seek(b, (wg_cursor){0, 2}), WG_EINVAL);
    assert_int_equal(wg_batches_seek(b, (wg_cursor){INT64_MAX, 0}), WG_EINVAL);
    assert_int_equal(wg_batches_seek(NULL, (wg_cursor){0, 0}), WG_EINVAL);
    const wg_batch *x;
    size_t n;
    assert_int_equal(wg_batches_next(NULL, &x, &n), WG_EINVAL);
    assert_int_equal(wg_batches_next(b, NULL, &n), WG_EINVAL);
    wg_batches_free(b);
    wg_batches_free(NULL);
    wg_corpus_free(c);
}

static wg_status read_two(void *corpus)
{
    wg_batches_options o = usual();
    wg_batches *b;
    const wg_batch *x;
    size_t n;
    wg_status status = wg_batches_create(&b, corpus, &o, &error);
    for (int i = 0; i < 2 && status == WG_OK; i++)
        status = wg_batches_next(b, &x, &n);
    wg_batches_free(b);
    return status;
}

static void failed_allocations_are_a_status(void **state)
{
    (void)state;
    wg_corpus *c = make_corpus(50, 9, NULL);
    assert_in_range(fail_each("batches", read_two, c, WG_OK), 8, 100);
    wg_corpus_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_once_an_epoch),
        cmocka_unit_test(seeking_equals_reading_up_to_it),
        cmocka_unit_test(seed_and_epoch_give_the_order),
        cmocka_unit_test(shapes_are_those_of_every_epoch),
        cmocka_unit_test(in_order_is_the_order_of_the_corpus),
        cmocka_unit_test(sorting_by_length_reduces_padding),
        cmocka_unit_test(one_long_sentence),
        cmocka_unit_test(empty_sides),
        cmocka_unit_test(defaults),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(failed_allocations_are_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
