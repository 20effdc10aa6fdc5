/* A graph from its text: statement by statement, through the checks of the builders. */
#include "graph/file/parse.h"
#include "graph/file/internal.h"
#include "graph/grow.h"
#include "graph/nearest.h"

#include <stdlib.h>

typedef struct parser {
    wgi_reader r;
    const wgi_op_list *ops;
    wg_graph *g;
    wgi_names values; /* "%hidden" -> wg_value */
    wg_value **list;  /* the operands of one node */
    size_t capacity;
    bool has_name; /* of the text: nodes without a line get its line */
} parser;

/* One result of a node as declared: what is not given is empty. */
typedef struct declared {
    const char *reference; /* "%12" */
    bool typed, label;
    wg_dtype dtype;
    wg_shape shape;
    const char *name;
    wgi_token at;
} declared;

/* A node as read. */
typedef struct statement {
    declared *results;
    size_t n_results, capacity;
    wgi_token op_at;
    const wg_op *op;
    int n_in;
    wgi_attributes attributes;
    const char *scope, *line; /* NULL: not given */
    bool no_line;
    wg_phase phase;
} statement;

/* ---- references ------------------------------------------------------------------------------ */

/* The current token, a value, as a text. */
static const char *take_reference(parser *p)
{
    wgi_reader *r = &p->r;
    if (r->status != WG_OK)
        return NULL;
    if (r->token.kind != WGI_TOKEN_VALUE || r->token.length < 2) {
        wgi_reader_expected(r, "a value such as %1");
        return NULL;
    }
    char *own = wgi_arena_alloc(&r->arena, r->token.length + 1);
    if (own)
        memcpy(own, r->token.start, r->token.length);
    else
        wgi_reader_no_memory(r);
    return own && wgi_reader_next(r) ? own : NULL;
}

static wg_value *take_value(parser *p)
{
    const wgi_token at = p->r.token;
    const char *reference = take_reference(p);
    wg_value *v = reference ? wgi_names_get(&p->values, reference) : NULL;
    if (reference && !v)
        wgi_reader_fail(&p->r, &at, "no value %.60s above this line", reference);
    return v;
}

/* ---- parts of a node ------------------------------------------------------------------------- */

/* %1, %2 = */
static bool read_references(parser *p, statement *s)
{
    wgi_reader *r = &p->r;
    for (bool more = !wgi_token_is(&r->token, "="); more; more = wgi_reader_skip(r, ",")) {
        const wgi_token at = r->token;
        const char *reference = take_reference(p);
        if (!reference)
            return false;
        if (!WGI_RESERVE(s->results, s->capacity, s->n_results + 1))
            return wgi_reader_no_memory(r);
        s->results[s->n_results++] = (declared){.reference = reference, .at = at};
    }
    return wgi_reader_need(r, "=", "after the results of a node");
}

static bool read_op(parser *p, statement *s)
{
    const wg_op *op, *nearest = NULL;
    size_t min = SIZE_MAX, n = p->ops->n_ops;
    s->op_at = p->r.token;
    const char *name = wgi_reader_text(&p->r, "an op");
    for (size_t i = 0; name && (op = i < n ? p->ops->ops[i] : p->ops->op_at(i - n)); i++)
        if (strcmp(op->name, name) == 0) {
            s->op = op;
            return true;
        }
    for (size_t i = 0; name && (op = i < n ? p->ops->ops[i] : p->ops->op_at(i - n)); i++) {
        size_t distance = wgi_name_distance(name, op->name);
        if (distance < min) {
            min = distance;
            nearest = op;
        }
    }
    if (!name)
        return false;
    return nearest ? wgi_reader_fail(&p->r, &s->op_at, "no op '%.60s'; did you mean '%s'?", name,
                                     nearest->name)
                   : wgi_reader_fail(&p->r, &s->op_at, "no op '%.60s'", name);
}

/* (%1, %2), or nothing */
static bool read_operands(parser *p, statement *s)
{
    wgi_reader *r = &p->r;
    if (!wgi_reader_skip(r, "("))
        return r->status == WG_OK;
    for (size_t count = 0; wgi_reader_item(r, ")", &count);) {
        if (!WGI_RESERVE(p->list, p->capacity, count))
            return wgi_reader_no_memory(r);
        if (count > INT32_MAX) /* GCOVR_EXCL_BR_LINE: in a text of 6 GB at least */
            return wgi_reader_fail(r, &r->token, "too many operands"); /* GCOVR_EXCL_LINE */
        if (!(p->list[count - 1] = take_value(p)))
            return false;
        s->n_in = (int)count;
    }
    return r->status == WG_OK;
}

