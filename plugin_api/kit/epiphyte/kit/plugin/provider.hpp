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
// These functions are enough for a plugin that runs single nodes. Override further functions where they are needed:
// GetCapability for groups of nodes, CompileAll to see all partitions at once, SaveContext and LoadContext (or
// SaveContexts and LoadContexts) for contexts.
//
// The host calls the functions of one provider one at a time, on any thread. Kernels run on many threads at once.
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

// Arguments of a session for its provider. `host`, `thread_pool` and `share_group` live as long as the provider.
struct ProviderConfig {
  const EpHostInfo& host;
  std::map<std::string, std::string> options;  // merged from manifest, policy file and session; never contains `device`
  EpThreadPool* thread_pool = nullptr;
  std::vector<uint32_t> devices;        // indices into the plugin's Devices(); the first is the main one
  bool context_enabled = false;         // contexts will be saved after Compile
  EpShareGroup* share_group = nullptr;  // argument for kit::ShareGroup; null without a group
  uint32_t thread_count = 1;            // number of threads that the session wants; the pool may have fewer
  const char* plugin_name = "";

  Threads threads() const { return {host.services, thread_pool, thread_count}; }
  Log log() const { return Log(host, plugin_name); }
};

class Provider {
 public:
  virtual ~Provider() = default;

  // --- Claiming nodes. Override Supports or GetCapability.

  // Returns whether this node can run here. The host groups supported nodes. `why_not` is shown in the placement
  // report.
  virtual bool Supports(const NodeView& node, std::string* why_not);
  // Claims nodes of a whole graph. Changes nothing in the provider. Default: asks Supports for each node that no
  // provider has yet.
  virtual void GetCapability(const GraphView& graph, Claims& claims);
  // Describes what the provider would do with the nodes of a partition that it claimed, for the placement report.
  // Compiles nothing and changes nothing in the provider. Default: no notes.
  virtual void Explain(std::string_view partition, const GraphView& graph, Explanation& explanation);

  // --- Compiling. Override Compile or CompileAll.

  // Throws Declined when another provider should run the partition after all. Work that takes long reports its progress
  // to partition.task.
  virtual std::unique_ptr<Kernel> Compile(const Partition& partition);
  // Default: calls Compile for each partition.
  virtual void CompileAll(Compilation& compilation);

  // --- Contexts, the short way: one payload for all partitions, in the order of the Compile calls.

  virtual void SaveContext(const std::vector<std::string>& partitions, ContextWriter& writer);
  // Called instead of SaveContext when the session's share group has later sessions. The last session's SaveContext
  // writes these partitions too.
  virtual void KeepContext(const std::vector<std::string>& partitions);
  // `payload` outlives the kernel.
  virtual std::unique_ptr<Kernel> LoadContext(std::string_view partition, std::span<const std::byte> payload);
  // SDK version and hardware that contexts of this provider depend on. They are written into each context, and
  // CheckContext compares them. An empty Hardware means that contexts fit any hardware. Default: the plugin's
  // SdkVersion and the architecture of the session's device.
  virtual std::string SdkVersion() const { return sdk_version_; }
  virtual std::string Hardware() const { return hardware_; }
  // Called for each context node before LoadContext. Throws when the context's origin does not fit. The default accepts
  // equal values only; override it to accept more.
  virtual void CheckContext(const ContextOrigin& origin) const;

  // --- Contexts, the full interface. The defaults call the functions above.

  virtual void SaveContexts(ContextSink& sink);
  virtual void LoadContexts(ContextLoading& loading);

 protected:
  // Valid from the end of the constructor on. In the constructor, ask the ProviderConfig.
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
