// Provider list: which providers a session uses, in order, and with which options.
//
// With a list in the session options: exactly these, in that order. Without: every usable plugin in the catalog's
// order. The fallback provider (a manifest says `fallback: true`) is added last if it isn't there already, unless
// session.disable_cpu_ep_fallback is 1.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/abi/provider.h"
#include "core/registry/catalog.h"
#include "core/runtime/session_options.h"

namespace epiphyte::core {

struct ProviderSlot {
  const LoadedPlugin* plugin = nullptr;
  std::shared_ptr<Provider> provider;
  bool listed = false;    // the user asked for it by name
  bool fallback = false;  // takes what nobody else does; its nodes stay plain in a context model unless it is listed

  const Device* device() const { return plugin->devices.empty() ? nullptr : &plugin->devices[device_index]; }
  uint32_t device_index = 0;
};

// `progress` takes the place of the options' own; it may be empty.
// Throws NOT_FOUND or EP_FAIL for a listed provider that can't be used; unlisted ones are left out with a warning in
// the log.
std::vector<ProviderSlot> MakeProviders(Catalog& catalog, const SessionOptions& options, ThreadPool* thread_pool,
                                        bool context_enabled, const ShareMembership& share,
                                        const ProgressFunction& progress);

}  // namespace epiphyte::core
