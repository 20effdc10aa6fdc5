/* What checksums cost when tensors are saved.
 *
 *     bench_save [FOLDER [MIB [ROUNDS]]]      the current folder, 214 MiB, 21 rounds
 *
 * Each round saves the same tensors twice, in an order that changes: as the library does, and the
 * same bytes by the same writer (files/replace.c) without a checksum being computed.  Beside that
 * stand hashing them and looking for numbers that are not finite, in memory and alone.
 *
 * CPU time is that of the thread that saves.  A second one hashes: where a core is free for it,
 * what the first one does is what a save takes. */
#include "files/checksum.h"
#include "files/replace.h"
#include "measure/timing.h"
#include "train/finite.h"
#include "wengert/files/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 214, ROUNDS = 21, MOST_MIB = 1 << 16, MOST_ROUNDS = 1000 };
enum { WIDTH = 1024, TILE = WIDTH * WIDTH, NAME = 16 };

typedef struct saving {
    wg_tensor *tensors; /* [1024, 1024] each, the last one shorter */
    char (*names)[NAME];
    float *data;
    size_t n, bytes;
    char *header; /* what the file has before the data */
    size_t header_size;
    char path[4096];
    volatile uint64_t hash;
    wg_error error;
} saving;

/* ---- the tensors ----------------------------------------------------------------------------- */

static bool make(saving *s, const char *folder, size_t mib)
{
    size_t count = mib * (TILE / sizeof *s->data);
    s->n = (count + TILE - 1) / TILE;
    s->bytes = count * sizeof *s->data;
    s->data = malloc(s->bytes);
    s->tensors = calloc(s->n, sizeof *s->tensors);
    s->names = calloc(s->n, sizeof *s->names);
    int length = snprintf(s->path, sizeof s->path, "%s/bench_save.safetensors", folder);
    if (!s->data || !s->tensors || !s->names || length < 0 || length >= (int)sizeof s->path)
        return false;
    for (size_t i = 0; i < count; i++)
        s->data[i] = (float)(i % 65537) / 65537 - 0.5F;
    for (size_t i = 0; i < s->n; i++) {
        size_t rows = i + 1 < s->n ? WIDTH : count / WIDTH - i * WIDTH;
        snprintf(s->names[i], NAME, "w%05d", (int)i);
        s->tensors[i] = (wg_tensor){.name = s->names[i],
                                    .dtype = WG_F32,
                                    .shape = WG_SHAPE((int64_t)rows, WIDTH),
                                    .data = s->data + i * TILE};
    }
    return true;
}

static void free_all(saving *s)
{
    unlink(s->path);
    free(s->header);
    free(s->names);
    free(s->tensors);
    free(s->data);
}

/* ---- what is timed --------------------------------------------------------------------------- */

static wg_status with_checksums(void *context)
{
    saving *s = context;
    return wg_safetensors_write(s->path, s->tensors, s->n, NULL, 0, &s->error);
}

static void put_bytes(wgi_file_writer *w, void *context)
{
    saving *s = context;
    wgi_file_put(w, s->header, s->header_size);
    for (size_t i = 0; i < s->n; i++)
        wgi_file_put(w, s->tensors[i].data,
                     (size_t)wg_shape_count(&s->tensors[i].shape) * sizeof *s->data);
}

static wg_status without(void *context)
{
    saving *s = context;
    return wgi_file_replace(s->path, put_bytes, s, &s->error);
}

static wg_status hash(void *context)
{
    saving *s = context;
    s->hash = wgi_xxh64(s->data, s->bytes, 0);
    return WG_OK;
}

static wg_status search(void *context)
{
    saving *s = context;
    return wgi_check_finite(s->tensors, s->n, WG_ENONFINITE, s->path, &s->error);
}

enum { WITH, WITHOUT, HASH, SEARCH, SUBJECTS };
static const struct {
    const char *name;
    wg_status (*run)(void *context);
} subjects[SUBJECTS] = {{"save, with checksums", with_checksums},
                        {"save, without", without},
                        {"hash alone", hash},
                        {"search alone", search}};

/* ---- measuring ------------------------------------------------------------------------------- */

