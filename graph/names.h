/* How long names may be, in bytes: docs/limits.md. */
#ifndef WG_PRIVATE_GRAPH_NAMES_H
#define WG_PRIVATE_GRAPH_NAMES_H

enum {
    WGI_LEAF_NAME_BYTES = 400,
    WGI_NAME_BYTES = 511, /* of another value, or of a scope */
    WGI_PATH_BYTES = 1023 /* of a scope, from the top        */
};
/* PATH/NAME */
enum { WGI_FULL_NAME_BYTES = WGI_PATH_BYTES + 1 + WGI_NAME_BYTES };

#endif
