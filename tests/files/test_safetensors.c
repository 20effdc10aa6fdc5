/* safetensors files: what is written is read; what is malformed is refused with its reason; no
 * single byte that changes does harm. */
#include "tests/files/bad_headers.h"
#include "tests/files/safetensors.h"

#include <fcntl.h>
#include <sys/stat.h>

static void files_round_trip(void **state)
{
    (void)state;
    assert_int_equal(write_all_tensors(), WG_OK);
    wg_safetensors *f;
    assert_int_equal(wg_safetensors_open(&f, path, &error), WG_OK);
    assert_int_equal(wg_safetensors_count(f), TENSORS);
    for (int i = 0; i < TENSORS; i++) {
        const wg_file_tensor *t = wg_safetensors_find(f, tensors[i].name);
        assert_non_null(t);
        assert_int_equal(t->dtype, tensors[i].dtype);
        assert_true(wg_shape_equal(&t->shape, &tensors[i].shape));
        assert_int_equal(t->size, wg_shape_count(&t->shape) * (int64_t)wg_dtype_size(t->dtype));
        if (t->size)
            assert_memory_equal(t->data, tensors[i].data, t->size);
    }
    for (size_t i = 1; i < TENSORS; i++)
        assert_true(strcmp(wg_safetensors_at(f, i - 1)->name, wg_safetensors_at(f, i)->name) < 0);
    assert_null(wg_safetensors_at(f, TENSORS));
    assert_null(wg_safetensors_find(f, "b"));
    assert_string_equal(wg_safetensors_note(f, "step"), "12");
    assert_string_equal(wg_safetensors_note(f, "model"), "{\"layers\": 2}");
    assert_null(wg_safetensors_note(f, "epoch"));
    wg_safetensors_close(f);
    wg_safetensors_close(NULL);

    assert_int_equal(wg_safetensors_write(path, NULL, 0, NULL, 0, NULL), WG_OK);
    assert_int_equal(wg_safetensors_open(&f, path, &error), WG_OK);
    assert_int_equal(wg_safetensors_count(f) + wg_safetensors_note_count(f), 0);
    wg_safetensors *none = f;
    assert_int_equal(wg_safetensors_open(&none, NULL, &error), WG_EINVAL);
    assert_null(none);
    assert_int_equal(wg_safetensors_write(NULL, NULL, 0, NULL, 0, &error), WG_EINVAL);
    assert_int_equal(wg_safetensors_write(path, NULL, 1, NULL, 0, &error), WG_EINVAL);
    assert_string_equal(error.text, "the list of tensors is NULL");
    assert_null(wg_safetensors_find(f, "a"));
    assert_null(wg_safetensors_note(f, "step"));
    wg_safetensors_close(f);
}

/* Names with each character that JSON needs an escape for. */
static void names_of_any_characters_come_back(void **state)
{
    (void)state;
    for (int c = 1; c < 0x80; c++) {
        wg_safetensors *f;
        uint8_t byte = 7;
        const char name[] = {'a', (char)c, 'b', 0};
        const wg_tensor tensor = {name, WG_U8, WG_SCALAR, &byte};
        const wg_file_note note = {name, name};
        assert_int_equal(wg_safetensors_write(path, &tensor, 1, &note, 1, &error), WG_OK);
        check_that(wg_safetensors_open(&f, path, &error) == WG_OK, "%d: %s", c, error.text);
        assert_non_null(wg_safetensors_find(f, name));
        assert_string_equal(wg_safetensors_note(f, name), name);
        wg_safetensors_close(f);
    }
}

#define ENTRY(name, dtype, shape, begin, end)                                                      \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" begin "," end \
    "]}"

/* Headers that must be taken: other orders, spaces, escapes, dtypes that wengert lacks. */
static void unusual_headers_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        size_t data;
        const char *name;
    } good[] = {
        {"{}", 0, NULL},
        {"{ }   ", 0, NULL},
        {"{\"__metadata__\":{}}", 0, NULL},
        {"{ \"a\" : {\"data_offsets\" : [ 0 , 4 ] ,\n\t\"shape\":[ ] , \"dtype\":\"F32\" } }\r", 4,
         "a"},
        {"{" ENTRY("\\u00e9\\n\\ud83d\\ude00\\u20AC", "U8", "2", "0", "2") "}", 2,
         "\xc3\xa9\n\xf0\x9f\x98\x80\xe2\x82\xac"},
        {"{" ENTRY("\\u0041\\ue000", "U8", "2", "0", "2") "}", 2, "A\xee\x80\x80"},
        {"{" ENTRY("z", "U16", "2", "0", "4") "," ENTRY("a", "BOOL", "1,3", "4", "7") "}", 7, "z"},
        {"{" ENTRY("a", "F32", "0", "0", "0") "," ENTRY("b", "F32", "1", "0", "4") "," ENTRY(
             "c", "F32", "5,0", "4", "4") "}",
         4, "c"},
        {"{" ENTRY("", "I64", "1,1,1,1,1,1,1,1", "0", "8") "}", 8, ""},
    };
    for (size_t i = 0; i < WG_COUNT(good); i++) {
        wg_safetensors *f;
        put_header(good[i].header, good[i].data);
        wg_status status = wg_safetensors_open(&f, path, &error);
        check_that(status == WG_OK, "%s", error.text);
        assert_true(!good[i].name || wg_safetensors_find(f, good[i].name));
        wg_safetensors_close(f);
    }
}

