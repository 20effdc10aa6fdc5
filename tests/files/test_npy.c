/* Arrays of NumPy: what is written is read, in every form that NumPy has written; what is malformed
 * is refused with its reason before memory is taken for it. */
#include "files/npy.h"
#include "tests/files/bad_headers.h"
#include "tests/folder.h"

#include <fcntl.h>
#include <sys/stat.h>

static wg_error error;

/* ---- memory that can be counted, and be out -------------------------------------------------- */

static struct {
    int calls, fail_at; /* the call of that number fails (from 1; 0: none) */
    size_t largest;     /* block that was asked for */
} memory;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    memory.largest = size > memory.largest ? size : memory.largest;
    return ++memory.calls == memory.fail_at ? NULL : __real_malloc(size);
}

/* ---- files ----------------------------------------------------------------------------------- */

enum { ROOM = 4096 };

/* A file of that version with this header and so many bytes of data: 1, 2, 3, ... */
static const char *put_as(int major, const char *header, size_t data)
{
    static char file[ROOM];
    size_t n = strlen(header), at = major == 1 ? 10 : 12;
    assert_true(at + n + data <= ROOM);
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (char)major;
    file[7] = 0;
    for (size_t i = 8; i < at; i++)
        file[i] = (char)(i < 16 ? n >> 8 * (i - 8) & 0xff : 0);
    memcpy(file + at, header, n);
    for (size_t i = 0; i < data; i++)
        file[at + n + i] = (char)(i + 1);
    return write_bytes("a.npy", file, at + n + data);
}

static const char *put(const char *header, size_t data)
{
    return put_as(1, header, data);
}

#define DICT(descr, order, shape)                                                                  \
    "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }"

/* What was read is what its dtype and shape say. */
static void check_array(const wgi_npy *a)
{
    assert_non_null(a->data);
    assert_true(wg_shape_valid(&a->shape, a->dtype));
    assert_int_equal(a->size, wg_shape_bytes(&a->shape, a->dtype));
    volatile unsigned char sum = 0;
    for (size_t i = 0; i < a->size; i++)
        sum = (unsigned char)(sum + ((const unsigned char *)a->data)[i]);
}

static wg_status read_status(const char *path)
{
    wgi_npy a;
    wg_status status = wgi_npy_read(&a, path, &error);
    if (status == WG_OK)
        check_array(&a);
    else
        assert_true(!a.data && !a.size && !a.dtype && error.text[0]);
    wgi_npy_free(&a);
    return status;
}

