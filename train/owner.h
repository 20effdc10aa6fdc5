/* Whose a tensor of a training run is: the model's, or that of what trains it, by its name. */
#ifndef WG_TRAIN_OWNER_H
#define WG_TRAIN_OWNER_H

#include "graph/names.h"

#include <stdbool.h>

typedef enum wgi_owner {
    WGI_OWNER_MODEL,     /* parameters and states of the model              */
    WGI_OWNER_AVERAGE,   /* "average/w": the moving average of parameter w  */
    WGI_OWNER_OPTIMIZER, /* "optimizer/m/w": moments, and numbers of steps  */
    WGI_OWNER_GRADIENT,  /* "gradient/w": gradients that wait to be added   */
    WGI_OWNERS
} wgi_owner;

wgi_owner wgi_owner_of(const char *tensor);

/* The name without its owner's prefix. */
const char *wgi_owned_part(const char *tensor);

/* A moment of a parameter: of what the optimizer has, all but WGI_OPTIMIZER_STEP. */
bool wgi_is_moment(const char *tensor);

#define WGI_OPTIMIZER_STEP "optimizer/step" /* Adam's number of steps */

/* The owner's prefix, PART, which may be "" or end in a slash, then the name of a parameter; there
 * is room for any. */
enum { WGI_OWNED_NAME = WGI_FULL_NAME_BYTES + 64 };
void wgi_owned_name(char name[WGI_OWNED_NAME], wgi_owner owner, const char *part,
                    const char *parameter);

#endif
