/* The tensors of an imported model as ours, and all that do not fit. */
#include "backends/store.h"
#include "graph/element.h"
#include "graph/error.h"
#include "models/parameters.h"
#include "train/finite.h"
#include "translate/foreign/import.h"
#include "wengert/ops/table.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers --------------------------------------------------------------------------------- */

/* Copies `count` elements of t, from element `from` on, to element `at` of ours, if that has
 * memory. */
static void copy(const wg_tensor *ours, int64_t at, const wg_file_tensor *t, int64_t from,
                 int64_t count)
{
    size_t size = wg_dtype_size(t->dtype);
    if (!ours->data || count == 0)
        return;
    if (t->dtype == ours->dtype)
        memcpy((char *)ours->data + (size_t)at * size, (const char *)t->data + (size_t)from * size,
               (size_t)count * size);
    else
        for (int64_t i = 0; i < count; i++)
            wgi_put_element(ours->data, ours->dtype, at + i, wgi_import_number(t, from + i));
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Whether it has floats, and that shape but for axes of size 1 at the ends; refuses it if not. */
static bool fits(wgi_import *im, const wg_file_tensor *t, const wg_shape *wanted)
{
    char want[200], have[200];
    const wg_shape s = wgi_import_shape(t, wanted->rank);
    if (t->dtype && wg_dtype_is_float(t->dtype) && wg_shape_equal(&s, wanted))
        return true;
    wgi_import_refuse(im, "tensor %s: expected floats %s, got %s %s", t->name,
                      wg_shape_text(wanted, want, sizeof want), t->dtype_name,
                      wg_shape_text(&t->shape, have, sizeof have));
    return false;
}

/* ---- tensors of layers ----------------------------------------------------------------------- */

/* A part of a tensor is missing.  A model without biases is one whose biases are zero. */
static void refuse_missing(wgi_import *im, const char *ours)
{
    char name[WGI_FOREIGN_NAME];
    size_t n = strlen(ours);
    if (!im->has_biases && n > 5 && strcmp(ours + n - 5, "/bias") == 0)
        return;
    const wgi_layout_row *row = im->layout->rows;
    while (row->ours && !wgi_layout_name(name, row, ours))
        row++;
    if (row->ours)
        wgi_import_refuse(im, "tensor %s%s: expected it, got none", *name == '/' ? "" : im->prefix,
                          name + (*name == '/'));
    else
        wgi_import_refuse(im, "%s has no tensor for %s, which this network has", im->layout->name,
                          ours);
}

/* One of `parts` equal stacked parts of ours, which is all of theirs or one of its parts. */
static void fill_part(wgi_import *im, const wg_tensor *ours, const wgi_layout_part *part)
{
    const wgi_layout_row *row = NULL;
    const wg_file_tensor *t = wgi_import_get(im, part->name, &row);
    if (!t) {
        refuse_missing(im, part->name);
        return;
    }
    wg_shape wanted = ours->shape;
    int64_t count = wg_shape_count(&ours->shape) / part->count;
    wanted.dim[0] = wanted.dim[0] / part->count * (row->parts ? row->parts : 1);
    if (fits(im, t, &wanted))
        copy(ours, part->index * count, t, row->part * count, count);
}

static void fill_whole(wgi_import *im, const wg_tensor *ours, const wg_file_tensor *t)
{
    if (!t)
        refuse_missing(im, ours->name);
    else if (fits(im, t, &ours->shape))
        copy(ours, 0, t, 0, wg_shape_count(&ours->shape));
}

static void fill_tensor(wgi_import *im, const wg_tensor *ours)
{
    const struct {
        const char *name;
        const wg_file_tensor *from;
    } own[] = {
        {"embedding/weight", im->source},
        {WGI_SOURCE_EMBEDDING, im->source},
        {WGI_TARGET_EMBEDDING, im->target},
        {WGI_OUTPUT_WEIGHT, im->output},
        {WGI_OUTPUT_BIAS, im->output_bias},
        {"encoder/positions/weight", im->positions[0]},
        {"decoder/positions/weight", im->positions[1]},
    };
    wgi_layout_part parts[3];
    for (size_t i = 0; i < WG_COUNT(own); i++)
        if (strcmp(own[i].name, ours->name) == 0) {
            fill_whole(im, ours, own[i].from);
            return;
        }
    int n = wgi_layout_parts(parts, ours->name);
    for (int i = 0; i < n; i++)
        fill_part(im, ours, &parts[i]);
}

/* ---- all ------------------------------------------------------------------------------------- */

/* The pattern with either stack. */
static bool is_ignored(const wgi_import *im, const char *name)
{
    char full[WGI_FOREIGN_NAME];
    size_t n = strlen(im->prefix);
    if (strncmp(name, im->prefix, n) == 0)
        name += n;
    for (const char *const *p = im->layout->ignored; *p; p++)
        for (int i = 0; i < 2; i++) {
            const char *stack = i ? "decoder" : "encoder";
            bool any = **p == '@';
            snprintf(full, sizeof full, "%s%s", any ? stack : "", *p + any);
            if (strcmp(full, name) == 0)
                return true;
        }
    return false;
}

static void refuse_unexpected(wgi_import *im)
{
    char shape[200];
    for (size_t i = 0; i < wg_safetensors_count(im->file); i++) {
        const wg_file_tensor *t = wg_safetensors_at(im->file, i);
        if (!im->used[i] && !is_ignored(im, t->name))
            wgi_import_refuse(im, "tensor %s %s: expected none of that name", t->name,
                              wg_shape_text(&t->shape, shape, sizeof shape));
        im->report->tensors += im->used[i];
    }
}

/* Compares every parameter, and fills those of the store, if there is one. */
static wg_status visit_all(wgi_import *im, const wg_graph *g)
{
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_value *v = wg_graph_node(g, i)->out[0];
        const wg_tensor shape = {v->name, v->dtype, v->shape, NULL}, *t = &shape;
        if (v->node->op != &wg_op_parameter)
            continue;
        if (im->store && wg_store_add(im->store, v->name, v->dtype, &v->shape, &t) != WG_OK)
            return wgi_error_file(im->error, WG_ENOMEM, im->path, "no memory for its numbers");
        fill_tensor(im, t);
    }
    return WG_OK;
}

