/* metrics.jsonl of a model folder, by columns. */
#ifndef WG_CLI_METRICS_H
#define WG_CLI_METRICS_H

#include <stddef.h>

/* A time series: value[i] after update[i]. */
typedef struct series {
    double *update, *value;
    size_t n, update_room, value_room;
} series;

/* The values under `key` of the records of that kind ("train", "valid"); records without it are
 * left out.  An exit code; complains.  Call series_free in any case. */
int series_read(series *s, const char *folder, const char *kind, const char *key);
void series_free(series *s);

#endif
