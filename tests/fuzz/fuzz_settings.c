/* Any bytes as YAML settings: refused with the name and a line, and nothing changes; or settings
 * that are the same once written and read, also as the config.yml of a folder with its checksum. */
#include "tests/fuzz/fuzz.h"
#include "train/folder.h"
#include "train/settings_yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static wg_error error;

static void need_equal(const wg_settings *a, const wg_settings *b)
{
    const wg_option *o;
    for (size_t i = 0; (o = wg_option_at(i)); i++)
        NEED_OK(wg_settings_equal(a, b, o), o->name);
}

static char *text_of(const wg_settings *s, size_t *size)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, size);
    NEED(f && wg_settings_write_yaml(s, f) == WG_OK && fclose(f) == 0);
    return text;
}

static void there_and_back(const wg_settings *s)
{
    wg_settings again, in_folder;
    size_t n[2];
    char *text = text_of(s, &n[0]);
    NEED(wg_settings_init(&again) == WG_OK);
    NEED_OK(wgi_settings_parse_yaml(&again, "again", text, n[0], &error) == WG_OK, error.text);
    need_equal(s, &again);
    char *second = text_of(&again, &n[1]);
    NEED(n[0] == n[1] && memcmp(text, second, n[0]) == 0);
    NEED_OK(wgi_folder_write_settings(fuzz_folder(), s, &error) == WG_OK, error.text);
    NEED_OK(wg_folder_settings(&in_folder, fuzz_folder(), &error) == WG_OK, error.text);
    need_equal(s, &in_folder);
    wg_settings_free(&in_folder);
    wg_settings_free(&again);
    free(text);
    free(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wg_settings s, fresh;
    NEED(wg_settings_init(&s) == WG_OK && wg_settings_init(&fresh) == WG_OK);
    wg_status status = wgi_settings_parse_yaml(&s, "fuzz", (const char *)data, size, &error);
    fuzz_accepted(status == WG_OK);
    if (status == WG_OK) {
        there_and_back(&s);
        NEED(wg_settings_check(&s, &error) == WG_OK || error.text[0]);
    } else {
        NEED_OK(strncmp(error.text, "fuzz:", 5) == 0, error.text);
        need_equal(&s, &fresh);
    }
    wg_settings_free(&s);
    wg_settings_free(&fresh);
    return 0;
}
