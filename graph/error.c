#include "graph/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void wgi_text_disarm(char *text, bool keep_lines)
{
    for (unsigned char *c = (unsigned char *)text; *c; c++)
        if ((*c < ' ' && !(*c == '\n' && keep_lines)) || *c == 0x7f)
            *c = '?';
        else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) /* U+0080 to U+009F in UTF-8 */
            c[0] = c[1] = '?';
}

/* Only a format breaks lines, or "%s" for a text that was made here. */
static bool has_lines(const char *format)
{
    return strchr(format, '\n') || strcmp(format, "%s") == 0;
}

static void append(char *text, const char *format, va_list list)
{
    size_t used = strlen(text);
    vsnprintf(text + used, WG_ERROR_TEXT - used, format, list);
    wgi_text_disarm(text + used, has_lines(format));
}

/* How a list ends that has no room for all of its items: "and 12 more". */
enum { CLOSING = 100 /* bytes kept free for that, and for a remark behind it */ };

/* The "and N more" at the end of a text, and N; NULL if it does not end so. */
static char *find_more(char *text, const char *separator, size_t *count)
{
    char *last = NULL;
    int end = 0;
    for (char *at = text; (at = strstr(at, separator)); at += strlen(separator))
        last = at + strlen(separator);
    if (!last || sscanf(last, "and %zu more%n", count, &end) != 1) /* NOLINT(cert-err34-c): ours */
        return NULL;
    return end && !last[end] ? last : NULL;
}

/* Appends an item whole or not at all: then the end of the list says how many are left out. */
static void append_item(char *text, const char *separator, const char *format, va_list list)
{
    char item[WG_ERROR_TEXT];
    size_t used = strlen(text), count = 0;
    int n = vsnprintf(item, sizeof item, format, list);
    wgi_text_disarm(item, has_lines(format));
    char *more = find_more(text, separator, &count);
    if (used == 0)
        snprintf(text, WG_ERROR_TEXT, "%s", item);
    else if (more)
        snprintf(more, (size_t)(text + WG_ERROR_TEXT - more), "and %zu more", count + 1);
    else if (n >= 0 && used + strlen(separator) + (size_t)n + CLOSING < WG_ERROR_TEXT)
        snprintf(text + used, WG_ERROR_TEXT - used, "%s%s", separator, item);
    else
        snprintf(text + used, WG_ERROR_TEXT - used, "%sand 1 more", separator);
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

const char *wgi_errno_text(char text[WGI_ERRNO_TEXT])
{
    int error = errno;
    if (strerror_r(error, text, WGI_ERRNO_TEXT) != 0)
        snprintf(text, WGI_ERRNO_TEXT, "error %d", error);
    return text;
}

wg_status wgi_error_errno(wg_error *e, const char *path, const char *what)
{
    char text[WGI_ERRNO_TEXT];
    wg_status status = errno == ENOMEM ? WG_ENOMEM : WG_EIO;
    return wgi_error_file(e, status, path, "%s: %s", what, wgi_errno_text(text));
}

wg_status wgi_error_line(wg_error *e, wg_status status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (e) {
        e->status = status;
        append_item(e->text, "\n", format, list);
    }
    va_end(list);
    return status;
}

wg_status wgi_error_item(wg_error *e, wg_status status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (e) {
        e->status = status;
        append_item(e->text, "; ", format, list);
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
        snprintf(text, sizeof text, "%s", e->text);
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
        append_item(e->warning, "\n", format, list);
    va_end(list);
}
