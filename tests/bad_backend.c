/* Shared objects that must not be taken for a backend; test_load.c loads each. */
#include "wengert/backends/load.h"

#ifndef NO_BACKEND
WG_API wg_backend_entry wengert_backend;

const wg_backend *wengert_backend(uint32_t abi)
{
    static const wg_backend table = {.abi = TABLE_ABI};
    return abi == TABLE_ABI || !ASKS_ABI ? &table : NULL;
}
#else
WG_API int nothing_to_find(void);

int nothing_to_find(void)
{
    return 0;
}
#endif
