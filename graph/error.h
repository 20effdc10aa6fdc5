/* How a wg_error is filled.  All of these allow NULL for it; text that does not fit is cut off, and
 * control characters in it become question marks. */
#ifndef WG_PRIVATE_GRAPH_ERROR_H
#define WG_PRIVATE_GRAPH_ERROR_H

#include "wengert/graph/error.h"

#include <stdarg.h>
#include <stdbool.h>

/* No failure and no warning: how each function that takes one begins. */
void wgi_error_clear(wg_error *e);

/* Sets status and text, and returns the status. */
wg_status wgi_error_set(wg_error *e, wg_status status, const char *format, ...) WG_PRINTF(3, 4);

/* Sets "PATH: text" and returns the status. */
wg_status wgi_error_file(wg_error *e, wg_status status, const char *path, const char *format, ...)
    WG_PRINTF(4, 5);

/* errno as a text: strerror in a form for several threads. */
enum { WGI_ERRNO_TEXT = 128 };
const char *wgi_errno_text(char text[WGI_ERRNO_TEXT]);

/* Sets "PATH: what: strerror(errno)" and returns WG_EIO, or WG_ENOMEM if errno says that. */
wg_status wgi_error_errno(wg_error *e, const char *path, const char *what);

/* Sets the status and appends a line to the text, for a list of failures; returns the status.
 * Lines that do not fit are counted in a last one, "and 12 more". */
wg_status wgi_error_line(wg_error *e, wg_status status, const char *format, ...) WG_PRINTF(3, 4);

/* The same in one line, with "; " between the items. */
wg_status wgi_error_item(wg_error *e, wg_status status, const char *format, ...) WG_PRINTF(3, 4);

/* Appends to the text. */
void wgi_error_add(wg_error *e, const char *format, ...) WG_PRINTF(2, 3);
void wgi_error_add_list(wg_error *e, const char *format, va_list list);

/* Puts something before the text, as a caller does that knows more; sets and returns the status. */
wg_status wgi_error_prefix(wg_error *e, wg_status status, const char *format, ...) WG_PRINTF(3, 4);

/* Appends a line to the warning. */
void wgi_error_warn(wg_error *e, const char *format, ...) WG_PRINTF(2, 3);

/* Control characters become '?': names in a message may come from anybody's file, and a terminal
 * would obey them.  Line breaks stay if asked for. */
void wgi_text_disarm(char *text, bool keep_lines);

#endif