static void check_bytes(const char *path, wg_dtype dtype, wg_shape shape, const void *bytes)
{
    wgi_npy a;
    check_that(wgi_npy_read(&a, path, &error) == WG_OK, "%s", error.text);
    check_array(&a);
    assert_int_equal(a.dtype, dtype);
    assert_true(wg_shape_equal(&a.shape, &shape));
    assert_memory_equal(a.data, bytes, a.size);
    wgi_npy_free(&a);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const float floats[] = {1.5f, -2, 3, 4, 5, 6};
static const unsigned char bools[] = {0, 1, 1, 0};

static void arrays_round_trip(void **state)
{
    (void)state;
    static const int64_t ints[] = {-1, INT64_MAX, INT64_MIN, 0, 1, 2};
    const wg_tensor tensors[] = {
        {"f16", WG_F16, WG_SHAPE(3), (void *)floats},
        {"f32", WG_F32, WG_SHAPE(2, 3), (void *)floats},
        {"f64", WG_F64, WG_SHAPE(1, 1, 1, 1, 1, 1, 1, 3), (void *)ints},
        {"i8", WG_I8, WG_SHAPE(7), (void *)ints},
        {"u8", WG_U8, WG_SHAPE(5, 3), (void *)ints},
        {"i32", WG_I32, WG_SCALAR, (void *)ints},
        {"i64", WG_I64, WG_SHAPE(6), (void *)ints},
        {"bool", WG_BOOL, WG_SHAPE(2, 2), (void *)bools},
        {"empty", WG_F32, WG_SHAPE(0, 4), NULL},
    };
    for (int i = 0; i < WG_COUNT(tensors); i++) {
        const wg_tensor *t = &tensors[i];
        const char *path = path_of("a.npy");
        check_that(wgi_npy_write(path, t, &error) == WG_OK, "%s: %s", t->name, error.text);
        check_bytes(path, t->dtype, t->shape, t->data ? t->data : "");
    }
}

/* Byte for byte what numpy.save writes. */
static void the_file_is_that_of_numpy(void **state)
{
    (void)state;
    static const struct {
        wg_dtype dtype;
        wg_shape shape;
        const char *dict;
    } cases[] = {
        {WG_F32, {2, {2, 3}}, DICT("<f4", "False", "(2, 3)")},
        {WG_I64, {1, {3}}, DICT("<i8", "False", "(3,)")},
        {WG_BOOL, {0, {0}}, DICT("|b1", "False", "()")},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        const wg_tensor t = {"t", cases[i].dtype, cases[i].shape, (void *)floats};
        const char *path = path_of("a.npy");
        size_t size, length = strlen(cases[i].dict);
        assert_int_equal(wgi_npy_write(path, &t, &error), WG_OK);
        char *file = read_bytes(path, &size);
        assert_int_equal(size, 128 + wg_shape_bytes(&t.shape, t.dtype));
        assert_memory_equal(file, "\x93NUMPY\x01\x00\x76\x00", 10);
        assert_memory_equal(file + 10, cases[i].dict, length);
        for (size_t k = 10 + length; k < 127; k++)
            assert_int_equal(file[k], ' ');
        assert_int_equal(file[127], '\n');
        assert_memory_equal(file + 128, floats, size - 128);
        free(file);
    }
}

static void every_form_of_the_header_is_read(void **state)
{
    (void)state;
    static const unsigned char bytes[] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const char *const headers[] = {
        DICT("<i4", "False", "(2,)") "   \n",
        "{'shape':(2,),'fortran_order':False,'descr':'<i4'}",
        "{\"descr\": \"<i4\", \"fortran_order\": False, \"shape\": (2L,)}\n",
        " {  'descr' : '<i4' , 'fortran_order' :   True , 'shape' : ( 2 , ) , } ",
    };
    for (int version = 1; version <= 3; version++)
        for (int i = 0; i < WG_COUNT(headers); i++)
            check_bytes(put_as(version, headers[i], 8), WG_I32, WG_SHAPE(2), bytes);
    check_bytes(put(DICT("<i4", "False", "(2, 1)"), 8), WG_I32, WG_SHAPE(2, 1), bytes);
    check_bytes(put(DICT("<i4", "False", "(1, 2,)"), 8), WG_I32, WG_SHAPE(1, 2), bytes);
    check_bytes(put(DICT("<f8", "True", "()"), 8), WG_F64, WG_SCALAR, bytes);
    check_bytes(put(DICT("<f8", "True", "(0, 5)"), 0), WG_F64, WG_SHAPE(0, 5), "");
    /* the order of bytes has no meaning where there is one */
    check_bytes(put(DICT("|u1", "False", "(8,)"), 8), WG_U8, WG_SHAPE(8), bytes);
    check_bytes(put(DICT(">i1", "False", "(8,)"), 8), WG_I8, WG_SHAPE(8), bytes);
    check_bytes(put(DICT("u1", "False", "(8,)"), 8), WG_U8, WG_SHAPE(8), bytes);
}

static void the_order_of_fortran_becomes_that_of_rows(void **state)
{
    (void)state;
    /* element (i, j, k) of [2,3,2] is at i + 2 j + 6 k */
    static const unsigned char rows[] = {1, 7, 3, 9, 5, 11, 2, 8, 4, 10, 6, 12};
    check_bytes(put(DICT("|u1", "True", "(2, 3, 2)"), 12), WG_U8, WG_SHAPE(2, 3, 2), rows);
    check_bytes(put(DICT("<f2", "True", "(2, 2)"), 8), WG_F16, WG_SHAPE(2, 2),
                "\1\2\5\6\3\4\7\x08");
    check_bytes(put(DICT("|u1", "True", "(4,)"), 4), WG_U8, WG_SHAPE(4), "\1\2\3\4");
}

static void malformed_headers_are_refused_with_the_reason(void **state)
{
    (void)state;
    /* clang-format off */
    static const bad_header bad[] = {
        {"", 0, "header byte 0: expected '{', got its end"},
        {"[]", 0, "header byte 0: expected '{', got '['"},
        {"{", 0, "header byte 1: expected a string, got its end"},
        {"{}", 0, "expected descr, fortran_order and shape, got fewer"},
        {"{descr", 0, "header byte 1: expected a string, got 'd'"},
        {"{'descr", 0, "header byte 7: expected the end of a string, got its end"},
        {"{'de\\x73cr': '<f4'}", 0, "header byte 4: expected the end of a string, got '\\'"},
        {"{'de\nscr': '<f4'}", 0, "header byte 4: expected the end of a string, got 0x0a"},
        {"{'descr'}", 0, "header byte 8: expected ':', got '}'"},
        {"{'descr': '<f4'", 0, "header byte 15: expected '}', got its end"},
        {"{'descr': '<f4' 'shape'", 0, "header byte 16: expected '}', got '''"},
        {"{'descr': 4}", 0, "header byte 10: expected a string, got '4'"},
        {"{'descr': '<f4', 'descr': '<f4'}", 0, "once each, got 'descr'"},
        {"{'kind': '<f4'}", 0, "expected descr, fortran_order and shape once each, got 'kind'"},
        {"{'descr': '<f4', 'shape': (1,)}", 4, "got fewer"},
        {"{'fortran_order': 0}", 0, "header byte 18: expected True or False, got '0'"},
        {"{'fortran_order': Tru", 0, "header byte 18: expected True or False, got 'T'"},
        {DICT("<f4", "False", "(1,)") "x", 4, "expected the end of the header, got 'x'"},
        /* dtypes */
        {DICT(">f4", "False", "(1,)"), 4,
         "descr: expected little-endian numbers, '<f4', got '>f4'"},
        {DICT("f4", "False", "(1,)"), 4, "descr: expected little-endian numbers, '<f4', got 'f4'"},
        {DICT("=i8", "False", "(1,)"), 8,
         "descr: expected little-endian numbers, '<i8', got '=i8'"},
        {DICT("", "False", "(1,)"), 4, "descr: expected f2, f4, f8, i1, u1, i4, i8 or b1, got ''"},
        {DICT("<", "False", "(1,)"), 4, "i8 or b1, got '<'"},
        {DICT("<c8", "False", "(1,)"), 8, "i8 or b1, got '<c8'"},
        {DICT("<f16", "False", "(1,)"), 16, "i8 or b1, got '<f16'"},
        {DICT("|O", "False", "(1,)"), 8, "i8 or b1, got '|O'"},
        {DICT("<U3", "False", "(1,)"), 12, "i8 or b1, got '<U3'"},
        {DICT("|V2", "False", "(1,)"), 2, "i8 or b1, got '|V2'"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4,
         "descr: expected one dtype, got a list: an array with fields"},
        /* shapes */
        {DICT("<f4", "False", "3"), 12, "expected '(', got '3'"},
        {DICT("<f4", "False", "(3)"), 12, "expected ',', got ')'"},
        {DICT("<f4", "False", "(,)"), 4, "expected a natural number, got ','"},
        {DICT("<f4", "False", "(1,,)"), 4, "expected a natural number, got ','"},
        {DICT("<f4", "False", "(1 1)"), 4, "expected ',', got '1'"},
        {DICT("<f4", "False", "(1, 1 1)"), 4, "expected ')', got '1'"},
        {DICT("<f4", "False", "(1"), 4, "expected a natural number, got '}'"},
        {DICT("<f4", "False", "(03,)"), 12, "expected a natural number"},
        {DICT("<f4", "False", "(3.0,)"), 12, "expected ',', got '.'"},
        {DICT("<f4", "False", "(-3,)"), 12, "shape: expected sizes of 0 or more, got -3"},
        {DICT("<f4", "False", "(2, -1)"), 12, "shape: expected sizes of 0 or more, got -1"},
        {DICT("<f4", "False", "(-,)"), 12, "expected a natural number, got ','"},
        {DICT("<f4", "False", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), 4,
         "shape: expected at most 8 axes, got more"},
        {DICT("<f4", "False", "(9223372036854775808,)"), 4, "expected a number below 2^63"},
        {DICT("<f4", "False", "(4611686018427387904, 4)"), 4,
         "shape: expected a size below 2^63, got [4611686018427387904,4]"},
        {DICT("|u1", "False", "(9223372036854775807, 9223372036854775807, 0)"), 0,
         "shape: expected a size below 2^63"},
        /* sizes */
        {DICT("<f4", "False", "(2, 3)"), 23,
         "expected 24 bytes of data for '<f4' [2,3], got 23: the file ends too early"},
        {DICT("<f4", "False", "(2, 3)"), 25, "expected 24 bytes of data for '<f4' [2,3], got 25"},
        {DICT("<f4", "False", "()"), 0, "expected 4 bytes of data for '<f4' [], got 0"},
        {DICT("<f4", "False", "(0,)"), 1, "expected 0 bytes of data for '<f4' [0], got 1"},
        {DICT("|i1", "False", "(1099511627776,)"), 1,
         "expected 1099511627776 bytes of data for '|i1' [1099511627776], got 1"},
        {DICT("|b1", "False", "(3,)"), 3, "expected bools, 0 or 1, got 2"},
    };
    /* clang-format on */
    for (int i = 0; i < WG_COUNT(bad); i++) {
        const char *path = put(bad[i].header, bad[i].data);
        memory.largest = 0;
        check_refusal(&bad[i], path, read_status(path), &error);
        assert_true(memory.largest < 1 << 16);
    }
}

static void lengths_versions_and_kinds_of_files_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        const char *reason;
    } bad[] = {
        {"", 0, "expected at least 10 bytes, got 0"},
        {"\x93NUMPY\1\0\1", 9, "expected at least 10 bytes, got 9"},
        {"\x93NUMPX\1\0\0\0", 10, "expected an array of NumPy (.npy), got other bytes"},
        {"PK\3\4 and more", 13, "got a ZIP file, such as several arrays (.npz)"},
        {"\x93NUMPY\0\0\0\0", 10, "expected the version 1.0, 2.0 or 3.0 of the format, got 0.0"},
        {"\x93NUMPY\4\0\0\0", 10, "got 4.0"},
        {"\x93NUMPY\1\1\0\0", 10, "got 1.1"},
        {"\x93NUMPY\1\0\5\0{}", 12, "expected a header of at most 2 bytes, got 5: the file ends"},
        {"\x93NUMPY\2\0\1\0", 10, "expected a header of at most 0 bytes, got 1: the file ends"},
        {"\x93NUMPY\2\0\0\0\1\0{}", 14, "expected a header of at most 65535 bytes, got 65536"},
        {"\x93NUMPY\3\0\xff\xff\xff\xff{}", 14, "at most 65535 bytes, got 4294967295"},
    };
    for (int i = 0; i < WG_COUNT(bad); i++) {
        memory.largest = 0;
        wg_status status = read_status(write_bytes("a.npy", bad[i].bytes, bad[i].size));
        assert_true(status == WG_EDATA || status == WG_EUNSUPPORTED);
        check_that(strstr(error.text, bad[i].reason) != NULL, "expected: %s\n  got:      %s",
                   bad[i].reason, error.text);
        assert_true(memory.largest < 1 << 16);
    }
    assert_int_equal(read_status(path_of("missing")), WG_EIO);
    assert_non_null(strstr(error.text, "missing: open: No such file"));
    assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
    assert_int_equal(read_status(path_of("fifo")), WG_EIO);
    assert_non_null(strstr(error.text, "expected a regular file, got a FIFO"));
    assert_int_equal(read_status(folder), WG_EIO);
}

