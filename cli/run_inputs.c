/* The numbers that files give for the inputs of a model. */
#include "cli/run.h"
#include "files/npy.h"
#include "graph/element.h"
#include "graph/nearest.h"
#include "graph/text_buffer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- files ----------------------------------------------------------------------------------- */

static int no_memory(void)
{
    complain("out of memory");
    return EXIT_RUN;
}

static const given_numbers *find_given(const given_inputs *in, const char *name)
{
    for (size_t i = 0; i < in->n; i++)
        if (strcmp(in->item[i].name, name) == 0)
            return &in->item[i];
    return NULL;
}

static bool is_whole(wg_dtype dtype)
{
    return wg_dtype_is_int(dtype) || dtype == WG_I8 || dtype == WG_U8;
}

/* Numbers that can be known while a file is read: doubles, of moderate number. */
enum { MOST_KNOWN = 65536 };

/* Those of x as doubles; NULL if they cannot be known, or without memory. */
static double *as_doubles(const given_numbers *x)
{
    const int64_t count = wg_shape_count(&x->shape);
    const size_t size = x->dtype ? wg_dtype_size(x->dtype) : 0;
    double *to = size && count <= MOST_KNOWN ? malloc((size_t)count * sizeof *to + 1) : NULL;
    for (int64_t i = 0; to && i < count; i++) {
        char one[16]; /* aligned */
        memcpy(one, (const char *)x->data + (size_t)i * size, size);
        to[i] = wgi_get_element(one, x->dtype, 0);
        if (is_whole(x->dtype) && !(fabs(to[i]) <= 0x1p53)) {
            free(to);
            to = NULL;
        }
    }
    return to;
}

static void add(given_inputs *in, const given_numbers *x)
{
    in->shapes[in->n] = (wg_onnx_shape){x->name, x->shape};
    in->known[in->n] = (wg_onnx_known){
        .input = x->name, .shape = x->shape, .data = as_doubles(x), .needed = &in->needed[in->n]};
    in->item[in->n++] = *x;
}

static int read_array(given_inputs *in, const char *name, const char *file)
{
    wg_error error;
    wgi_npy *a = &in->arrays[in->n_arrays];
    const given_numbers *other = find_given(in, name);
    if (other) {
        complain("%s: expected the numbers of '%s' once, got them in %s too", file, name,
                 other->file);
        return EXIT_USAGE;
    }
    if (wgi_npy_read(a, file, &error) != WG_OK)
        return complain_error(&error);
    in->n_arrays++;
    add(in, &(given_numbers){name, file, wg_dtype_name(a->dtype), a->dtype, a->shape, a->data});
    return EXIT_OK;
}

int inputs_read(given_inputs *in, const char *file, const array_list *arrays)
{
    wg_error error;
    int code = EXIT_OK;
    if (file && wg_safetensors_open(&in->file, file, &error) != WG_OK)
        return complain_error(&error);
    size_t n = in->file ? wg_safetensors_count(in->file) : 0;
    in->item = calloc(n + arrays->n + 1, sizeof *in->item);
    in->shapes = calloc(n + arrays->n + 1, sizeof *in->shapes);
    in->known = calloc(n + arrays->n + 1, sizeof *in->known);
    in->needed = calloc(n + arrays->n + 1, sizeof *in->needed);
    in->arrays = calloc(arrays->n + 1, sizeof *in->arrays);
    if (!in->item || !in->shapes || !in->known || !in->needed || !in->arrays)
        return no_memory();
    for (size_t i = 0; i < n; i++) { /* their names are unique in the file */
        const wg_file_tensor *t = wg_safetensors_at(in->file, i);
        const char *dtype = t->dtype ? wg_dtype_name(t->dtype) : t->dtype_name;
        add(in, &(given_numbers){t->name, file, dtype, t->dtype, t->shape, t->data});
    }
    for (size_t i = 0; i < arrays->n && code == EXIT_OK; i++)
        code = read_array(in, arrays->name[i], arrays->file[i]);
    return code;
}

void inputs_free(given_inputs *in)
{
    for (size_t i = 0; i < in->n_arrays; i++)
        wgi_npy_free(&in->arrays[i]);
    wg_safetensors_close(in->file);
    for (size_t i = 0; i < in->n; i++)
        free((void *)(uintptr_t)in->known[i].data);
    free(in->arrays);
    free(in->needed);
    free(in->known);
    free(in->shapes);
    free(in->item);
}

