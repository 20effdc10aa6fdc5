#include "graph/utf8.h"

#include <stdbool.h>

int wgi_utf8_length(const unsigned char *s)
{
    int n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool outside = (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf4 && s[1] > 0x8f);
    bool noncharacter = s[0] == 0xef && s[1] == 0xbf && s[2] > 0xbd; /* U+FFFE, U+FFFF */
    return n > 1 && (overlong || outside || noncharacter) ? 0 : n;
}
