#include "graph/threads.h"
#include "graph/quota.h"
#include "wengert/graph/op.h"

#include <omp.h>
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

int wgi_threads(int wanted)
{
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
