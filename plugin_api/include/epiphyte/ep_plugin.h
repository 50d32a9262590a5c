/* Plugin: the one symbol a library exports, and what it answers.
 *
 * The host calls EpPluginQuery first of all, and again when the plugin comes back into use after Shutdown. The plugin
 * compares [abi_min, abi_max] with what it was built for and answers with a descriptor, the same each time, or null.
 * Nothing is printed, no device is touched: the query must work on a machine that lacks the device.
 *
 * Example
 *     const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo* host) {
 *       if (host == NULL || host->abi_min > EP_ABI_VERSION || host->abi_max < EP_ABI_VERSION) return NULL;
 *       return &kDescriptor;
 *     }
 */
#ifndef EPIPHYTE_EP_PLUGIN_H_
#define EPIPHYTE_EP_PLUGIN_H_

#include "ep_provider.h"

EP_EXTERN_C_BEGIN

/* Where the plugin is; strings valid for the life of the process. */
typedef struct EpPluginEnvironment {
  uint32_t struct_size;
  uint32_t reserved;
  const char* library_path;   /* absolute */
  const char* directory;      /* of the library: side files are found here */
  const char* manifest_path;  /* "" when the application registered the library by hand */
} EpPluginEnvironment;

typedef uint32_t EpDeviceKind; /* one that the host doesn't know counts as OTHER */
#define EP_DEVICE_CPU 0u
#define EP_DEVICE_GPU 1u
#define EP_DEVICE_NPU 2u
#define EP_DEVICE_OTHER 3u

/* One device a plugin can use. Strings are valid as long as the plugin. */
typedef struct EpDeviceInfo {
  uint32_t struct_size;
  EpDeviceKind kind;
  const char* name;
  const char* vendor;
  const char* driver_version;
  const char* architecture; /* what a compiled context depends on */
} EpDeviceInfo;

/* Constant for the life of the process, and so are its strings. */
typedef struct EpPluginDescriptor {
  uint32_t struct_size;
  uint32_t abi_version; /* the one version in [abi_min, abi_max] that this plugin uses from here on */
  const char* name;     /* provider name, as in the manifest */
  const char* vendor;
  const char* version;
  const char* const* sources; /* EPContext `source` keys that it owns, `source_count` of them, may be none */
  uint32_t source_count;
  uint32_t reserved;

  /* Called before anything below, and again after Shutdown. May fail: the plugin then counts as absent. [one thread] */
  EpStatus*(EP_CALL* Initialize)(const EpHostInfo* host, const EpPluginEnvironment* environment, EpPlugin** plugin);
  /* Called when no provider is left and nobody uses the plugin any more. The library stays mapped. [one thread] */
  void(EP_CALL* Shutdown)(EpPlugin* plugin);

  /* Fills devices[0..capacity) with pointers to infos that live as long as the plugin and sets *count to how many
   * there are, which may be more than capacity, or 0. Called again with more room if there are more. [one thread] */
  EpStatus*(EP_CALL* GetDevices)(EpPlugin* plugin, const EpDeviceInfo** devices, uint32_t capacity, uint32_t* count);

  /* Optional. Says whether a context can be used here, without a provider, without device work. `reason` is filled
   * with at most `reason_capacity` bytes, zero included. [any thread] */
  EpStatus*(EP_CALL* CheckContext)(EpPlugin* plugin, const EpContextHeader* header, EpContextVerdict* verdict,
                                   char* reason, uint64_t reason_capacity);

  const EpProviderApi* provider;

  /* Optional. A table of a feature that came later, or null. [any thread] */
  const void*(EP_CALL* GetExtension)(EpPlugin* plugin, const char* id);
} EpPluginDescriptor;

typedef const EpPluginDescriptor*(EP_CALL* EpPluginQueryFunction)(const EpHostInfo* host);
#define EP_PLUGIN_QUERY_SYMBOL "EpPluginQuery"

/* A plugin defines this function, with this attribute, and exports nothing else. */
EP_EXPORT const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo* host);

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_PLUGIN_H_ */
