#define _XOPEN_SOURCE 700
#include "tests/onnx/cases.h"
#include "graph/element.h"
#include "graph/error.h"
#include "onnx/model.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- files ----------------------------------------------------------------------------------- */

const char *onnx_data(void)
{
    const char *own = getenv("WENGERT_ONNX_DATA");
    return own ? own : "/usr/share/libonnx-testdata/data";
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t onnx_folders(const char *path, char ***names)
{
    DIR *d = opendir(path);
    size_t n = 0, room = 0;
    *names = NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        if (n == room)
            *names = realloc(*names, (room = 2 * room + 64) * sizeof **names);
        (*names)[n++] = strdup(e->d_name);
    }
    if (d)
        closedir(d);
    if (n)
        qsort(*names, n, sizeof **names, by_name);
    return n;
}

/* The inputs that are not initializers, in order. */
static wg_status take_names(onnx_case *c, const char *model)
{
    ox_file file;
    const ox_model_proto *m;
    wg_status status = wgi_ox_model_open(&file, &m, model, &c->error);
    if (status != WG_OK)
        return status;
    for (size_t i = 0; i < m->graph->n_input && c->n_inputs < CASE_MAX_TENSORS; i++) {
        bool given = false;
        for (size_t k = 0; k < m->graph->n_initializer; k++)
            given |= strcmp(m->graph->initializer[k]->name, m->graph->input[i]->name) == 0;
        if (!given)
            c->input_name[c->n_inputs++] = strdup(m->graph->input[i]->name);
    }
    c->n_outputs = m->graph->n_output < CASE_MAX_TENSORS ? m->graph->n_output : 0;
    wgi_ox_file_close(&file);
    return WG_OK;
}

/* Sequences and the like cannot be read; then the model is refused too. */
static void read_tensors(onnx_case *c, const char *what, wg_onnx_tensor *t, size_t n)
{
    char path[400];
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/test_data_set_0/%s_%zu.pb", c->folder, what, i);
        if (wg_onnx_tensor_read(&t[i], path, &c->error) != WG_OK)
            t[i] = (wg_onnx_tensor){0};
    }
}

/* NumPy has no bfloat16: the suite keeps its bits as uint16, which are held as i32. */
static void take_bits(wg_onnx_tensor *t, wg_dtype dtype)
{
    if (dtype != WG_BF16 || t->dtype != WG_I32)
        return;
    for (int64_t k = 0; k < wg_shape_count(&t->shape); k++)
        ((uint16_t *)t->data)[k] = (uint16_t)((int32_t *)t->data)[k];
    t->dtype = WG_BF16;
}

/* ---- the import ------------------------------------------------------------------------------ */

/* "... depends on 'X': give its numbers as a known input": the number of that input, or
 * SIZE_MAX. */
static size_t asked_for(const onnx_case *c)
{
    static const char before[] = "depends on '", after[] = "': give its numbers as a known input";
    const char *at = strstr(c->error.text, before), *end = strstr(c->error.text, after);
    for (size_t i = 0; at && end && i < c->n_inputs; i++) {
        const char *name = c->input_name[i];
        size_t length = strlen(name);
        at += i == 0 ? sizeof before - 1 : 0;
        if ((size_t)(end - at) == length && strncmp(at, name, length) == 0 && c->input[i].dtype)
            return i;
    }
    return SIZE_MAX;
}

wg_status onnx_case_open(onnx_case *c, const char *folder)
{
    char path[400];
    memset(c, 0, sizeof *c);
    snprintf(c->folder, sizeof c->folder, "%s", folder);
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    wg_status status = take_names(c, path);
    if (status != WG_OK)
        return status;
    read_tensors(c, "input", c->input, c->n_inputs);
    read_tensors(c, "output", c->output, c->n_outputs);
    for (;;) {
        wg_onnx_import_options o = {.known = c->known, .n_known = c->n_known};
        status = wg_onnx_import(&c->graph, path, &o, &c->error);
        size_t i = status == WG_EUNSUPPORTED ? asked_for(c) : SIZE_MAX;
        if (i == SIZE_MAX || c->n_known == c->n_inputs)
            return status;
        c->known[c->n_known++] = (wg_onnx_known){.input = c->input_name[i],
                                                 .dtype = c->input[i].dtype,
                                                 .shape = c->input[i].shape,
                                                 .data = c->input[i].data};
    }
}

void onnx_case_close(onnx_case *c)
{
    for (size_t i = 0; i < c->n_inputs; i++) {
        free(c->input_name[i]);
        wg_onnx_tensor_free(&c->input[i]);
    }
    for (size_t i = 0; i < c->n_outputs; i++)
        wg_onnx_tensor_free(&c->output[i]);
    wg_graph_free(c->graph);
}

