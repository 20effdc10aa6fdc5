#include "cli/backends.h"

#include <stdlib.h>
#include <string.h>

enum { BACKEND = 2000, THREADS };

static const struct argp_option table[] = {
    {"backend", BACKEND, "NAME|FILE", 0,
     "a built-in backend, or a shared object by its path: ./libmine.so (may be repeated)", 0},
    {"threads", THREADS, "N", 0, "run on so many threads (default: all)", 0},
    {0},
};

static const char *backend_name_at(size_t i)
{
    const wg_backend *b = wg_backend_at(i);
    return b ? b->name : NULL;
}

static void add(backend_choice *c, const char *name, const wg_backend *b, wg_loaded_backend loaded)
{
    c->backend[c->count] = b;
    c->name[c->count] = name;
    c->loaded[c->count++] = loaded;
}

static bool is_path(const char *name)
{
    size_t n = strlen(name);
    return strchr(name, '/') || (n > 3 && strcmp(name + n - 3, ".so") == 0);
}

static void parse_backend(backend_choice *c, const char *name, struct argp_state *state)
{
    wg_loaded_backend loaded = {0};
    char message[400];
    if (c->count == MOST_BACKENDS)
        argp_error(state, "more than %d times --backend", MOST_BACKENDS);
    const wg_backend *b = wg_backend_find(name);
    if (!b && is_path(name)) {
        wg_status status = wg_backend_load(&loaded, name, message, sizeof message);
        if (status != WG_OK) {
            complain("%s", message);
            exit(exit_code(status));
        }
        b = loaded.backend;
    }
    if (!b) {
        complain_unknown("backend", name, backend_name_at);
        exit(EXIT_USAGE);
    }
    const char *slash = strrchr(name, '/');
    add(c, slash ? slash + 1 : name, b, loaded);
    c->given = true;
}

static void add_all(backend_choice *c)
{
    const wg_backend *b;
    for (size_t i = 0; i < MOST_BACKENDS && (b = wg_backend_at(i)); i++)
        add(c, b->name, b, (wg_loaded_backend){0});
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    backend_choice *c = state->input;
    switch (key) {
    case BACKEND: parse_backend(c, arg, state); break;
    case THREADS: c->threads = (int)number_argument(state, "--threads", arg, 1, 1024); break;
    case ARGP_KEY_END:
        if (!c->given)
            add_all(c);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

const struct argp backend_argp = {table, parse, NULL, NULL, NULL, NULL, NULL};

void close_backends(backend_choice *c)
{
    for (size_t i = 0; i < c->count; i++)
        wg_backend_unload(&c->loaded[i]);
    c->count = 0;
}