static void malformed_headers_are_refused_with_the_reason(void **state)
{
    (void)state;
    /* clang-format off */
    static const bad_header bad[] = {
        /* JSON */
        {"", 0, "expected '{', got its end"},
        {" {}", 0, "header byte 0: expected '{', got 0x20"},
        {"[]", 0, "expected '{', got '['"},
        {"{", 0, "expected a string, got its end"},
        {"{}x", 0, "header byte 2: expected the end of the header, got 'x'"},
        {"{\"a", 0, "expected the end of a string"},
        {"{\"a\nb\":0}", 0, "expected the end of a string, got 0x0a"},
        {"\xc3\xa9", 0, "header byte 0: expected '{', got 0xc3"},
        {"{\"\\x\":0}", 0, "expected an escape, got 'x'"},
        {"{\"\\", 0, "expected an escape, got its end"},
        {"{\"\\u12", 0, "expected a hexadecimal digit, got its end"},
        {"{\"\\ud800", 0, "second half of a surrogate pair, got its end"},
        {"{\"\\ud800\\n\":0}", 0, "second half of a surrogate pair, got '\\'"},
        {"{\"\\ud800\\u00g0\":0}", 0, "expected a hexadecimal digit, got 'g'"},
        {"{\"\\ud800\\ue000\":0}", 0, "low surrogate"},
        {"{\"\\u00g0\":0}", 0, "expected a hexadecimal digit, got 'g'"},
        {"{\"\\u0000\":0}", 0, "no NUL"},
        {"{\"\\udc00\":0}", 0, "lone surrogate"},
        {"{\"\\ud800\":0}", 0, "second half"},
        {"{\"\\ud800\\u0041\":0}", 0, "low surrogate"},
        {"{\"a\"}", 0, "expected ':', got '}'"},
        {"{\"a\":1}", 0, "expected '{', got '1'"},
        {"{\"\xff\":1}", 0, "expected UTF-8"},
        {"{\"\xc0\x80\":1}", 0, "expected UTF-8"},
        {"{\"\xed\xa0\x80\":1}", 0, "expected UTF-8"},
        {"{\"\xf4\x90\x80\x80\":1}", 0, "expected UTF-8"},
        {"{\"\xe2\x82", 0, "expected UTF-8"},
        {"{" ENTRY("a", "U8", "1", "0", "1") ",}", 1, "expected a string, got '}'"},
        {"{" ENTRY("a", "U8", "01", "0", "1") "}", 1, "expected a natural number"},
        {"{" ENTRY("a", "U8", "-1", "0", "1") "}", 1, "expected a natural number, got '-'"},
        {"{" ENTRY("a", "U8", "1.0", "0", "1") "}", 1, "expected ',', got '.'"},
        {"{" ENTRY("a", "U8", "1e0", "0", "1") "}", 1, "expected ',', got 'e'"},
        {"{" ENTRY("a", "U8", "1,", "0", "1") "}", 1, "expected a natural number, got ']'"},
        {"{" ENTRY("a", "U8", "9223372036854775808", "0", "1") "}", 1,
         "expected a number below 2^63"},
        {"{" ENTRY("a", "U8", "1", "0", "99999999999999999999") "}", 1,
         "expected a number below 2^63"},
        /* form */
        {"{\"a\":{}}", 0, "expected a string, got '}'"},
        {"{\"a\":{\"dtype\":\"F32\"}}", 0, "expected dtype, shape and data_offsets, got fewer"},
        {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 0, "once each, got \"dtype\""},
        {"{\"a\":{\"extra\":\"F32\"}}", 0, "once each, got \"extra\""},
        {"{\"a\":{\"dtype\":1}}", 0, "expected a string, got '1'"},
        {"{\"a\":{\"shape\":1}}", 0, "expected '[', got '1'"},
        {"{\"a\":{\"shape\":[1", 0, "expected ',', got its end"},
        {"{\"a\":{\"dtype\" \"F32\"}}", 0, "expected ':', got '\"'"},
        {"{\"a\":{\"dtype\":\"F32\"]}", 0, "expected '}', got ']'"},
        {"{\"a\":{\"data_offsets\":0}}", 0, "expected '[', got '0'"},
        {"{\"a\":{\"data_offsets\":[x]}}", 0, "expected a natural number, got 'x'"},
        {"{\"a\":{\"data_offsets\":[0,x]}}", 0, "expected a natural number, got 'x'"},
        {"{\"a\":{\"data_offsets\":[1]}}", 0, "expected ',', got ']'"},
        {"{\"a\":{\"data_offsets\":[1,2,3]}}", 0, "expected ']', got ','"},
        {"{" ENTRY("a", "U8", "1", "0", "1") "]", 1, "expected '}', got ']'"},
        {"{\"__metadata__\":1}", 0, "expected '{', got '1'"},
        {"{\"__metadata__\":{1}}", 0, "expected a string, got '1'"},
        {"{\"__metadata__\":{\"a\"}}", 0, "expected ':', got '}'"},
        {"{\"__metadata__\":{\"a\":\"1\"]}", 0, "expected '}', got ']'"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "expected a string, got '1'"},
        {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "note a: expected once, got twice"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "expected one __metadata__, got two"},
        {"{" ENTRY("a", "U8", "1", "0", "1") "," ENTRY("a", "U8", "1", "1", "2") "}", 2,
         "tensor a: expected once, got twice"},
        {"{" ENTRY("a", "F31", "1", "0", "4") "}", 4, "expected a dtype, got \"F31\""},
        {"{" ENTRY("a", "U8", "1,1,1,1,1,1,1,1,1", "0", "1") "}", 1,
         "expected at most 8 dimensions"},
        /* sizes and offsets */
        {"{" ENTRY("a", "F32", "2", "0", "4") "}", 4,
         "tensor a: expected 8 bytes for F32 [2], got 4"},
        {"{" ENTRY("a", "F32", "4611686018427387904,4", "0", "4") "}", 4,
         "expected a size below 2^63"},
        {"{" ENTRY("a", "F32", "9223372036854775807,9223372036854775807,0", "0", "0") "}", 0,
         "expected a size below 2^63"},
        {"{" ENTRY("a", "U16", "2305843009213693952", "0", "1") "}", 1,
         "expected a size below 2^63"},
        {"{" ENTRY("a", "U8", "1", "1", "0") "}", 1, "expected offsets within 1 bytes, got [1, 0]"},
        {"{" ENTRY("a", "U8", "2", "0", "2") "}", 1, "got [0, 2]: the file ends too early"},
        {"{" ENTRY("a", "U8", "1", "1", "2") "}", 2, "tensor a: expected to begin at 0, got 1"},
        {"{" ENTRY("a", "U8", "2", "0", "2") "," ENTRY("b", "U8", "2", "1", "3") "}", 3,
         "tensor b: expected to begin at 2, got 1"},
        {"{" ENTRY("a", "U8", "1", "0", "1") "," ENTRY("b", "U8", "1", "2", "3") "}", 3,
         "tensor b: expected to begin at 1, got 2"},
        {"{" ENTRY("a", "U8", "1", "1", "2") "," ENTRY("b", "U8", "1", "2", "3") "}", 3,
         "tensor a: expected to begin at 0, got 1"},
        {"{" ENTRY("a", "U8", "1", "0", "1") "}", 2, "expected 1 bytes of data, got 2"},
        {"{}", 1, "expected 0 bytes of data, got 1"},
    };
    /* clang-format on */
    for (size_t i = 0; i < WG_COUNT(bad); i++) {
        put_header(bad[i].header, bad[i].data);
        check_refusal(&bad[i], path, open_status(), &error);
    }
    put_header("{" ENTRY("a", "BOOL", "2", "0", "2") "}", 2);
    char file[128];
    size_t n = get_file(file, sizeof file);
    file[n - 1] = 2;
    put_file(file, n);
    assert_int_equal(open_status(), WG_EDATA);
    assert_non_null(strstr(error.text, "expected 0 or 1, got 2"));
}

