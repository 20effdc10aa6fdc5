/* Status codes.  Every failure of the caller, of memory or of a file is one of these, with a
 * message in the graph (wg_graph_message), in the plan (wg_plan_message) or in a wg_error.  Nothing
 * in the library aborts or exits. */
#ifndef WG_GRAPH_STATUS_H
#define WG_GRAPH_STATUS_H

#if !defined(__GNUC__)
/** Part of the public interface: exported by the shared library. */
#define WG_API
/** The compiler warns if the result, a wg_status, is ignored.  Functions that build a graph lack
 *  it, since the graph keeps their error (wg_graph_status). */
#define WG_MUST_USE
/** The compiler checks the arguments from `first_at` on against the format at `text_at`. */
#define WG_PRINTF(text_at, first_at)
#else
#define WG_API __attribute__((visibility("default")))
#define WG_MUST_USE __attribute__((warn_unused_result))
#define WG_PRINTF(text_at, first_at) __attribute__((format(printf, text_at, first_at)))
#endif

/** Number of elements of an array. */
#define WG_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

#ifdef __cplusplus
extern "C" {
#endif

/** The outcome of a call. */
typedef enum wg_status {
    WG_OK = 0,       /* it succeeded */
    WG_EINVAL,       /* an argument is wrong: NULL, negative, out of range, unknown name */
    WG_ESHAPE,       /* shapes, ranks or axes disagree */
    WG_EDTYPE,       /* a dtype is not the one needed */
    WG_ENOMEM,       /* out of memory */
    WG_EUNSUPPORTED, /* no gradient rule, no kernel, or built without the optional library */
    WG_EDATA,        /* bad data: an id out of range, a malformed file */
    WG_ENONFINITE,   /* NaN or infinity found by a check, such as check_nonfinite */
    WG_EIO,          /* a file or process failed */
    WG_ETIMEOUT,     /* a child process exceeded its time limit */
    WG_ESTOPPED,     /* the caller asked to stop, as by wg_search_options.stop */
} wg_status;

/** The status in two or three English words; never NULL. */
WG_API const char *wg_status_text(wg_status status);

#ifdef __cplusplus
}
#endif
#endif
