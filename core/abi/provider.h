// Provider and Kernel: a plugin's provider behind C++ types, with every answer checked.
//
// The plugin's values count as hostile. Counts, pointers, indices and strings are checked before use, and exceptions
// that a plugin lets escape are caught. Each failure names the provider, the call and the problem.
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
  // `input_count`: number of the partition's inputs, absent ones included.
  Kernel(std::shared_ptr<Provider> provider, KernelHandle kernel, std::string name, size_t input_count,
         std::vector<OutputType> output_types);
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  const std::string& name() const { return name_; }
  const Provider& provider() const { return *provider_; }
  // Runs the kernel. `inputs` are null for absent optional ones. Fills `outputs`, one for each of the partition's
  // outputs. EP_FAIL for an output that the plugin left unset, or with a kind, element type or static dims that the
  // graph doesn't declare.
  //
  // `run` counts the memory of the run; null: without limits. `submission` is needed when places() names a device;
  // null: all values are in host memory, and the work is done when Execute returns.
  void Execute(std::span<Value* const> inputs, std::span<ValuePtr> outputs, RunState* run = nullptr,
               Submission* submission = nullptr);
  const KernelPlaces& places() const { return places_; }
  // Gives Submission::held_state back, once the work that uses it is done.
  void GiveState(EpKernelState* state);

 private:
  void Describe(size_t input_count);
  // After Execute: returns the state to the pool, or leaves it in `submission` until the work that uses it is done.
  void EndState(EpKernelState* state, Submission* submission);
  EpKernelState* TakeState();
  EpKernelState* NewState();

  std::shared_ptr<Provider> provider_;
  KernelHandle handle_;
  EpKernel* kernel_;  // owned by handle_
  std::string name_;
  std::vector<DeclaredOutput> declared_outputs_;
  EpStatus*(EP_CALL* execute_)(EpKernel*, EpKernelState*, EpRun*) = nullptr;
  bool has_states_ = false;
  std::atomic<bool> has_executed_{false};
  std::mutex* exclusive_ = nullptr;  // the provider's mutex, when it runs one Execute at a time
  KernelPlaces places_;
  const ThreadPool* thread_pool_ = nullptr;
  EpProfile* profile_ = nullptr;
  ObjectSlots<EpKernelState> spare_state_;  // free states; when these slots are full, states go to free_states_
  std::mutex states_mutex_;
  std::vector<EpKernelState*> free_states_;  // reserved for all states made
  size_t states_made_ = 0;
};

struct ProviderConfig {
  std::map<std::string, std::string> options;
  ThreadPool* thread_pool = nullptr;    // outlives the provider
  std::vector<uint32_t> devices = {0};  // device numbers of the plugin, each once; the first is the main one
  bool context_enabled = false;
  ProgressFunction progress;  // may be empty
  ShareMembership share;
  SpanSink* spans = nullptr;  // receives the plugin's spans, outlives the provider; null: nothing is profiled
};

// Result of Compile: both vectors have one entry for each partition.
struct CompiledPartitions {
  std::vector<std::unique_ptr<Kernel>> kernels;  // null: the provider gave the partition back
  std::vector<std::string> declined;             // reason for giving the partition back
};

class Provider : public std::enable_shared_from_this<Provider> {
 public:
  static std::shared_ptr<Provider> Create(const LoadedPlugin& plugin, const ProviderConfig& config);
  ~Provider();
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;

  const LoadedPlugin& plugin() const { return plugin_; }
  const std::string& name() const { return plugin_.name; }
  bool SupportsContexts() const;  // the plugin has both optional functions for contexts
  // Whether a later session of the share group writes the payload; GetEpContextNodes then gives nodes with payload -1.
  bool DefersPayload() const;

  // Asks about `graph` (finalized). Malformed claims are dropped with a warning in the result.
  Capability GetCapability(Graph& graph);
  // Asks the plugin for notes on the nodes of partitions, for the report. Empty without draft/ep_explain.h.
  // partitions[i]->graph is finalized.
  std::vector<NodeNote> Explain(std::span<const Partition* const> partitions);
  // partitions[i]->graph is finalized.
  CompiledPartitions Compile(std::span<const Partition* const> partitions);
  // ContextNode::partition counts compiled partitions only. `new_writer` is called for each payload that the plugin
  // begins. The last session of a compiling share group gives at least one payload, even if it has no partition of this
  // provider and so no node.
  ContextNodes GetEpContextNodes(std::string_view node_name_prefix, bool embed,
                                 const std::function<std::unique_ptr<PayloadWriter>()>& new_writer);
  std::vector<std::unique_ptr<Kernel>> LoadContext(std::span<const ContextNodeToLoad> nodes,
                                                   std::span<const ContextBlob> blobs);

 private:
  friend class Kernel;
  // Host's description of a kernel's partition.
  struct PartitionInterface {
    std::string name;
    size_t input_count = 0;
    std::vector<OutputType> output_types;
  };
  Provider(const LoadedPlugin& plugin, const ProviderConfig& config);
  EpProfile* profile() const { return profile_ ? profile_->handle() : nullptr; }
  // `task`: the task of Compile, which may decline partitions; null otherwise.
  std::vector<std::unique_ptr<Kernel>> AdoptKernels(std::string_view function, std::vector<EpKernel*> made,
                                                    std::vector<PartitionInterface> faces, std::exception_ptr failure,
                                                    const Task* task);

  const LoadedPlugin& plugin_;
  std::vector<ContextBlob> blobs_;  // kept alive for the kernels; a share group's workspaces keep its blobs, too
  std::unique_ptr<EpShareGroup> share_group_;  // outlives provider_
  EpProvider* provider_ = nullptr;
  ThreadPool* thread_pool_ = nullptr;
  std::vector<uint32_t> devices_;
  ProgressFunction progress_;
  std::unique_ptr<Profile> profile_;          // null: nothing is profiled
  std::vector<std::string> partition_names_;  // indexed by EpPartitionInfo::index
  std::vector<bool> declined_;                // indexed by EpPartitionInfo::index
  std::mutex exclusive_;
};

}  // namespace epiphyte::core
