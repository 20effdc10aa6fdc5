/* Built instead of the rest of this folder where oneDNN is not found. */
#include "wengert/backends/onednn.h"

const wg_backend *wg_onednn_backend(void)
{
    return NULL;
}

bool wg_onednn_version(int version[3])
{
    (void)version;
    return false;
}