/* f32[2,3] 'name' */
static bool read_declared(wgi_reader *r, declared *d)
{
    d->at = r->token;
    if (r->token.kind == WGI_TOKEN_WORD && !wgi_token_is(&r->token, "label")) {
        if (!wgi_reader_dtype(r, &d->dtype) || !wgi_reader_shape(r, &d->shape))
            return false;
        d->typed = true;
    }
    d->label = wgi_reader_skip(r, "label");
    if (d->label || r->token.kind == WGI_TOKEN_QUOTED)
        d->name = wgi_reader_text(r, "a name in quotes");
    return r->status == WG_OK;
}

static bool read_types(wgi_reader *r, statement *s)
{
    size_t count = 0;
    if (!wgi_reader_skip(r, ":"))
        return r->status == WG_OK;
    do {
        if (count == s->n_results)
            return wgi_reader_fail(r, &r->token, "more types than the %zu results", count);
        if (!read_declared(r, &s->results[count++]))
            return false;
    } while (wgi_reader_skip(r, ","));
    return r->status == WG_OK;
}

static bool read_line(wgi_reader *r, statement *s)
{
    s->no_line = wgi_reader_skip(r, "none");
    if (!s->no_line)
        s->line = wgi_reader_text(r, "FILE:LINE or none");
    return s->no_line || s->line;
}

/* in SCOPE, at LINE, a phase: in any order */
static bool read_origin(wgi_reader *r, statement *s)
{
    while (r->token.kind == WGI_TOKEN_WORD) {
        int phase = WG_UPDATE;
        while (phase >= 0 && !wgi_token_is(&r->token, wgi_phase_words[phase]))
            phase--;
        if (phase >= 0) {
            s->phase = (wg_phase)phase;
            wgi_reader_next(r);
        } else if (wgi_reader_skip(r, "in")) {
            if (!(s->scope = wgi_reader_text(r, "a scope")))
                return false;
        } else if (wgi_reader_skip(r, "at")) {
            if (!read_line(r, s))
                return false;
        } else
            return wgi_reader_expected(r, "in, at, backward, update or the end of the line");
    }
    return r->status == WG_OK;
}

static bool read_end_of_line(wgi_reader *r)
{
    if (r->status != WG_OK || r->token.kind == WGI_TOKEN_END)
        return r->status == WG_OK;
    return r->token.kind == WGI_TOKEN_NEWLINE ? wgi_reader_next(r)
                                              : wgi_reader_expected(r, "the end of the line");
}

/* ---- building -------------------------------------------------------------------------------- */

/* The first error of the graph becomes that of the reading. */
static bool graph_is_right(parser *p, const wgi_token *at)
{
    if (wg_graph_status(p->g) == WG_ENOMEM)
        return wgi_reader_no_memory(&p->r);
    if (wg_graph_status(p->g) == WG_OK)
        return true;
    return wgi_reader_fail(&p->r, at, "%s", wg_graph_message(p->g));
}

/* The scope of that path, none of whose parts is empty. */
static const wg_scope *scope_of(parser *p, const wgi_token *at, const char *path)
{
    size_t n = strlen(path);
    if (n && (path[0] == '/' || path[n - 1] == '/' || strstr(path, "//"))) {
        wgi_reader_fail(&p->r, at, "the scope '%.100s' has an empty part", path);
        return NULL;
    }
    const wg_scope *s = wgi_scope_intern(p->g, path);
    return graph_is_right(p, at) ? s : NULL;
}

static bool check_declared(parser *p, const declared *d, const wg_value *v)
{
    char said[200], is[200];
    if (!d->typed || (d->dtype == v->dtype && wg_shape_equal(&d->shape, &v->shape)))
        return true;
    return wgi_reader_fail(&p->r, &d->at, "%s is declared as %s%s, but %s makes it %s%s",
                           d->reference, wg_dtype_name(d->dtype),
                           wg_shape_text(&d->shape, said, sizeof said), v->node->op->name,
                           wg_dtype_name(v->dtype), wg_shape_text(&v->shape, is, sizeof is));
}

static bool name_result(parser *p, const declared *d, wg_value *v)
{
    if (d->name && !*d->name)
        return wgi_reader_fail(&p->r, &d->at, "an empty name");
    if (d->name && d->label)
        wgi_graph_set_label(p->g, v, d->name);
    else if (d->name)
        wgi_graph_set_name(p->g, v, d->name);
    if (!graph_is_right(p, &d->at) || !check_declared(p, d, v))
        return false;
    if (wgi_names_get(&p->values, d->reference))
        return wgi_reader_fail(&p->r, &d->at, "%.60s is defined above", d->reference);
    if (wgi_names_put(&p->values, d->reference, v))
        return true;
    return wgi_reader_no_memory(&p->r);
}

