/* What training needs of a model folder beyond its public interface. */
#ifndef WG_PRIVATE_TRANSLATE_FOLDER_H
#define WG_PRIVATE_TRANSLATE_FOLDER_H

#include "wengert/translate/folder.h"

/* Writes config.yml, with a checksum in its first line, which wg_folder_settings verifies. */
wg_status wgi_folder_write_settings(const char *folder, const wg_settings *s, wg_error *error);

/* Whether the folder has the files that wg_vocabularies_save writes. */
wg_status wgi_vocabularies_saved(const wg_vocabularies *v, const char *folder, bool *saved,
                                 wg_error *error);

/* Of both vocabularies, all that they are; never 0. */
uint64_t wgi_vocabularies_hash(const wg_vocabularies *v);

/* The metadata entry of weights that has this hash. */
#define WGI_NOTE_VOCABULARIES "wengert-vocabularies"
enum { WGI_NOTE_SIZE = 17 };
void wgi_note_of_vocabularies(char text[WGI_NOTE_SIZE], uint64_t hash);
/* WG_EDATA if the weights in `path` with that entry (NULL: none) were trained with others. */
wg_status wgi_vocabularies_check(const wg_vocabularies *v, const char *folder, const char *note,
                                 const char *path, wg_error *error);

#endif
