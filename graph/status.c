#include "wengert/graph/status.h"

const char *wg_status_text(wg_status status)
{
    static const char *const text[] = {
        [WG_OK] = "ok",
        [WG_EINVAL] = "invalid argument",
        [WG_ESHAPE] = "shape mismatch",
        [WG_EDTYPE] = "dtype mismatch",
        [WG_ENOMEM] = "out of memory",
        [WG_EUNSUPPORTED] = "not supported",
        [WG_EDATA] = "bad data",
        [WG_ENONFINITE] = "non-finite value",
        [WG_EIO] = "input/output error",
        [WG_ETIMEOUT] = "timed out",
        [WG_ESTOPPED] = "stopped",
    };
    int i = (int)status;
    return i >= 0 && i < WG_COUNT(text) ? text[i] : "unknown status";
}
