/* Reading JSON as the files of a training run have it: objects of texts, numbers and objects.
 * Numbers have decimal points whatever the program's locale.  graph/json.h writes. */
#ifndef WG_TRAIN_JSON_H
#define WG_TRAIN_JSON_H

#include "wengert/graph/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum wgi_json_kind {
    WGI_JSON_OBJECT,
    WGI_JSON_TEXT,
    WGI_JSON_WHOLE,
    WGI_JSON_REAL
} wgi_json_kind;

/* A member of an object, or the whole text. */
typedef struct wgi_json_value {
    wgi_json_kind kind;
    const char *key;  /* "" for the whole */
    const char *text; /* of a text */
    int64_t whole;    /* of a whole number */
    double real;      /* of any number */
    size_t end;       /* the index behind its last descendant */
} wgi_json_value;

/* All values, each object before its members; the first is the whole. */
typedef struct wgi_json_tree {
    wgi_json_value *value; /* [count] */
    size_t count, capacity;
} wgi_json_tree;

/* Reads an object from `size` bytes, with a NUL behind them, which must outlive the result and
 * are written to; wgi_json_free frees it.  A key may not be in an object twice.  WG_EDATA,
 * WG_ENOMEM. */
wg_status wgi_json_read(wgi_json_tree *out, const char *path, char *bytes, size_t size,
                        wg_error *error);
void wgi_json_free(wgi_json_tree *j);

/* The member of that key, NULL if there is none.  `object` is one of j's values, or NULL. */
const wgi_json_value *wgi_json_find(const wgi_json_tree *j, const wgi_json_value *object,
                                    const char *key);
/* The first member of an object and the one after a member; NULL past the end. */
const wgi_json_value *wgi_json_first(const wgi_json_tree *j, const wgi_json_value *object);
const wgi_json_value *wgi_json_after(const wgi_json_tree *j, const wgi_json_value *object,
                                     const wgi_json_value *member);

#endif
