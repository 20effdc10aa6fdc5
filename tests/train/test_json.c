/* JSON of a run's files: what is written is read back, to the last bit of a number and in any
 * locale; what is malformed is refused with the byte. */
#include "tests/test.h"
#include "graph/json.h"
#include "graph/text_buffer.h"
#include "train/json.h"

#include <float.h>
#include <locale.h>
#include <math.h>

static wg_error error;

/* A copy of the text, which is read; the caller frees both. */
static char *read_text(wgi_json_tree *j, const char *text, wg_status expected)
{
    char *bytes = strdup(text);
    assert_non_null(bytes);
    wg_status status = wgi_json_read(j, "file", bytes, strlen(text), &error);
    check_that(status == expected, "%s: status %d: %s", text, status, error.text);
    return bytes;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static const double numbers[] = {
    0,       -0.0,    1,      -1.5,          0.1,     1.0 / 3, 1e22, 1e-300,
    DBL_MAX, DBL_MIN, 5e-324, 123456789.125, -2.5e-7, 1e15,    3,    0.30162265903134888};

static int numbers_come_back(void)
{
    wgi_text_buffer b;
    wgi_json w = {.file = wgi_text_open(&b), .digits = 17};
    char key[20];
    int compared = 0;
    wgi_json_begin(&w, NULL, '{');
    for (int i = 0; i < WG_COUNT(numbers); i++) {
        snprintf(key, sizeof key, "x%d", i);
        wgi_json_real(&w, key, numbers[i]);
    }
    wgi_json_whole(&w, "large", INT64_MAX);
    wgi_json_end(&w, '}');
    char *text = wgi_text_close(&b);
    check_that(strchr(text, '\n') && !strstr(text, "0,3"), "%s", text);
    wgi_json_tree j;
    char *bytes = read_text(&j, text, WG_OK);
    for (int i = 0; i < WG_COUNT(numbers); i++) {
        snprintf(key, sizeof key, "x%d", i);
        const wgi_json_value *v = wgi_json_find(&j, j.value, key);
        check_that(v && v->kind >= WGI_JSON_WHOLE && memcmp(&v->real, &numbers[i], 8) == 0,
                   "%s: %.17g is %.17g", text, numbers[i], v ? v->real : NAN);
        compared++;
    }
    const wgi_json_value *large = wgi_json_find(&j, j.value, "large");
    assert_true(large && large->kind == WGI_JSON_WHOLE && large->whole == INT64_MAX);
    wgi_json_free(&j);
    free(bytes);
    free(text);
    return compared;
}

static void numbers_are_the_same_bits_again(void **state)
{
    (void)state;
    assert_int_equal(numbers_come_back(), WG_COUNT(numbers));
}

/* With a comma in the place of the point, where the system has such a locale. */
static void so_they_are_in_any_locale(void **state)
{
    (void)state;
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
                                          "da_DK.UTF-8"};
    bool found = false;
    for (int i = 0; i < WG_COUNT(locales) && !found; i++)
        found = setlocale(LC_NUMERIC, locales[i]) != NULL;
    if (!found)
        skip();
    assert_string_equal(localeconv()->decimal_point, ",");
    int compared = numbers_come_back();
    setlocale(LC_NUMERIC, "C");
    assert_int_equal(compared, WG_COUNT(numbers));
}

/* ---- texts and objects ----------------------------------------------------------------------- */

