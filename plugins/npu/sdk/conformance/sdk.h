// Sdk: an SDK's library as a check uses it. Its functions that return objects are for steps that a check needs but does
// not test. If such a step fails, the check ends as "not reached"; the rule that the step belongs to is the one that
// fails.
//
//   void BlobsAreEqual(Sdk& sdk) {                       // a check; rules.inc names it
//     Context context = sdk.MakeContext();               // ends as not reached when there is none
//     ...
//     Expect(first == second, "the blobs differ at byte {}", at);
//   }
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nsdk.h"

namespace epiphyte::nsdk_conformance {

class TestGraph;

// Thrown to end a check if its rule does not hold.
struct Failed {
  std::string found;
};
struct NotApplicable {
  std::string why;
};
struct NotReached {
  std::string why;
};

template <typename... T>
void Expect(bool holds, fmt::format_string<T...> format, T&&... values) {
  if (!holds) throw Failed{fmt::format(format, std::forward<T>(values)...)};
}

template <typename... T>
void Need(bool holds, fmt::format_string<T...> format, T&&... values) {
  if (!holds) throw NotReached{fmt::format(format, std::forward<T>(values)...)};
}

using KeyValue = std::pair<std::string, std::string>;

struct Target {
  std::string library;
  std::vector<KeyValue> options;  // options of each context
  std::vector<KeyValue> other;    // options of a context with another architecture; if empty, that isn't checked
};

template <typename T>
using Handle = std::unique_ptr<T, std::function<void(T*)>>;
using Context = Handle<NsdkContext>;
using Compiled = Handle<NsdkCompiled>;
using Program = Handle<NsdkProgram>;
using Group = Handle<NsdkGroup>;
using Memory = Handle<NsdkMemory>;
using Execution = Handle<NsdkExecution>;
using Info = Handle<const NsdkBlobInfo>;
using Bytes = std::vector<uint8_t>;

const char* NameOf(NsdkStatus status);

class Sdk {
 public:
  explicit Sdk(Target target);  // loads nothing yet

  const Target& target() const { return target_; }
  void* library();       // the opened library; the check ends as not reached if it can't be opened
  NsdkGetApi get_api();  // nsdk_get_api; the check ends as not reached without it
  const NsdkApi& api();  // the complete table; the check ends as not reached without it
  uint64_t capabilities();
  bool Has(uint64_t capability) { return (capabilities() & capability) != 0; }
  // Ends the check as not applicable if the SDK lacks the capability.
  void Require(uint64_t capability, const char* what);

  std::vector<NsdkDevice> Devices();
  uint32_t FirstDevice();  // the check ends as not applicable if there is no device

  Context MakeContext() { return MakeContext(target_.options, FirstDevice()); }
  Context MakeContext(const std::vector<KeyValue>& options, uint32_t device);
  NsdkStatus CreateContext(const std::vector<KeyValue>& options, uint32_t device, NsdkContext** context,
                           NsdkReason* reason);
  NsdkTarget TargetOf(NsdkContext* context);

  bool Accepts(NsdkContext* context, const TestGraph& graph, std::string* why = nullptr);
  Compiled Compile(NsdkContext* context, const TestGraph& graph);
  Bytes WriteBlob(NsdkContext* context, const std::vector<const Compiled*>& compiled);
  Bytes BlobOf(NsdkContext* context, const TestGraph& graph);
  Info InfoOf(const void* blob, uint64_t size);
  Program Load(NsdkContext* context, const void* blob, uint64_t size, uint32_t flags = 0, NsdkGroup* scratch = nullptr,
               NsdkGroup* weights = nullptr);
  // Loads bytes that stay until the check ends, whether or not the SDK copies them.
  Program Load(NsdkContext* context, const Bytes& blob);
  Group MakeGroup(NsdkContext* context, uint32_t kind);
  Execution MakeExecution(NsdkProgram* program, uint32_t graph = 0);
  void Bind(NsdkExecution* execution, uint32_t direction, uint32_t index, const void* address, uint64_t size);
  void Run(NsdkExecution* execution);
  // Binds inputs and outputs, runs, and returns the outputs.
  std::vector<Bytes> RunOnce(NsdkProgram* program, uint32_t index, const TestGraph& graph,
                             const std::vector<Bytes>& inputs);

  // The first of some small graphs with weights that the SDK accepts. It gets the name, and each variant has constants
  // of its own.
  TestGraph SmallGraph(NsdkContext* context, const std::string& name = "small", uint32_t variant = 0);
  // A graph that keeps an SDK busy for a while.
  TestGraph LargeGraph(NsdkContext* context);

 private:
  Target target_;
  void* library_ = nullptr;
  std::optional<NsdkApi> api_;
  std::mutex mutex_;
  std::deque<Bytes> kept_;
};

// Name of a required function of the table that is null; empty: none.
std::string MissingFunction(const NsdkApi& api);

// An empty reason with room for a text.
NsdkReason EmptyReason();

// Describes the error in the reason of a failure; empty: there is none.
std::string FaultOf(const NsdkReason& reason);

}  // namespace epiphyte::nsdk_conformance