/* Makes the store only once all shapes are those of the tensors. */
static wg_status fill_all(wgi_import *im, const wg_graph *g)
{
    wg_status status = visit_all(im, g);
    refuse_unexpected(im);
    if (status != WG_OK || im->refused.status != WG_OK)
        return status;
    im->store = wg_store_new(0);
    status = im->store ? visit_all(im, g)
                       : wgi_error_file(im->error, WG_ENOMEM, im->path, "out of memory");
    if (status != WG_OK)
        return status;
    wgi_error_clear(im->error);
    for (size_t i = 0; i < wg_store_count(im->store); i++) {
        wg_status one =
            wgi_check_finite(wg_store_at(im->store, i), 1, WG_ENONFINITE, im->path, im->error);
        if (one != WG_OK)
            return one;
    }
    return status;
}

wg_status wgi_import_fill(wgi_import *im)
{
    wg_error error;
    wg_settings *s = &im->settings;
    if (wg_settings_check(s, &error) != WG_OK)
        wgi_import_refuse_for(im, &error, "%s", error.text);
    if (im->source && im->source->shape.rank != 2)
        wgi_import_refuse(im, "tensor %s: expected a matrix", im->source->name);
    s->net.source_vocabulary = wg_vocabulary_size(im->vocabularies.side[0]);
    s->net.target_vocabulary = wg_vocabulary_size(im->vocabularies.side[1]);
    if (im->refused.status == WG_OK && wg_transformer_check(&s->net, &error) != WG_OK)
        wgi_import_refuse_for(im, &error, "%s", error.text);
    /* with sizes of another network, every tensor would be wrong */
    if (im->contradicts || !im->source || wg_transformer_check(&s->net, NULL) != WG_OK)
        return WG_OK;
    wg_graph *g = wgi_transformer_parameters(&s->net);
    wg_status status = wg_graph_status(g);
    if (status != WG_OK)
        wgi_error_file(im->error, status, im->path, "%s",
                       g ? wg_graph_message(g) : "out of memory");
    else
        status = fill_all(im, g);
    wg_graph_free(g);
    return status;
}
