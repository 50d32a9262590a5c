// Host side of the C ABI's opaque handles. Only core/abi includes this.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/abi/call_scoped_handle.h"
#include "core/abi/context_nodes.h"
#include "core/abi/run_values.h"
#include "core/abi/submission.h"
#include "core/base/abi_fill.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/thread_pool.h"
#include "core/graph/graph.h"
#include "core/graph/run_state.h"
#include "core/graph/value.h"
#include "core/onnx/infer/node_inference.h"
#include "core/partition/partitioner.h"
#include "epiphyte/draft/ep_device.h"
#include "epiphyte/ep_host.h"
#include "epiphyte/ep_onnx.h"
#include "epiphyte/ep_profile.h"
#include "epiphyte/ep_run_limits.h"
#include "epiphyte/ep_schema.h"
#include "epiphyte/ep_share.h"

// GetCapability's sink: collects claims after checking them against the graph.
struct EpCapabilitySink {
  explicit EpCapabilitySink(epiphyte::core::Graph& graph);

  // Throws INVALID_ARGUMENT when the whole claim is refused.
  void Add(const EpClaim& claim);
  void Decline(const EpNode* node, const char* reason);
  // Handle that the plugin gets.
  EpCapabilitySink* handle() const { return open_.handle(); }

  epiphyte::core::Graph& graph;
  epiphyte::core::Capability capability;

 private:
  // Returns null when the pointer is not a node of this graph. The pointer is compared, never followed.
  epiphyte::core::Node* Find(const EpNode* node) const;

  std::vector<const void*> addresses_;  // hash table with open addressing; its size is a power of two
  std::vector<bool> claimed_;           // indexed by node id
  uint64_t dropped_ = 0;
  void Warn(std::string text);
  epiphyte::core::CallScopedHandle<EpCapabilitySink> open_{this};
};

namespace epiphyte::core {

// One payload that a plugin writes. Counts as finished after EndPayload.
struct OpenPayload {
  const EpContextWriter* handle = nullptr;  // a number that no other payload of the process has
  PayloadWriter* writer = nullptr;
  int32_t index = 0;
  bool ended = false;
  bool broken = false;  // some of its bytes are missing
};

}  // namespace epiphyte::core

struct EpContextSink {
  std::string prefix;
  bool embed = false;
  bool defers_payload = false;  // a later session of the share group writes it
  std::vector<const char*> partition_names;
  std::vector<std::string> sources;  // sources that the plugin owns
  std::function<std::unique_ptr<epiphyte::core::PayloadWriter>()> new_writer;
  epiphyte::core::ContextNodes result;
  std::vector<epiphyte::core::OpenPayload> writers;
  epiphyte::core::CallScopedHandle<EpContextSink> open{this};
};

namespace epiphyte::core {

// Listener that a kernel registered for the cancellation of its run.
struct CancelCall {
  EpCancelListener listener;
  void* user;
  void operator()() const noexcept {
    try {
      listener(user);
    } catch (...) {
      Log(LogLevel::kError, "abi", "a cancel listener let an exception escape; it was dropped");
    }
  }
};

}  // namespace epiphyte::core

// One Execute. Lives on the stack of Kernel::Execute. It has a constructor because otherwise all of it would be zeroed
// for each run.
struct EpRun {
  EpRun(std::span<epiphyte::core::Value* const> given, std::span<epiphyte::core::ValuePtr> made, uint32_t threads,
        epiphyte::core::RunState* run, epiphyte::core::Submission* submitted = nullptr)
      : inputs(given), outputs(made), thread_count(threads), state(run), submission(submitted) {}

  std::span<epiphyte::core::Value* const> inputs;
  std::span<epiphyte::core::ValuePtr> outputs;
  uint32_t thread_count;                   // upper bound
  epiphyte::core::RunState* state;         // null: no limits
  epiphyte::core::Submission* submission;  // null: all values of the run are in host memory
  uint64_t taken = 0;                      // bytes of the state's memory that the kernel took itself
  epiphyte::core::RunValues values{inputs};
  const std::vector<EpKeyValue>* options = nullptr;  // the run's options for the provider
  std::optional<std::stop_callback<epiphyte::core::CancelCall>> on_cancel;
  EpProfile* profile = nullptr;  // null: the session isn't profiled
};

// One InferTypes. Lives on the stack of the operator's Infer.
struct EpInference {
  epiphyte::core::NodeInference& node;
  std::vector<epiphyte::core::TypePtr> outputs;           // null: not set
  std::vector<std::optional<std::vector<int64_t>>> ints;  // indexed by input; set when the plugin has asked for it
  epiphyte::core::CallScopedHandle<EpInference> open{this};
};

struct EpThreadPool;

namespace epiphyte::core {

// Views of keys and values for the ABI; valid as long as `pairs`.
template <typename Pairs>
std::vector<EpKeyValue> KeyValues(const Pairs& pairs) {
  std::vector<EpKeyValue> viewed;
  viewed.reserve(pairs.size());
  for (const auto& [key, value] : pairs) viewed.push_back({key.c_str(), value.c_str()});
  return viewed;
}

inline EpThreadPool* ToAbi(ThreadPool* pool) { return reinterpret_cast<EpThreadPool*>(pool); }
inline ThreadPool* FromAbi(EpThreadPool* pool) { return reinterpret_cast<ThreadPool*>(pool); }

EpStatus* MakeStatus(StatusCode code, const char* message) noexcept;

// The tables of the ABI, one file each.
extern const EpStatusApi kStatusApi;
extern const EpServicesApi kServicesApi;
extern const EpGraphApi kGraphApi;
extern const EpCapabilityApi kCapabilityApi;
extern const EpTaskApi kTaskApi;
extern const EpContextApi kContextApi;
extern const EpRunApi kRunApi;
extern const EpDeviceRunApi kDeviceRunApi;
extern const EpShareApi kShareApi;
extern const EpRunLimitsApi kRunLimitsApi;
extern const EpInferenceApi kInferenceApi;
extern const EpOnnxApi kOnnxApi;
extern const EpProfileApi kProfileApi;

// Returns null for a task that has ended, and when the session isn't profiled. [any thread]
EpProfile* ProfileOfTask(const EpTask* task) noexcept;

// Runs `body`, which may throw, and returns what it threw as a status.
template <typename Body>
EpStatus* Guard(Body&& body) noexcept;

// Makes a plugin's string printable (PrintableLine), so that messages and files stay readable; null becomes "".
std::string CleanText(const char* text, size_t limit = 4096);

}  // namespace epiphyte::core

#include "core/abi/host_tables.h"

namespace epiphyte::core {

template <typename Body>
EpStatus* Guard(Body&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (...) {
    return CurrentExceptionToStatus();
  }
}

}  // namespace epiphyte::core
