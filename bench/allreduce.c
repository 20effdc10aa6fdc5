/* The peer of bench_ranks: MPI's own sum after a step, of which nothing is hidden, and begun before
 * a computation as long as given, which MPI hides if it makes progress by itself:
 *
 *     mpirun -n 2 --bind-to none bench_allreduce_openmpi [MIB [SECONDS]]
 *
 * The computation is a sleep, so that it takes no processor from the messages.  Printed are medians
 * of seconds of the slowest rank. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 5 };

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void compute(double seconds)
{
    const time_t whole = (time_t)seconds;
    nanosleep(&(struct timespec){whole, (long)((seconds - (double)whole) * 1e9)}, NULL);
}

/* Seconds of the slowest rank until the sum of x is there and the computation is done. */
static double run(float *x, int n, double seconds, int beside)
{
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), own, most;
    if (beside)
        MPI_Iallreduce(MPI_IN_PLACE, x, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
    compute(seconds);
    if (beside)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    else
        MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    own = MPI_Wtime() - begin;
    MPI_Allreduce(&own, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double mib = argc > 1 ? atof(argv[1]) : 16, seconds = argc > 2 ? atof(argv[2]) : 0;
    int n = (int)(mib * (1 << 20) / sizeof(float));
    float *x = n > 0 ? calloc((size_t)n, sizeof *x) : NULL;
    if (!x || !(seconds >= 0)) {
        fprintf(stderr, "usage: bench_allreduce_openmpi [MIB [SECONDS]]\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int beside = 0; beside < 2; beside++) {
        double of[RUNS];
        for (int i = -1; i < RUNS; i++) { /* the first one is not timed */
            double one = run(x, n, seconds, beside);
            of[i < 0 ? 0 : i] = one;
        }
        qsort(of, RUNS, sizeof *of, ascending);
        if (rank == 0)
            printf("%-28s %8.3f s, %.3f s of them exposed\n",
                   beside ? "MPI_Iallreduce, computation" : "computation, MPI_Allreduce",
                   of[RUNS / 2], of[RUNS / 2] - seconds);
    }
    free(x);
    MPI_Finalize();
    return 0;
}
