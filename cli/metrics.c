#include "cli/metrics.h"
#include "cli/cli.h"
#include "graph/grow.h"
#include "train/json.h"
#include "wengert/train/folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool append(series *s, double update, double value)
{
    if (!WGI_RESERVE(s->update, s->update_room, s->n + 1) ||
        !WGI_RESERVE(s->value, s->value_room, s->n + 1))
        return false;
    s->update[s->n] = update;
    s->value[s->n++] = value;
    return true;
}

static bool take(series *s, const json_t *record, const char *kind, const char *key)
{
    const char *is = json_string_value(json_object_get(record, "kind"));
    const json_t *update = json_object_get(record, "update"), *value = json_object_get(record, key);
    if (!is || strcmp(is, kind) != 0 || !wgi_json_is_number(update) || !wgi_json_is_number(value))
        return true;
    return append(s, json_number_value(update), json_number_value(value));
}

int series_read(series *s, const char *folder, const char *kind, const char *key)
{
    char *path = wg_folder_path(folder, "%s", WG_FILE_METRICS), *line = NULL;
    size_t room = 0, number = 0;
    int code = EXIT_OK;
    FILE *f = path ? fopen(path, "r") : NULL;
    *s = (series){0};
    if (!f) {
        int why = errno;
        complain("%s: %s", path ? path : folder, strerror(why));
        free(path);
        return why == ENOMEM ? EXIT_RUN : EXIT_IO;
    }
    while (code == EXIT_OK && getline(&line, &room, f) > 0) {
        json_error_t error;
        errno = 0;
        json_t *record = json_loads(line, 0, &error);
        number++;
        if (!record && errno == ENOMEM) {
            complain("%s:%zu: out of memory", path, number);
            code = EXIT_RUN;
        } else if (!record) {
            complain("%s:%zu: %s", path, number, error.text);
            code = EXIT_DATA;
        } else if (!take(s, record, kind, key)) {
            complain("out of memory");
            code = EXIT_RUN;
        }
        json_decref(record);
    }
    if (code == EXIT_OK && !feof(f)) { /* also where getline had no memory, which is no ferror */
        code = errno == ENOMEM ? EXIT_RUN : EXIT_IO;
        complain("%s: %s", path, strerror(errno));
    }
    fclose(f);
    free(line);
    free(path);
    return code;
}

void series_free(series *s)
{
    free(s->update);
    free(s->value);
    *s = (series){0};
}
