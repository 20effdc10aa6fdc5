#include "files/graph_file.h"
#include "wengert/graph/status.h"

#include <string.h>

static bool begins_with(const char *bytes, size_t n, const char *text)
{
    const size_t length = strlen(text);
    return n >= length && memcmp(bytes, text, length) == 0;
}

bool wgi_begins_as_graph(const char *bytes, size_t n)
{
    static const char *const begins[] = {"\x89PNG\r\n\x1a\n", "<svg", "digraph ", "strict digraph ",
                                         "wengert-graph "};
    for (int i = 0; i < WG_COUNT(begins); i++)
        if (begins_with(bytes, n, begins[i]))
            return true;
    return begins_with(bytes, n, "<?xml ") && strstr(bytes, "<svg");
}
