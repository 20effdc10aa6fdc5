/* safetensors files: checksums name what is damaged, and a failure of any call leaves the old file
 * or the new one. */
#include "tests/files/safetensors.h"

static const char sums_key[] = "wengert-xxh64";

static void damaged_tensors_and_metadata_are_named(void **state)
{
    (void)state;
    static const wg_tensor two[] = {{"first", WG_F32, {1, {6}}, (void *)floats},
                                    {"second", WG_I64, {1, {2}}, (void *)ints}};
    char file[1024];
    assert_int_equal(wg_safetensors_write(path, two, 2, file_notes, 1, &error), WG_OK);
    size_t n = get_file(file, sizeof file), data = n - sizeof floats - sizeof ints;
    file[data] ^= 1;
    put_file(file, n);
    assert_int_equal(open_status(), WG_EDATA);
    check_that(strstr(error.text, "tensor first is damaged: expected the checksum ") &&
                   !strstr(error.text, "second"),
               "%s", error.text);
    file[n - 1] ^= 1;
    put_file(file, n);
    assert_int_equal(open_status(), WG_EDATA);
    check_that(strstr(error.text, "tensor first is damaged") &&
                   strstr(error.text, "tensor second is damaged"),
               "%s", error.text);
    file[data] ^= 1;
    file[n - 1] ^= 1;
    char *note = place_in(file, n, "\"12\"");
    note[1] = '2';
    put_file(file, n);
    assert_int_equal(open_status(), WG_EDATA);
    check_that(strstr(error.text, "its metadata is damaged") != NULL, "%s", error.text);
    note[1] = '1';
    place_in(file, n, sums_key)[0] = 'W'; /* as a file of another program, without checksums */
    file[data] ^= 1;
    put_file(file, n);
    assert_int_equal(open_status(), WG_OK);
}

/* Readers see what was given to the writer and no more. */
static void checksums_are_not_among_the_notes(void **state)
{
    (void)state;
    wg_safetensors *f;
    assert_int_equal(write_all_tensors(), WG_OK);
    assert_int_equal(wg_safetensors_open(&f, path, &error), WG_OK);
    assert_int_equal(wg_safetensors_note_count(f), 2);
    assert_null(wg_safetensors_note(f, sums_key));
    assert_null(wg_safetensors_note_at(f, 2));
    assert_string_equal(wg_safetensors_note_at(f, 0)->key, "model"); /* in order */
    wg_safetensors_close(f);
    const wg_file_note reserved[] = {{sums_key, "0"}};
    assert_int_equal(wg_safetensors_write(path, NULL, 0, reserved, 1, &error), WG_EINVAL);
    assert_non_null(strstr(error.text, "the key wengert-xxh64 is reserved"));
}

/* The checksums are in the order of names, so that data in another order still match. */
static void the_order_of_tensors_and_notes_does_not_matter(void **state)
{
    (void)state;
    static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}};
    char first[17 * 4] = "";
    for (int i = 0; i < 3; i++) {
        wg_tensor list[3];
        wg_file_note both[2];
        for (int k = 0; k < 3; k++)
            list[k] = tensors[orders[i][k]];
        for (int k = 0; k < 2; k++)
            both[k] = file_notes[i % 2 ? 1 - k : k];
        assert_int_equal(wg_safetensors_write(path, list, 3, both, 2, &error), WG_OK);
        assert_int_equal(open_status(), WG_OK);
        char file[1024];
        char *sums = place_in(file, get_file(file, sizeof file), sums_key) + sizeof sums_key + 2;
        assert_int_equal(strspn(sums, "0123456789abcdef"), 64);
        if (i == 0)
            memcpy(first, sums, 64);
        assert_memory_equal(first, sums, 64);
    }
}

