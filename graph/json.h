/* Writing JSON, value by value.  Numbers have decimal points whatever the program's locale. */
#ifndef WG_PRIVATE_GRAPH_JSON_H
#define WG_PRIVATE_GRAPH_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct wgi_json {
    FILE *file;
    bool compact; /* on one line */
    /* Without the characters that could end or open an element: the text may stand in a script
     * element of an HTML page. */
    bool for_page;
    int digits; /* significant ones of reals; 0: 9; 17: the same bits again */
    int depth;
    bool more; /* a comma is due before the next value */
} wgi_json;

/* Inside an array, and for the outermost value, key is NULL.  In texts, U+FFFD stands for bytes
 * that are not UTF-8. */
void wgi_json_begin(wgi_json *j, const char *key, char bracket);    /* '{' or '[' */
void wgi_json_end(wgi_json *j, char bracket);                       /* '}' or ']' */
void wgi_json_text(wgi_json *j, const char *key, const char *text); /* null if NULL */
void wgi_json_real(wgi_json *j, const char *key, double x);         /* null if not finite */
void wgi_json_whole(wgi_json *j, const char *key, int64_t n);
/* A number, true or false, as it is written. */
void wgi_json_plain(wgi_json *j, const char *key, const char *value);

#endif
