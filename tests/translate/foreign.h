/* What tests of models of other programs share: imports into a folder, and how such a model scores.
 *
 * The includer defines FOLDERS, the beginning of the names of its folders. */
#ifndef WG_TESTS_TRANSLATE_FOREIGN_H
#define WG_TESTS_TRANSLATE_FOREIGN_H

#include "tests/training.h"
#include "wengert/translate/foreign.h"
#include "wengert/translate/translator.h"

#include <math.h>

/* A model that was imported, one that was exported, and files that others could have written. */
#define MADE FOLDERS "_made"
#define WRITTEN FOLDERS "_written"
#define FILES FOLDERS "_files"

static inline wg_settings settings_for(const char *folder, const char *options)
{
    wg_settings s;
    assert_int_equal(wg_settings_init(&s), WG_OK);
    set(&s, "model", folder);
    set_all(&s, options);
    return s;
}

/* Imports into an empty folder. */
static inline wg_status import_from(const char *layout, const char *path, const char *options,
                                    const char *vocabs, wg_foreign_report *report, wg_error *error)
{
    remove_folder(MADE);
    wg_settings s = settings_for(MADE, options);
    if (vocabs)
        set(&s, "vocabs", vocabs);
    const wg_foreign_options o = {.layout = layout, .path = path, .settings = &s};
    wg_status status = wg_foreign_import(&o, report, error);
    wg_settings_free(&s);
    return status;
}

static inline wg_translator *opened(const char *folder)
{
    wg_translator *t = NULL;
    wg_error error;
    const wg_translator_options o = {.threads = 2};
    check_that(wg_translator_open(&t, folder, &o, &error) == WG_OK, "%s", error.text);
    return t;
}

static inline wg_safetensors *weights_of(const char *folder)
{
    wg_error error;
    wg_safetensors *f = NULL;
    char *path = wg_folder_path(folder, WG_FILE_MODEL);
    check_that(wg_safetensors_open(&f, path, &error) == WG_OK, "%s", error.text);
    free(path);
    return f;
}

/* "SOURCE ||| TARGET ||| NUMBERS": scores the pair; returns how many numbers were compared. */
static inline size_t check_line(wg_translator *t, char *line)
{
    static const char bar[] = " ||| ";
    char *target = strstr(line, bar), *numbers = target ? strstr(target + 5, bar) : NULL;
    assert_non_null(numbers);
    *target = *numbers = '\0';
    target += 5;
    numbers += 5;
    wg_translation *found;
    check_that(wg_translator_score(t, (const char *const[]){line}, (const char *const[]){target}, 1,
                                   NULL, &found) == WG_OK,
               "%s", wg_translator_message(t));
    size_t n = found->hypothesis.n;
    for (size_t i = 0; i < n; i++) {
        char *end;
        double expected = strtod(numbers, &end), got = found->hypothesis.token_scores[i];
        assert_true(end != numbers);
        check_that(fabs(expected - got) <= 1e-5, "%s: number %zu is %.7f, expected %.7f", line, i,
                   got, expected);
        numbers = end;
    }
    check_that(strspn(numbers, " \r\n") == strlen(numbers), "%s: more numbers: %s", line, numbers);
    wg_translations_free(found, 1);
    return n;
}

static inline int drop_folders(void **state)
{
    (void)state;
    remove_folder(MADE);
    remove_folder(WRITTEN);
    remove_folder(FILES);
    return 0;
}

#endif
