/* Writing JSON by jansson without losing anything: it ignores members that it has no memory for. */
#ifndef WG_TRAIN_JSON_H
#define WG_TRAIN_JSON_H

#include <jansson.h>
#include <stddef.h>

/* Adds a member to *object, which takes over `value`.  Without memory, also where `value` is NULL
 * for that reason, the object is freed and *object becomes NULL, to which nothing more is added. */
static inline void wgi_json_add(json_t **object, const char *key, json_t *value)
{
    if (json_object_set_new(*object, key, value) != 0) {
        json_decref(*object);
        *object = NULL;
    }
}

#endif
