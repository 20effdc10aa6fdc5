#include "bench/subjects.h"
#include "graph/threads.h"
#include "wengert/backends/load.h"
#include "wengert/ops/ops.h"

#include <stdio.h>

void bench_output_gradients(wg_value *const *dx, int n)
{
    char name[16];
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "d%d", i);
        wg_output(dx[i], name);
    }
}

wg_status bench_run_plan(void *plan)
{
    return wg_plan_run(plan, 1);
}

wg_plan *bench_plan_on(wg_graph *g, const wg_backend *const *backends, size_t n, bool fuse)
{
    wg_plan *p;
    if (wg_plan_create(
            &p, g, &(wg_plan_options){.backends = backends, .n_backends = n, .no_fuse = !fuse}) !=
        WG_OK) {
        fprintf(stderr, "%s\n", wg_graph_message(g));
        return NULL;
    }
    for (size_t i = 0; i < wg_graph_value_count(g); i++) {
        wg_value *v = wg_graph_value(g, i);
        if (!(v->node->op->flags & WG_OP_LEAF) || v->dtype != WG_F32)
            continue;
        float *x = wg_plan_data(p, v);
        for (int64_t k = 0; x && k < wg_value_count(v); k++)
            x[k] = (float)(k % 17) / 17 - 0.4f;
    }
    return p;
}

wg_plan *bench_plan_of(wg_graph *g, bool fuse)
{
    const wg_backend_list built = wg_backend_list_built_in();
    return bench_plan_on(g, built.backend, built.count, fuse);
}

const bench_schedule bench_plan_schedule = {.runs = 9, .seconds = 20};

bool bench_time_plans(wg_plan **plan, int n, bench_times *times)
{
    bench_subject subject[4];
    for (int i = 0; i < n; i++)
        subject[i] = (bench_subject){bench_run_plan, plan[i]};
    bench_schedule o = bench_plan_schedule;
    o.cpu_time = wgi_threads(0) == 1;
    wg_status status = bench_interleaved(subject, n, &o, times);
    if (status != WG_OK)
        fprintf(stderr, "%s\n", wg_status_text(status));
    return status == WG_OK;
}

wg_value *bench_input(wg_graph *g, const char *name, wg_shape shape)
{
    return wg_input(g, name, WG_F32, shape);
}
