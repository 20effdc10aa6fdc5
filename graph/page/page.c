/* Writing pages: the head, the data as JSON, the tail.  browser/data.js reads the data, and this is
 * its format.  A table is an array of rows, and an index refers to a row of a table.
 *
 *     title     text
 *     dtypes    [name, bytes of an element]
 *     phases    name
 *     kinds     [name, fill, line, text]               what ops are about, with colours
 *     ops       [name, formula, operands, results, kind, role]
 *     scopes    [name, scope around it or -1]
 *     places    "file:line"
 *     values    [dtype, [dimensions], name or null]    by id
 *     nodes     [op, scope, phase, place or -1, [attributes], FLOP, bytes, [operands], [results]]
 *     outputs   [value, name]
 *     assigns   [leaf, value]
 *
 * and of a plan, besides,
 *
 *     kernels   [backend, kernel]
 *     steps     [node, kernel, why refused before or null, seconds, in place, block or -1, again]
 *     blocks    [bytes, offset, first step, last step]
 *     block_of  block or -1, by id of the value
 *     buffer    bytes */
#include "graph/page/page.h"
#include "graph/error.h"
#include "graph/grow.h"
#include "graph/json.h"
#include "graph/picture/internal.h"

#include <stdlib.h>

/* ---- tables ---------------------------------------------------------------------------------- */

/* Numbers for keys in the order of their first appearance. */
typedef struct table {
    wgi_names numbers; /* key -> its number + 1 */
    const void **items;
    size_t count, capacity;
} table;

typedef struct page {
    wgi_json json;
    const wg_graph *g;
    const wgi_page_run *run;
    table ops, kinds, scopes, places, kernels;
    wgi_arena arena; /* of the keys */
    bool no_memory;
} page;

/* The number of `key`, which stands for `item` and lives as long as the page. */
static size_t number_of(page *p, table *t, const char *key, const void *item)
{
    size_t known = (size_t)(uintptr_t)wgi_names_get(&t->numbers, key);
    if (known)
        return known - 1;
    void *number = (void *)(uintptr_t)(t->count + 1);
    if (!WGI_RESERVE(t->items, t->capacity, t->count + 1) ||
        !wgi_names_put(&t->numbers, key, number)) {
        p->no_memory = true;
        return 0;
    }
    t->items[t->count] = item;
    return t->count++;
}

static void free_table(table *t)
{
    free(t->numbers.slot);
    free(t->items);
}

/* Two ops of a program may have one name, so an op's key is its address. */
static size_t op_number(page *p, const wg_op *op)
{
    char key[32];
    snprintf(key, sizeof key, "%p", (const void *)op);
    if (wgi_names_get(&p->ops.numbers, key))
        return number_of(p, &p->ops, key, op);
    const char *kept = wgi_arena_text(&p->arena, key);
    p->no_memory |= !kept;
    return kept ? number_of(p, &p->ops, kept, op) : 0;
}

