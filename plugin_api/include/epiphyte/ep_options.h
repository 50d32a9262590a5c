/* Options: a plugin declares the options of its providers.
 *
 * Options come from a manifest, a policy file and a session, as text. A plugin that declares options here gets only
 * declared options, with valid values. The host refuses other options and values, says which are valid, and shows the
 * declarations in `epiphyte doctor`. A declared option that is not set arrives with its default. The table below is the
 * extension "ep.options/1" of EpPluginDescriptor::GetExtension. A plugin without it gets options unchecked, as they
 * were given.
 *
 * The spelling of a value is the same everywhere: as a given value, a default, a bound and a choice.
 *   - INT: a decimal number that fits into 64 bits, "-3".
 *   - FLOAT: a decimal number, "0.5" or "1e-3", that a double can hold; no infinity, no NaN. Beware that strtod depends
 *     on the locale.
 *   - BOOL: "1" or "0". Users may also write true and false; the plugin gets 1 and 0.
 *   - CHOICE: one of `choices`, letter by letter.
 *   - STRING: any text.
 *
 * `device` is the host's own option (see EpProviderConfig) and is not declared. A host that doesn't know this extension
 * passes options unchecked, so CreateProvider must check them; kit/plugin/options.hpp does.
 *
 * Example: the options `precision` and `tiles`
 *     static const char* const precisions[] = {"f32", "f16"};
 *     static const EpOptionInfo precision = {sizeof precision, EP_OPTION_CHOICE, "precision", "f32",
 *                                            "what products are computed in", NULL, NULL, precisions, 2, 0};
 *     static const EpOptionInfo tiles = {sizeof tiles, EP_OPTION_INT, "tiles", "4", "how many tiles a model gets",
 *                                        "1", "8", NULL, 0, 0};
 *     static EpStatus* EP_CALL GetOptions(EpPlugin* plugin, const EpOptionInfo** options, uint32_t capacity,
 *                                         uint32_t* count) {
 *       *count = 2;
 *       if (capacity > 0) options[0] = &precision;
 *       if (capacity > 1) options[1] = &tiles;
 *       return NULL;
 *     }
 *     static const EpOptionsApi options_api = {sizeof options_api, 0, GetOptions};
 */
#ifndef EPIPHYTE_EP_OPTIONS_H_
#define EPIPHYTE_EP_OPTIONS_H_

#include "ep_plugin.h"

EP_EXTERN_C_BEGIN

#define EP_OPTIONS_EXTENSION "ep.options/1"

/* Maximum number of options of a plugin, and of choices of one option. */
#define EP_MAX_OPTIONS 256u

typedef uint32_t EpOptionType; /* a plugin with a type that the host doesn't know is refused [R1307] */
#define EP_OPTION_STRING 0u
#define EP_OPTION_INT 1u
#define EP_OPTION_FLOAT 2u
#define EP_OPTION_BOOL 3u
#define EP_OPTION_CHOICE 4u

/* One option. The struct and its texts live as long as the plugin. Each text is one line. [R1304] A plugin with a wrong
 * declaration is refused when it is loaded. */
typedef struct EpOptionInfo {
  uint32_t struct_size;
  EpOptionType type;
  const char* name; /* 1 to 64 letters, digits, '_', '-' or '.', each name once, not `device` [R1305 R1306] */
  /* Value when the option is not set; valid like any other value. [R1309 R1310] A mandatory option is a STRING with the
   * default "". */
  const char* default_value;
  const char* help; /* description for users; not empty, at most 1023 bytes [R1308] */
  /* INT and FLOAT: the smallest and the largest valid value; null: no bound. Null for other types. [R1311] */
  const char* minimum;
  const char* maximum;
  const char* const* choices; /* CHOICE: `choice_count` distinct texts, 1 to EP_MAX_OPTIONS; other types: none */
  uint32_t choice_count;      /* [R1312] */
  uint32_t reserved;
} EpOptionInfo;

/* The plugin's functions for options. [R1301] */
typedef struct EpOptionsApi {
  uint32_t struct_size;
  uint32_t reserved;

  /* Fills options[0..capacity) with pointers to infos [R1303] and sets *count to the number of options. The number may
   * exceed capacity: the host then calls again with more room. It may be 0, and is at most EP_MAX_OPTIONS. The answer
   * is the same each time. [R1313] CreateProvider works with every option at its default. [R1314] It accepts every
   * valid value or fails with INVALID_ARGUMENT. [R1315] Options that a manifest sets are declared and valid. [R1316]
   * [any thread] */
  EpStatus*(EP_CALL* GetOptions)(EpPlugin* plugin, const EpOptionInfo** options, uint32_t capacity, uint32_t* count);
} EpOptionsApi;

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_OPTIONS_H_ */
