/* Plugin: the descriptor that EpPluginQuery, the one exported function of a library, returns. [R102]
 *
 * The host calls EpPluginQuery before all other functions, once for each manifest that names the library, and again
 * when the plugin comes back into use after Shutdown. The plugin returns a descriptor, the same each time for the same
 * environment [R107], or null when it has nothing for that environment. [R105] The host decides whether the versions
 * fit. The query prints nothing and touches no device: it must work on a machine that lacks the device. [R108]
 *
 * The function itself is declared in ep_entry.h, which a plugin includes once.
 */
#ifndef EPIPHYTE_EP_PLUGIN_H_
#define EPIPHYTE_EP_PLUGIN_H_

#include "ep_provider.h"

EP_EXTERN_C_BEGIN

/* The manifest that the query is for, and the plugin's location. The struct and its strings are valid for the life of
 * the process. No string is null. */
typedef struct EpPluginEnvironment {
  uint32_t struct_size;
  uint32_t parameter_count;
  const char* library_path;     /* absolute */
  const char* directory;        /* folder of the library: side files are found here */
  const char* manifest_path;    /* "" when the application registered the plugin by hand */
  const char* name;             /* name in the manifest; "" without one. One library may serve several manifests */
  const EpKeyValue* parameters; /* the manifest's `parameters`; the plugin defines them. Sorted, keys are unique */
} EpPluginEnvironment;

typedef uint32_t EpDeviceKind; /* a kind that the host doesn't know counts as OTHER */
#define EP_DEVICE_CPU 0u
#define EP_DEVICE_GPU 1u
#define EP_DEVICE_NPU 2u
#define EP_DEVICE_OTHER 3u

/* EpDeviceInfo::flags */
#define EP_DEVICE_COMPILE_ONLY 1u /* not present: contexts can be compiled for it, but nothing runs */
#define EP_DEVICE_INTEGRATED 2u   /* shares its memory with the CPU */
#define EP_DEVICE_LOST 4u         /* lost after it was found; unusable until the process ends */
/* The CPU emulates the device: a session gets it only when it asks for the plugin or the device. */
#define EP_DEVICE_SOFTWARE 8u

/* One device that a plugin can use. Strings live as long as the plugin, are never null, and hold at most 255 bytes in
 * one line; [R316] "" means no information. */
typedef struct EpDeviceInfo {
  uint32_t struct_size;
  EpDeviceKind kind;
  uint32_t flags;
  uint32_t vendor_id; /* vendor id of PCI or another registry; 0: none */
  uint32_t device_id;
  uint32_t reserved;
  const char* name;
  const char* vendor;
  const char* driver_version;
  const char* architecture; /* hardware generation that a compiled context depends on */
  const char* location;     /* "pci:0000:65:00.0", "usb:1-4" */
  const char* uuid;         /* lower-case hex; two plugins give the same uuid for one device */
  uint64_t memory_bytes;    /* the device's own memory; 0: none or not known */
} EpDeviceInfo;

/* The descriptor and its strings are constant for the life of the process. */
typedef struct EpPluginDescriptor {
  uint32_t struct_size; /* [R201] */
  uint32_t abi_version; /* the lowest ABI that this plugin accepts [R202]; it checks for features of later versions */
  const char* name;     /* provider name, as in the manifest [R203 R204 R207] */
  const char* vendor;
  const char* version;        /* as in the manifest, letter for letter [R215] */
  const char* const* sources; /* the `source_count` EPContext `source` keys that the plugin owns; may be none */
  uint32_t source_count;      /* [R205 R208] */
  uint32_t reserved;

  /* Called before any function below, and again after Shutdown. [R303] Host and environment are those of the query. If
   * it fails, the plugin counts as absent. [R302] The host calls Shutdown once for each success. Calls for two
   * environments never overlap. Plugins of other environments and of other hosts may be in use meanwhile. [R304]
   * [one thread] */
  EpStatus*(EP_CALL* Initialize)(const EpHostInfo* host, const EpPluginEnvironment* environment, EpPlugin** plugin);
  /* Called when no provider is left and no other user of the plugin remains. The library stays mapped. [one thread] */
  void(EP_CALL* Shutdown)(EpPlugin* plugin);

  /* Fills devices[0..capacity) with pointers to infos [R313] that live as long as the plugin [R317], and sets *count to
   * the number of devices. [R314] The number may exceed capacity: the host then calls again with more room. It is at
   * most 4096. [R312] With 0 devices the plugin can't be used here; [R315] it may return a status NOT_FOUND instead,
   * and users get its message unchanged. [one thread] */
  EpStatus*(EP_CALL* GetDevices)(EpPlugin* plugin, const EpDeviceInfo** devices, uint32_t capacity, uint32_t* count);

  /* Optional. Says whether a context can be used, without a provider and without device work. `reason` is one line of
   * at most `reason_capacity` bytes, including the terminating zero. A status counts as NOT_APPLICABLE. [any thread] */
  EpStatus*(EP_CALL* CheckContext)(EpPlugin* plugin, const EpContextHeader* header, EpContextVerdict* verdict,
                                   char* reason, uint64_t reason_capacity); /* [R835] */

  const EpProviderApi* provider; /* never null, and struct_size covers it [R210] */

  /* Optional. Returns the table of an optional feature, or null. [R318] The table is valid until Shutdown.
   * [any thread] */
  const void*(EP_CALL* GetExtension)(EpPlugin* plugin, const char* id);
} EpPluginDescriptor;

/* [one thread] `host` and `environment` stay valid for the life of the process. */
typedef const EpPluginDescriptor*(EP_CALL* EpPluginQueryFunction)(const EpHostInfo* host,
                                                                  const EpPluginEnvironment* environment);
#define EP_PLUGIN_QUERY_SYMBOL "EpPluginQuery" /* the library loads with all symbols resolved [R101] */

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_PLUGIN_H_ */