/* A first save, of which the header is taken; the second kind must give the same file. */
static wg_status prepare(saving *s)
{
    wg_status status = with_checksums(s);
    FILE *f = status == WG_OK ? fopen(s->path, "rb") : NULL;
    uint64_t length = 0;
    bool ok = f && fread(&length, sizeof length, 1, f) == 1;
    s->header_size = sizeof length + (size_t)length;
    s->header = ok ? malloc(s->header_size) : NULL;
    ok = s->header && fseek(f, 0, SEEK_SET) == 0 &&
         fread(s->header, 1, s->header_size, f) == s->header_size;
    if (f)
        fclose(f);
    status = status == WG_OK && !ok ? WG_EIO : status;
    status = status == WG_OK ? without(s) : status;
    wg_safetensors *file = NULL;
    status = status == WG_OK ? wg_safetensors_open(&file, s->path, &s->error) : status;
    wg_safetensors_close(file);
    return status;
}

/* What was measured of one subject, by the clock and as CPU time. */
typedef struct samples {
    double seconds[MOST_ROUNDS], cpu[MOST_ROUNDS];
} samples;

static double thread_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static wg_status measure(saving *s, int rounds, samples *of)
{
    wg_status status = prepare(s);
    for (int i = 0; i < rounds; i++)
        for (int k = 0; k < SUBJECTS && status == WG_OK; k++) {
            int which = i % 2 ? SUBJECTS - 1 - k : k;
            double start = wgi_seconds(), cpu = thread_seconds();
            status = subjects[which].run(s);
            of[which].seconds[i] = wgi_seconds() - start;
            of[which].cpu[i] = thread_seconds() - cpu;
        }
    return status;
}

/* bench_summary, which leaves the samples in their order. */
static bench_times summary(const double *x, int n)
{
    double sorted[MOST_ROUNDS];
    memcpy(sorted, x, (size_t)n * sizeof *x);
    return bench_summary(sorted, n);
}

static void print_ratio(const char *what, const double *with, const double *without, int n)
{
    double ratio[MOST_ROUNDS];
    bench_times a = summary(with, n), b = summary(without, n);
    for (int i = 0; i < n; i++)
        ratio[i] = with[i] / without[i];
    bench_summary(ratio, n); /* sorts */
    printf("%-22s of the medians %.3f, of the minima %.3f; of one round %.3f, "
           "the middle half %.3f to %.3f\n",
           what, a.median / b.median, a.min / b.min, ratio[n / 2], ratio[n / 4],
           ratio[n - 1 - n / 4]);
}

static void print(const saving *s, int n, const samples *of)
{
    printf(
        "%zu MiB in %zu tensors, %d rounds; milliseconds\n%-22s %8s %8s %8s   CPU: median, min\n",
        s->bytes >> 20, s->n, n, "", "median", "min", "max");
    for (int k = 0; k < SUBJECTS; k++) {
        bench_times t = summary(of[k].seconds, n), c = summary(of[k].cpu, n);
        printf("%-22s %8.1f %8.1f %8.1f   %11.1f %4.1f\n", subjects[k].name, 1e3 * t.median,
               1e3 * t.min, 1e3 * t.max, 1e3 * c.median, 1e3 * c.min);
    }
    print_ratio("with / without", of[WITH].seconds, of[WITHOUT].seconds, n);
    print_ratio("CPU, with / without", of[WITH].cpu, of[WITHOUT].cpu, n);
}

static int number(int argc, char **argv, int at, int otherwise)
{
    return argc > at ? atoi(argv[at]) : otherwise;
}

int main(int argc, char **argv)
{
    static samples of[SUBJECTS];
    static saving s;
    int mib = number(argc, argv, 2, MIB), rounds = number(argc, argv, 3, ROUNDS);
    if (argc > 4 || mib < 1 || mib > MOST_MIB || rounds < 1 || rounds > MOST_ROUNDS)
        return fprintf(stderr, "Usage: bench_save [FOLDER [MIB [ROUNDS]]]\n"), 2;
    wg_status status =
        make(&s, argc > 1 ? argv[1] : ".", (size_t)mib) ? measure(&s, rounds, of) : WG_ENOMEM;
    if (status == WG_OK)
        print(&s, rounds, of);
    else
        fprintf(stderr, "bench_save: %s\n", *s.error.text ? s.error.text : wg_status_text(status));
    free_all(&s);
    return status != WG_OK;
}
