/* Entry: the one symbol that a plugin's library exports. [R103] Only the source file that defines the symbol includes
 * this header; hosts don't need it.
 *
 * Example
 *     #include <epiphyte/ep_entry.h>
 *     EP_EXPORT const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo* host,
 *                                                               const EpPluginEnvironment* environment) {
 *       (void)host;
 *       (void)environment;
 *       return &kDescriptor;
 *     }
 */
#ifndef EPIPHYTE_EP_ENTRY_H_
#define EPIPHYTE_EP_ENTRY_H_

#include "ep_plugin.h"

#if defined(_WIN32)
#define EP_EXPORT __declspec(dllexport)
#else
#define EP_EXPORT __attribute__((visibility("default")))
#endif

EP_EXTERN_C_BEGIN

EP_EXPORT const EpPluginDescriptor* EP_CALL EpPluginQuery(const EpHostInfo* host,
                                                          const EpPluginEnvironment* environment);

EP_EXTERN_C_END

#endif /* EPIPHYTE_EP_ENTRY_H_ */
