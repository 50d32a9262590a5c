// Handles: the objects behind the handles to plugins, providers, kernels and states that the kit gives to the host.
// Each except a state knows its host, so that one library serves several hosts. For the kit's own use.
#pragma once

#include <memory>

#include "epiphyte/ep_plugin.h"
#include "epiphyte/kit/plugin/kernel.hpp"
#include "epiphyte/kit/plugin/operator_table.hpp"
#include "epiphyte/kit/plugin/options.hpp"

namespace epiphyte::kit {

class Plugin;
class Provider;

struct PluginHandle {
  const EpHostInfo* host;
  std::unique_ptr<Plugin> plugin;
  OperatorTable operators;
  std::unique_ptr<OptionTable> options;  // null: the plugin declares no options
};
struct ProviderHandle {
  const EpHostInfo* host;
  std::unique_ptr<Provider> provider;
};
struct KernelHandle {
  const EpHostInfo* host;
  std::unique_ptr<Kernel> kernel;
};
struct StateHandle {
  std::unique_ptr<KernelState> state;  // null: the kernel has none
};

inline PluginHandle& From(EpPlugin* plugin) { return *reinterpret_cast<PluginHandle*>(plugin); }
inline ProviderHandle& From(EpProvider* provider) { return *reinterpret_cast<ProviderHandle*>(provider); }
inline KernelHandle& From(EpKernel* kernel) { return *reinterpret_cast<KernelHandle*>(kernel); }
inline StateHandle& From(EpKernelState* state) { return *reinterpret_cast<StateHandle*>(state); }

inline EpKernel* ToHandle(const EpHostInfo& host, std::unique_ptr<Kernel> kernel) {
  return reinterpret_cast<EpKernel*>(new KernelHandle{&host, std::move(kernel)});
}

}  // namespace epiphyte::kit
