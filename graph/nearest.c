#include "graph/nearest.h"

#include <string.h>

size_t wgi_name_distance(const char *written, const char *name)
{
    enum { LONGEST = 64 };
    size_t row[LONGEST + 1], n = strlen(written), m = strlen(name), max = n / 3 + 1;
    n = n < LONGEST ? n : LONGEST;
    m = m < LONGEST ? m : LONGEST;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = diagonal + (written[i - 1] != name[j - 1]);
            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            row[j] = best;
        }
    }
    return row[m] <= max ? row[m] : SIZE_MAX;
}
