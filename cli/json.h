/* Writing JSON, value by value. */
#ifndef WG_CLI_JSON_H
#define WG_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct json {
    FILE *file;
    int depth;
    bool more; /* a comma is due before the next value */
} json;

/* Inside an array, and for the outermost value, key is NULL. */
void put_json_begin(json *j, const char *key, char bracket); /* '{' or '[' */
void put_json_end(json *j, char bracket);                    /* '}' or ']' */
void put_json_text(json *j, const char *key, const char *text);
void put_json_real(json *j, const char *key, double x); /* null if not finite */
void put_json_whole(json *j, const char *key, int64_t n);

#endif
