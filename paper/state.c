#include "paper/state.h"
#include "files/read.h"
#include "files/replace.h"
#include "graph/error.h"
#include "wengert/train/folder.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 22 };

/* Drops what stands behind the last line break. */
static size_t whole_lines(char *text)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): without memory the status says so */
    char *end = strrchr(text, '\n');
    size_t n = end ? (size_t)(end - text) + 1 : 0;
    text[n] = '\0';
    return n;
}

/* The text of the file without a line that was cut off; "" if there is none. */
static wg_status read_text(paper_state *s, size_t *size, wg_error *error)
{
    bool exists;
    *size = 0;
    wg_status status = wgi_file_exists(s->path, &exists, error);
    if (status == WG_OK && exists)
        status = wgi_file_read(&s->text, size, s->path, MAX_BYTES, error);
    else if (status == WG_OK && !(s->text = calloc(1, 1)))
        status = wgi_error_set(error, WG_ENOMEM, "out of memory");
    if (status == WG_OK)
        *size = whole_lines(s->text);
    return status;
}

static wg_status begin_log(paper_state *s, size_t size, const char *heading, wg_error *error)
{
    size_t n = strlen(heading);
    if (size && (strncmp(s->text, heading, n) != 0 || s->text[n] != '\n'))
        return wgi_error_file(error, WG_EINVAL, s->path,
                              "expected '%s', got '%.*s': give the experiment another folder",
                              heading, (int)strcspn(s->text, "\n"), s->text);
    wg_status status = wgi_file_append(&s->log, s->path, size, error);
    if (status != WG_OK || size)
        return status;
    fprintf(s->log, "%s\n", heading);
    return fflush(s->log) == 0 ? WG_OK : wgi_error_errno(error, s->path, "cannot be written");
}

wg_status paper_state_open(paper_state *s, const char *folder, const char *heading, wg_error *error)
{
    size_t size;
    *s = (paper_state){0};
    if (!folder)
        return WG_OK;
    wg_status status = wg_folder_make(folder, error);
    if (status == WG_OK)
        status = wgi_lock_take(&s->lock, folder, error);
    if (status == WG_OK && !(s->path = wg_folder_path(folder, "%s", PAPER_STATE_FILE)))
        status = wgi_error_set(error, WG_ENOMEM, "out of memory");
    if (status == WG_OK)
        status = read_text(s, &size, error);
    return status == WG_OK ? begin_log(s, size, heading, error) : status;
}

void paper_state_close(paper_state *s)
{
    if (s->log)
        fclose(s->log);
    wgi_lock_release(&s->lock);
    free(s->path);
    free(s->text);
    *s = (paper_state){0};
}

/* Reads n numbers from a line; true if it has exactly so many. */
static bool read_numbers(const char *line, double *values, int n)
{
    char *end;
    for (int i = 0; i < n; i++) {
        if (*line != ' ') /* strtod would go on in the next line */
            return false;
        values[i] = strtod(line, &end);
        if (end == line)
            return false;
        line = end;
    }
    return *line == '\n';
}

bool paper_state_find(const paper_state *s, const char *key, double *values, int n)
{
    size_t length = strlen(key);
    for (const char *line = s->text; line && *line; line = strchr(line, '\n') + 1)
        if (strncmp(line, key, length) == 0 && line[length] == ' ' &&
            read_numbers(line + length, values, n))
            return true;
    return false;
}

wg_status paper_state_add(paper_state *s, const char *key, const double *values, int n,
                          wg_error *error)
{
    if (!s->log)
        return WG_OK;
    fputs(key, s->log);
    for (int i = 0; i < n; i++)
        fprintf(s->log, " %.17g", values[i]);
    fputc('\n', s->log);
    return fflush(s->log) == 0 && !ferror(s->log)
               ? WG_OK
               : wgi_error_errno(error, s->path, "cannot be written");
}
