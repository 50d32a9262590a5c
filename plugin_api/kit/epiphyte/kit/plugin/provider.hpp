// Provider: a plugin in one session. The class to derive from.
//
//   class MyProvider : public kit::Provider {
//    public:
//     explicit MyProvider(const kit::ProviderConfig& config) : threads_(config.threads()) {}
//     bool Supports(const kit::NodeView& node, std::string* why_not) override { … }
//     std::unique_ptr<kit::Kernel> Compile(const kit::Partition& partition) override { … }
//   };
//   EPIPHYTE_KIT_PLUGIN(MyProvider, "my-ep", "My Company", "1.0.0", "MySource")   // plugin.hpp
//
// That is all of a plugin that runs single nodes. For more, override more: GetCapability for groups, CompileAll to see
// all partitions at once, SaveContext and LoadContext, or SaveContexts and LoadContexts, for contexts.
//
// The functions of one provider are called one at a time, on whichever thread; kernels run on many at once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/kit/abi/graph_view.hpp"
#include "epiphyte/kit/abi/log.hpp"
#include "epiphyte/kit/abi/share.hpp"
#include "epiphyte/kit/abi/threads.hpp"
#include "epiphyte/kit/plugin/claims.hpp"
#include "epiphyte/kit/plugin/compilation.hpp"
#include "epiphyte/kit/plugin/context.hpp"
#include "epiphyte/kit/plugin/explanation.hpp"
#include "epiphyte/kit/plugin/kernel.hpp"

namespace epiphyte::kit {

class Plugin;

// What a session asks of a provider. `host`, `thread_pool` and `share_group` are good as long as the provider.
struct ProviderConfig {
  const EpHostInfo& host;
  std::map<std::string, std::string> options;  // of manifest, policy file and session; never `device`
  EpThreadPool* thread_pool = nullptr;
  std::vector<uint32_t> devices;        // indices into what the plugin's Devices() gives; the first is the main one
  bool context_enabled = false;         // contexts will be saved after Compile
  EpShareGroup* share_group = nullptr;  // for kit::ShareGroup
  uint32_t thread_count = 1;            // how many threads the session wants; there can be fewer
  const char* plugin_name = "";

  Threads threads() const { return {host.services, thread_pool, thread_count}; }
  Log log() const { return Log(host, plugin_name); }
};

class Provider {
 public:
  virtual ~Provider() = default;

  // --- Which nodes. Override one of the two.

  // Can this node run here? The host groups what can. `why_not` is shown in the placement report.
  virtual bool Supports(const NodeView& node, std::string* why_not);
  // The same for a whole graph; leaves no trace in the provider. As a default, Supports is asked for each node that
  // nobody has.
  virtual void GetCapability(const GraphView& graph, Claims& claims);
  // What it would do with the nodes of a partition that it claimed, for the placement report; compiles nothing, and leaves
  // no trace in the provider. As a default, nothing is said.
  virtual void Explain(std::string_view partition, const GraphView& graph, Explanation& explanation);

  // --- Compiling. Override one of the two.

  // Throws Declined for a partition that is somebody else's after all. What takes long reports to partition.task.
  virtual std::unique_ptr<Kernel> Compile(const Partition& partition);
  // As a default, Compile is called for each.
  virtual void CompileAll(Compilation& compilation);

  // --- Contexts, the short way: one payload for all partitions, in the order of Compile.

  virtual void SaveContext(const std::vector<std::string>& partitions, ContextWriter& writer);
  // Instead of SaveContext, in a session whose share group goes on: the last session's SaveContext writes these too.
  virtual void KeepContext(const std::vector<std::string>& partitions);
  // `payload` outlives the kernel.
  virtual std::unique_ptr<Kernel> LoadContext(std::string_view partition, std::span<const std::byte> payload);
  // What contexts of this provider depend on; written into each, and compared by CheckContext. An empty Hardware: on
  // none. As a default, the plugin's SdkVersion and the architecture of the session's device.
  virtual std::string SdkVersion() const { return sdk_version_; }
  virtual std::string Hardware() const { return hardware_; }
  // Called for each context node before LoadContext: throws when what made it doesn't fit. Override it to accept more
  // than what is equal.
  virtual void CheckContext(const ContextOrigin& origin) const;

  // --- Contexts, all of it. As a default, these call the ones above.

  virtual void SaveContexts(ContextSink& sink);
  virtual void LoadContexts(ContextLoading& loading);

 protected:
  // Known from the end of the constructor on; before that, ask the ProviderConfig.
  const EpHostInfo& host() const { return *host_; }
  Plugin& plugin() const { return *plugin_; }
  const ShareMembership& share_membership() const { return share_membership_; }

 private:
  friend class Trampolines;
  const EpHostInfo* host_ = nullptr;
  Plugin* plugin_ = nullptr;
  ShareMembership share_membership_;
  std::string sdk_version_;
  std::string hardware_;
};

}  // namespace epiphyte::kit