/* ---- some cases ------------------------------------------------------------------------------ */

enum { MOST_OPS = 400 };
typedef struct op_count {
    char op[40];
    int count;
} op_count;

/* Counts the op of the first node, in a list that ends with an empty name. */
static int count_op(op_count *list, const char *model)
{
    ox_file file;
    const ox_model_proto *m;
    wg_error error;
    int i = 0;
    if (wgi_ox_model_open(&file, &m, model, &error) != WG_OK)
        return INT_MAX;
    const char *op = m->graph->n_node ? m->graph->node[0]->op_type : "";
    while (i < MOST_OPS - 1 && *list[i].op && strcmp(list[i].op, op) != 0)
        i++;
    snprintf(list[i].op, sizeof list[i].op, "%s", op);
    wgi_ox_file_close(&file);
    return ++list[i].count;
}

size_t onnx_visit_cases(void (*visit)(onnx_case *c, void *context), void *context)
{
    static const char suite[] = "node";
    op_count list[MOST_OPS] = {{"", 0}};
    char **names, path[400], file[500];
    snprintf(path, sizeof path, "%s/%s", onnx_data(), suite);
    size_t n = onnx_folders(path, &names), visited = 0;
    for (size_t i = 0; i < n; i++) {
        onnx_case c;
        snprintf(path, sizeof path, "%s/%s/%s", onnx_data(), suite, names[i]);
        snprintf(file, sizeof file, "%s/model.onnx", path);
        if (onnx_case_open(&c, path) == WG_OK && count_op(list, file) == 1) {
            visit(&c, context);
            visited++;
        }
        onnx_case_close(&c);
        free(names[i]);
    }
    free(names);
    return visited;
}

/* ---- a run ----------------------------------------------------------------------------------- */

/* NumPy's assert_allclose with rtol 1e-3 and atol 1e-7, as ONNX's own runner. */
static bool is_close(double got, double expected)
{
    if (expected != expected || got != got)
        return expected != expected && got != got;
    return got == expected || fabs(got - expected) <= 1e-7 + 1e-3 * fabs(expected);
}

static wg_status compare(onnx_case *c, wg_plan *p, size_t i)
{
    const wg_value *v = wg_graph_output(c->graph, i);
    wg_onnx_tensor *t = &c->output[i];
    char a[200], b[200];
    if (v)
        take_bits(t, v->dtype);
    if (!v || !t->dtype)
        return wgi_error_set(&c->error, WG_EDATA, "output %zu cannot be compared", i);
    if (v->dtype != t->dtype || !wg_shape_equal(&v->shape, &t->shape))
        return wgi_error_set(&c->error, WG_EDATA, "output %zu is %s %s, not %s %s", i,
                             wg_dtype_name(v->dtype), wg_shape_text(&v->shape, a, sizeof a),
                             wg_dtype_name(t->dtype), wg_shape_text(&t->shape, b, sizeof b));
    const void *data = wg_plan_data(p, v);
    for (int64_t k = 0; k < wg_value_count(v); k++) {
        double got = wgi_get_element(data, v->dtype, k),
               want = wgi_get_element(t->data, t->dtype, k);
        if (!is_close(got, want))
            return wgi_error_set(&c->error, WG_EDATA, "output %zu, element %lld: %g, not %g", i,
                                 (long long)k, got, want);
    }
    return WG_OK;
}

wg_status onnx_case_run(onnx_case *c, const wg_plan_options *options)
{
    wg_plan *p;
    wg_status status = wg_plan_create(&p, c->graph, options);
    if (status != WG_OK)
        return wgi_error_set(&c->error, status, "%s", wg_graph_message(c->graph));
    for (size_t i = 0; i < c->n_inputs; i++) {
        const wg_value *v = wg_graph_find(c->graph, c->input_name[i]);
        if (v)
            take_bits(&c->input[i], v->dtype);
        if (v && v->node->op->flags & WG_OP_INPUT && c->input[i].dtype == v->dtype &&
            wg_shape_equal(&v->shape, &c->input[i].shape))
            memcpy(wg_plan_data(p, v), c->input[i].data, wg_value_bytes(v));
        else if (v && v->node->op->flags & WG_OP_INPUT)
            status = wgi_error_set(&c->error, WG_EDATA, "input %zu does not fit the model", i);
    }
    if (status == WG_OK && (status = wg_plan_run(p, 0)) != WG_OK)
        wgi_error_set(&c->error, status, "%s", wg_plan_message(p));
    for (size_t i = 0; i < c->n_outputs && status == WG_OK; i++)
        status = compare(c, p, i);
    wg_plan_free(p);
    return status;
}
