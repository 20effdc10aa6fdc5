#include "cli/backends.h"
#include "cli/threads.h"
#include "cli/values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BACKEND = 2000, THREADS };

static const struct argp_option table[] = {
    {"backend", BACKEND, "NAME|FILE", 0,
     "a built-in backend or the path of a shared object, such as ./libmine.so; comma-separated, "
     "they "
     "are asked in that order; may be repeated",
     0},
    {"threads", THREADS, "N", 0, "number of threads (default: all, or one for a small graph)", 0},
    {0},
};

/* Adds the backends of a comma-separated list; NULL: all built-in ones. */
static void add(backend_choice *c, const char *names, struct argp_state *state)
{
    backend_set *set = &c->set[c->n_sets];
    wg_error error;
    if (c->n_sets == MAX_BACKENDS)
        argp_error(state, "more than %d lists of backends", MAX_BACKENDS);
    if (wg_backend_list_open(&set->list, names, &error) != WG_OK)
        exit(complain_error(&error));
    if (c->count + set->list.count > MAX_BACKENDS)
        argp_error(state, "more than %d backends", MAX_BACKENDS);
    const char *slash = names ? strrchr(names, '/') : NULL, *file = slash ? slash + 1 : names;
    size_t used = 0;
    for (size_t i = 0; i < set->list.count; i++, c->count++) {
        bool alone = set->list.count == 1 && set->list.loaded[i].handle;
        c->backend[c->count] = set->list.backend[i];
        c->name[c->count] = alone ? file : set->list.backend[i]->name;
        used += used < sizeof set->name
                    ? (size_t)snprintf(set->name + used, sizeof set->name - used, "%s%s",
                                       i ? "," : "", c->name[c->count])
                    : 0;
    }
    c->n_sets++;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    backend_choice *c = state->input;
    switch (key) {
    case BACKEND: add(c, arg, state); break;
    case THREADS:
        c->threads = (int)number_argument(state, "--threads", arg, 1, WG_MAX_THREADS);
        if (check_threads(c->threads) != EXIT_OK)
            exit(EXIT_RUN);
        break;
    case ARGP_KEY_END:
        if (!c->n_sets)
            add(c, NULL, state);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

const struct argp backend_argp = {table, parse, NULL, NULL, NULL, NULL, NULL};

void close_backends(backend_choice *c)
{
    for (size_t i = 0; i < c->n_sets; i++)
        wg_backend_list_close(&c->set[i].list);
    c->n_sets = c->count = 0;
}
