/* What the program needs of a translator to export it, to draw its attention and to warn. */
#ifndef WG_PRIVATE_TRANSLATE_TRANSLATOR_H
#define WG_PRIVATE_TRANSLATE_TRANSLATOR_H

#include "translate/marks.h"
#include "wengert/backends/store.h"
#include "wengert/translate/translator.h"

/* The settings of its folder, with the sizes of the vocabularies; the parameters.  Owned by the
 * translator. */
const wg_settings *wgi_translator_settings(const wg_translator *t);
const wg_store *wgi_translator_store(const wg_translator *t);
/* The tokens around its sentences. */
const wgi_sentence_marks *wgi_translator_marks(const wg_translator *t);

/* The tokens of a line beyond which it is cut, its end not counted; SIZE_MAX: no limit. */
size_t wgi_translator_limit(const wg_translator *t);

#endif