static void lengths_and_kinds_of_files_are_checked(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {1, 100000001, UINT64_MAX, INT64_MAX, UINT64_MAX - 7};
    for (size_t i = 0; i < WG_COUNT(lengths); i++) {
        put_file(&lengths[i], 8);
        assert_int_equal(open_status(), WG_EDATA);
        assert_non_null(strstr(error.text, "expected a header of at most"));
    }
    for (size_t n = 0; n < 8; n++) {
        put_file("\0\0\0\0\0\0\0", n);
        assert_int_equal(open_status(), WG_EDATA);
        assert_non_null(strstr(error.text, "expected at least 8 bytes"));
    }
    put_header("{}", 0);
    no_map = true;
    assert_int_equal(open_status(), WG_EIO);
    no_map = false;
    assert_non_null(strstr(error.text, "map: No such device"));
    unlink(path);
    assert_int_equal(open_status(), WG_EIO);
    assert_non_null(strstr(error.text, "No such file"));
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(open_status(), WG_EIO);
    assert_non_null(strstr(error.text, "expected a regular file"));
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(open_status(), WG_EIO);
    rmdir(path);
}

/* The file has the first two tensors and the first note, as they were written. */
static bool is_as_written(const wg_safetensors *f)
{
    bool same = wg_safetensors_count(f) == 2;
    for (int i = 0; i < 2 && same; i++) {
        const wg_file_tensor *t = wg_safetensors_find(f, tensors[i].name);
        same = t && t->dtype == tensors[i].dtype && wg_shape_equal(&t->shape, &tensors[i].shape) &&
               memcmp(t->data, tensors[i].data, t->size) == 0;
    }
    const char *note = wg_safetensors_note(f, file_notes[0].key);
    return same && note && strcmp(note, file_notes[0].text) == 0;
}

