#include "graph/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void append(char *text, const char *format, va_list list)
{
    size_t used = strlen(text);
    vsnprintf(text + used, WG_ERROR_TEXT - used, format, list);
}

static void append_line(char *text, const char *format, va_list list)
{
    size_t used = strlen(text);
    if (used)
        snprintf(text + used, WG_ERROR_TEXT - used, "\n");
    append(text, format, list);
}

void wgi_error_clear(wg_error *e)
{
    if (e) {
        e->status = WG_OK;
        e->text[0] = e->warning[0] = '\0';
    }
}

void wgi_error_add_list(wg_error *e, const char *format, va_list list)
{
    if (e)
        append(e->text, format, list);
}

void wgi_error_add(wg_error *e, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    wgi_error_add_list(e, format, list);
    va_end(list);
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

wg_status wgi_error_file(wg_error *e, wg_status status, const char *path, const char *format, ...)
{
    va_list list;
    wgi_error_set(e, status, "%s: ", path);
    va_start(list, format);
    wgi_error_add_list(e, format, list);
    va_end(list);
    return status;
}

wg_status wgi_error_errno(wg_error *e, const char *path, const char *what)
{
    char text[128];
    int error = errno;
    if (strerror_r(error, text, sizeof text) != 0)
        snprintf(text, sizeof text, "error %d", error);
    return wgi_error_file(e, error == ENOMEM ? WG_ENOMEM : WG_EIO, path, "%s: %s", what, text);
}

wg_status wgi_error_line(wg_error *e, wg_status status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (e) {
        e->status = status;
        append_line(e->text, format, list);
    }
    va_end(list);
    return status;
}

wg_status wgi_error_prefix(wg_error *e, wg_status status, const char *format, ...)
{
    char text[WG_ERROR_TEXT];
    va_list list;
    va_start(list, format);
    if (e) {
        strcpy(text, e->text);
        wgi_error_set(e, status, "%s", "");
        append(e->text, format, list);
        wgi_error_add(e, "%s", text);
    }
    va_end(list);
    return status;
}

void wgi_error_warn(wg_error *e, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (e)
        append_line(e->warning, format, list);
    va_end(list);
}