static bool build(parser *p, statement *s)
{
    char line[1100];
    const wg_scope *scope = scope_of(p, &s->op_at, s->scope ? s->scope : "");
    if (!scope)
        return false;
    if (s->n_results && s->results[0].typed)
        wgi_attributes_complete(&s->attributes, s->results[0].dtype, &s->results[0].shape);
    snprintf(line, sizeof line, "%.1000s:%zu", p->r.name, s->op_at.line);
    const char *at = s->line || s->no_line || !p->has_name ? s->line : line;
    p->g->origin = (wg_origin){scope, NULL, s->phase};
    wg_node *n = wg_apply(at, p->g, s->op, s->op->attrs_size ? s->attributes.values : NULL, p->list,
                          s->n_in);
    p->g->origin = (wg_origin){wgi_scope_intern(p->g, ""), NULL, WG_FORWARD};
    if (!graph_is_right(p, &s->op_at))
        return false;
    if (s->n_results > (size_t)n->n_out)
        return wgi_reader_fail(&p->r, &s->results[n->n_out].at, "%s has %d results, not %zu",
                               s->op->name, n->n_out, s->n_results);
    for (size_t i = 0; i < s->n_results; i++)
        if (!name_result(p, &s->results[i], n->out[i]))
            return false;
    return true;
}

/* ---- statements ------------------------------------------------------------------------------ */

static bool read_node(parser *p)
{
    statement s = {0};
    wgi_reader *r = &p->r;
    bool ok = read_references(p, &s) && read_op(p, &s) && read_operands(p, &s) &&
              wgi_attributes_read(r, s.op, &s.attributes) && read_types(r, &s) &&
              read_origin(r, &s) && read_end_of_line(r) && build(p, &s);
    free(s.results);
    return ok;
}

/* output 'loss' = %4, or output %4 */
static bool read_output(parser *p)
{
    const wgi_token at = p->r.token;
    const char *name = "";
    if (p->r.token.kind != WGI_TOKEN_VALUE &&
        (!(name = wgi_reader_text(&p->r, "a name in quotes or a value")) ||
         !wgi_reader_need(&p->r, "=", "after the name of an output")))
        return false;
    wg_value *v = take_value(p);
    if (v)
        wg_output(v, name);
    return v && graph_is_right(p, &at) && read_end_of_line(&p->r);
}

/* assign %0 := %3 */
static bool read_assign(parser *p)
{
    const wgi_token at = p->r.token;
    wg_value *leaf = take_value(p);
    if (!leaf || !wgi_reader_need(&p->r, ":", "of ':=' after the leaf") ||
        !wgi_reader_need(&p->r, "=", "of ':=' after the leaf"))
        return false;
    wg_value *v = take_value(p);
    if (v)
        (wg_assign)(NULL, leaf, v);
    return v && graph_is_right(p, &at) && read_end_of_line(&p->r);
}

/* scope encoder/layer0 {recompute=true} */
static bool read_scope(parser *p)
{
    const wgi_token at = p->r.token;
    const char *path = wgi_reader_text(&p->r, "a scope");
    const wg_scope *s = path ? scope_of(p, &at, path) : NULL;
    wgi_attributes marks;
    if (!s || !wgi_attributes_read(&p->r, &wgi_scope_marks, &marks))
        return false;
    const wg_scope *asked = (const void *)marks.values;
    const wg_origin before = p->g->origin;
    p->g->origin.scope = s;
    if (asked->recompute)
        wg_scope_recompute(p->g);
    if (asked->reuse)
        wg_scope_reuse(p->g);
    if (asked->average)
        wg_scope_average(p->g);
    wg_scope_parameter_dtype(p->g, asked->parameter_dtype);
    p->g->origin = before;
    return graph_is_right(p, &at) && read_end_of_line(&p->r);
}

static bool read_error(parser *p)
{
    const wgi_token at = p->r.token;
    const char *text = wgi_reader_text(&p->r, "a message in quotes");
    if (text)
        wgi_reader_fail(&p->r, &at, "the graph was printed with this error: %s", text);
    return false;
}