static void wrong_tensors_are_not_written(void **state)
{
    (void)state;
    float x = 1;
    const struct {
        wg_tensor tensor[2];
        size_t n;
        wg_status status;
    } wrong[] = {
        {{{NULL, WG_F32, {0, {0}}, &x}}, 1, WG_EINVAL},
        {{{"a\xff", WG_F32, {0, {0}}, &x}}, 1, WG_EINVAL},
        {{{"__metadata__", WG_F32, {0, {0}}, &x}}, 1, WG_EINVAL},
        {{{"a", WG_F32, {0, {0}}, &x}, {"a", WG_F32, {0, {0}}, &x}}, 2, WG_EINVAL},
        {{{"a", WG_F32, {1, {-1}}, &x}}, 1, WG_ESHAPE},
        {{{"a", WG_DTYPE_DEFAULT, {0, {0}}, &x}}, 1, WG_ESHAPE},
        {{{"a", WG_F32, {9, {1}}, &x}}, 1, WG_ESHAPE},
        {{{"a", WG_F32, {0, {0}}, NULL}}, 1, WG_EINVAL},
    };
    unlink(path);
    for (size_t i = 0; i < WG_COUNT(wrong); i++) {
        assert_int_equal(wg_safetensors_write(path, wrong[i].tensor, wrong[i].n, NULL, 0, &error),
                         wrong[i].status);
        assert_true(error.text[0] != '\0' && access(path, F_OK) != 0);
    }
    const wg_file_note twice[] = {{"k", "1"}, {"k", "2"}}, none[] = {{"k", NULL}},
                       bad[] = {{"k", "\xff"}}, nameless[] = {{NULL, "1"}};
    assert_int_equal(wg_safetensors_write(path, NULL, 0, nameless, 1, &error), WG_EINVAL);
    assert_non_null(strstr(error.text, "name 0: expected UTF-8, got none"));
    assert_int_equal(wg_safetensors_write(path, NULL, 0, twice, 2, NULL), WG_EINVAL);
    assert_int_equal(wg_safetensors_write(path, NULL, 0, none, 1, NULL), WG_EINVAL);
    assert_int_equal(wg_safetensors_write(path, NULL, 0, bad, 1, NULL), WG_EINVAL);
    assert_int_equal(wg_safetensors_write("no/such/folder", NULL, 0, NULL, 0, &error), WG_EIO);
    assert_non_null(strstr(error.text, "open for writing: No such file"));
}

/* Tensors or notes "0", "1", ..; the file has another note, of checksums. */
static wg_status write_many(size_t n_tensors, size_t n_notes)
{
    wg_tensor *list = malloc((n_tensors + 1) * sizeof *list);
    wg_file_note *notes = malloc((n_notes + 1) * sizeof *notes);
    const size_t most = n_tensors > n_notes ? n_tensors : n_notes;
    char(*names)[8] = malloc((most + 1) * sizeof *names);
    assert_true(list && notes && names);
    for (size_t i = 0; i < most; i++)
        snprintf(names[i], sizeof names[i], "%zu", i % 1000000);
    for (size_t i = 0; i < n_tensors; i++)
        list[i] = (wg_tensor){names[i], WG_U8, {1, {0}}, NULL};
    for (size_t i = 0; i < n_notes; i++)
        notes[i] = (wg_file_note){names[i], ""};
    wg_status status = wg_safetensors_write(path, list, n_tensors, notes, n_notes, &error);
    free(list);
    free(notes);
    free(names);
    return status;
}

static wg_status write_long(size_t bytes)
{
    char *text = malloc(bytes + 1);
    assert_non_null(text);
    memset(text, 'x', bytes);
    text[bytes] = '\0';
    const wg_file_note note = {"k", text};
    wg_status status = wg_safetensors_write(path, NULL, 0, &note, 1, &error);
    free(text);
    return status;
}

/* The writer has the limits of the reader, and what was there stays. */
static void what_could_not_be_opened_is_not_written(void **state)
{
    (void)state;
    /* {"__metadata__":{"k":"..","wengert-xxh64":"0123456789abcdef"}} */
    enum { MOST = 65536, HEADER = 100000000, OTHERS = 60 };
    assert_int_equal(write_many(MOST, 0), WG_OK);
    assert_int_equal(open_status(), WG_OK);
    assert_int_equal(write_many(MOST + 1, 0), WG_EUNSUPPORTED);
    assert_non_null(strstr(error.text, "expected at most 65536 tensors and as many notes, got "
                                       "65537 and 1"));
    assert_int_equal(open_status(), WG_OK);
    assert_int_equal(write_many(0, MOST - 1), WG_OK);
    assert_int_equal(open_status(), WG_OK);
    assert_int_equal(write_many(0, MOST), WG_EUNSUPPORTED);
    assert_int_equal(write_long(HEADER - OTHERS), WG_OK);
    assert_int_equal(open_status(), WG_OK);
    assert_int_equal(write_long(HEADER - OTHERS + 1), WG_EUNSUPPORTED);
    assert_non_null(strstr(error.text, "expected a header of at most 100000000 bytes, got "));
    assert_int_equal(open_status(), WG_OK);
}

/* Each call of the writer fails, once or from then on, or writes short: the file is the old one or
 * the new one, and the status tells whether it surely is the new one. */
