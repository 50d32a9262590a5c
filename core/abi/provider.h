// Provider and Kernel: a plugin's provider behind C++ types, with every answer checked.
//
// The plugin's values are hostile: counts, pointers, indices and strings are checked before they are used, exceptions
// that a plugin lets escape are caught, and each failure names the provider, the call and what was wrong.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/abi/context_nodes.h"
#include "core/abi/kernel_handle.h"
#include "core/abi/kernel_places.h"
#include "core/abi/output_check.h"
#include "core/abi/profile.h"
#include "core/abi/share_workspaces.h"
#include "core/abi/submission.h"
#include "core/abi/task.h"
#include "core/base/object_pool.h"
#include "core/base/thread_pool.h"
#include "core/graph/context_node.h"
#include "core/graph/graph.h"
#include "core/graph/value.h"
#include "core/partition/partitioner.h"
#include "core/registry/catalog.h"

namespace epiphyte::core {

class Provider;
class RunState;

// A compiled partition. Execute is thread-safe. Released before its provider.
class Kernel {
 public:
  // `input_count`: of the partition, absent ones too.
  Kernel(std::shared_ptr<Provider> provider, KernelHandle kernel, std::string name, size_t input_count,
         std::vector<OutputType> output_types);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  const std::string& name() const { return name_; }
  const Provider& provider() const { return *provider_; }
  // `inputs`: null for an absent optional. Fills `outputs`, one for each of the partition's outputs; an output that the
  // plugin left unset is EP_FAIL, and so is one whose kind, element type or static dims are not what the graph says.
  // What it makes and uses is counted in `run`; null: without limits. `submission`: null when all is the host's and
  // done when Execute returns; needed when places() says otherwise.
  void Execute(std::span<Value* const> inputs, std::span<ValuePtr> outputs, RunState* run = nullptr,
               Submission* submission = nullptr);
  const KernelPlaces& places() const { return places_; }
  // Submission::held_state, once the work that uses it is done.
  void GiveState(EpKernelState* state);

 private:
  void Describe(size_t input_count);
  // After Execute: back to the others, or to whoever knows when the work that uses it is done.
  void EndState(EpKernelState* state, Submission* submission);
  EpKernelState* TakeState();
  EpKernelState* NewState();

  std::shared_ptr<Provider> provider_;
  KernelHandle handle_;
  EpKernel* kernel_;  // of handle_
  std::string name_;
  std::vector<DeclaredOutput> declared_outputs_;
  EpStatus*(EP_CALL* execute_)(EpKernel*, EpKernelState*, EpRun*) = nullptr;
  bool has_states_ = false;
  std::atomic<bool> has_executed_{false};
  std::mutex* exclusive_ = nullptr;  // the provider's, when one Execute of it may run at a time
  KernelPlaces places_;
  const ThreadPool* thread_pool_ = nullptr;
  EpProfile* profile_ = nullptr;
  ObjectSlots<EpKernelState> spare_state_;  // else they are in
  std::mutex states_mutex_;
  std::vector<EpKernelState*> free_states_;  // has room for all
  size_t states_made_ = 0;
};

struct ProviderConfig {
  std::map<std::string, std::string> options;
  ThreadPool* thread_pool = nullptr;    // outlives the provider
  std::vector<uint32_t> devices = {0};  // of the plugin's, each once; the first is the main one
  bool context_enabled = false;
  ProgressFunction progress;  // may be empty
  ShareMembership share;
  SpanSink* spans = nullptr;  // where the plugin's spans go, outlives the provider; null: nothing is profiled
};

// What came of the partitions that were given to Compile, one entry for each in both.
struct CompiledPartitions {
  std::vector<std::unique_ptr<Kernel>> kernels;  // null: the provider gave the partition back
  std::vector<std::string> declined;             // with this reason
};

class Provider : public std::enable_shared_from_this<Provider> {
 public:
  static std::shared_ptr<Provider> Create(const LoadedPlugin& plugin, const ProviderConfig& config);
  ~Provider();
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;

  const LoadedPlugin& plugin() const { return plugin_; }
  const std::string& name() const { return plugin_.name; }
  bool SupportsContexts() const;  // both optional calls are there
  // A later session of the share group writes the payload: GetEpContextNodes gives nodes with payload -1.
  bool DefersPayload() const;

  // Asks about `graph` (finalized). Malformed claims are dropped with a warning in the result.
  Capability GetCapability(Graph& graph);
  // What the plugin says of the nodes of partitions for the report; nothing from one without draft/ep_explain.h.
  // partitions[i]->graph is finalized.
  std::vector<NodeNote> Explain(std::span<const Partition* const> partitions);
  // The same.
  CompiledPartitions Compile(std::span<const Partition* const> partitions);
  // ContextNode::partition counts those that were compiled. `new_writer` is called for each payload the plugin begins.
  // The last session of a compiling share group gives at least one payload, also when it has no partition of this
  // provider and so no node.
  ContextNodes GetEpContextNodes(std::string_view node_name_prefix, bool embed,
                                 const std::function<std::unique_ptr<PayloadWriter>()>& new_writer);
  std::vector<std::unique_ptr<Kernel>> LoadContext(std::span<const ContextNodeToLoad> nodes,
                                                   std::span<const ContextBlob> blobs);

 private:
  friend class Kernel;
  // What the host knows of a kernel's partition.
  struct PartitionInterface {
    std::string name;
    size_t input_count = 0;
    std::vector<OutputType> output_types;
  };
  Provider(const LoadedPlugin& plugin, const ProviderConfig& config);
  EpProfile* profile() const { return profile_ ? profile_->handle() : nullptr; }
  // `task`: of Compile, which may decline; null otherwise.
  std::vector<std::unique_ptr<Kernel>> AdoptKernels(std::string_view function, std::vector<EpKernel*> made,
                                                    std::vector<PartitionInterface> faces, std::exception_ptr failure,
                                                    const Task* task);

  const LoadedPlugin& plugin_;
  std::vector<ContextBlob>
      blobs_;  // kept alive for the kernels; those of a share group are kept by its workspaces, too
  std::unique_ptr<EpShareGroup> share_group_;  // outlives provider_
  EpProvider* provider_ = nullptr;
  ThreadPool* thread_pool_ = nullptr;
  std::vector<uint32_t> devices_;
  ProgressFunction progress_;
  std::unique_ptr<Profile> profile_;          // null: nothing is profiled
  std::vector<std::string> partition_names_;  // by EpPartitionInfo::index
  std::vector<bool> declined_;                // by the same
  std::mutex exclusive_;
};

}  // namespace epiphyte::core
