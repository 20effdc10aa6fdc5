/* Plans with a budget of memory, as the system sees them: the resident peak of a process of their
 * own stays below it. */
#include "tests/plans.h"
#include "wengert/autograd/grad.h"
#include "wengert/models/layers.h"

#include <sys/wait.h>
#include <unistd.h>

/* Maximum of the bytes of this process that were in memory at one time. */
static size_t resident_peak(void)
{
    char line[200];
    unsigned long long kilobytes = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "VmHWM: %llu kB", &kilobytes);
    if (f)
        fclose(f);
    return (size_t)kilobytes * 1024;
}

static wg_graph *descend(wg_value *loss)
{
    wg_gradients d = wg_grad_all(wg_output(loss, "loss"));
    for (size_t i = 0; i < d.n; i++)
        wg_assign(d.params[i], wg_sub(d.params[i], d.grads[i]));
    return loss->node->graph;
}

/* 24 values of 4 MiB if size is 2^20, each of which the gradient reads. */
static wg_graph *wide(int64_t size)
{
    wg_value *x = wg_input(wg_graph_new(), "x", WG_F32, WG_SHAPE(size));
    for (int i = 0; i < 24; i++) {
        char name[8];
        snprintf(name, sizeof name, "w%d", i);
        wg_graph *g = x->node->graph;
        x = wg_tanh(wg_mul(x, wg_parameter(g, name, WG_F32, WG_SCALAR, wg_ones())));
    }
    return descend(wg_mean(x, WG_ALL_AXES, WG_DROP));
}

/* 24 products of 8 MiB if size is 2^20, each of which the gradient reads. */
static wg_graph *deep(int64_t size)
{
    wg_value *x = wg_input(wg_graph_new(), "x", WG_F32, WG_SHAPE(size / 128, 128));
    for (int i = 0; i < 12; i++) {
        char name[2][16];
        snprintf(name[0], sizeof name[0], "wide%d", i);
        snprintf(name[1], sizeof name[1], "narrow%d", i);
        x = wg_dense(name[0], x, 256, WG_ACTIVATION_TANH);
        x = wg_dense(name[1], x, 128, WG_ACTIVATION_TANH);
    }
    return descend(wg_mean(x, WG_ALL_AXES, WG_DROP));
}

/* Bytes that planning and running take at most, in a process of their own. */
static size_t measured(wg_graph *make(int64_t), int64_t size, wg_plan_options o)
{
    int ends[2];
    size_t grown = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        wg_graph *g = make(512), *h = make(size);
        wg_plan *first, *p = NULL;
        const wg_plan_options free_of_limits = {.reference = o.reference, .threads = o.threads};
        bool ok = wg_plan_create(&first, g, &free_of_limits) == WG_OK;
        ok = ok && wg_plan_run(first, 0) == WG_OK;
        size_t before = resident_peak();
        ok = ok && wg_plan_create(&p, h, &o) == WG_OK;
        for (uint64_t step = 0; ok && step < 2; step++)
            ok = wg_plan_run(p, step) == WG_OK;
        grown = resident_peak() - before;
        if (!ok)
            fprintf(stderr, "%s\n", wg_graph_message(h));
        wg_plan_free(first);
        wg_plan_free(p);
        wg_graph_free(g);
        wg_graph_free(h);
        ok = ok && write(ends[1], &grown, sizeof grown) == sizeof grown;
        _exit(ok ? 0 : 1);
    }
    int status;
    close(ends[1]);
    ssize_t got = read(ends[0], &grown, sizeof grown);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(got == sizeof grown && status == 0);
    return grown;
}

enum { SIZE = 1 << 20, MIB = 1 << 20 };

/* `more`: of graph, plan and code, which are not counted */
static void expect_within(wg_graph *make(int64_t), wg_plan_options o, size_t mib, size_t more)
{
    o.memory = mib * MIB;
    size_t grown = measured(make, SIZE, o);
    printf("budget %zu MiB: %.1f MiB\n", mib, (double)grown / MIB);
    check_that(grown <= mib * MIB + more, "%zu bytes of %zu MiB", grown, mib);
}

static void the_process_stays_within_the_budget(void **state)
{
    (void)state;
#if SANITIZED
    skip(); /* their allocators keep what is freed, and shadow all of it */
#endif
    const wg_plan_options o = {.reference = true, .threads = 1};
    size_t plain = measured(wide, SIZE, o);
    printf("without a budget: %.1f MiB\n", (double)plain / MIB);
    assert_true(plain > (size_t)90 * MIB);
    for (size_t mib = 72; mib >= 36; mib -= 12)
        expect_within(wide, o, mib, MIB / 2);
}

/* Libraries of backends have code and buffers of their own. */
static void so_it_does_on_all_backends(void **state)
{
    (void)state;
#if SANITIZED
    skip();
#endif
    const wg_plan_options o = {.threads = 2};
    size_t plain = measured(deep, SIZE, o);
    printf("without a budget: %.1f MiB\n", (double)plain / MIB);
    assert_true(plain > (size_t)150 * MIB);
    for (size_t mib = 140; mib >= 100; mib -= 20)
        expect_within(deep, o, mib, 2 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_process_stays_within_the_budget),
        cmocka_unit_test(so_it_does_on_all_backends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
