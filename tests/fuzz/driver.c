/* A fuzzer without libFuzzer, for the ordinary tests:
 *
 *     test_fuzz_NAME MUTATIONS SEEDS [WORDS]
 *
 * runs each file of the folder SEEDS, then that many mutations of them, the same ones at each call.
 * WORDS is a dictionary in libFuzzer's format.  Fails if there are no seeds, or if none of the
 * seeds or none of the mutations is accepted.  An input that ends the program is left in the file
 * crash-test_fuzz_NAME. */
#include "graph/mix.h"
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FILES = 256, MAX_WORDS = 256, MAX_WORD = 64, MAX_INPUT = 1 << 16, MAX_CHANGES = 6 };

typedef struct bytes {
    uint8_t *data;
    size_t size;
} bytes;

typedef struct seeds {
    bytes file[MAX_FILES], word[MAX_WORDS];
    size_t n_files, n_words;
    uint64_t bits;
} seeds;

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "%s: %s\n", which, what);
    exit(1);
}

/* ---- the input that is running --------------------------------------------------------------- */

static bytes running;
static const char *crash_file = "crash-driver";

static void keep_input(void)
{
    static const char text[] = "the input is in the file ";
    int f = open(crash_file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (f < 0 || write(f, running.data, running.size) != (ssize_t)running.size ||
        write(STDERR_FILENO, text, sizeof text - 1) < 0 ||
        write(STDERR_FILENO, crash_file, strlen(crash_file)) < 0 ||
        write(STDERR_FILENO, "\n", 1) < 0)
        _exit(1);
    close(f);
}

static void keep_and_end(int signal_number)
{
    keep_input();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Of a sanitizer, which ends the program in its own way. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void run(const uint8_t *data, size_t size)
{
    /* a copy of just that size, so that a sanitizer sees what reads beyond it */
    running = (bytes){malloc(size ? size : 1), size};
    if (!running.data)
        fail("out of memory", "driver");
    if (size)
        memcpy(running.data, data, size);
    if (LLVMFuzzerTestOneInput(running.data, size) != 0)
        fail("expected 0 of LLVMFuzzerTestOneInput", "driver");
    free(running.data);
}

/* ---- seeds and words ------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In the order of their names, so that mutations are the same on every machine. */
static void read_seeds(seeds *s, const char *folder)
{
    char *names[MAX_FILES], path[1200];
    DIR *d = opendir(folder);
    if (!d)
        fail("cannot be opened", folder);
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        if (s->n_files == MAX_FILES)
            fail("more seeds than this driver has room for", folder);
        names[s->n_files++] = strdup(e->d_name);
    }
    closedir(d);
    qsort(names, s->n_files, sizeof *names, by_name);
    for (size_t i = 0; i < s->n_files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        s->file[i].data = (uint8_t *)fuzz_contents(path, &s->file[i].size);
        free(names[i]);
    }
    if (!s->n_files)
        fail("no seeds", folder);
}

/* Lines "word", with \", \\ and \xHH; others are comments. */
static void read_words(seeds *s, const char *path)
{
    char line[400];
    FILE *f = fopen(path, "r");
    if (!f)
        fail("cannot be opened", path);
    while (fgets(line, sizeof line, f) && s->n_words < MAX_WORDS) {
        uint8_t word[MAX_WORD];
        size_t n = 0;
        char *at = line[0] == '"' ? line + 1 : "\"", byte[3] = {0};
        for (; *at && *at != '"' && n < MAX_WORD; at++) {
            if (*at == '\\' && at[1] == 'x' && at[2] && at[3]) {
                memcpy(byte, at + 2, 2);
                word[n++] = (uint8_t)strtoul(byte, NULL, 16);
                at += 3;
            } else {
                at += *at == '\\';
                word[n++] = (uint8_t)*at;
            }
        }
        if (n && (s->word[s->n_words].data = malloc(n))) {
            memcpy(s->word[s->n_words].data, word, n);
            s->word[s->n_words++].size = n;
        }
    }
    fclose(f);
}

static void free_seeds(seeds *s)
{
    for (size_t i = 0; i < s->n_files; i++)
        free(s->file[i].data);
    for (size_t i = 0; i < s->n_words; i++)
        free(s->word[i].data);
}

/* ---- mutations ------------------------------------------------------------------------------- */

static size_t draw(seeds *s, size_t n)
{
    return n ? (size_t)(wgi_splitmix64(&s->bits) % n) : 0;
}

/* The bytes at..end become those of `by`, if there is room. */
static void put(bytes *b, size_t at, size_t end, bytes by)
{
    if (b->size - (end - at) + by.size > MAX_INPUT)
        return;
    memmove(b->data + at + by.size, b->data + end, b->size - end);
    if (by.size)
        memcpy(b->data + at, by.data, by.size);
    b->size += by.size - (end - at);
}

/* Part of a seed, up to 64 bytes. */
static bytes piece_of(seeds *s, bytes seed)
{
    size_t at = draw(s, seed.size), n = 1 + draw(s, 64);
    return (bytes){seed.data + at, n < seed.size - at ? n : seed.size - at};
}

static void change(seeds *s, bytes *b)
{
    static const uint8_t odd[] = {0, 1, 0x20, 0x7f, 0x80, 0xfe, 0xff, '\n', '"', '9', '-', '{'};
    uint8_t byte = draw(s, 2) ? odd[draw(s, sizeof odd)] : (uint8_t)draw(s, 256);
    const size_t at = draw(s, b->size + 1), next = at < b->size ? at + 1 : at;
    const size_t length = draw(s, 24), end = at + length < b->size ? at + length : b->size;
    switch (draw(s, 8)) {
    case 0: put(b, at, at, (bytes){&byte, 1}); break;   /* put in */
    case 1: put(b, at, next, (bytes){&byte, 1}); break; /* changed */
    case 2:
        if (at < b->size)
            b->data[at] ^= (uint8_t)(1u << draw(s, 8)); /* a bit flipped */
        break;
    case 3: put(b, at, end, (bytes){NULL, 0}); break; /* lost */
    case 4:
    case 5:
        if (s->n_words)
            put(b, at, draw(s, 2) ? at : end, s->word[draw(s, s->n_words)]);
        break;
    case 6: put(b, at, draw(s, 2) ? at : end, piece_of(s, s->file[draw(s, s->n_files)])); break;
    default: b->size = draw(s, 8) ? b->size : at; break; /* cut off, seldom */
    }
}

static void run_mutation(seeds *s)
{
    static uint8_t room[MAX_INPUT];
    const bytes *seed = &s->file[draw(s, s->n_files)];
    bytes b = {room, seed->size < MAX_INPUT ? seed->size : MAX_INPUT};
    memcpy(room, seed->data, b.size);
    for (size_t changes = 1 + draw(s, MAX_CHANGES); changes > 0; changes--)
        change(s, &b);
    run(b.data, b.size);
}

int main(int argc, char **argv)
{
    static seeds s = {.bits = 1};
    static char crash[200];
    if (argc < 3)
        fail("expected the arguments MUTATIONS SEEDS [WORDS]", argv[0]);
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    const int64_t mutations = strtoll(argv[1], NULL, 10);
    const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    snprintf(crash, sizeof crash, "crash-%s", name);
    crash_file = crash;
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], keep_and_end);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(keep_input);
    read_seeds(&s, argv[2]);
    if (argc > 3)
        read_words(&s, argv[3]);
    for (size_t i = 0; i < s.n_files; i++)
        run(s.file[i].data, s.file[i].size);
    const size_t of_seeds = fuzz_accepted_count();
    for (int64_t i = 0; i < mutations; i++)
        run_mutation(&s);
    const size_t of_mutations = fuzz_accepted_count() - of_seeds;
    printf("%s: %zu seeds, %zu accepted; %zu words; %" PRId64 " mutations, %zu accepted\n", name,
           s.n_files, of_seeds, s.n_words, mutations, of_mutations);
    free_seeds(&s);
    if (mutations < 1 || !of_seeds || !of_mutations)
        fail("expected some of the seeds and of the mutations to be accepted", name);
    return 0;
}
