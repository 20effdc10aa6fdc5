#include "cli/backends.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { BACKEND = 2000, THREADS };

static const struct argp_option table[] = {
    {"backend", BACKEND, "NAME|FILE", 0,
     "a built-in backend or the path of a shared object, such as ./libmine.so; "
     "comma-separated, or repeated",
     0},
    {"threads", THREADS, "N", 0, "number of threads (default: all)", 0},
    {0},
};

/* The backends of a list as the library reads it; NULL: all that are built in. */
static void add(backend_choice *c, const char *names, struct argp_state *state)
{
    wg_backend_list found;
    char message[400];
    wg_status status = wg_backend_list_open(&found, names, message, sizeof message);
    if (status != WG_OK) {
        complain("%s", message);
        exit(exit_code(status));
    }
    if (c->count + found.count > MAX_BACKENDS)
        argp_error(state, "more than %d backends", MAX_BACKENDS);
    const char *slash = names ? strrchr(names, '/') : NULL, *file = slash ? slash + 1 : names;
    for (size_t i = 0; i < found.count; i++) {
        c->backend[c->count] = found.backend[i];
        c->name[c->count] =
            found.loaded[i].handle && found.count == 1 ? file : found.backend[i]->name;
        c->loaded[c->count++] = found.loaded[i];
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    backend_choice *c = state->input;
    switch (key) {
    case BACKEND:
        add(c, arg, state);
        c->given = true;
        break;
    case THREADS: c->threads = (int)number_argument(state, "--threads", arg, 1, 1024); break;
    case ARGP_KEY_END:
        if (!c->given)
            add(c, NULL, state);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

const struct argp backend_argp = {table, parse, NULL, NULL, NULL, NULL, NULL};

void settle_timed_backends(backend_choice *c)
{
    if (!c->given)
        c->count = 1;
    if (!c->threads)
        c->threads = omp_get_max_threads();
}

void close_backends(backend_choice *c)
{
    for (size_t i = 0; i < c->count; i++)
        wg_backend_unload(&c->loaded[i]);
    c->count = 0;
}
