/* How everything outside a graph says that it failed.  (Builders of a graph report to the graph:
 * wg_graph_message.)
 *
 *     wg_error error;
 *     if (wg_store_load(store, "model.safetensors", &error) != WG_OK)
 *         fprintf(stderr, "%s\n", error.text);
 *
 * A function that takes a wg_error takes it last, NULL allowed.  It begins by clearing it, and
 * returns its status. */
#ifndef WG_GRAPH_ERROR_H
#define WG_GRAPH_ERROR_H

#include "wengert/graph/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes of a text, its NUL included; a longer one is cut off. */
enum { WG_ERROR_TEXT = 2000 };

/** Why a function failed.  Owns nothing and may be copied. */
typedef struct wg_error {
    wg_status status;            /**< as returned */
    char text[WG_ERROR_TEXT];    /**< why it failed: "FILE: what"; "" where status is WG_OK */
    char warning[WG_ERROR_TEXT]; /**< what did not keep it from succeeding; "" if nothing */
} wg_error;

#ifdef __cplusplus
}
#endif
#endif
