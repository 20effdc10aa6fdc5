/* Engines: shared objects that are looked for when they are asked for. */
#include "distributed/ranks.h"
#include "graph/error.h"
#include "graph/object.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- which one ------------------------------------------------------------------------------- */

static const struct {
    const char *name, *package;
    const char *started[3]; /* environment variables of a process that it has started */
} engines[] = {
    {"openmpi", "libopenmpi-dev", {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", NULL}},
    {"mpich", "libmpich-dev", {"PMI_RANK", "PMI_SIZE", NULL}},
};

/* The engine of that name, or the one that has started the process; -1: there is none. */
static int find_engine(const char *name)
{
    for (int i = 0; i < WG_COUNT(engines); i++)
        if (strcmp(engines[i].name, name) == 0)
            return i;
    for (int i = 0; i < WG_COUNT(engines) && strcmp(name, "mpi") == 0; i++)
        for (int k = 0; engines[i].started[k]; k++)
            /* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment */
            if (getenv(engines[i].started[k]))
                return i;
    return -1;
}

/* ---- where it is ----------------------------------------------------------------------------- */

/* The folder of the program. */
static void folder_of_program(char *folder, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", folder, size - 1);
    folder[n > 0 ? n : 0] = '\0';
    char *end = strrchr(folder, '/');
    if (end)
        *end = '\0';
}

/* The i-th path where the engine may be; false past the last. */
static bool place_of(int engine, int i, char *path, size_t size)
{
    char folder[1024];
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment */
    const char *own = getenv(WG_ENGINES_VARIABLE), *name = engines[engine].name;
    folder_of_program(folder, sizeof folder);
    switch (i) {
    case 0: snprintf(path, size, "%s/wengert-%s.so", own ? own : folder, name); return true;
    case 1: snprintf(path, size, "%s/../wengert/wengert-%s.so", folder, name); return true;
    case 2: snprintf(path, size, "%s/../" WG_ENGINES "/wengert-%s.so", folder, name); return true;
    case 3: snprintf(path, size, "%s/wengert-%s.so", WG_ENGINES_FULL, name); return true;
    default: return false;
    }
}

static wg_status not_built(int engine, wg_error *error)
{
    char path[2048];
    wgi_error_set(error, WG_EUNSUPPORTED,
                  "the engine %s was not built: install %s, and build and install wengert again "
                  "(it was looked for as",
                  engines[engine].name, engines[engine].package);
    for (int i = 0; place_of(engine, i, path, sizeof path); i++)
        wgi_error_add(error, "%s %s", i ? "," : "", path);
    wgi_error_add(error, ")");
    return WG_EUNSUPPORTED;
}

/* ---- loading --------------------------------------------------------------------------------- */

static wg_status load(const char *path, void **handle, const wgi_transport **transport,
                      wg_error *error)
{
    wgi_transport_entry *entry;
    wg_status status = wgi_object_open(handle, path, "an engine", WG_TEXT(WGI_TRANSPORT_ENTRY),
                                       &entry, sizeof entry, error);
    if (status != WG_OK)
        return status;
    *transport = entry(WGI_TRANSPORT_ABI);
    if (*transport && (*transport)->abi == WGI_TRANSPORT_ABI)
        return WG_OK;
    dlclose(*handle);
    *handle = NULL;
    return wgi_error_set(error, WG_EINVAL, "%s is an engine of another version of wengert", path);
}

/* An engine by its name: the first place where there is one. */
static wg_status load_named(const char *name, void **handle, const wgi_transport **transport,
                            wg_error *error)
{
    char path[2048];
    int engine = find_engine(name);
    if (engine < 0 && strcmp(name, "mpi") != 0)
        return wgi_error_set(error, WG_EINVAL,
                             "engine %s: expected mpi, openmpi, mpich or the path of an object",
                             name);
    for (int e = engine < 0 ? 0 : engine; e < (engine < 0 ? WG_COUNT(engines) : engine + 1); e++)
        for (int i = 0; place_of(e, i, path, sizeof path); i++)
            if (access(path, R_OK) == 0)
                return load(path, handle, transport, error);
    return not_built(engine < 0 ? 0 : engine, error);
}

wg_status wg_ranks_open(wg_ranks **out, const char *engine, wg_error *error)
{
    void *handle = NULL;
    const wgi_transport *transport = NULL;
    wgi_error_clear(error);
    *out = NULL;
    engine = engine ? engine : "mpi";
    wg_status status = strchr(engine, '/') ? load(engine, &handle, &transport, error)
                                           : load_named(engine, &handle, &transport, error);
    return status == WG_OK ? wgi_ranks_open_on(out, transport, NULL, handle, 0, error) : status;
}
