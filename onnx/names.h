/* Names of values to what they stand for. */
#ifndef WG_ONNX_NAMES_H
#define WG_ONNX_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Keys are texts that outlive the table; zero is an empty one. */
typedef struct ox_names {
    struct ox_slot {
        const char *key;
        void *item;
    } * slot;
    size_t used, size; /* size is 0 or a power of two */
} ox_names;

void *wgi_ox_names_get(const ox_names *t, const char *key);      /* NULL if there is none */
bool wgi_ox_names_put(ox_names *t, const char *key, void *item); /* false without memory */

/* Whether a name of the options ends in '*', which stands for any rest. */
static inline bool wgi_ox_is_open(const char *name)
{
    return *name && name[strlen(name) - 1] == '*';
}

#endif