void inputs_explain(const given_inputs *in, const source *s)
{
    for (size_t i = 0; i < in->n; i++)
        if (in->needed[i] && !in->known[i].data)
            complain("%s: the numbers of '%s' are needed while %s is read; for that an array may "
                     "have up to %d, and integers up to 2^53",
                     in->item[i].file, in->item[i].name, s->name, MOST_KNOWN);
}

/* ---- names and shapes ------------------------------------------------------------------------ */

void complain_no_such(const char *model, const char *what, const char *name,
                      const char *const *names, size_t n)
{
    const char *nearest = NULL;
    size_t min = SIZE_MAX;
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    for (size_t i = 0; i < n; i++) {
        size_t distance = wgi_name_distance(name, names[i]);
        if (f)
            fprintf(f, "%s'%s'", i ? ", " : "", names[i]);
        if (distance < min) {
            min = distance;
            nearest = names[i];
        }
    }
    char *all = wgi_text_close(&b);
    if (nearest)
        complain("%s: no %s '%s'; did you mean '%s'?", model, what, name, nearest);
    else
        complain("%s: no %s '%s', only %s", model, what, name, n > 0 && all ? all : "none at all");
    free(all);
}

/* The first input of g at node *at or behind it, where *at is then; NULL: there is none. */
static const wg_value *next_input(const wg_graph *g, size_t *at)
{
    for (; *at < wg_graph_node_count(g); ++*at) {
        const wg_node *n = wg_graph_node(g, *at);
        if (n->op->flags & WG_OP_INPUT)
            return n->out[0];
    }
    return NULL;
}

static int complain_no_input(const char *name, const char *model, const wg_graph *g)
{
    const wg_value *v;
    size_t n = 0;
    const char **names = calloc(wg_graph_node_count(g) + 1, sizeof *names);
    if (!names)
        return no_memory();
    for (size_t i = 0; (v = next_input(g, &i)); i++)
        names[n++] = v->name;
    complain_no_such(model, "input", name, names, n);
    free(names);
    return EXIT_USAGE;
}

/* What is given is an input.  One of an ONNX model that its graph lacks is needed by no output: the
 * import has checked the names. */
static int check_name(const given_numbers *x, bool is_known, const source *s, const wg_graph *g)
{
    const wg_value *v = wg_graph_find(g, x->name);
    const unsigned flags = v ? v->node->op->flags : 0;
    for (size_t i = 0; i < s->options.n_known; i++)
        if (strcmp(s->options.known[i].input, x->name) == 0) {
            complain("%s: expected the numbers of '%s' once, got them by --known too", x->file,
                     x->name);
            return EXIT_USAGE;
        }
    if (is_known || (flags & WG_OP_INPUT))
        return EXIT_OK;
    if (flags & WG_OP_LEAF) {
        complain("%s: '%s' is a parameter, not an input; --weights gives the numbers of parameters",
                 s->name, x->name);
        return EXIT_USAGE;
    }
    if (!s->is_onnx)
        return complain_no_input(x->name, s->name, g);
    complain("%s: no output needs the input '%s': its numbers are not used", s->name, x->name);
    return EXIT_OK;
}

/* Whether there are numbers that both dtypes hold as such. */
static bool are_alike(wg_dtype a, wg_dtype b)
{
    return a == b || (wg_dtype_is_float(a) && wg_dtype_is_float(b)) || (is_whole(a) && is_whole(b));
}

static int check_given(const given_numbers *x, const wg_value *v)
{
    char expected[200], got[200];
    if (are_alike(x->dtype, v->dtype) && wg_shape_equal(&x->shape, &v->shape))
        return EXIT_OK;
    complain("%s: input '%s': expected %s %s, got %s %s", x->file, x->name, wg_dtype_name(v->dtype),
             wg_shape_text(&v->shape, expected, sizeof expected), x->dtype_name,
             wg_shape_text(&x->shape, got, sizeof got));
    return EXIT_DATA;
}

/* Every input has a name by which it can be given. */
static int check_named(const source *s, const wg_graph *g)
{
    const wg_value *v;
    char text[40];
    for (size_t i = 0; (v = next_input(g, &i)); i++)
        if (!v->name) {
            complain("%s: expected inputs with names, got %s without one", s->name,
                     wg_value_text(v, text, sizeof text));
            return EXIT_USAGE;
        }
    return EXIT_OK;
}

