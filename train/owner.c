#include "train/owner.h"

#include <stdio.h>
#include <string.h>

static const char *const prefixes[WGI_OWNERS] = {
    [WGI_OWNER_MODEL] = "",
    [WGI_OWNER_AVERAGE] = "average/",
    [WGI_OWNER_OPTIMIZER] = "optimizer/",
    [WGI_OWNER_GRADIENT] = "gradient/",
};

wgi_owner wgi_owner_of(const char *tensor)
{
    int owner = WGI_OWNERS - 1;
    while (strncmp(tensor, prefixes[owner], strlen(prefixes[owner])) != 0)
        owner--; /* the model's prefix begins every name */
    return (wgi_owner)owner;
}

const char *wgi_owned_part(const char *tensor)
{
    return tensor + strlen(prefixes[wgi_owner_of(tensor)]);
}

bool wgi_is_moment(const char *tensor)
{
    return wgi_owner_of(tensor) == WGI_OWNER_OPTIMIZER && strcmp(tensor, WGI_OPTIMIZER_STEP) != 0;
}

void wgi_owned_name(char name[WGI_OWNED_NAME], wgi_owner owner, const char *part,
                    const char *parameter)
{
    snprintf(name, WGI_OWNED_NAME, "%s%s%s", prefixes[owner], part, parameter);
}
