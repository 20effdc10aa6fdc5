/* Creating, writing and freeing pictures. */
#include "graph/picture/internal.h"

#include <stdlib.h>

enum { DEFAULT_SECONDS = 30 };

static wg_status fail(wg_picture *p, wg_status status, const char *message)
{
    snprintf(p->message, sizeof p->message, "%s", message);
    return status;
}

wg_status wg_picture_create(wg_picture **out, const wg_graph *g, const wg_picture_options *options)
{
    if (!out)
        return WG_EINVAL;
    wg_picture *p = *out = calloc(1, sizeof *p);
    if (!p)
        return WG_ENOMEM;
    if (wg_graph_status(g) != WG_OK)
        return fail(p, wg_graph_status(g), wg_graph_message(g));
    p->g = g;
    if (options)
        p->options = *options;
    if (p->options.depth < 0)
        return fail(p, WG_EINVAL, "a negative depth");
    if (!(p->options.seconds > 0))
        p->options.seconds = DEFAULT_SECONDS;
    if (p->options.title && !(p->options.title = wgi_arena_text(&p->arena, p->options.title)))
        p->no_memory = true;
    wg_status status = wgi_pic_places_build(p) ? wgi_pic_places_open(p) : WG_ENOMEM;
    if (status == WG_OK && !wgi_pic_scene_build(p))
        status = WG_ENOMEM;
    p->options.expanded = NULL;
    p->ready = status == WG_OK;
    return status == WG_ENOMEM ? fail(p, status, "out of memory") : status;
}

wg_status wg_picture_write(wg_picture *p, wg_picture_format format, FILE *file)
{
    if (!p || !file)
        return WG_EINVAL;
    if (!p->ready)
        return WG_EINVAL; /* the message still says why */
    p->message[0] = '\0';
    if ((unsigned)format > WG_PICTURE_PNG)
        return fail(p, WG_EINVAL, "an unknown picture format");
#ifdef WG_HAVE_GRAPHVIZ
    wg_status status = wgi_picture_draw(p, format, file);
    return status == WG_ENOMEM ? fail(p, status, "out of memory") : status;
#else
    return fail(
        p, WG_EUNSUPPORTED,
        "built without Graphviz: install libgraphviz-dev and configure with -DWG_GRAPHVIZ=ON");
#endif
}

const char *wg_picture_message(const wg_picture *p)
{
    return p ? p->message : "out of memory";
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