/* Every byte of a file set to every other value, and the file cut after each byte. */
static void every_changed_byte_is_refused_or_makes_another_array(void **state)
{
    (void)state;
    const wg_tensor t = {"t", WG_F32, WG_SHAPE(2, 3), (void *)floats};
    const char *path = path_of("a.npy");
    size_t size;
    assert_int_equal(wgi_npy_write(path, &t, &error), WG_OK);
    char *file = read_bytes(path, &size);
    assert_int_equal(size, 152);
    int refused = 0, taken = 0, fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    for (int i = 0; i < 128; i++) { /* behind are numbers, of which any are right */
        for (int change = 1; change < 256; change++) {
            char byte = (char)(file[i] ^ change);
            assert_int_equal(pwrite(fd, &byte, 1, i), 1);
            wg_status status = read_status(path);
            assert_true(status == WG_OK || status == WG_EDATA || status == WG_EUNSUPPORTED);
            refused += status != WG_OK;
            taken += status == WG_OK;
        }
        assert_int_equal(pwrite(fd, &file[i], 1, i), 1);
    }
    print_message("%d changes refused, %d taken\n", refused, taken);
    /* taken: other blanks, and i4 in place of f4 */
    assert_int_equal(refused + taken, 128 * 255);
    assert_true(refused > 50 * taken && taken > 10);
    assert_int_equal(read_status(path), WG_OK);
    while (size-- > 0) {
        assert_int_equal(ftruncate(fd, (off_t)size), 0);
        assert_int_equal(read_status(path), WG_EDATA);
    }
    close(fd);
    free(file);
}

