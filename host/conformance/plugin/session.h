// Plugin and Session: an initialised plugin, and one use of it with provider, kernels and states. Every answer is
// checked.
//
//   Plugin plugin(library, library.Query(host.info()), host.info());
//   Session session(plugin, {});
//   session.Compile({probe.graph.Part(members, "p0")});
//   std::vector<Tensor> outputs = session.Run(0, probe.inputs);
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "epiphyte/draft/ep_explain.h"
#include "host/conformance/debug_host/debug_capability.h"
#include "host/conformance/debug_host/debug_context.h"
#include "host/conformance/debug_host/debug_profile.h"
#include "host/conformance/debug_host/debug_run.h"
#include "host/conformance/debug_host/debug_share.h"
#include "host/conformance/debug_host/debug_task.h"
#include "host/conformance/plugin/kernel_info.h"
#include "host/conformance/plugin/plugin_devices.h"
#include "host/conformance/plugin/plugin_library.h"

namespace epiphyte::conformance {

class Plugin {
 public:
  Plugin(PluginLibrary& library, const EpPluginDescriptor* descriptor, const EpHostInfo* info);
  ~Plugin() noexcept(false);
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  DebugHost& host() const { return library_.host(); }
  PluginLibrary& library() const { return library_; }
  const EpPluginDescriptor& descriptor() const { return *descriptor_; }
  const EpProviderApi& api() const { return *descriptor_->provider; }
  EpPlugin* handle() const { return plugin_; }
  bool makes_contexts() const { return api().LoadContext != nullptr; }
  // Returns null when the plugin has no ep.device.
  PluginDevices* devices();
  std::vector<std::string> sources() const;
  void Close();
  // Calls GetDevices and checks the answer.
  std::vector<const EpDeviceInfo*> Devices();

 private:
  PluginLibrary& library_;
  const EpPluginDescriptor* descriptor_;
  EpPlugin* plugin_ = nullptr;
  bool has_asked_for_devices_ = false;
  std::unique_ptr<PluginDevices> devices_;
  bool closed_ = false;
  int exceptions_;
  static inline int alive_ = 0;
};

class Session {
 public:
  struct Setup {
    std::map<std::string, std::string> options;  // in addition to the manifest's
    bool context_enabled = false;
    std::shared_ptr<DebugMembership> share = nullptr;
    Rule payload_end = Rule::kBlobsAreReadOnly;  // rule that a read beyond a payload's end breaks
    bool profiled = false;
  };
  Session(Plugin& plugin, Setup setup);
  ~Session() noexcept(false);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Calls CreateProvider with these options. Only rules that hold for every call are checked.
  static DebugHost::Failure TryCreate(Plugin& plugin, const std::map<std::string, std::string>& options);

  Claims Capability(const GraphSpec& graph);
  // Adds one kernel for each partition. Ends the check when compiling fails.
  void Compile(const std::vector<GraphSpec>& partitions);
  struct Answer {
    DebugHost::Failure failure;
    bool was_told = false;
  };
  // Calls Explain as the placement report does, with the same partitions as Compile. An error status is not a failure.
  void Explain(const EpExplainApi& table, const std::vector<GraphSpec>& partitions);
  // Compiles; from the first report on, the user has cancelled.
  Answer CompileAndCancel(const std::vector<GraphSpec>& partitions);
  SavedContext Save(bool embed);
  DebugHost::Failure TrySave(bool embed, SavedContext* saved);
  void Load(const SavedContext& context, const std::vector<GraphSpec>& partitions, LentMemory::Place place);
  // Adds kernels only when loading succeeds.
  DebugHost::Failure TryLoad(const SavedContext& context, const std::vector<GraphSpec>& partitions,
                             LentMemory::Place place);

  // Returns the number of spans that the plugin added; 0 if the session isn't profiled.
  uint64_t span_count() const { return profile_ == nullptr ? 0 : profile_->span_count(); }
  size_t kernel_count() const { return kernels_.size(); }
  const GraphSpec& partition(size_t kernel) const { return kernels_[kernel]->partition; }
  const core::KernelPlaces& places(size_t kernel) const { return kernels_[kernel]->info.places(); }
  struct RunAnswer {
    DebugHost::Failure failure;
    std::vector<Tensor> outputs;
    bool was_told = false;
    bool has_refused = false;
    bool has_adopted = false;
    bool has_aliased = false;
  };
  struct RunSetting {
    unsigned char fill = 0xCD;
    bool cancel = false;
    bool refuse_memory = false;
    // Only for kernels on devices; see DeviceRun::Setting.
    size_t input_memory = 0;
    size_t output_memory = 0;
    bool aliases = false;
  };
  // [any thread]
  RunAnswer TryRun(size_t kernel, const std::vector<Tensor>& inputs, const RunSetting& setting);
  std::vector<Tensor> Run(size_t kernel, const std::vector<Tensor>& inputs) {
    return Run(kernel, inputs, RunSetting());
  }
  std::vector<Tensor> Run(size_t kernel, const std::vector<Tensor>& inputs, const RunSetting& setting);
  // Releases everything in the host's order.
  void Close();

 private:
  struct Kernel {
    EpKernel* handle = nullptr;
    GraphSpec partition;
    KernelInfo info;
    std::vector<EpKernelState*> free_states;
    std::vector<EpKernelState*> states;
  };
  DebugHost::Failure Adopt(const std::string& function, DebugHost::Failure failure, const std::vector<EpKernel*>& made,
                           const std::vector<GraphSpec>& partitions, const std::set<uint64_t>& declined);
  DebugHost::Failure CompileWith(const std::vector<GraphSpec>& partitions, bool cancel, bool* was_told);
  EpProfile* profile() const { return profile_ == nullptr ? nullptr : profile_->handle(); }
  EpKernelState* TakeState(Kernel& kernel);
  std::unique_ptr<Stream> TakeStream();
  void ReleaseKernels();

  Plugin& plugin_;
  DebugHost& host_;
  Setup setup_;
  int exceptions_;
  EpThreadPool* pool_;
  Arena names_;  // names of partitions; lent as long as the provider lives
  EpProvider* provider_ = nullptr;
  std::unique_ptr<DebugProfile> profile_;  // lives until the provider is destroyed
  RetainedConstants constants_;
  std::vector<std::unique_ptr<LentMemory>> blobs_;
  std::vector<std::string> partition_names_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::mutex states_mutex_;
  std::mutex streams_mutex_;
  std::vector<std::unique_ptr<Stream>> free_streams_;  // unused streams of the provider's device
  std::mutex exclusive_mutex_;
  static inline int alive_ = 0;
};

}  // namespace epiphyte::conformance
