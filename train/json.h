/* JSON by jansson. */
#ifndef WG_TRAIN_JSON_H
#define WG_TRAIN_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* False for NULL, at which jansson's own macros look again and again. */
static inline bool wgi_json_is(const json_t *value, json_type type)
{
    return value && json_typeof(value) == type;
}

static inline bool wgi_json_is_number(const json_t *value)
{
    return wgi_json_is(value, JSON_REAL) || wgi_json_is(value, JSON_INTEGER);
}

/* Adds a member to *object, which takes over `value`: jansson ignores members that it has no memory
 * for.  Without memory, also where `value` is NULL
 * for that reason, the object is freed and *object becomes NULL, to which nothing more is added. */
static inline void wgi_json_add(json_t **object, const char *key, json_t *value)
{
    if (json_object_set_new(*object, key, value) != 0) {
        json_decref(*object);
        *object = NULL;
    }
}

#endif
