#include "wengert/train/folder.h"
#include "files/read.h"
#include "graph/error.h"
#include "train/checkpoint_files.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *wg_folder_path(const char *folder, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int name = vsnprintf(NULL, 0, format, list);
    va_end(list);
    size_t n = strlen(folder), room = n + (size_t)(name > 0 ? name : 0) + 2;
    char *path = malloc(room);
    if (!path)
        return NULL;
    memcpy(path, folder, n);
    path[n++] = '/';
    va_start(list, format);
    vsnprintf(path + n, room - n, format, list);
    va_end(list);
    return path;
}

wg_status wg_folder_has(const char *folder, const char *name, bool *has, wg_error *error)
{
    wgi_error_clear(error);
    *has = false;
    char *path = wg_folder_path(folder, "%s", name);
    wg_status status = path ? wgi_file_exists(path, has, error)
                            : wgi_error_file(error, WG_ENOMEM, folder, "no memory to look into it");
    free(path);
    return status;
}

/* Those parts of the path that end beyond its first `after` characters */
static wg_status make_parts(const char *folder, size_t after, wg_error *error)
{
    size_t n = strlen(folder);
    char *path = malloc(n + 1);
    struct stat s;
    wg_status status = WG_OK;
    if (!path)
        return wgi_error_file(error, WG_ENOMEM, folder, "no memory to make it");
    memcpy(path, folder, n + 1);
    for (size_t i = after + 1; i <= n && status == WG_OK; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        char old = path[i];
        path[i] = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            status = wgi_error_errno(error, path, "make the folder");
        path[i] = old;
    }
    if (status == WG_OK && stat(folder, &s) != 0)
        status = errno == ENOENT ? wgi_error_file(error, WG_EIO, folder,
                                                  "expected a folder, got a link to nothing")
                                 : wgi_error_errno(error, folder, "look for it");
    else if (status == WG_OK && !S_ISDIR(s.st_mode))
        status = wgi_error_file(error, WG_EIO, folder, "expected a folder, got a file");
    free(path);
    return status;
}

wg_status wg_folder_make(const char *folder, wg_error *error)
{
    wgi_error_clear(error);
    return make_parts(folder, 0, error);
}

wg_status wgi_folder_make_in(const char *folder, const char *name, wg_error *error)
{
    char *path = wg_folder_path(folder, "%s", name);
    wg_status status = path
                           ? make_parts(path, strlen(folder), error)
                           : wgi_error_file(error, WG_ENOMEM, folder, "no memory to make %s", name);
    free(path);
    return status;
}
