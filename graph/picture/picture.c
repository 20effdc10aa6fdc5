/* Creating, writing and freeing pictures. */
#include "graph/picture/internal.h"

#include <stdlib.h>

enum { DEFAULT_SECONDS = 30 };

/* Places, boxes and what they hold. */
static wg_status build(wg_picture *p)
{
    if (wg_graph_status(p->g) != WG_OK)
        return wgi_error_set(p->error, wg_graph_status(p->g), "%s", wg_graph_message(p->g));
    if (p->options.depth < 0)
        return wgi_error_set(p->error, WG_EINVAL, "a negative depth");
    if (!(p->options.seconds > 0))
        p->options.seconds = DEFAULT_SECONDS;
    if (p->options.title && !(p->options.title = wgi_arena_text(&p->arena, p->options.title)))
        p->no_memory = true;
    wg_status status =
        wgi_pic_places_build(p) && wgi_pic_fold(p) ? wgi_pic_places_open(p) : WG_ENOMEM;
    if (status == WG_OK && !wgi_pic_scene_build(p))
        status = WG_ENOMEM;
    p->options.expanded = NULL;
    return status == WG_ENOMEM ? wgi_error_set(p->error, status, "out of memory") : status;
}

wg_status wg_picture_create(wg_picture **out, const wg_graph *g, const wg_picture_options *options,
                            wg_error *error)
{
    wgi_error_clear(error);
    if (!out)
        return wgi_error_set(error, WG_EINVAL, "wg_picture_create: an argument is NULL");
    wg_picture *p = *out = calloc(1, sizeof *p);
    if (!p)
        return wgi_error_set(error, WG_ENOMEM, "out of memory");
    p->g = g;
    p->error = error;
    if (options)
        p->options = *options;
    wg_status status = build(p);
    p->error = NULL;
    if (status != WG_OK) {
        wg_picture_free(p);
        *out = NULL;
    }
    return status;
}

wg_status wg_picture_write(wg_picture *p, wg_picture_format format, FILE *file, wg_error *error)
{
    wgi_error_clear(error);
    if (!p || !file)
        return wgi_error_set(error, WG_EINVAL, "wg_picture_write: an argument is NULL");
    if ((unsigned)format > WG_PICTURE_PNG)
        return wgi_error_set(error, WG_EINVAL, "an unknown picture format");
#ifdef WG_HAVE_GRAPHVIZ
    p->error = error;
    wg_status status = wgi_picture_in_child(p, wgi_picture_draw, format, file);
    p->error = NULL;
    return status == WG_ENOMEM ? wgi_error_set(error, status, "out of memory") : status;
#else
    return wgi_error_set(
        error, WG_EUNSUPPORTED,
        "built without Graphviz: install libgraphviz-dev and configure with -DWG_GRAPHVIZ=ON");
#endif
}

void wg_picture_free(wg_picture *p)
{
    if (!p)
        return;
    for (int phase = 0; phase < WGI_PHASES; phase++)
        free(p->places[phase].slot);
    wgi_arena_free(&p->arena);
    free(p);
}
