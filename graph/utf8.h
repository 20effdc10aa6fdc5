/* UTF-8 in names that come from outside. */
#ifndef WG_PRIVATE_GRAPH_UTF8_H
#define WG_PRIVATE_GRAPH_UTF8_H

/* Bytes of the well-formed UTF-8 character at s; 0 if there is none, or a noncharacter that XML
 * does not allow. */
int wgi_utf8_length(const unsigned char *s);

/* U+FFFD, which stands for what is no character. */
#define WGI_UTF8_REPLACEMENT "\xef\xbf\xbd"

#endif
