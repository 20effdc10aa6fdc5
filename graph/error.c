#include "graph/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void append(char *text, const char *format, va_list list)
{
    size_t used = strlen(text);
    vsnprintf(text + used, WG_ERROR_TEXT - used, format, list);
}

void wgi_error_clear(wg_error *e)
{
    if (e) {
        e->status = WG_OK;
        e->text[0] = e->warning[0] = '\0';
    }
}

wg_status wgi_error_set(wg_error *e, wg_status status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (e) {
        e->status = status;
        e->text[0] = '\0';
        append(e->text, format, list);
    }
    va_end(list);
    return status;
}

void wgi_error_add(wg_error *e, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (e)
        append(e->text, format, list);
    va_end(list);
}

void wgi_error_warn(wg_error *e, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (e) {
        if (e->warning[0] && strlen(e->warning) + 1 < WG_ERROR_TEXT)
            strcat(e->warning, "\n");
        append(e->warning, format, list);
    }
    va_end(list);
}

wg_status wgi_error_file(wg_error *e, wg_status status, const char *path, const char *format, ...)
{
    va_list list;
    wgi_error_set(e, status, "%s: ", path);
    va_start(list, format);
    if (e)
        append(e->text, format, list);
    va_end(list);
    return status;
}

wg_status wgi_error_errno(wg_error *e, const char *path, const char *what)
{
    char text[128];
    int error = errno;
    if (strerror_r(error, text, sizeof text) != 0)
        snprintf(text, sizeof text, "error %d", error);
    return wgi_error_file(e, WG_EIO, path, "%s: %s", what, text);
}
