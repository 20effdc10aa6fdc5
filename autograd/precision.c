/* Kernels that do not compute in f64.
 *
 * The check needs double precision.  A kernel of a user's op may have been written for f32 alone:
 * it then takes doubles for floats, or has floats in between.  Both would look like a wrong rule,
 * so an op that brings its own kernel is computed alone, and its results are examined: whether all
 * their bytes were written, and whether they have more digits than floats have.  (It is not run in
 * f32 for comparison: a kernel for f64 alone would then read beyond its operands.) */
#include "autograd/check.h"
#include "autograd/internal.h"
#include "wengert/ops/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xa5 };

/* A node in a graph of its own, with inputs for operands. */
typedef struct alone {
    wg_graph *g;
    wg_node *node;
    void *run;
} alone;

/* Doubles are moved a little, so that they are not floats by chance. */
static wg_status fill_operand(const wgi_evaluation *e, const alone *a, const wg_value *from,
                              const wg_value *in)
{
    const void *data = wgi_evaluation_data(e, from);
    void *to = e->t->options->evaluator->data(a->run, in);
    int64_t count = wg_value_count(in);
    if (count && (!to || !data))
        return WG_ENOMEM;
    if (count)
        memcpy(to, data, wg_value_bytes(in));
    for (int64_t i = 0; in->dtype == WG_F64 && i < count; i++)
        ((double *)to)[i] *= 1 + 0x1p-30;
    return WG_OK;
}

/* Computes n at the operands of e, over results filled with POISON. */
static wg_status compute_alone(alone *a, const wgi_evaluation *e, const wg_node *n)
{
    const wg_evaluator *evaluator = e->t->options->evaluator;
    wg_value **in = calloc((size_t)n->n_in + 1, sizeof *in);
    if (!(a->g = wg_graph_new()) || !in) {
        free(in);
        return WG_ENOMEM;
    }
    for (int i = 0; i < n->n_in; i++) {
        char name[32];
        snprintf(name, sizeof name, "operand %d", i);
        in[i] = wg_input(a->g, name, n->in[i]->dtype, n->in[i]->shape);
    }
    a->node = wg_node_copy(a->g, n, in, WG_DTYPE_DEFAULT);
    wg_status status = wg_graph_status(a->g);
    if (status == WG_OK)
        status = evaluator->create(&a->run, a->g, a->node->out, (size_t)a->node->n_out);
    for (int i = 0; i < n->n_in && status == WG_OK; i++)
        status = fill_operand(e, a, n->in[i], in[i]);
    for (int i = 0; i < n->n_out && status == WG_OK; i++)
        if (wg_value_bytes(n->out[i]))
            memset(evaluator->data(a->run, a->node->out[i]), POISON, wg_value_bytes(n->out[i]));
    free(in);
    return status == WG_OK ? evaluator->run(a->run, e->t->options->step) : status;
}

/* The second half of the memory is as it was: floats were written. */
static bool is_half_written(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    size_t i = bytes / 2;
    while (i < bytes && at[i] == POISON)
        i++;
    return bytes && i == bytes;
}

/* All are floats, and some have more than a few digits. */
static bool has_digits_of_floats(const double *y, int64_t count)
{
    int64_t floats = 0, digits = 0;
    for (int64_t i = 0; i < count; i++) {
        floats += y[i] == (double)(float)y[i];
        digits += isfinite(y[i]) && y[i] * 0x1p10 != floor(y[i] * 0x1p10);
    }
    return digits && floats == count;
}

static wg_status inspect(wgi_trial *t, const wgi_evaluation *e, const wg_node *n)
{
    const wg_evaluator *evaluator = t->options->evaluator;
    alone a = {.g = NULL};
    const char *fault = NULL;
    char place[200];
    wg_status status = compute_alone(&a, e, n);
    for (int i = 0; i < n->n_out && status == WG_OK && !fault; i++) {
        const wg_value *y = a.node->out[i];
        const void *data = evaluator->data(a.run, y);
        if (y->dtype == WG_F64 && is_half_written(data, wg_value_bytes(y)))
            fault = "writes floats where its result is f64";
        else if (y->dtype == WG_F64 && has_digits_of_floats(data, wg_value_count(y)))
            fault = "gives its f64 result with the digits of f32 only";
    }
    if (fault)
        snprintf(t->report->kernel, sizeof t->report->kernel, "%s %s",
                 wgi_place_text(n, place, sizeof place), fault);
    evaluator->destroy(a.run);
    wg_graph_free(a.g);
    return status == WG_ENOMEM ? status : WG_OK; /* another failure has its own message */
}

static wg_status inspect_at(wgi_trial *t, const wg_node *n)
{
    wgi_evaluation e;
    wg_status status = wgi_evaluation_open(&e, t, n->in, (size_t)n->n_in, true);
    if (status == WG_OK)
        status = wgi_evaluation_run(&e);
    if (status == WG_OK)
        status = inspect(t, &e, n);
    wgi_evaluation_close(&e);
    return status == WG_ENOMEM ? status : WG_OK;
}

wg_status wgi_find_f32_kernel(wgi_trial *t)
{
    wgi_path path = {0};
    wg_status status = WG_OK;
    if (!wgi_path_find(&path, t->g, 0, t->y, t->n_y, t->wrt, t->n_wrt))
        status = WG_ENOMEM;
    for (uint32_t id = 0; status == WG_OK && id < path.end && !*t->report->kernel; id++) {
        const wg_node *n = wg_graph_node(t->g, id);
        if (path.matters[id] && n->op->reference)
            status = inspect_at(t, n);
    }
    wgi_path_free(&path);
    return status;
}