/* Every byte of a file set to every other value: refused, or read as if nothing had changed. */
static void every_changed_byte_is_detected_or_harmless(void **state)
{
    (void)state;
    char file[1024];
    assert_int_equal(wg_safetensors_write(path, tensors, 2, file_notes, 1, &error), WG_OK);
    size_t n = get_file(file, sizeof file);
    assert_true(n > 100 && n < sizeof file);
    int refused = 0, harmless = 0;
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    for (size_t i = 0; i < n; i++) {
        for (int change = 1; change < 256; change++) {
            char byte = (char)(file[i] ^ change);
            assert_int_equal(pwrite(fd, &byte, 1, (off_t)i), 1);
            wg_safetensors *f;
            wg_status status = wg_safetensors_open(&f, path, &error);
            refused += status != WG_OK;
            harmless += status == WG_OK;
            check_that(status == WG_OK ? is_as_written(f) : error.text[0] != '\0',
                       "byte %zu as 0x%02x", i, (unsigned char)byte);
            if (f)
                use(f);
            wg_safetensors_close(f);
        }
        assert_int_equal(pwrite(fd, &file[i], 1, (off_t)i), 1);
    }
    print_message("%d changes refused, %d harmless\n", refused, harmless);
    /* harmless: blanks, letters of escapes, and the key of the checksums */
    assert_int_equal(refused + harmless, 255 * (int)n);
    assert_true(harmless > 0 && refused > 50 * harmless);
    for (size_t i = n; i-- > 0;) {
        assert_int_equal(ftruncate(fd, (off_t)i), 0);
        assert_int_equal(open_status(), WG_EDATA);
    }
    close(fd);
    assert_int_equal(open_status(), WG_EDATA);
}

/* As many tensors as fit, one more, and far more: memory stays within 16 MB of the file's size. */
static void a_hostile_header_takes_little_memory(void **state)
{
    (void)state;
    static const int counts[] = {65536, 65537, 500000};
    for (int c = 0; c < 3; c++) {
        char *text = malloc((size_t)counts[c] * 80), *at = text;
        *at++ = '{';
        for (int i = 0; i < counts[c]; i++)
            at += sprintf(at, "%s\"%d\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
                          i ? "," : "", i);
        strcpy(at, "}");
        put_header(text, 0);
        free(text);
        world.largest = 0;
        wg_status status = open_status();
        assert_int_equal(status, c == 0 ? WG_OK : WG_EUNSUPPORTED);
        assert_true(world.largest > 0 && world.largest <= 15u << 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_round_trip),
        cmocka_unit_test(names_of_any_characters_come_back),
        cmocka_unit_test(unusual_headers_are_read),
        cmocka_unit_test(malformed_headers_are_refused_with_the_reason),
        cmocka_unit_test(lengths_and_kinds_of_files_are_checked),
        cmocka_unit_test(every_changed_byte_is_detected_or_harmless),
        cmocka_unit_test(a_hostile_header_takes_little_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
