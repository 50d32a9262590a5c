/* The test only checks that this compiles and links. The host never loads it. */
#include <epiphyte/draft/ep_device.h>
#include <epiphyte/ep_entry.h>
#include <stddef.h>

const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo* host, const EpPluginEnvironment* environment) {
  (void)host;
  (void)environment;
  return NULL;
}
