#include "measure/child.h"

#include <fcntl.h>
#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

static const char role[] = "--serve";
enum { ARGUMENTS = 8 }; /* of a child: program, role, configuration, B, S, T, V, threads */

double bench_case_flops(const bench_case *c)
{
    wg_transformer_config config = *wg_transformer_find(c->config);
    config.source_vocabulary = config.target_vocabulary = c->vocabulary;
    return bench_step_flops(&config, &c->batch);
}

/* ---- the parent ------------------------------------------------------------------------------ */

/* If the parent is killed, its children die too: they are stopped and would stay so forever. */
static void die_with(pid_t parent)
{
#ifdef __linux__
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(127);
#else
    (void)parent;
#endif
}

/* In the child: does not return. */
static void become(char *const *argv, const int in[2], const int out[2])
{
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execvp(argv[0], argv);
    _exit(127);
}

/* Stops a child with all its threads until its next turn; false if it has ended. */
static bool rest(bench_child *c)
{
    int state;
    if (kill(c->pid, SIGSTOP) != 0 || waitpid(c->pid, &state, WUNTRACED) != c->pid)
        return false;
    if (!WIFSTOPPED(state))
        c->pid = 0; /* already waited for: the pid may belong to another process */
    return c->pid != 0;
}

static bool fail(bench_child *c, const char *why)
{
    bench_child_end(c);
    snprintf(c->name, sizeof c->name, "%s", why);
    return false;
}

bool bench_child_spawn(bench_child *c, char *const *argv)
{
    int in[2], out[2];
    *c = (bench_child){.pid = 0};
    signal(SIGPIPE, SIG_IGN); /* a write to a child that has ended must not kill the parent */
    if (pipe(in) != 0)
        return fail(c, "no pipe");
    if (pipe(out) != 0) {
        close(in[0]);
        close(in[1]);
        return fail(c, "no pipe");
    }
    for (int i = 0; i < 2; i++) { /* a child must not inherit the pipes of another */
        fcntl(in[i], F_SETFD, FD_CLOEXEC);
        fcntl(out[i], F_SETFD, FD_CLOEXEC);
    }
    const pid_t parent = getpid();
    c->pid = fork();
    if (c->pid == 0) {
        die_with(parent);
        become(argv, in, out);
    }
    close(in[0]);
    close(out[1]);
    c->to = fdopen(in[1], "w");
    c->from = fdopen(out[0], "r");
    char line[200] = "";
    if (c->pid < 0 || !c->to || !c->from)
        return fail(c, "no process");
    if (!fgets(line, sizeof line, c->from))
        return fail(c, "it ended at once");
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "ready %lf %159[^\n]", &c->buffer, c->name) != 2)
        return fail(c, line);
    return rest(c) || fail(c, "it ended after it was ready");
}

bool bench_child_start(bench_child *c, const bench_case *what, const char *python,
                       const char *script)
{
    const bench_batch *b = &what->batch;
    const int64_t number[] = {b->rows, b->source_length, b->target_length, what->vocabulary,
                              what->threads};
    char text[5][24], config[32], self[] = "/proc/self/exe";
    char *argv[ARGUMENTS + 1] = {(char *)(script ? python : self), (char *)(script ? script : role),
                                 config};
    snprintf(config, sizeof config, "%s", what->config);
    for (int i = 0; i < 5; i++) {
        snprintf(text[i], sizeof text[i], "%lld", (long long)number[i]);
        argv[3 + i] = text[i];
    }
    return bench_child_spawn(c, argv);
}

static bool step(bench_child *c, double *seconds)
{
    char line[100];
    return fputs("\n", c->to) >= 0 && fflush(c->to) == 0 && fgets(line, sizeof line, c->from) &&
           sscanf(line, "%lf %lf", seconds, &c->peak) == 2;
}

bool bench_child_run(bench_child *c, bool counts)
{
    double first, seconds;
    omp_pause_resource_all(omp_pause_hard); /* threads of the parent must not spin meanwhile */
    if (!c->pid || kill(c->pid, SIGCONT) != 0 || !step(c, &first) || !step(c, &seconds) || !rest(c))
        return false;
    if (counts && c->runs < BENCH_MAX_RUNS)
        c->seconds[c->runs++] = seconds;
    return true;
}

bench_times bench_child_times(const bench_child *c)
{
    double copy[BENCH_MAX_RUNS];
    memcpy(copy, c->seconds, sizeof copy);
    return c->runs ? bench_summary(copy, c->runs) : (bench_times){0};
}

bench_times bench_child_ratio(const bench_child *slow, const bench_child *fast)
{
    double ratio[BENCH_MAX_RUNS];
    int runs = slow->runs < fast->runs ? slow->runs : fast->runs;
    for (int k = 0; k < runs; k++)
        ratio[k] = slow->seconds[k] / fast->seconds[k];
    return runs ? bench_summary(ratio, runs) : (bench_times){0};
}

void bench_child_end(bench_child *c)
{
    if (c->to)
        fclose(c->to);
    if (c->from)
        fclose(c->from);
    if (c->pid > 0) {
        kill(c->pid, SIGCONT); /* to find its input at the end */
        waitpid(c->pid, NULL, 0);
    }
    c->to = c->from = NULL;
    c->pid = 0;
}

/* ---- the child ------------------------------------------------------------------------------- */

wg_status bench_child_answer(size_t buffer_bytes, wg_status (*run)(void *), void *context)
{
    printf("ready %zu wengert\n", buffer_bytes);
    fflush(stdout);
    wg_status status = WG_OK;
    for (int c = getchar(); c != EOF && status == WG_OK; c = getchar()) {
        double start = wgi_seconds();
        status = run(context);
        printf("%.9g %.0f\n", wgi_seconds() - start, bench_resident_peak());
        fflush(stdout);
    }
    return status;
}

bool bench_child_serve(int argc, char **argv, int *code)
{
    if (argc != ARGUMENTS || strcmp(argv[1], role) != 0)
        return false;
    wg_settings settings = {0};
    bench_step s = {0};
    wg_error error;
    wg_status status =
        bench_step_settings(&settings, argv[2], atoll(argv[6]), atoi(argv[7]), &error);
    if (status != WG_OK) {
        printf("%s\n", error.text);
    } else {
        status = bench_step_make(
            &s, &(bench_step_options){.settings = &settings,
                                      .batch = {atoll(argv[3]), atoll(argv[4]), atoll(argv[5])}});
        if (status == WG_OK)
            status =
                bench_child_answer(wg_plan_statistics(s.plan).buffer_bytes, bench_step_run, &s);
        else
            printf("%s\n", s.graph ? wg_graph_message(s.graph) : wg_status_text(status));
    }
    bench_step_free(&s);
    wg_settings_free(&settings);
    *code = status != WG_OK;
    return true;
}
