/* The tensors of an exported model: ours under the names of the layout, stacked as it has them. */
#include "translate/foreign/export.h"
#include "files/weights.h"
#include "graph/element.h"
#include "graph/error.h"
#include "graph/grow.h"
#include "wengert/train/folder.h"

#include <stdlib.h>
#include <string.h>

/* Names and numbers are allocated. */
typedef struct tensors {
    wg_tensor *item;
    size_t n, room;
} tensors;

static void free_tensors(tensors *all)
{
    for (size_t i = 0; i < all->n; i++) {
        free((void *)(uintptr_t)all->item[i].name);
        free(all->item[i].data);
    }
    free(all->item);
}

/* The tensor of that name, new ones being zero; NULL without memory. */
static wg_tensor *tensor_named(tensors *all, const char *name, wg_dtype dtype,
                               const wg_shape *shape)
{
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->item[i].name, name) == 0)
            return &all->item[i];
    if (!WGI_RESERVE(all->item, all->room, all->n + 1))
        return NULL;
    wg_tensor t = {.name = strdup(name), .dtype = dtype, .shape = *shape};
    t.data = calloc((size_t)wg_shape_count(shape) + 1, wg_dtype_size(dtype));
    if (!t.name || !t.data) {
        free((void *)(uintptr_t)t.name);
        free(t.data);
        return NULL;
    }
    all->item[all->n] = t;
    return &all->item[all->n++];
}

/* ---- names ----------------------------------------------------------------------------------- */

static const wgi_layout_row *row_of(const wgi_export *x, const char *ours,
                                    char name[WGI_FOREIGN_NAME])
{
    for (const wgi_layout_row *r = x->layout->rows; r->ours; r++)
        if (wgi_layout_name(name, r, ours))
            return r;
    return NULL;
}

