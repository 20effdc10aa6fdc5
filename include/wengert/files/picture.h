/* A graph's picture as a file, in one call:
 *
 *     if (wg_picture_save(g, "model.svg", NULL, &error) != WG_OK)
 *         fprintf(stderr, "%s\n", error.text);
 *
 * wengert/graph/picture.h says what is drawn. */
#ifndef WG_FILES_PICTURE_H
#define WG_FILES_PICTURE_H

#include "wengert/graph/picture.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Draws g into the file `path`, which ends in ".dot", ".svg" or ".png", and replaces a
 * picture or graph that was there: all of the file is written or nothing of it.  If the path ends
 * in ".wg", the file is the graph itself, as wg_graph_print writes it, which every command of
 * `wengert` takes.  `options` may be NULL.  WG_EINVAL: the path has another ending, or is that of a
 * file which is no picture; WG_EIO: it could not be written; otherwise as wg_picture_create and
 * wg_picture_write. */
WG_API WG_MUST_USE wg_status wg_picture_save(const wg_graph *g, const char *path,
                                             const wg_picture_options *options, wg_error *error);

#ifdef __cplusplus
}
#endif
#endif
