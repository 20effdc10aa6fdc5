#include "wengert/backends/evaluate.h"
#include "wengert/backends/plan.h"

static wg_status create(void **run, wg_graph *g, wg_value *const *outputs, size_t n_outputs)
{
    static wg_value *const none[1];
    wg_plan *p = NULL;
    /* One thread: these graphs are small and run by the ten thousand, and a team that meets at
     * every kernel costs more than it computes. */
    wg_plan_options options = {.outputs = outputs ? outputs : none,
                               .n_outputs = n_outputs,
                               .reference = true,
                               .threads = 1};
    wg_status status = wg_plan_create(&p, g, &options);
    *run = p;
    return status;
}

static void *data(void *run, const wg_value *v)
{
    return wg_plan_data(run, v);
}

static wg_status run_step(void *run, uint64_t step)
{
    return wg_plan_run(run, step);
}

static const char *message(void *run)
{
    return wg_plan_message(run);
}

static void destroy(void *run)
{
    wg_plan_free(run);
}

const wg_evaluator *wg_plan_evaluator(void)
{
    static const wg_evaluator evaluator = {create, data, run_step, message, destroy};
    return &evaluator;
}
