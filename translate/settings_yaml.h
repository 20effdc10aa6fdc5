/* Settings as YAML in memory. */
#ifndef WG_TRANSLATE_SETTINGS_YAML_H
#define WG_TRANSLATE_SETTINGS_YAML_H

#include "wengert/translate/settings.h"

/* wg_settings_read_yaml of the bytes; `path` is for messages. */
wg_status wgi_settings_parse_yaml(wg_settings *s, const char *path, const char *bytes, size_t size,
                                  wg_error *error);

#endif
