// DebugRun: one Execute. Inputs are read-only and end before a forbidden page, outputs are watched at both ends, and
// all of it is taken away when Execute has returned.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "epiphyte/ep_run.h"
#include "host/conformance/debug_graph.h"
#include "host/conformance/graph_spec.h"
#include "host/conformance/lent_memory.h"

namespace epiphyte::conformance {

// A dense tensor that the suite owns.
struct Tensor {
  EpElementType type = EP_TYPE_FLOAT;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;
};
Tensor FloatTensor(std::vector<int64_t> dims, std::span<const float> data);
std::vector<float> FloatsOf(const Tensor& tensor);

class DebugRun {
 public:
  // `declared`: what the graph says of the outputs. `fill`: what output memory holds before it is written.
  DebugRun(const std::vector<Tensor>& inputs, std::vector<ValueSpec> declared, unsigned char fill = 0xCD);
  ~DebugRun();
  DebugRun(const DebugRun&) = delete;
  DebugRun& operator=(const DebugRun&) = delete;

  EpRun* handle() const { return handle_; }
  void Cancel() { cancelled_ = true; }
  bool was_told() const { return told_; }
  void RefuseMemory() { refuse_memory_ = true; }
  bool has_refused() const { return has_refused_; }
  // After an Execute that succeeded: checks that all is set, and gives the outputs. Ends the run.
  std::vector<Tensor> TakeOutputs();
  void End();

  // The table's functions.
  EpStatus* GetInfo(EpRunInfo* info) const;
  EpStatus* AllocateOutput(uint32_t index, EpElementType type, const int64_t* dims, uint32_t rank, void** data);
  EpStatus* CreateTensor(EpElementType type, const int64_t* dims, uint32_t rank, EpValue** value, void** data);
  EpStatus* Nest(EpTypeKind kind, EpValue* const* elements, uint64_t count, EpValue** value);
  EpStatus* ShareValue(const EpValueView* view, EpValue** value);
  EpStatus* SetOutput(uint32_t index, EpValue* value);
  EpStatus* TakeMemory(uint64_t bytes);
  uint32_t IsCancelled();
  // False when no run of the process knows it.
  static void ReleaseValue(EpValue* value);

 private:
  struct Content {  // of an output or a value
    EpTypeKind kind = EP_KIND_TENSOR;
    EpElementType type = EP_TYPE_UNDEFINED;
    std::vector<int64_t> dims;
    std::shared_ptr<LentMemory> memory;
    bool given = true;  // memory that the plugin may write to
  };
  struct ValueState;
  EpStatus* NewContent(EpElementType type, const int64_t* dims, uint32_t rank, Content* content);
  EpStatus* CheckDeclared(uint32_t index, const Content& content) const;
  ValueState* Use(EpValue* value, const char* function);
  EpValue* Give(Content content);

  std::vector<std::unique_ptr<LentMemory>> input_memory_;
  std::vector<Content> input_contents_;
  Arena arena_;
  EpRunInfo info_ = {};
  const std::vector<ValueSpec> declared_;
  const unsigned char fill_;
  std::vector<std::optional<Content>> outputs_;
  std::vector<EpValue*> values_;
  EpRun* handle_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> told_{false};
  bool refuse_memory_ = false;
  bool has_refused_ = false;
  bool open_ = true;
};

}  // namespace epiphyte::conformance
