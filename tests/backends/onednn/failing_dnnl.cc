#include "tests/backends/onednn/failing_dnnl.h"
#include "backends/dnnl.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <tuple>
#include <type_traits>

namespace
{

#define NAME(name) #name,
const char *const names[] = {WGI_DNNL_CALLS(NAME)};
#define NUMBER(name) number_of_##name,
enum { WGI_DNNL_CALLS(NUMBER) };

struct {
    bool counting, for_good;
    std::atomic<size_t> calls; // kernels call from several threads
    size_t at;
    dnnl_status_t status;
    const char *first;
} failing;
std::atomic<long> live;

// The descriptor of a primitive that there was no memory for.  The cache keeps an entry that points
// into it, until it is emptied; the descriptor must live that long.
const_dnnl_primitive_desc_t in_cache;
long dangling;

bool has(const char *name, const char *part)
{
    return std::strstr(name, part) != nullptr;
}

bool refuse(const char *name)
{
    if (!failing.counting || has(name, "_destroy"))
        return false;
    size_t call = ++failing.calls;
    if (!failing.at || call < failing.at || (call > failing.at && !failing.for_good))
        return false;
    if (call == failing.at)
        failing.first = name;
    if (failing.status == dnnl_out_of_memory)
        errno = ENOMEM;
    return true;
}

template <int number, class... Arguments> void watch_cache(bool done, Arguments... arguments)
{
    std::tuple<Arguments...> all(arguments...);
    if constexpr (number == number_of_primitive_create) {
        if (!done && failing.status == dnnl_out_of_memory)
            in_cache = std::get<1>(all);
    } else if constexpr (number == number_of_set_primitive_cache_capacity) {
        if (done && std::get<0>(all) == 0)
            in_cache = nullptr;
    } else if constexpr (number == number_of_primitive_desc_destroy) {
        if (in_cache && std::get<0>(all) == in_cache) {
            in_cache = nullptr;
            dangling++;
        }
    }
}

template <int number, auto call> struct counted;
template <int number, class Result, class... Arguments, Result (*call)(Arguments...)>
struct counted<number, call> {
    static Result run(Arguments... arguments)
    {
        const char *name = names[number];
        if constexpr (std::is_same_v<Result, dnnl_status_t>) {
            bool refused = refuse(name);
            dnnl_status_t status = refused ? failing.status : call(arguments...);
            bool done = status == dnnl_success;
            if (!failing.for_good)
                watch_cache<number>(done, arguments...);
            live += done && (has(name, "_create") || has(name, "_clone"));
            live -= done && has(name, "_destroy");
            return status;
        } else
            return call(arguments...);
    }
};

} // namespace

extern "C" {
#define COUNTED(name) counted<number_of_##name, dnnl_##name>::run,
const wgi_dnnl_calls wgi_dnnl = {WGI_DNNL_CALLS(COUNTED)};

void fail_dnnl(size_t at, bool for_good, dnnl_status_t status)
{
    failing.counting = true;
    failing.for_good = for_good;
    failing.calls = 0;
    failing.at = at;
    failing.status = status;
    failing.first = "";
    in_cache = nullptr;
    dangling = 0;
}

size_t fail_dnnl_no_more()
{
    failing.counting = false;
    return failing.calls;
}

const char *failed_dnnl_call()
{
    return failing.first;
}

long live_dnnl_objects()
{
    return live;
}

long dangling_dnnl_entries()
{
    return dangling;
}
}
