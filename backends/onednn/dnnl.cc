// The table of oneDNN's functions, each within a try.
#include "backends/dnnl.h"

#include <cerrno>
#include <new>
#include <type_traits>

namespace
{

// What a call returns that threw.
template <class Result> Result failed(dnnl_status_t status) noexcept
{
    if constexpr (std::is_same_v<Result, dnnl_status_t>)
        return status;
    else
        return Result{};
}

template <auto call> struct guarded;
template <class Result, class... Arguments, Result (*call)(Arguments...)> struct guarded<call> {
    static Result run(Arguments... arguments) noexcept
    {
        try {
            return call(arguments...);
        } catch (const std::bad_alloc &) {
            errno = ENOMEM;
            return failed<Result>(dnnl_out_of_memory);
        } catch (...) {
            return failed<Result>(dnnl_runtime_error);
        }
    }
};

} // namespace

#define GUARDED(name) guarded<dnnl_##name>::run,
const wgi_dnnl_calls wgi_dnnl = {WGI_DNNL_CALLS(GUARDED)};
