/* malloc and its relatives, which can be made to fail: memory.h.
 *
 * Preloaded into a program, they are told by the environment:
 *
 *     WENGERT_FAIL=N     allocation N after the start of main fails, with N+ also all after it
 *     WENGERT_FAIL_LOG=FILE   gets a line at the end: the number of allocations, or the object that
 *                        crashed, in which case the exit code is 86 */
#define _GNU_SOURCE /* dladdr, RTLD_NEXT */
#include "tests/failing/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* glibc's own, under the names that it exports for this. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *p);

/* ---- which fail ------------------------------------------------------------------------------ */

static atomic_bool counting;
static atomic_size_t live, *calls; /* calls are those of child processes too */
static size_t fail_at;
static bool fails_for_good;

/* Where libgomp is: it ends the process when it has no memory for a team of threads, which every
 * parallel region of one thread asks for anew.  So its allocations do not count. */
static struct {
    uintptr_t begin, end;
} openmp;

static int find_openmp(struct dl_phdr_info *object, size_t size, void *context)
{
    (void)size, (void)context;
    if (!strstr(object->dlpi_name, "/libgomp.so"))
        return 0;
    openmp.begin = object->dlpi_addr;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_LOAD)
            openmp.end =
                object->dlpi_addr + object->dlpi_phdr[i].p_vaddr + object->dlpi_phdr[i].p_memsz;
    return 1;
}

void fail_from_now(size_t at, bool for_good)
{
    fail_at = at;
    fails_for_good = for_good;
    dl_iterate_phdr(find_openmp, NULL);
    calls = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    counting = calls != MAP_FAILED;
}

size_t fail_no_more(void)
{
    counting = false;
    return *calls;
}

void stop_failing(void)
{
    counting = false;
}

/* errno as in glibc, which sets it for the aligned ones too, posix_memalign among them. */
static bool refuse(const void *by)
{
    if (!counting || ((uintptr_t)by >= openmp.begin && (uintptr_t)by < openmp.end))
        return false;
    size_t call = ++*calls;
    bool refused = fail_at && (call == fail_at || (fails_for_good && call > fail_at));
    if (refused)
        errno = ENOMEM;
    return refused;
}

/* ---- what is not freed ----------------------------------------------------------------------- */

enum { SLOTS = 1 << 16 };
static struct {
    uintptr_t begin, end;
    atomic_flag busy;
    size_t count;
    uintptr_t block[SLOTS], by[SLOTS]; /* open addressing; 1 as block: free again */
} watched = {.busy = ATOMIC_FLAG_INIT};

size_t live_blocks(void)
{
    return live;
}

void watch_code(const void *begin, const void *end)
{
    watched.begin = (uintptr_t)begin;
    watched.end = (uintptr_t)end;
}

size_t watched_blocks(void)
{
    return watched.count;
}

const void *a_watched_block(void)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (watched.block[i] > 1)
            return (const void *)watched.by[i]; // NOLINT: an address of code
    return NULL;
}

static size_t slot_of(uintptr_t block)
{
    return (size_t)(((uint64_t)block >> 4) * 0x9e3779b97f4a7c15u >> 48) % SLOTS;
}

static void watch(uintptr_t block, uintptr_t by)
{
    while (atomic_flag_test_and_set(&watched.busy))
        ;
    size_t i = slot_of(block), tried = 0;
    while (watched.block[i] > 1 && tried++ < SLOTS)
        i = (i + 1) % SLOTS;
    if (watched.block[i] <= 1) {
        watched.block[i] = block;
        watched.by[i] = by;
        watched.count++;
    }
    atomic_flag_clear(&watched.busy);
}

static void unwatch(uintptr_t block)
{
    while (atomic_flag_test_and_set(&watched.busy))
        ;
    size_t i = slot_of(block), tried = 0;
    while (watched.block[i] && watched.block[i] != block && tried++ < SLOTS)
        i = (i + 1) % SLOTS;
    if (watched.block[i] == block) {
        watched.block[i] = 1;
        watched.count--;
    }
    atomic_flag_clear(&watched.busy);
}

static void *born(void *block, const void *by)
{
    if (!block)
        return NULL;
    live++;
    if ((uintptr_t)by >= watched.begin && (uintptr_t)by < watched.end)
        watch((uintptr_t)block, (uintptr_t)by);
    return block;
}

static void dies(void *block)
{
    if (!block)
        return;
    live--;
    if (watched.count)
        unwatch((uintptr_t)block);
}

/* ---- the functions --------------------------------------------------------------------------- */

/* Parameters are called as in the headers of glibc. */
#define REPLACED __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

REPLACED void *malloc(size_t size)
{
    return refuse(CALLER) ? NULL : born(__libc_malloc(size), CALLER);
}

