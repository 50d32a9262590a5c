/* Plugin: what the one function that a library exports answers. [R102]
 *
 * The host calls EpPluginQuery first of all, for each manifest that names the library, and again when the plugin comes
 * back into use after Shutdown. The plugin answers with a descriptor, [R105] the same each time for the same
 * environment, [R107] or with null when it has nothing for that environment. Whether the versions fit is for the host
 * to decide. Nothing is printed, no device is touched: [R108] the query must work on a machine that lacks the device.
 *
 * The function itself is declared in ep_entry.h, which a plugin includes once.
 */
#ifndef EPIPHYTE_EP_PLUGIN_H_
#define EPIPHYTE_EP_PLUGIN_H_

#include "ep_provider.h"

EP_EXTERN_C_BEGIN

/* For which manifest, and where the plugin is; valid for the life of the process, and so are the strings, which are
 * never null. */
typedef struct EpPluginEnvironment {
  uint32_t struct_size;
  uint32_t parameter_count;
  const char* library_path;  /* absolute */
  const char* directory;     /* of the library: side files are found here */
  const char* manifest_path; /* "" when the application registered the plugin by hand */
  const char* name;          /* the manifest's; "" without one. One library may serve several */
  const EpKeyValue*
      parameters; /* of the manifest's `parameters`, which are the plugin's own; sorted, keys are unique */
} EpPluginEnvironment;

typedef uint32_t EpDeviceKind; /* one that the host doesn't know counts as OTHER */
#define EP_DEVICE_CPU 0u
#define EP_DEVICE_GPU 1u
#define EP_DEVICE_NPU 2u
#define EP_DEVICE_OTHER 3u

/* EpDeviceInfo::flags */
#define EP_DEVICE_COMPILE_ONLY 1u /* not here: contexts can be compiled for it, but nothing runs */
#define EP_DEVICE_INTEGRATED 2u   /* shares its memory with the CPU */
#define EP_DEVICE_LOST 4u         /* was here, and is of no use before the process ends */
#define EP_DEVICE_SOFTWARE 8u     /* the CPU stands in for it: a session gets it when it asks for the plugin or the
                                   * device, and by itself no session does */

/* One device a plugin can use. Strings are valid as long as the plugin, never null, at most 255 bytes of one line;
 * [R316] "" where there is nothing to say. */
typedef struct EpDeviceInfo {
  uint32_t struct_size;
  EpDeviceKind kind;
  uint32_t flags;
  uint32_t vendor_id; /* PCI's or another registry's, 0: none */
  uint32_t device_id;
  uint32_t reserved;
  const char* name;
  const char* vendor;
  const char* driver_version;
  const char* architecture; /* what a compiled context depends on */
  const char* location;     /* "pci:0000:65:00.0", "usb:1-4" */
  const char* uuid;         /* lower-case hex; two plugins with one device give the same */
  uint64_t memory_bytes;    /* of its own; 0: none or not known */
} EpDeviceInfo;

/* Constant for the life of the process, and so are its strings. */
typedef struct EpPluginDescriptor {
  uint32_t struct_size; /* [R201] */
  uint32_t abi_version; /* the lowest ABI that this plugin can live with [R202]; what later ones have it looks for */
  const char* name;     /* provider name, as in the manifest [R203 R204 R207] */
  const char* vendor;
  const char* version;  /* as in the manifest, letter for letter [R215] */
  const char* const* sources; /* EPContext `source` keys that it owns, `source_count` of them, may be none */
  uint32_t source_count; /* [R205 R208] */
  uint32_t reserved;

  /* Called before anything below, and again after Shutdown. [R303] Host and environment are those of the query. May
   * fail: the plugin then counts as absent. [R302] Each success has its Shutdown. Not called for two environments at
   * once, but while plugins of other environments, and of other hosts, are in use. [R304] [one thread] */
  EpStatus*(EP_CALL* Initialize)(const EpHostInfo* host, const EpPluginEnvironment* environment, EpPlugin** plugin);
  /* Called when no provider is left and nobody uses the plugin any more. The library stays mapped. [one thread] */
  void(EP_CALL* Shutdown)(EpPlugin* plugin);

  /* Fills devices[0..capacity) [R313] with pointers to infos that live as long as the plugin [R317] and sets *count to
   * how many [R314] there are, which may be more than capacity, or 0: the plugin is then of no use here. [R315] It may
   * say why with a status NOT_FOUND instead, which users get as it is. Called again with more room if there are more. At most 4096. [R312] [one thread] */
  EpStatus*(EP_CALL* GetDevices)(EpPlugin* plugin, const EpDeviceInfo** devices, uint32_t capacity, uint32_t* count);

  /* Optional. Says whether a context can be used, without a provider, without device work. `reason`, of one line, is
   * filled with at most `reason_capacity` bytes, zero included. A status counts as NOT_APPLICABLE. [any thread] */
  EpStatus*(EP_CALL* CheckContext)(EpPlugin* plugin, const EpContextHeader* header, EpContextVerdict* verdict,
                                   char* reason, uint64_t reason_capacity); /* [R835] */

  const EpProviderApi* provider; /* never null, and struct_size covers it [R210] */

  /* Optional. A table of a feature that came later, or null. [R318] Valid until Shutdown. [any thread] */
  const void*(EP_CALL* GetExtension)(EpPlugin* plugin, const char* id);
} EpPluginDescriptor;

/* [one thread] `host` and `environment` stay valid for the life of the process. */
typedef const EpPluginDescriptor*(EP_CALL* EpPluginQueryFunction)(const EpHostInfo* host,
                                                                  const EpPluginEnvironment* environment);
#define EP_PLUGIN_QUERY_SYMBOL "EpPluginQuery" /* of a library that loads with all symbols resolved [R101] */

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_PLUGIN_H_ */