static size_t scope_number(page *p, const wg_scope *s)
{
    for (const wg_scope *around = s->parent; around; around = around->parent)
        number_of(p, &p->scopes, around->path, around);
    return number_of(p, &p->scopes, s->path, s);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static void put_numbers(wgi_json *j, const char *key, const int64_t *numbers, size_t n)
{
    wgi_json_begin(j, key, '[');
    for (size_t i = 0; i < n; i++)
        wgi_json_whole(j, NULL, numbers[i]);
    wgi_json_end(j, ']');
}

static void put_ids(wgi_json *j, wg_value *const *values, int n)
{
    wgi_json_begin(j, NULL, '[');
    for (int i = 0; i < n; i++)
        wgi_json_whole(j, NULL, values[i]->id);
    wgi_json_end(j, ']');
}

static void put_texts(wgi_json *j, const char *key, const char *const *texts, size_t n)
{
    wgi_json_begin(j, key, '[');
    for (size_t i = 0; i < n; i++)
        wgi_json_text(j, NULL, texts[i] ? texts[i] : "");
    wgi_json_end(j, ']');
}

static const char *role_of(const wg_op *op)
{
    static const struct {
        unsigned flag;
        const char *role;
    } roles[] = {{WG_OP_PARAMETER, "parameter"}, {WG_OP_STATE, "state"}, {WG_OP_INPUT, "input"},
                 {WG_OP_FILL, "fill"},           {WG_OP_LEAF, "leaf"},   {WG_OP_VIEW, "view"}};
    for (size_t i = 0; i < WG_COUNT(roles); i++)
        if (op->flags & roles[i].flag)
            return roles[i].role;
    return "";
}

/* ---- the graph ------------------------------------------------------------------------------- */

static void put_dtypes(page *p)
{
    wgi_json_begin(&p->json, "dtypes", '[');
    for (int d = 0; d < WG_DTYPE_COUNT; d++) {
        wgi_json_begin(&p->json, NULL, '[');
        wgi_json_text(&p->json, NULL, wg_dtype_name((wg_dtype)d));
        wgi_json_whole(&p->json, NULL, (int64_t)wg_dtype_size((wg_dtype)d));
        wgi_json_end(&p->json, ']');
    }
    wgi_json_end(&p->json, ']');
}

static void put_values(page *p)
{
    wgi_json_begin(&p->json, "values", '[');
    for (size_t i = 0; i < p->g->n_values; i++) {
        const wg_value *v = p->g->values[i];
        wgi_json_begin(&p->json, NULL, '[');
        wgi_json_whole(&p->json, NULL, v->dtype);
        put_numbers(&p->json, NULL, v->shape.dim, (size_t)v->shape.rank);
        wgi_json_text(&p->json, NULL, v->name);
        wgi_json_end(&p->json, ']');
    }
    wgi_json_end(&p->json, ']');
}

static void put_attrs(page *p, const wg_node *n)
{
    char text[400];
    wgi_json_begin(&p->json, NULL, '[');
    for (int i = 0; n->attrs && i < n->op->n_attrs; i++)
        wgi_json_text(&p->json, NULL, wgi_attr_text(n->attrs, &n->op->attrs[i], text, sizeof text));
    wgi_json_end(&p->json, ']');
}

static void put_node(page *p, const wg_node *n)
{
    wgi_json *j = &p->json;
    wgi_json_begin(j, NULL, '[');
    wgi_json_whole(j, NULL, (int64_t)op_number(p, n->op));
    wgi_json_whole(j, NULL, (int64_t)scope_number(p, n->scope));
    wgi_json_whole(j, NULL, n->phase);
    wgi_json_whole(j, NULL, n->at ? (int64_t)number_of(p, &p->places, n->at, n->at) : -1);
    put_attrs(p, n);
    wgi_json_real(j, NULL, wg_node_flops(n));
    wgi_json_real(j, NULL, wg_node_bytes(n));
    put_ids(j, n->in, n->n_in);
    put_ids(j, n->out, n->n_out);
    wgi_json_end(j, ']');
}

static void put_nodes(page *p)
{
    wgi_json_begin(&p->json, "nodes", '[');
    for (size_t i = 0; i < p->g->n_nodes; i++)
        put_node(p, p->g->nodes[i]);
    wgi_json_end(&p->json, ']');
}

static void put_marks(page *p)
{
    wgi_json *j = &p->json;
    wgi_json_begin(j, "outputs", '[');
    for (size_t i = 0; i < p->g->n_outputs; i++) {
        wgi_json_begin(j, NULL, '[');
        wgi_json_whole(j, NULL, p->g->outputs[i].value->id);
        wgi_json_text(j, NULL, p->g->outputs[i].name ? p->g->outputs[i].name : "");
        wgi_json_end(j, ']');
    }
    wgi_json_end(j, ']');
    wgi_json_begin(j, "assigns", '[');
    for (size_t i = 0; i < p->g->n_assigns; i++)
        put_numbers(j, NULL, (int64_t[]){p->g->assigns[i].leaf->id, p->g->assigns[i].value->id}, 2);
    wgi_json_end(j, ']');
}

/* ---- the tables that the nodes refer to ------------------------------------------------------ */

static void put_ops(page *p)
{
    wgi_json *j = &p->json;
    wgi_json_begin(j, "ops", '[');
    for (size_t i = 0; i < p->ops.count; i++) {
        const wg_op *op = p->ops.items[i];
        const wgi_pic_colours *kind = wgi_pic_op_colours(op);
        wgi_json_begin(j, NULL, '[');
        wgi_json_text(j, NULL, op->name);
        wgi_json_text(j, NULL, op->formula ? op->formula : "");
        wgi_json_text(j, NULL, op->operands ? op->operands : "");
        wgi_json_text(j, NULL, op->results ? op->results : "y");
        wgi_json_whole(j, NULL, (int64_t)number_of(p, &p->kinds, kind->kind, kind));
        wgi_json_text(j, NULL, role_of(op));
        wgi_json_end(j, ']');
    }
    wgi_json_end(j, ']');
}

static void put_kinds(page *p)
{
    wgi_json_begin(&p->json, "kinds", '[');
    for (size_t i = 0; i < p->kinds.count; i++) {
        const wgi_pic_colours *c = p->kinds.items[i];
        put_texts(&p->json, NULL, (const char *[]){c->kind, c->fill, c->line, c->text}, 4);
    }
    wgi_json_end(&p->json, ']');
}

static void put_scopes(page *p)
{
    wgi_json *j = &p->json;
    wgi_json_begin(j, "scopes", '[');
    for (size_t i = 0; i < p->scopes.count; i++) {
        const wg_scope *s = p->scopes.items[i];
        wgi_json_begin(j, NULL, '[');
        wgi_json_text(j, NULL, s->name);
        wgi_json_whole(j, NULL, s->parent ? (int64_t)scope_number(p, s->parent) : -1);
        wgi_json_end(j, ']');
    }
    wgi_json_end(j, ']');
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* A kernel's key is "backend kernel". */
static size_t kernel_number(page *p, const wgi_page_step *s)
{
    char key[400];
    snprintf(key, sizeof key, "%s %s", s->backend, s->kernel);
    if (wgi_names_get(&p->kernels.numbers, key))
        return number_of(p, &p->kernels, key, s);
    const char *kept = wgi_arena_text(&p->arena, key);
    p->no_memory |= !kept;
    return kept ? number_of(p, &p->kernels, kept, s) : 0;
}

static void put_steps(page *p)
{
    wgi_json *j = &p->json;
    wgi_json_begin(j, "steps", '[');
    for (size_t i = 0; i < p->run->n_steps; i++) {
        const wgi_page_step *s = &p->run->steps[i];
        wgi_json_begin(j, NULL, '[');
        wgi_json_whole(j, NULL, s->node->id);
        wgi_json_whole(j, NULL, (int64_t)kernel_number(p, s));
        wgi_json_text(j, NULL, *s->refused ? s->refused : NULL);
        wgi_json_real(j, NULL, s->seconds);
        wgi_json_whole(j, NULL, s->inplace);
        wgi_json_whole(j, NULL, s->scratch);
        wgi_json_whole(j, NULL, s->again);
        wgi_json_end(j, ']');
    }
    wgi_json_end(j, ']');
    wgi_json_begin(j, "kernels", '[');
    for (size_t i = 0; i < p->kernels.count; i++) {
        const wgi_page_step *s = p->kernels.items[i];
        put_texts(j, NULL, (const char *[]){s->backend, s->kernel}, 2);
    }
    wgi_json_end(j, ']');
}

static void put_memory(page *p)
{
    wgi_json *j = &p->json;
    wgi_json_begin(j, "blocks", '[');
    for (size_t i = 0; i < p->run->n_blocks; i++) {
        const wgi_page_block *b = &p->run->blocks[i];
        put_numbers(j, NULL, (int64_t[]){(int64_t)b->bytes, (int64_t)b->offset, b->first, b->last},
                    4);
    }
    wgi_json_end(j, ']');
    put_numbers(j, "block_of", p->run->block_of, p->g->n_values);
    wgi_json_whole(j, "buffer", (int64_t)p->run->buffer_bytes);
}

/* ---- the page -------------------------------------------------------------------------------- */

static void put_data(page *p, const char *title)
{
    static const char *const phases[] = {
        [WG_FORWARD] = "forward", [WG_BACKWARD] = "backward", [WG_UPDATE] = "update"};
    wgi_json *j = &p->json;
    wgi_json_begin(j, NULL, '{');
    wgi_json_text(j, "title", title ? title : "graph");
    put_dtypes(p);
    put_texts(j, "phases", phases, WG_COUNT(phases));
    put_values(p);
    put_nodes(p);
    put_marks(p);
    put_ops(p);
    put_kinds(p);
    put_scopes(p);
    put_texts(j, "places", (const char *const *)p->places.items, p->places.count);
    if (p->run) {
        put_steps(p);
        put_memory(p);
    }
    wgi_json_end(j, '}');
}

static void free_page(page *p)
{
    free_table(&p->ops);
    free_table(&p->kinds);
    free_table(&p->scopes);
    free_table(&p->places);
    free_table(&p->kernels);
    wgi_arena_free(&p->arena);
}

wg_status wgi_page_write(const wg_graph *g, const char *title, const wgi_page_run *run, FILE *file,
                         wg_error *error)
{
    page p = {.json = {.file = file, .compact = true, .for_page = true}, .g = g, .run = run};
    fwrite(wgi_page_head, 1, wgi_page_head_size, file);
    put_data(&p, title);
    fwrite(wgi_page_tail, 1, wgi_page_tail_size, file);
    bool no_memory = p.no_memory;
    free_page(&p);
    if (no_memory)
        return wgi_error_set(error, WG_ENOMEM, "out of memory");
    return ferror(file) ? wgi_error_set(error, WG_EIO, "the page could not be written") : WG_OK;
}

wg_status wg_graph_write_page(const wg_graph *g, const char *title, FILE *file, wg_error *error)
{
    wgi_error_clear(error);
    if (!g || !file)
        return wgi_error_set(error, WG_EINVAL, "wg_graph_write_page: an argument is NULL");
    if (wg_graph_status(g) != WG_OK)
        return wgi_error_set(error, wg_graph_status(g), "%s", wg_graph_message(g));
    return wgi_page_write(g, title, NULL, file, error);
}