static const char *with_prefix(const wgi_export *x, const char *name,
                               char full[2 * WGI_FOREIGN_NAME])
{
    bool root = *name == '/';
    snprintf(full, 2 * WGI_FOREIGN_NAME, "%s%s", root ? "" : x->layout->prefix, name + root);
    return full;
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* The part-th of `count` stacked parts of ours (NULL: zeros) under its name there. */
static bool put_part(const wgi_export *x, tensors *all, const wg_tensor *ours, const wg_shape *of,
                     const wgi_layout_part *part)
{
    char name[WGI_FOREIGN_NAME], full[2 * WGI_FOREIGN_NAME];
    const wgi_layout_row *row = row_of(x, part->name, name);
    wg_shape shape = *of;
    size_t size = wg_dtype_size(ours->dtype),
           bytes = (size_t)(wg_shape_count(of) / part->count) * size;
    if (!row)
        return true; /* a norm that it never has: see wgi_layout.able */
    shape.dim[0] = shape.dim[0] / part->count * (row->parts ? row->parts : 1);
    wg_tensor *t = tensor_named(all, with_prefix(x, name, full), ours->dtype, &shape);
    if (t && wg_shape_equal(of, &ours->shape))
        /* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): a parameter has data */
        memcpy((char *)t->data + (size_t)row->part * bytes,
               (const char *)ours->data + (size_t)part->index * bytes, bytes);
    return t != NULL;
}

static bool has_attention(const char *name)
{
    return strstr(name, "_attn/") && strstr(name, "/weight");
}

/* Where attention has no biases here, it has biases of zero there. */
static bool put_zero_bias(const wgi_export *x, tensors *all, const wg_tensor *ours)
{
    wg_tensor bias = {.dtype = ours->dtype, .shape = WG_SCALAR};
    const wg_shape rows = WG_SHAPE(ours->shape.dim[0]);
    wgi_layout_part parts[3];
    char name[WGI_FOREIGN_NAME];
    snprintf(name, sizeof name, "%.*sbias", (int)(strlen(ours->name) - strlen("weight")),
             ours->name);
    int n = wgi_layout_parts(parts, name);
    bool ok = true;
    for (int i = 0; ok && i < n; i++)
        ok = put_part(x, all, &bias, &rows, &parts[i]);
    return ok;
}

static bool put_layer(const wgi_export *x, tensors *all, const wg_tensor *ours)
{
    wgi_layout_part parts[3];
    int n = wgi_layout_parts(parts, ours->name);
    bool ok = true;
    for (int i = 0; ok && i < n; i++)
        ok = put_part(x, all, ours, &ours->shape, &parts[i]);
    bool bare = !wgi_translator_settings(x->model)->net.attention_bias;
    return ok && (!bare || !has_attention(ours->name) || put_zero_bias(x, all, ours));
}

/* ---- matrices of tokens ---------------------------------------------------------------------- */

/* Rows of ours in the order of their tokens, under the name there of our matrix `as`. */
static bool put_rows(const wgi_export *x, tensors *all, const wg_tensor *ours, const char *as,
                     int side)
{
    char name[WGI_FOREIGN_NAME], full[2 * WGI_FOREIGN_NAME];
    int64_t rows = ours->shape.dim[0];
    size_t row = (size_t)(wg_shape_count(&ours->shape) / rows) * wg_dtype_size(ours->dtype);
    wg_shape shape = ours->shape;
    if (shape.rank == 1) /* [1, tokens], as final_logits_bias is */
        shape = x->layout->has_zero_bias ? WG_SHAPE(1, rows) : shape;
    if (!row_of(x, as, name))
        return true;
    wg_tensor *t = tensor_named(all, with_prefix(x, name, full), ours->dtype, &shape);
    for (int64_t i = 0; t && i < rows; i++)
        memcpy((char *)t->data + (size_t)i * row,
               (const char *)ours->data + (size_t)wgi_export_id(x, side, i) * row, row);
    return t != NULL;
}

/* Some programs write a matrix under each of its names, others once: under the last name of the
 * table. */
static bool put_shared(const wgi_export *x, tensors *all, const wg_tensor *ours)
{
    const wg_shape shape = ours->shape;
    wg_tensor *t;
    if (!x->layout->shares_one_name)
        return put_rows(x, all, ours, WGI_SOURCE_EMBEDDING, 0) &&
               put_rows(x, all, ours, WGI_TARGET_EMBEDDING, 1) &&
               put_rows(x, all, ours, WGI_OUTPUT_WEIGHT, 1);
    t = tensor_named(all, "model.shared.weight", ours->dtype, &shape);
    if (t)
        memcpy(t->data, ours->data, wg_shape_bytes(&shape, ours->dtype));
    return t != NULL;
}

/* True if it is one of the matrices of tokens; *ok: it has been put. */
static bool is_of_tokens(const wgi_export *x, tensors *all, const wg_tensor *ours, bool *ok)
{
    wg_tying tying = wgi_translator_settings(x->model)->net.tying;
    const char *name = ours->name;
    if (strcmp(name, "embedding/weight") == 0)
        *ok = put_shared(x, all, ours);
    else if (strcmp(name, WGI_SOURCE_EMBEDDING) == 0)
        *ok = put_rows(x, all, ours, WGI_SOURCE_EMBEDDING, 0);
    else if (strcmp(name, WGI_TARGET_EMBEDDING) == 0)
        *ok = put_rows(x, all, ours, WGI_TARGET_EMBEDDING, 1) &&
              (tying == WG_UNTIED || x->layout->shares_one_name ||
               put_rows(x, all, ours, WGI_OUTPUT_WEIGHT, 1));
    else if (strcmp(name, WGI_OUTPUT_WEIGHT) == 0 || strcmp(name, WGI_OUTPUT_BIAS) == 0)
        *ok = put_rows(x, all, ours, name, 1);
    else
        return false;
    return true;
}

/* ---- what others write besides --------------------------------------------------------------- */

/* Sines and cosines as a table. */
static bool put_positions(const wgi_export *x, tensors *all, const char *ours)
{
    char name[WGI_FOREIGN_NAME], full[2 * WGI_FOREIGN_NAME];
    const wg_transformer_config *c = &wgi_translator_settings(x->model)->net;
    const wg_shape shape = WG_SHAPE(512, c->d_model);
    wg_tensor *t = row_of(x, ours, name)
                       ? tensor_named(all, with_prefix(x, name, full), c->dtype, &shape)
                       : NULL;
    for (int64_t i = 0; t && i < wg_shape_count(&shape); i++)
        wgi_put_element(t->data, c->dtype, i,
                        wg_sinusoid(c->positions, c->first_position + i / c->d_model,
                                    i % c->d_model, c->d_model));
    return t != NULL;
}

static bool put_others(const wgi_export *x, tensors *all)
{
    const wg_transformer_config *c = &wgi_translator_settings(x->model)->net;
    const wg_shape bias = WG_SHAPE(1, c->target_vocabulary);
    bool ok = true;
    if (x->layout->has_zero_bias && !c->output_bias)
        ok = tensor_named(all, "final_logits_bias", c->dtype, &bias) != NULL;
    if (ok && x->layout->writes_positions && wg_positions_are_sinusoids(c->positions))
        ok = put_positions(x, all, "encoder/positions/weight") &&
             put_positions(x, all, "decoder/positions/weight");
    return ok;
}

/* ---- all ------------------------------------------------------------------------------------- */

wg_status wgi_export_weights(wgi_export *x)
{
    static const wg_file_note notes[] = {{"format", "pt"}}; /* which transformers wants to see */
    const wg_store *store = wgi_translator_store(x->model);
    tensors all = {NULL, 0, 0};
    bool ok = true, done;
    for (size_t i = 0; ok && i < wg_store_count(store); i++) {
        const wg_tensor *ours = wg_store_at(store, i);
        done = true;
        if (is_of_tokens(x, &all, ours, &done))
            ok = done;
        else
            ok = put_layer(x, &all, ours);
    }
    ok = ok && put_others(x, &all);
    char *path = wg_folder_path(x->folder, WG_FILE_MODEL);
    wg_status status =
        ok && path ? wg_safetensors_write(path, all.item, all.n, notes, 1, x->error)
                   : wgi_error_file(x->error, WG_ENOMEM, x->folder, "no memory for its tensors");
    x->report->tensors = all.n;
    free_tensors(&all);
    free(path);
    return status;
}
