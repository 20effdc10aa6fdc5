#include "cli/metrics.h"
#include "cli/cli.h"
#include "files/read.h"
#include "graph/error.h"
#include "graph/grow.h"
#include "train/json.h"
#include "wengert/translate/folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool append(series *s, double update, double value)
{
    if (!WGI_RESERVE(s->update, s->update_room, s->n + 1) ||
        !WGI_RESERVE(s->value, s->value_room, s->n + 1))
        return false;
    s->update[s->n] = update;
    s->value[s->n++] = value;
    return true;
}

static bool is_number(const wgi_json_value *v)
{
    return v && (v->kind == WGI_JSON_WHOLE || v->kind == WGI_JSON_REAL);
}

static bool take(series *s, const wgi_json_tree *record, const char *kind, const char *key)
{
    const wgi_json_value *is = wgi_json_find(record, record->value, "kind"),
                         *update = wgi_json_find(record, record->value, "update"),
                         *value = wgi_json_find(record, record->value, key);
    if (!is || is->kind != WGI_JSON_TEXT || strcmp(is->text, kind) != 0 || !is_number(update) ||
        !is_number(value))
        return true;
    return append(s, update->real, value->real);
}

/* A line of the file: `place` is "file:12". */
static int take_line(series *s, const char *place, char *line, const char *kind, const char *key)
{
    wgi_json_tree record;
    wg_error error;
    if (wgi_json_read(&record, place, line, strlen(line), &error) != WG_OK)
        return complain_error(&error);
    bool ok = take(s, &record, kind, key);
    wgi_json_free(&record);
    if (!ok)
        complain("out of memory");
    return ok ? EXIT_OK : EXIT_RUN;
}

int series_read(series *s, const char *folder, const char *kind, const char *key)
{
    char *path = wg_folder_path(folder, "%s", WG_FILE_METRICS), *line = NULL;
    size_t room = 0, number = 0;
    int code = EXIT_OK;
    wg_error error;
    int fd = -1;
    size_t bytes;
    wg_status status = path ? wgi_file_open(&fd, &bytes, path, &error)
                            : wgi_error_file(&error, WG_ENOMEM, folder, "no memory for a path");
    FILE *f = status == WG_OK ? fdopen(fd, "r") : NULL;
    *s = (series){0};
    if (!f) {
        if (status == WG_OK) {
            wgi_error_file(&error, WG_ENOMEM, path, "no memory to read it");
            close(fd);
        }
        free(path);
        return complain_error(&error);
    }
    ssize_t length;
    while (code == EXIT_OK && (length = getline(&line, &room, f)) > 0) {
        char place[600];
        if (line[length - 1] != '\n')
            continue; /* a run is writing it, or has died at it */
        snprintf(place, sizeof place, "%s:%zu", path, ++number);
        code = take_line(s, place, line, kind, key);
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
