/* Errors that list what is wrong: each item whole, and a count of those for which there is no
 * room. */
#include "tests/test.h"
#include "graph/error.h"

#include <errno.h>
#include <stdbool.h>

enum { ITEMS = 400 };

/* Items of different lengths, the i-th ending with its number in brackets. */
static void add(wg_error *e, int i, bool lines)
{
    static const char words[] = "expected this and that, and got something else altogether";
    int n = 5 + i * 37 % 50;
    wg_status status = lines ? wgi_error_line(e, WG_EDATA, "%.*s [%d]", n, words, i)
                             : wgi_error_item(e, WG_EDATA, "%.*s [%d]", n, words, i);
    assert_int_equal(status, WG_EDATA);
}

/* Every text on the way: items 0, 1, ... whole and in order, then "and N more" if some are left
 * out. */
static void lists_end_with_whole_items_and_a_count(void **state)
{
    (void)state;
    for (int lines = 0; lines < 2; lines++) {
        wg_error e;
        const char *separator = lines ? "\n" : "; ";
        int counted = 0;
        wgi_error_clear(&e);
        for (int n = 1; n <= ITEMS; n++) {
            add(&e, n - 1, lines);
            assert_true(strlen(e.text) < WG_ERROR_TEXT);
            int whole = 0;
            size_t more = 0;
            for (char *at = e.text; at; whole++) {
                char *end = strstr(at, separator), expected[24], item[120];
                snprintf(item, sizeof item, "%.*s", end ? (int)(end - at) : 119, at);
                at = end ? end + strlen(separator) : NULL;
                if (!at && sscanf(item, "and %zu more", &more) == 1)
                    break;
                snprintf(expected, sizeof expected, " [%d]", whole);
                check_that(strlen(item) > strlen(expected) &&
                               strcmp(item + strlen(item) - strlen(expected), expected) == 0,
                           "item %d of %d: \"%s\"", whole, n, item);
            }
            check_that(whole + (int)more == n, "%d whole and %zu more of %d", whole, more, n);
            counted += more > 0;
        }
        assert_true(counted > 200 && counted < ITEMS - 20);
        wgi_error_add(&e, " (a closing remark)");
        assert_non_null(strstr(e.text, " more (a closing remark)"));
    }
}

/* Control characters could change what a terminal shows.  C1 are two bytes in UTF-8. */
static void control_characters_are_replaced(void **state)
{
    (void)state;
    wg_error e;
    char text[3] = "\xc2";
    for (int c = 1; c < 0x80; c++) {
        const char one[2] = {(char)c, 0};
        wgi_error_set(&e, WG_EDATA, "a%sb", one);
        const char expected[] = {'a', c < ' ' || c == 0x7f ? '?' : (char)c, 'b', 0};
        assert_string_equal(e.text, expected);
    }
    for (int c = 0x80; c < 0xc0; c++) {
        char expected[5];
        text[1] = (char)c;
        snprintf(expected, sizeof expected, "a%sb", c < 0xa0 ? "??" : text);
        wgi_error_set(&e, WG_EDATA, "a%sb", text);
        assert_string_equal(e.text, expected);
    }
}

static void an_error_of_the_system_is_a_status_and_a_text(void **state)
{
    (void)state;
    wg_error e;
    errno = EACCES;
    assert_int_equal(wgi_error_errno(&e, "file", "open"), WG_EIO);
    assert_string_equal(e.text, "file: open: Permission denied");
    errno = ENOMEM;
    assert_int_equal(wgi_error_errno(&e, "file", "map"), WG_ENOMEM);
    assert_string_equal(e.text, "file: map: Cannot allocate memory");
    errno = ENOMEM;
    assert_int_equal(wgi_error_errno(NULL, "file", "map"), WG_ENOMEM);
    wgi_error_clear(&e);
    wgi_error_warn(&e, "one");
    wgi_error_warn(&e, "two");
    assert_string_equal(e.warning, "one\ntwo");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_end_with_whole_items_and_a_count),
        cmocka_unit_test(control_characters_are_replaced),
        cmocka_unit_test(an_error_of_the_system_is_a_status_and_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
