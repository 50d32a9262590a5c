/* What matters here is that it compiles and links; the host never loads it. */
#include <epiphyte/ep_plugin.h>
#include <stddef.h>

const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo* host) {
  (void)host;
  return NULL;
}
