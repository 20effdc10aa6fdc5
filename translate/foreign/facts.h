/* The config.json beside other programs' weights: one level of it. */
#ifndef WG_TRANSLATE_FOREIGN_FACTS_H
#define WG_TRANSLATE_FOREIGN_FACTS_H

#include "wengert/graph/error.h"

#include <stdbool.h>
#include <stddef.h>

/* A text, a number, true or false, as text. */
enum { WGI_FACT_TEXT = 64 };
typedef struct wgi_fact {
    char key[WGI_FACT_TEXT], text[WGI_FACT_TEXT];
    bool ours; /* a member of the object "wengert" */
} wgi_fact;

typedef struct wgi_facts {
    wgi_fact *fact; /* [n] in the order of the file */
    size_t n, room;
} wgi_facts;

/* Reads the file; other values, and longer keys and texts, are skipped.  WG_EDATA: it is not JSON,
 * or an object has more than some thousand members; WG_EIO, WG_ENOMEM. */
wg_status wgi_facts_read(wgi_facts *out, const char *path, wg_error *error);
void wgi_facts_free(wgi_facts *f);

/* The text of a key outside "wengert", or NULL. */
const char *wgi_facts_find(const wgi_facts *f, const char *key);

#endif