static void texts_and_objects_come_back(void **state)
{
    (void)state;
    static const char odd[] = "a \"quoted\" \\ text,\n\twith \x01 and \xc3\xa4";
    for (int compact = 0; compact < 2; compact++) {
        wgi_text_buffer b;
        wgi_json w = {.file = wgi_text_open(&b), .compact = compact};
        wgi_json_begin(&w, NULL, '{');
        wgi_json_text(&w, odd, odd);
        wgi_json_begin(&w, "empty", '{');
        wgi_json_end(&w, '}');
        wgi_json_begin(&w, "inner", '{');
        wgi_json_whole(&w, "n", -7);
        wgi_json_text(&w, "t", "");
        wgi_json_end(&w, '}');
        wgi_json_whole(&w, "last", 3);
        wgi_json_end(&w, '}');
        char *text = wgi_text_close(&b);
        assert_int_equal(strchr(text, '\n') == text + strlen(text) - 1, compact);
        wgi_json_tree j;
        char *bytes = read_text(&j, text, WG_OK);
        const wgi_json_value *all = j.value, *t = wgi_json_find(&j, all, odd),
                             *empty = wgi_json_find(&j, all, "empty"),
                             *inner = wgi_json_find(&j, all, "inner");
        assert_true(t && t->kind == WGI_JSON_TEXT && strcmp(t->text, odd) == 0);
        assert_true(empty && empty->kind == WGI_JSON_OBJECT && !wgi_json_first(&j, empty));
        assert_int_equal(wgi_json_find(&j, inner, "n")->whole, -7);
        assert_string_equal(wgi_json_find(&j, inner, "t")->text, "");
        assert_null(wgi_json_find(&j, inner, "last"));
        assert_null(wgi_json_find(&j, NULL, "last"));
        assert_int_equal(wgi_json_find(&j, all, "last")->whole, 3);
        int members = 0;
        for (const wgi_json_value *v = wgi_json_first(&j, all); v; v = wgi_json_after(&j, all, v))
            members++;
        assert_int_equal(members, 4);
        wgi_json_free(&j);
        free(bytes);
        free(text);
    }
}

static void what_is_malformed_is_refused_with_its_byte(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "file: byte 0: expected '{', got its end"},
        {"[1]", "file: byte 0: expected '{', got '['"},
        {"{\"a\": 1", "file: byte 7: expected '}', got its end"},
        {"{\"a\": ", "file: byte 6: expected a text, a number or an object, got its end"},
        {"{\"a\" 1}", "file: byte 5: expected ':', got '1'"},
        {"{\"a\": x}", "file: byte 6: expected a text, a number or an object, got 'x'"},
        {"{\"a\": [1]}", "file: byte 6: expected a text, a number or an object, got '['"},
        {"{\"a\": 11111111111111111111111111111111111111111}", /* 41 digits */
         "file: byte 6: expected a text, a number or an object, got '1'"},
        {"{\"a\": 1.2.3}", "file: byte 6: expected a number, got '1'"},
        {"{\"a\": 1e999}", "file: byte 6: expected a number, got '1'"},
        {"{\"a\": 1, \"a\": 2}", "file: expected \"a\" once, got twice"},
        {"{\"a\": 1} x", "file: byte 9: expected the end of the file, got 'x'"},
        {"{\"a\": \"\xff\"}", "file: expected UTF-8, got other bytes"},
        {"{\"a\": \"\\q\"}", "file: byte 8: expected an escape, got 'q'"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wgi_json_tree j;
        char *bytes = read_text(&j, cases[i].text, WG_EDATA);
        check_that(strcmp(error.text, cases[i].message) == 0, "%s: \"%s\", expected \"%s\"",
                   cases[i].text, error.text, cases[i].message);
        assert_null(j.value);
        free(bytes);
    }
}

/* Neither objects in objects nor many values take more than they may. */
static void hostile_texts_are_refused(void **state)
{
    (void)state;
    enum { DEEP = 100000, MANY = 5000 };
    char *deep = calloc(DEEP * 5 + 1, 1), *many = calloc(MANY * 12 + 4, 1);
    for (int i = 0; i < DEEP; i++)
        memcpy(deep + 5 * i, "{\"a\":", 5);
    size_t used = (size_t)sprintf(many, "{");
    for (int i = 0; i < MANY; i++)
        used += (size_t)sprintf(many + used, "%s\"%d\":1", i ? "," : "", i);
    sprintf(many + used, "}");
    wgi_json_tree j;
    free(read_text(&j, deep, WG_EDATA));
    assert_non_null(strstr(error.text, "expected at most 8 objects in each other"));
    free(read_text(&j, many, WG_EDATA));
    assert_non_null(strstr(error.text, "expected at most 4096 values"));
    free(deep);
    free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_the_same_bits_again),
        cmocka_unit_test(so_they_are_in_any_locale),
        cmocka_unit_test(texts_and_objects_come_back),
        cmocka_unit_test(what_is_malformed_is_refused_with_its_byte),
        cmocka_unit_test(hostile_texts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
