/* Amounts for people: three digits and a prefix of the unit. */
#ifndef WG_PRIVATE_GRAPH_AMOUNT_H
#define WG_PRIVATE_GRAPH_AMOUNT_H

enum { WGI_AMOUNT_TEXT = 48 };

/* "12.3 kFLOP", "4 FLOP"; all return `text`.  A unit may be "" or begin with a space: "1.2 M
 * parameters", "7 parameters". */
const char *wgi_amount_text(double x, const char *unit, char text[WGI_AMOUNT_TEXT]);

/* "1.5 MiB", "1000 KiB" */
const char *wgi_bytes_text(double bytes, char text[WGI_AMOUNT_TEXT]);

/* "1.5 ms", "1250 s" */
const char *wgi_seconds_text(double seconds, char text[WGI_AMOUNT_TEXT]);

#endif