static void without_memory_there_is_a_status(void **state)
{
    (void)state;
    const char *path = put(DICT("|u1", "True", "(2, 3)"), 6);
    int failed = 0;
    wg_status status = WG_ENOMEM;
    for (; status != WG_OK && failed < 20; failed++) {
        memory.calls = 0;
        memory.fail_at = failed + 1;
        status = read_status(path);
        memory.fail_at = 0;
        assert_true(status == WG_OK || status == WG_ENOMEM);
    }
    assert_int_equal(failed, 4); /* the header, the numbers, their rows; and then none */
}

static void what_cannot_be_written_is_told(void **state)
{
    (void)state;
    const wg_tensor half = {"t", WG_BF16, WG_SHAPE(2), (void *)floats};
    const wg_tensor t = {"t", WG_F32, WG_SHAPE(2), (void *)floats};
    const char *path = path_of("b.npy");
    assert_int_equal(wgi_npy_write(path, &half, &error), WG_EUNSUPPORTED);
    assert_non_null(strstr(error.text, "b.npy: expected a dtype that NumPy has, got bf16"));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(wgi_npy_write(path_of("no/such/b.npy"), &t, &error), WG_EIO);
    assert_non_null(strstr(error.text, "No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_round_trip),
        cmocka_unit_test(the_file_is_that_of_numpy),
        cmocka_unit_test(every_form_of_the_header_is_read),
        cmocka_unit_test(the_order_of_fortran_becomes_that_of_rows),
        cmocka_unit_test(malformed_headers_are_refused_with_the_reason),
        cmocka_unit_test(lengths_versions_and_kinds_of_files_are_checked),
        cmocka_unit_test(every_changed_byte_is_refused_or_makes_another_array),
        cmocka_unit_test(without_memory_there_is_a_status),
        cmocka_unit_test(what_cannot_be_written_is_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
