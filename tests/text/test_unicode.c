/* UTF-8 and blanks. */
#include "tests/test.h"

#include "text/unicode/unicode.h"
#include "wengert/graph/status.h"

static bool is_code_point(int32_t code)
{
    return code >= 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
}

static void every_code_point_comes_back(void **state)
{
    (void)state;
    size_t compared = 0;
    for (int32_t code = -1; code <= 0x110000; code++) {
        char bytes[5] = {0};
        const char *at = bytes;
        size_t n = wgi_utf8_write(bytes, code);
        int32_t expected = is_code_point(code) ? code : 0xfffd;
        assert_int_equal(wgi_utf8_read(&at, bytes + n), expected);
        assert_ptr_equal(at, bytes + n);
        assert_true(wgi_utf8_valid(bytes, n));
        assert_false(n > 1 && wgi_utf8_valid(bytes, n - 1));
        compared++;
    }
    assert_int_equal(compared, 0x110002);
}

/* What Python's str.isspace says of each code point:
 * [hex(c) for c in range(0x110000) if chr(c).isspace()] */
static void blanks_are_those_of_python(void **state)
{
    (void)state;
    static const int32_t blanks[] = {0x9,    0xa,    0xb,    0xc,    0xd,    0x1c,   0x1d,   0x1e,
                                     0x1f,   0x20,   0x85,   0xa0,   0x1680, 0x2000, 0x2001, 0x2002,
                                     0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a,
                                     0x2028, 0x2029, 0x202f, 0x205f, 0x3000};
    size_t next = 0;
    for (int32_t code = -1; code < 0x110000; code++) {
        bool expected = next < WG_COUNT(blanks) && code == blanks[next];
        check_that(wgi_is_blank(code) == expected, "U+%04X", (unsigned)code);
        next += expected;
    }
    assert_int_equal(next, WG_COUNT(blanks));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point_comes_back),
        cmocka_unit_test(blanks_are_those_of_python),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
