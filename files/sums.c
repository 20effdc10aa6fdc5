/* Checksums in safetensors files: one of each tensor, so that a message can name what is
 * damaged. */
#define _DEFAULT_SOURCE /* madvise */
#include "backends/store.h"
#include "files/checksum.h"
#include "files/internal.h"
#include "graph/error.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DIGITS = WGI_CHECKSUM_DIGITS };

/* Of name, dtype, shape and data. */
static uint64_t sum_of_tensor(const char *name, const char *dtype, const wg_shape *shape,
                              const void *data, size_t size)
{
    uint64_t h = wgi_xxh64(name, strlen(name), 0);
    h = wgi_xxh64(dtype, strlen(dtype), h);
    h = wgi_xxh64(shape->dim, (size_t)shape->rank * sizeof shape->dim[0], h);
    return wgi_xxh64(data, size, h);
}

/* The same in whatever order the notes are. */
static uint64_t sum_of_notes(const wg_file_note *notes, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        if (strcmp(notes[i].key, WGI_SUMS_KEY) != 0)
            sum += wgi_xxh64(notes[i].text, strlen(notes[i].text),
                             wgi_xxh64(notes[i].key, strlen(notes[i].key), 0));
    return sum;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const wg_tensor *const *)a)->name, (*(const wg_tensor *const *)b)->name);
}

bool wgi_sums_make(wgi_sums *out, const wg_tensor *tensors, size_t n_tensors,
                   const wg_file_note *notes, size_t n_notes)
{
    size_t digits = DIGITS * (n_tensors + 1);
    *out = (wgi_sums){.n_tensors = n_tensors};
    out->order = malloc((n_tensors + 1) * sizeof *out->order);
    out->text = malloc(digits + 1);
    if (!out->order || !out->text) {
        wgi_sums_free(out);
        return false;
    }
    for (size_t i = 0; i < n_tensors; i++)
        out->order[i] = &tensors[i];
    qsort(out->order, n_tensors, sizeof *out->order, by_name);
    memset(out->text, '0', digits);
    wgi_checksum_digits(out->text, sum_of_notes(notes, n_notes));
    out->text[digits] = '\0';
    return true;
}

void wgi_sums_free(wgi_sums *s)
{
    free(s->order);
    free(s->text);
}

/* Computes those that nobody has begun: the helper and the thread that has written share them. */
static void *compute(void *sums)
{
    wgi_sums *s = sums;
    size_t i;
    while ((i = atomic_fetch_add(&s->next, 1)) < s->n_tensors) {
        const wg_tensor *t = s->order[i];
        wgi_checksum_digits(s->text + DIGITS * (i + 1),
                            sum_of_tensor(t->name, wgi_file_dtype_of(t->dtype)->name, &t->shape,
                                          t->data, wgi_tensor_bytes(t)));
    }
    return NULL;
}

/* Hashing so many bytes takes as long as a thread does to start and end. */
enum { WORTH_A_THREAD = 1 << 18 };

void wgi_sums_begin(wgi_sums *s)
{
    size_t bytes = 0;
    sigset_t all, before;
    for (size_t i = 0; i < s->n_tensors; i++)
        bytes += wgi_tensor_bytes(s->order[i]);
    if (bytes < WORTH_A_THREAD)
        return;
    sigfillset(&all); /* signals are for the threads of the program */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    s->has_helper = pthread_create(&s->helper, NULL, compute, s) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void wgi_sums_end(wgi_sums *s)
{
    compute(s);
    if (s->has_helper)
        pthread_join(s->helper, NULL);
    s->has_helper = false;
}

uint64_t wgi_sums_digest(const char *text)
{
    uint64_t digest = wgi_xxh64(text, strlen(text), 0);
    return digest + !digest;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A line for the error if the digits at `expected` are of another checksum. */
static wg_status compare(uint64_t sum, const char *expected, const char *path, const char *what,
                         const char *name, wg_error *error)
{
    char digits[DIGITS];
    wgi_checksum_digits(digits, sum);
    if (memcmp(digits, expected, DIGITS) == 0)
        return WG_OK;
    return wgi_error_line(error, WG_EDATA,
                          "%s: %s%s is damaged: expected the checksum %.*s, got %.*s", path, what,
                          name, DIGITS, expected, DIGITS, digits);
}

/* Maps the pages of a mapped file at once that will be read: a fault for each few of them takes
 * longer than their checksum.  Where the system cannot, they are mapped as they are read. */
static void map_pages(const void *data, size_t size)
{
#ifdef MADV_POPULATE_READ
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)data / page * page;
    (void)madvise((void *)from, (uintptr_t)data + size - from, MADV_POPULATE_READ);
#else
    (void)data;
    (void)size;
#endif
}

static wg_status compare_all(const wgi_header *h, const char *text, const char *path,
                             wg_error *error)
{
    if (strlen(text) != DIGITS * (h->n_entries + 1))
        return wgi_error_file(error, WG_EDATA, path,
                              "expected the checksums of %zu tensors in " WGI_SUMS_KEY
                              ", got %zu bytes",
                              h->n_entries, strlen(text));
    wg_status status =
        compare(sum_of_notes(h->notes, h->n_notes), text, path, "its metadata", "", error);
    for (size_t i = 0; i < h->n_entries; i++) {
        const wg_file_tensor *t = &h->entries[i].tensor;
        map_pages(t->data, t->size);
        uint64_t sum = sum_of_tensor(t->name, t->dtype_name, &t->shape, t->data, t->size);
        if (compare(sum, text + DIGITS * (i + 1), path, "tensor ", t->name, error) != WG_OK)
            status = WG_EDATA;
    }
    return status;
}

wg_status wgi_sums_check(wgi_header *h, const char *path, uint64_t *digest, wg_error *error)
{
    size_t i = 0;
    *digest = 0;
    while (i < h->n_notes && strcmp(h->notes[i].key, WGI_SUMS_KEY) != 0)
        i++;
    if (i == h->n_notes)
        return WG_OK;
    const char *text = h->notes[i].text;
    wg_status status = compare_all(h, text, path, error);
    *digest = wgi_sums_digest(text);
    memmove(&h->notes[i], &h->notes[i + 1], (h->n_notes - i - 1) * sizeof *h->notes);
    h->n_notes--;
    return status;
}
