/* How functions outside a graph report failure.  (Builders report to their graph:
 * wg_graph_message.)
 *
 *     wg_error error;
 *     if (wg_store_load(store, "model.safetensors", &error) != WG_OK)
 *         fprintf(stderr, "%s\n", error.text);
 *
 * The wg_error is the last argument and may be NULL.  The function clears it first, and returns the
 * status that it stores. */
#ifndef WG_GRAPH_ERROR_H
#define WG_GRAPH_ERROR_H

#include "wengert/graph/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Capacity of a text in bytes, NUL included; longer texts are truncated. */
enum { WG_ERROR_TEXT = 2000 };

/** Why a function failed.  Owns nothing and may be copied. */
typedef struct wg_error {
    wg_status status;            /**< as the function returned it */
    char text[WG_ERROR_TEXT];    /**< why it failed: "FILE: what"; "" where status is WG_OK */
    char warning[WG_ERROR_TEXT]; /**< a problem that was not fatal; "" if there is none */
} wg_error;

#ifdef __cplusplus
}
#endif
#endif
