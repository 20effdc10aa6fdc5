/* wengert devices: the machine, its backends and its speed. */
#include "graph/threads.h"
#include "cli/backends.h"
#include "graph/json.h"
#include "cli/measure.h"
#include "wengert/backends/isa.h"
#include "wengert/backends/onednn.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { JSON = 1000, NO_LIMITS };

static const struct argp_option table[] = {
    {"json", JSON, 0, 0, "print JSON", 0},
    {"no-limits", NO_LIMITS, 0, 0, "do not measure the machine's limits", 0},
    {0},
};

typedef struct request {
    bool json, no_limits;
    backend_choice backends;
} request;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &r->backends; break;
    case JSON: r->json = true; break;
    case NO_LIMITS: r->no_limits = true; break;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- the processor --------------------------------------------------------------------------- */

enum { MAX_TEXT = 256, MAX_FLAGS = 8192 };

typedef struct processor {
    char model[MAX_TEXT], features[MAX_TEXT];
    long cores, memory_mib;
    long cache_kib[3]; /* levels 1 (data), 2, 3; 0: unknown */
} processor;

/* The flags of /proc/cpuinfo that matter to compute kernels. */
static const char *const of_interest[] = {
    "sse4_2",   "avx",      "fma",         "avx2",        "avx_vnni",    "avx512f",  "avx512bw",
    "avx512vl", "avx512dq", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16",
    "amx_int8", "asimd",    "sve",         "sve2",        "bf16",        "i8mm",
};

static bool has_word(const char *words, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (!at[n] || at[n] == ' ' || at[n] == '\n'))
            return true;
    return false;
}

static void pick_features(processor *p, const char *flags)
{
    size_t used = 0;
    p->features[0] = 0;
    for (size_t i = 0; i < WG_COUNT(of_interest); i++)
        if (has_word(flags, of_interest[i]) && used < sizeof p->features)
            used += (size_t)snprintf(p->features + used, sizeof p->features - used, "%s%s",
                                     used ? " " : "", of_interest[i]);
}

/* Reads "model name : AMD EPYC" and "flags : fpu vme ..." from /proc/cpuinfo, if it exists; false
 * without memory. */
static bool read_cpuinfo(processor *p)
{
    char line[MAX_FLAGS];
    FILE *f = fopen("/proc/cpuinfo", "r");
    bool memory = f || errno != ENOMEM;
    while (f && fgets(line, sizeof line, f) && !(*p->model && *p->features)) {
        char *value = strchr(line, ':');
        if (!value)
            continue;
        value += strspn(value, ": ");
        value[strcspn(value, "\n")] = 0;
        if (strncmp(line, "model name", 10) == 0)
            snprintf(p->model, sizeof p->model, "%.*s", (int)sizeof p->model - 1, value);
        else if (strncmp(line, "flags", 5) == 0 || strncmp(line, "Features", 8) == 0)
            pick_features(p, value);
    }
    if (f)
        fclose(f);
    return memory;
}

static int read_processor(processor *out)
{
    processor p = {.cores = sysconf(_SC_NPROCESSORS_ONLN)};
    if (!read_cpuinfo(&p)) {
        complain("/proc/cpuinfo: out of memory");
        return EXIT_RUN;
    }
    if (!*p.model)
        snprintf(p.model, sizeof p.model, "unknown");
#ifdef _SC_PHYS_PAGES
    p.memory_mib = (long)((double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 0x1p20);
#endif
#ifdef _SC_LEVEL3_CACHE_SIZE
    const int level[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    for (int i = 0; i < 3; i++) {
        long size = sysconf(level[i]);
        p.cache_kib[i] = size > 0 ? size / 1024 : 0;
    }
#endif
    *out = p;
    return EXIT_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* "2.6.3", or "" for a backend without an external library */
static const char *version_of(const wg_backend *b, char *text, size_t size)
{
    int v[3];
    text[0] = 0;
    if (b == wg_onednn_backend() && wg_onednn_version(v))
        snprintf(text, size, "%d.%d.%d", v[0], v[1], v[2]);
    return text;
}

static void print(const request *r, const processor *p, const bench_limits *l)
{
    char version[32], isa[80];
    printf("processor   %s\n", p->model);
    printf("features    %s\n", *p->features ? p->features : "unknown");
    printf("kernels     for %s\n", bench_isa_text(isa, sizeof isa));
    printf("caches      %ld KiB, %ld KiB, %ld KiB\n", p->cache_kib[0], p->cache_kib[1],
           p->cache_kib[2]);
    printf("memory      %.1f GiB\n", (double)p->memory_mib / 1024);
    printf("threads     %d of %ld\n", r->backends.threads, p->cores);
    printf("\n%-20s %-8s %s\n", "backend", "version", "description");
    for (size_t i = 0; i < r->backends.count; i++) {
        const wg_backend *b = r->backends.backend[i];
        printf("%-20s %-8s %s\n", r->backends.name[i], version_of(b, version, sizeof version),
               b->doc ? b->doc : "");
    }
    if (!r->no_limits) {
        putchar('\n');
        print_limits(l);
    }
}

static void print_json(const request *r, const processor *p, const bench_limits *l)
{
    char version[32];
    wgi_json j = {.file = stdout};
    wgi_json_begin(&j, NULL, '{');
    wgi_json_text(&j, "processor", p->model);
    wgi_json_text(&j, "features", p->features);
    wgi_json_text(&j, "kernels", wg_isa_name(wg_isa_best()));
    wgi_json_begin(&j, "cache_kib", '[');
    for (int i = 0; i < 3; i++)
        wgi_json_whole(&j, NULL, p->cache_kib[i]);
    wgi_json_end(&j, ']');
    wgi_json_whole(&j, "memory_mib", p->memory_mib);
    wgi_json_whole(&j, "cores", p->cores);
    wgi_json_whole(&j, "threads", r->backends.threads);
    wgi_json_begin(&j, "backends", '[');
    for (size_t i = 0; i < r->backends.count; i++) {
        const wg_backend *b = r->backends.backend[i];
        wgi_json_begin(&j, NULL, '{');
        wgi_json_text(&j, "name", r->backends.name[i]);
        wgi_json_text(&j, "version", version_of(b, version, sizeof version));
        wgi_json_text(&j, "doc", b->doc ? b->doc : "");
        wgi_json_end(&j, '}');
    }
    wgi_json_end(&j, ']');
    if (!r->no_limits)
        json_limits(&j, l);
    wgi_json_end(&j, '}');
}

int command_devices(int argc, char **argv)
{
    static const struct argp_child children[] = {{&backend_argp, 0, "Backends:", 1}, {0}};
    static const struct argp argp = {
        table,    parse, NULL, "Lists the backends and measures the machine's limits.",
        children, NULL,  NULL};
    request r = {0};
    int code = parse_arguments(&argp, argc, argv, 0, &r);
    if (code != EXIT_OK)
        return code;
    r.backends.threads = wgi_threads(r.backends.threads);
    processor p;
    bench_limits l = {0};
    code = read_processor(&p);
    if (code == EXIT_OK && !r.no_limits)
        code = measure_limits(&l, r.backends.threads);
    if (code == EXIT_OK && r.json)
        print_json(&r, &p, &l);
    else if (code == EXIT_OK)
        print(&r, &p, &l);
    close_backends(&r.backends);
    return code;
}