static bool read_statement(parser *p)
{
    static const struct {
        const char *word;
        bool (*read)(parser *p);
    } kinds[] = {{"output", read_output},
                 {"assign", read_assign},
                 {"scope", read_scope},
                 {"error", read_error}};
    if (p->r.token.kind == WGI_TOKEN_VALUE || wgi_token_is(&p->r.token, "="))
        return read_node(p);
    for (int i = 0; i < WG_COUNT(kinds); i++)
        if (wgi_reader_skip(&p->r, kinds[i].word))
            return kinds[i].read(p);
    return wgi_reader_expected(&p->r, "%VALUE = OP(...), output, assign or scope");
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* What the head says: checked at the end.  A count that is negative was not given. */
typedef struct counts {
    int64_t nodes, values, outputs, assigns, keys;
} counts;

static bool read_count(wgi_reader *r, counts *c)
{
    const struct {
        const char *word;
        int64_t *count;
    } known[] = {{"nodes", &c->nodes},
                 {"values", &c->values},
                 {"outputs", &c->outputs},
                 {"assigns", &c->assigns},
                 {"keys", &c->keys}};
    for (int i = 0; i < WG_COUNT(known); i++)
        if (wgi_reader_skip(r, known[i].word))
            return wgi_reader_need(r, "=", "before a count") &&
                   wgi_reader_int(r, "a count", 0, INT64_MAX, known[i].count);
    return wgi_reader_expected(r, "nodes, values, outputs, assigns or keys");
}

/* wengert-graph 1 {nodes=3, ...} */
static bool read_head(wgi_reader *r, counts *c)
{
    int64_t version;
    if (!wgi_reader_need(r, WGI_GRAPH_FILE_WORD, "at the beginning") ||
        !wgi_reader_int(r, "the version of the format", 1, WGI_GRAPH_FILE_VERSION, &version))
        return false;
    if (wgi_reader_skip(r, "{"))
        for (size_t count = 0; wgi_reader_item(r, "}", &count);)
            if (!read_count(r, c))
                return false;
    return read_end_of_line(r);
}

/* A file that was cut off is told by its counts, or by its last line. */
static bool check_counts(parser *p, const counts *c)
{
    const wg_graph *g = p->g;
    const struct {
        const char *what;
        int64_t said;
        size_t is;
    } each[] = {{"nodes", c->nodes, g->n_nodes},
                {"values", c->values, g->n_values},
                {"outputs", c->outputs, g->n_outputs},
                {"assigns", c->assigns, g->n_assigns}};
    for (int i = 0; i < WG_COUNT(each); i++)
        if (each[i].said >= 0 && (uint64_t)each[i].said != each[i].is)
            return wgi_reader_fail(&p->r, &p->r.token, "the head says %lld %s, the text has %zu",
                                   (long long)each[i].said, each[i].what, each[i].is);
    if (c->nodes < 0 || p->r.end[-1] == '\n')
        return true;
    return wgi_reader_fail(&p->r, &p->r.token, "the last line has no end: the text was cut off");
}

/* Random nodes that have been removed had keys too. */
static void set_next_key(wg_graph *g, int64_t said)
{
    if (said > 0 && (uint64_t)said > g->next_key)
        g->next_key = (uint64_t)said;
}

static void skip_empty_lines(wgi_reader *r)
{
    while (r->status == WG_OK && r->token.kind == WGI_TOKEN_NEWLINE)
        wgi_reader_next(r);
}

static bool read_graph(parser *p)
{
    wgi_reader *r = &p->r;
    counts c = {-1, -1, -1, -1, -1};
    wgi_reader_next(r);
    skip_empty_lines(r);
    if (!read_head(r, &c))
        return false;
    for (skip_empty_lines(r); r->token.kind != WGI_TOKEN_END; skip_empty_lines(r))
        if (!read_statement(p))
            return false;
    set_next_key(p->g, c.keys);
    return r->status == WG_OK && check_counts(p, &c);
}

wg_status wgi_graph_parse(wg_graph **out, const char *text, size_t length, const char *name,
                          const wgi_op_list *ops, wg_error *error)
{
    wgi_locale locale;
    parser p = {.ops = ops, .g = wg_graph_new(), .has_name = name};
    wgi_error_clear(error);
    *out = NULL;
    wgi_reader_open(&p.r, name ? name : "graph", text, length, error);
    if (!wgi_locale_enter(&locale) || !p.g)
        wgi_reader_no_memory(&p.r);
    else
        read_graph(&p);
    wgi_locale_restore(&locale);
    wgi_arena_free(&p.r.arena);
    free(p.values.slot);
    free(p.list);
    if (p.r.status == WG_OK)
        *out = p.g;
    else
        wg_graph_free(p.g);
    return p.r.status;
}
