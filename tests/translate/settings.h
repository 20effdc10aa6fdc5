/* Settings by name, and as YAML and back, for the tests of settings; make_folder and remove_folder
 * are setup and teardown of their groups. */
#ifndef WG_TESTS_TRANSLATE_SETTINGS_H
#define WG_TESTS_TRANSLATE_SETTINGS_H

#include "tests/folder.h"
#include "wengert/translate/settings.h"

static wg_error error;

static inline void init(wg_settings *s)
{
    assert_int_equal(wg_settings_init(s), WG_OK);
}

static inline void set(wg_settings *s, const char *name, const char *value)
{
    wg_status status = wg_settings_set(s, name, value, &error);
    check_that(status == WG_OK, "%s %s: %s", name, value ? value : "(none)", error.text);
}

static inline void check_equal(const wg_settings *a, const wg_settings *b)
{
    const wg_option *o;
    for (size_t i = 0; (o = wg_option_at(i)); i++)
        check_that(wg_settings_equal(a, b, o), "%s differs", o->name);
}

static inline char *dump(const wg_settings *s)
{
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    assert_int_equal(wg_settings_write_yaml(s, f), WG_OK);
    assert_int_equal(fclose(f), 0);
    return text;
}

/* Dumps s, reads that into fresh settings, compares, dumps again. */
static inline void check_round_trip(const wg_settings *s)
{
    wg_settings back;
    char *first = dump(s);
    init(&back);
    wg_status status = wg_settings_read_yaml(&back, write_text("round.yml", first), &error);
    check_that(status == WG_OK, "%s in\n%s", error.text, first);
    check_equal(s, &back);
    char *second = dump(&back);
    assert_string_equal(first, second);
    free(first);
    free(second);
    wg_settings_free(&back);
}

#endif
