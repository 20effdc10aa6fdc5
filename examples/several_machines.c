/* A training loop of one's own on several machines: a curve fitted by gradient descent, where each
 * process has a part of the points.
 *
 *     several_machines                                     alone
 *     mpirun -n 4 --bind-to none several_machines mpi      on four processes
 *
 * Three calls make the difference: wg_ranks_open, wg_all_reduce_gradients, wg_ranks_backends. */
#include "wengert.h"

#include <math.h>
#include <stdio.h>

enum { POINTS = 240, HIDDEN = 16, STEPS = 1500 };

static int fail(const char *text)
{
    fprintf(stderr, "%s\n", text);
    return 1;
}

/* sum over the points of this process of (f(x) - y)^2 / POINTS, so that the losses of all processes
 * add up to the mean over all points */
static wg_value *build_loss(wg_graph *g, int points, wg_value **x, wg_value **y)
{
    *x = wg_input(g, "x", WG_F32, WG_SHAPE(points, 1));
    *y = wg_input(g, "y", WG_F32, WG_SHAPE(points, 1));
    wg_value *h = wg_dense("hidden", *x, HIDDEN, WG_ACTIVATION_TANH);
    wg_value *error = wg_sub(wg_dense("out", h, 1, WG_ACTIVATION_NONE), *y);
    return wg_scale(wg_sum(wg_square(error), WG_ALL_AXES, WG_DROP), 1.0 / POINTS);
}

/* Point i of all: y = sin(3 x) for x in [-1, 1]. */
static void put_points(float *x, float *y, int first, int points)
{
    for (int i = 0; i < points; i++) {
        x[i] = 2 * (float)(first + i) / (POINTS - 1) - 1;
        y[i] = sinf(3 * x[i]);
    }
}

static int train(wg_ranks *ranks)
{
    int rank = ranks ? wg_ranks_rank(ranks) : 0, count = ranks ? wg_ranks_count(ranks) : 1;
    int points = POINTS / count;
    wg_value *x, *y;
    wg_graph *g = wg_graph_new();
    wg_value *loss = build_loss(g, points, &x, &y), *whole = loss;

    wg_gradients d = wg_grad_all(loss);
    wg_all_reduce_gradients(d.grads, d.n, NULL);
    wg_all_reduce(&loss, 1, 0, &whole); /* the mean over all points, to be printed */
    wg_output(whole, "loss");
    for (size_t i = 0; i < d.n; i++)
        wg_assign(d.params[i], wg_sub(d.params[i], wg_scale(d.grads[i], 0.1)));

    wg_plan *plan;
    wg_backend_list list = ranks ? wg_ranks_backends(ranks) : wg_backend_list_built_in();
    if (wg_plan_create(&plan, g,
                       &(wg_plan_options){.backends = list.backend, .n_backends = list.count}) !=
        WG_OK)
        return fail(wg_graph_message(g));
    put_points(wg_plan_f32(plan, x), wg_plan_f32(plan, y), rank * points, points);
    for (unsigned step = 0; step < STEPS; step++)
        if (wg_plan_run(plan, step) != WG_OK)
            return fail(wg_plan_message(plan));
    double last = wg_plan_scalar(plan, whole);
    if (rank == 0)
        printf("%d processes of %d points: mean square error %.5f\n", count, points, last);
    wg_plan_free(plan);
    wg_graph_free(g);
    return !(last < 0.01);
}

int main(int argc, char **argv)
{
    wg_ranks *ranks = NULL;
    wg_error error;
    if (argc > 1 && wg_ranks_open(&ranks, argv[1], &error) != WG_OK)
        return fail(error.text);
    if (ranks && POINTS % wg_ranks_count(ranks))
        return fail("the points cannot be divided among so many processes");
    int code = train(ranks);
    wg_ranks_close(ranks);
    return code;
}
