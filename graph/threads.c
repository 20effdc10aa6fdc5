#include "graph/threads.h"
#include "graph/quota.h"
#include "wengert/graph/op.h"

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

bool wgi_threads_valid(int wanted)
{
    return wanted >= 0 && wanted <= WG_MAX_THREADS;
}

int wgi_threads_default(int openmp, int quota)
{
    int threads = quota > 0 && quota < openmp ? quota : openmp;
    return threads < WG_MAX_THREADS ? threads : WG_MAX_THREADS;
}

static int within_limit(int threads)
{
    int limit = omp_get_thread_limit();
    return threads < limit ? threads : limit;
}

/* A fork copies the thread that calls it, and none of its team, for which GNU's OpenMP would wait
 * in the child for ever.  So the team is dissolved before a fork; the next parallel region, there
 * or here, makes a new one. */
static void dissolve_team(void)
{
    omp_pause_resource_all(omp_pause_soft);
}

static void prepare_for_forks(void)
{
    pthread_atfork(dissolve_team, NULL, NULL);
}

int wgi_threads(int wanted)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare_for_forks);
    if (wanted > 0)
        return within_limit(wanted);
    if (omp_in_parallel())
        return 1;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment */
    int quota = getenv("OMP_NUM_THREADS") ? 0 : wgi_quota_processors();
    return within_limit(wgi_threads_default(omp_get_max_threads(), quota));
}

int wgi_threads_processors(void)
{
    return omp_get_num_procs();
}