/* One message with all inputs that are not given. */
static int check_complete(const given_inputs *in, const source *s, const wg_graph *g)
{
    const wg_value *v;
    char shape[200];
    size_t missing = 0;
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    for (size_t i = 0; (v = next_input(g, &i)); i++) {
        if (find_given(in, v->name))
            continue;
        if (f)
            fprintf(f, "%s'%s' %s %s", missing ? ", " : "", v->name, wg_dtype_name(v->dtype),
                    wg_shape_text(&v->shape, shape, sizeof shape));
        missing++;
    }
    char *all = wgi_text_close(&b);
    if (missing)
        complain("%s: no numbers for %s; give them by --inputs FILE or --input NAME=FILE.npy",
                 s->name, all ? all : "its inputs");
    free(all);
    return missing ? EXIT_USAGE : EXIT_OK;
}

int inputs_check(const given_inputs *in, const source *s, const wg_graph *g)
{
    const wg_value *v;
    int code = check_named(s, g);
    for (size_t i = 0; i < in->n && code == EXIT_OK; i++)
        code = check_name(&in->item[i], in->needed[i], s, g);
    if (code == EXIT_OK)
        code = check_complete(in, s, g);
    for (size_t i = 0; code == EXIT_OK && (v = next_input(g, &i)); i++)
        code = check_given(find_given(in, v->name), v);
    return code;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static int64_t whole_at(const void *data, wg_dtype dtype, int64_t i)
{
    return wg_dtype_is_int(dtype) ? wgi_get_int(data, dtype, i)
                                  : (int64_t)wgi_get_element(data, dtype, i);
}

/* Puts element i of `from` at that place of `to`; false if it is another number there. */
static bool put_same(void *to, wg_dtype as, const void *from, wg_dtype dtype, int64_t i)
{
    if (is_whole(dtype)) {
        int64_t n = whole_at(from, dtype, i);
        if (as == WG_I64)
            ((int64_t *)to)[i] = n;
        else
            wgi_put_element(to, as, i, (double)n); /* the nearest limit, if it is beyond */
        return whole_at(to, as, i) == n;
    }
    double x = wgi_get_element(from, dtype, i);
    wgi_put_element(to, as, i, x);
    double back = wgi_get_element(to, as, i);
    return back == x || (isnan(back) && isnan(x));
}

static int complain_inexact(const given_numbers *x, const void *from, int64_t i, wg_dtype as)
{
    char number[40], text[200];
    wg_shape at = x->shape;
    int64_t rest = i;
    for (int k = at.rank - 1; k >= 0; k--) {
        at.dim[k] = rest % x->shape.dim[k];
        rest /= x->shape.dim[k];
    }
    if (is_whole(x->dtype))
        snprintf(number, sizeof number, "%lld", (long long)whole_at(from, x->dtype, i));
    else
        snprintf(number, sizeof number, "%.17g", wgi_get_element(from, x->dtype, i));
    complain("%s: input '%s': expected %s, got %s that %s cannot hold exactly: %s at %s", x->file,
             x->name, wg_dtype_name(as), x->dtype_name, wg_dtype_name(as), number,
             wg_shape_text(&at, text, sizeof text));
    return EXIT_DATA;
}

static int fill(const given_numbers *x, const wg_value *v, void *to)
{
    const int64_t count = wg_value_count(v);
    const size_t bytes = (size_t)count * wg_dtype_size(x->dtype);
    int code = EXIT_OK;
    if (count == 0)
        return EXIT_OK;
    if (x->dtype == v->dtype) {
        memcpy(to, x->data, bytes);
        return EXIT_OK;
    }
    void *from = malloc(bytes); /* aligned */
    if (!from)
        return no_memory();
    memcpy(from, x->data, bytes);
    for (int64_t i = 0; i < count && code == EXIT_OK; i++)
        if (!put_same(to, v->dtype, from, x->dtype, i))
            code = complain_inexact(x, from, i, v->dtype);
    free(from);
    return code;
}

int inputs_fill(const given_inputs *in, wg_plan *p, const wg_graph *g)
{
    const wg_value *v;
    int code = EXIT_OK;
    for (size_t i = 0; code == EXIT_OK && (v = next_input(g, &i)); i++)
        code = fill(find_given(in, v->name), v, wg_plan_data(p, v));
    return code;
}