static void a_failed_write_leaves_a_whole_file(void **state)
{
    (void)state;
    enum { BIG = 200000 }; /* past the writer's buffer */
    float *big = calloc(BIG, sizeof *big);
    const wg_tensor after[] = {{"b", WG_F32, {1, {BIG}}, big},
                               {"c", WG_F32, {2, {2, 3}}, (void *)floats}};
    int tried = 0, unnoticed = 0;
    for (int mode = 0; mode < 3; mode++) {
        for (int i = 1;; i++) {
            assert_int_equal(write_all_tensors(), WG_OK);
            world.calls = 0;
            world.fail_at = i;
            world.from_then_on = mode == 1;
            world.shorten = mode == 2;
            wg_status status = wg_safetensors_write(path, after, 2, NULL, 0, &error);
            bool reached = world.calls >= i;
            world.fail_at = 0;
            wg_safetensors *f;
            assert_int_equal(wg_safetensors_open(&f, path, NULL), WG_OK);
            size_t count = wg_safetensors_count(f);
            assert_true(count == TENSORS || count == 2);
            if (status == WG_OK)
                assert_int_equal(count, 2);
            else
                assert_true(error.text[0] != '\0');
            use(f);
            wg_safetensors_close(f);
            if (!reached)
                break;
            assert_true(mode == 2 || status == WG_EIO || status == WG_ENOMEM || status == WG_OK);
            unnoticed += mode < 2 && status == WG_OK;
            tried++;
        }
    }
    free(big);
    print_message("%d failures tried\n", tried);
    assert_true(tried > 20);
    /* the folder is closed last: once in each mode; and without a thread its work is done here */
    assert_int_equal(unnoticed, 3);
    assert_true(helpers.started > 20);
    assert_int_equal(helpers.started, helpers.joined);
}

/* A thread computes the checksums of large tensors while they are written, if there is one. */
static void a_file_is_the_same_with_a_thread_without_and_with_a_late_one(void **state)
{
    (void)state;
    enum { ROOM = 1 << 20 };
    static const int64_t sizes[] = {1, 1000, 65000, 66000, 150000};
    float *big = malloc(ROOM);
    char *alone = malloc(ROOM), *helped = malloc(ROOM), *late = malloc(ROOM);
    for (int i = 0; i < ROOM / (int)sizeof *big; i++)
        big[i] = (float)i * 1.5F;
    for (size_t i = 0; i < WG_COUNT(sizes); i++) {
        const wg_tensor list[] = {{"w", WG_F32, {1, {sizes[i]}}, big},
                                  {"b", WG_F32, {2, {2, 3}}, (void *)floats},
                                  {"none", WG_F32, {1, {0}}, NULL}};
        bool is_large = sizes[i] >= 66000; /* 256 KiB */
        int started = helpers.started, refused = helpers.refused;
        assert_int_equal(wg_safetensors_write(path, list, 3, file_notes, 2, &error), WG_OK);
        size_t n = get_file(helped, ROOM);
        helpers.none = true;
        assert_int_equal(wg_safetensors_write(path, list, 3, file_notes, 2, &error), WG_OK);
        helpers.none = false;
        assert_int_equal(get_file(alone, ROOM), n);
        helpers.late = true;
        assert_int_equal(wg_safetensors_write(path, list, 3, file_notes, 2, &error), WG_OK);
        helpers.late = false;
        assert_int_equal(get_file(late, ROOM), n);
        assert_memory_equal(late, alone, n);
        assert_int_equal(helpers.started - started, 2 * is_large);
        assert_int_equal(helpers.refused - refused, is_large);
        assert_int_equal(helpers.joined, helpers.started);
        assert_memory_equal(helped, alone, n);
        assert_int_equal(open_status(), WG_OK); /* and the checksums are right */
    }
    free(big);
    free(alone);
    free(helped);
    free(late);
}

/* Each allocation of the reader fails: a status, and nothing is leaked (checked under ASan). */
static void a_failed_allocation_is_a_status(void **state)
{
    (void)state;
    assert_int_equal(write_all_tensors(), WG_OK);
    int i = 0;
    wg_status status;
    do {
        wg_safetensors *f;
        world.calls = 0;
        world.fail_at = ++i;
        world.from_then_on = true;
        status = wg_safetensors_open(&f, path, &error);
        world.fail_at = 0;
        assert_true(status == WG_OK || status == WG_ENOMEM || status == WG_EIO);
        wg_safetensors_close(f);
    } while (status != WG_OK && i < 100);
    assert_true(i > 4 && i < 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_tensors_and_metadata_are_named),
        cmocka_unit_test(checksums_are_not_among_the_notes),
        cmocka_unit_test(the_order_of_tensors_and_notes_does_not_matter),
        cmocka_unit_test(wrong_tensors_are_not_written),
        cmocka_unit_test(what_could_not_be_opened_is_not_written),
        cmocka_unit_test(a_failed_write_leaves_a_whole_file),
        cmocka_unit_test(a_file_is_the_same_with_a_thread_without_and_with_a_late_one),
        cmocka_unit_test(a_failed_allocation_is_a_status),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