REPLACED void *calloc(size_t nmemb, size_t size)
{
    return refuse(CALLER) ? NULL : born(__libc_calloc(nmemb, size), CALLER);
}

REPLACED void free(void *ptr)
{
    int saved = errno; /* as in glibc */
    dies(ptr);
    __libc_free(ptr);
    errno = saved;
}

REPLACED void *realloc(void *ptr, size_t size)
{
    if (refuse(CALLER))
        return NULL;
    void *moved = __libc_realloc(ptr, size);
    if (moved || !size)
        dies(ptr);
    return born(moved, CALLER);
}

REPLACED void *memalign(size_t alignment, size_t size)
{
    return refuse(CALLER) ? NULL : born(__libc_memalign(alignment, size), CALLER);
}

REPLACED void *aligned_alloc(size_t alignment, size_t size)
{
    return refuse(CALLER) ? NULL : born(__libc_memalign(alignment, size), CALLER);
}

REPLACED int posix_memalign(void **memptr, size_t alignment, size_t size)
{
    void *block = refuse(CALLER) ? NULL : born(__libc_memalign(alignment, size), CALLER);
    if (!block)
        return ENOMEM;
    *memptr = block;
    return 0;
}

/* ---- crashes --------------------------------------------------------------------------------- */

static void (*tell_crash)(int signal, const char *object);
static pid_t whose; /* not its children's */

static bool is_runtime(const char *object)
{
    static const char *const runtime[] = {"/libc.so", "/libstdc++.so", "/libgcc_s.so", "/libm.so",
                                          "failing_memory"};
    for (size_t i = 0; i < sizeof runtime / sizeof *runtime; i++)
        if (strstr(object, runtime[i]))
            return true;
    return false;
}

static bool is_called(const Dl_info *info, const char *name)
{
    return info->dli_sname && strcmp(info->dli_sname, name) == 0;
}

/* An exception that nobody catches ends the program in __cxa_throw; one that meets a noexcept, in
 * the personality routine that __cxa_throw has called, or after __cxa_throw. */
static void crashed(int number)
{
    signal(number, SIG_DFL);
    if (getpid() != whose) {
        raise(number);
        return;
    }
    void *frame[64];
    const char *object = "?";
    Dl_info info;
    bool threw = false, met_noexcept = false;
    counting = false;
    /* NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c): the process crashes anyway */
    int n = backtrace(frame, 64);
    for (int i = 0; i < n && *object == '?'; i++) {
        /* NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c): the process crashes anyway */
        if (!dladdr(frame[i], &info) || !info.dli_fname)
            continue;
        met_noexcept |= is_called(&info, "__gxx_personality_v0");
        threw |= is_called(&info, "__cxa_throw");
        if (!is_runtime(info.dli_fname))
            object = info.dli_fname;
    }
    tell_crash(threw && !met_noexcept ? UNCAUGHT : number, object);
}

void tell_crashes(void (*tell)(int signal, const char *object))
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    void *frame[1];
    backtrace(frame, 1); /* loads the unwinder, for which there may be no memory later */
    tell_crash = tell;
    whose = getpid();
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], crashed);
}

/* ---- preloaded ------------------------------------------------------------------------------- */

typedef int main_function(int argc, char **argv, char **environment);
static main_function *true_main;
static const char *log_path;

static void write_log(const char *text)
{
    int fd = log_path ? open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    if (fd >= 0 && write(fd, text, strlen(text)) >= 0)
        close(fd);
}

static void log_crash(int number, const char *object)
{
    char text[400];
    snprintf(text, sizeof text, "signal %d in %s\n", number, object);
    write_log(text);
    _Exit(86);
}

static void log_count(void)
{
    char text[40];
    snprintf(text, sizeof text, "%zu\n", fail_no_more());
    write_log(text);
}

static int counted_main(int argc, char **argv, char **environment)
{
    const char *asked = getenv("WENGERT_FAIL");
    log_path = getenv("WENGERT_FAIL_LOG");
    char *end = NULL;
    size_t at = asked ? strtoull(asked, &end, 10) : 0;
    unsetenv("LD_PRELOAD"); /* not for Graphviz's and gnuplot's processes */
    tell_crashes(log_crash);
    atexit(log_count);
    fail_from_now(at, end && *end == '+');
    return true_main(argc, argv, environment);
}

typedef int start(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void),
                  void *);
REPLACED start __libc_start_main;

REPLACED int __libc_start_main(main_function *program, int argc, char **argv, void (*init)(void),
                               void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
    void *next = dlsym(RTLD_NEXT, "__libc_start_main");
    start *next_start;
    memcpy(&next_start, &next, sizeof next);
    true_main = program;
    bool preloaded = getenv("WENGERT_FAIL") || getenv("WENGERT_FAIL_LOG");
    return next_start(preloaded ? counted_main : program, argc, argv, init, fini, rtld_fini,
                      stack_end);
}
