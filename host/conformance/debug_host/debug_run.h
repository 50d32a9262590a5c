// DebugRun: one Execute. Inputs are read-only and end before an inaccessible page. Outputs are guarded at both ends.
// All memory is taken away when Execute has returned.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "epiphyte/ep_profile.h"
#include "epiphyte/ep_run.h"
#include "host/conformance/debug_host/debug_graph.h"
#include "host/conformance/graphs/graph_spec.h"
#include "host/conformance/graphs/tensor.h"
#include "host/conformance/memory/lent_memory.h"
#include "host/conformance/plugin/device_run.h"

namespace epiphyte::conformance {

class DebugRun {
 public:
  // `declared`: the graph's declarations of the outputs. `fill`: initial content of output memory. `device`: the run of
  // a kernel on a device, else null.
  DebugRun(const std::vector<Tensor>& inputs, std::vector<ValueSpec> declared, unsigned char fill = 0xCD,
           DeviceRun* device = nullptr);
  ~DebugRun();
  DebugRun(const DebugRun&) = delete;
  DebugRun& operator=(const DebugRun&) = delete;

  EpRun* handle() const { return handle_; }
  void Cancel() { cancelled_ = true; }
  bool was_told() const { return told_; }
  void RefuseMemory() { refuse_memory_ = true; }
  bool has_refused() const { return has_refused_; }
  // Null: the session isn't profiled.
  void ProfileWith(EpProfile* profile) { profile_ = profile; }
  EpProfile* profile() const { return profile_; }
  // Call when Execute has returned: the plugin can then use nothing of the run, except memory that submitted work uses.
  void EndCall();
  // Call after a successful Execute and its submitted work. Checks that all outputs are set, returns them, and ends the
  // run.
  std::vector<Tensor> TakeOutputs();
  void End();

  // Returns null, and records a violation, when the plugin may use no run now.
  static DebugRun* Find(const EpRun* run, const char* function);
  static EpStatus* NoRun();

  // The functions of the ABI's tables.
  EpStatus* GetInfo(EpRunInfo* info) const;
  EpStatus* AllocateOutput(uint32_t index, EpElementType type, const int64_t* dims, uint32_t rank, void** data);
  EpStatus* CreateTensor(EpElementType type, const int64_t* dims, uint32_t rank, EpValue** value, void** data);
  EpStatus* Nest(EpTypeKind kind, EpValue* const* elements, uint64_t count, EpValue** value);
  EpStatus* ShareValue(const EpValueView* view, EpValue** value);
  EpStatus* SetOutput(uint32_t index, EpValue* value);
  EpStatus* TakeMemory(uint64_t bytes);
  EpStatus* GetStream(EpStream** stream);
  EpStatus* AllocateOutputAnywhere(uint32_t index, EpElementType type, const int64_t* dims, uint32_t rank,
                                   const EpTensorView** output);
  EpStatus* AdoptOutput(uint32_t index, EpElementType type, const int64_t* dims, uint32_t rank, uint32_t memory,
                        EpBuffer* buffer, uint64_t size, uint64_t offset);
  uint32_t IsCancelled();
  // A value that no run of the process knows is a violation.
  static void ReleaseValue(EpValue* value);

 private:
  struct Content {  // content of an output or a value
    EpTypeKind kind = EP_KIND_TENSOR;
    EpElementType type = EP_TYPE_UNDEFINED;
    std::vector<int64_t> dims;
    std::shared_ptr<LentMemory> memory;
    bool given = true;       // true: the plugin may write to this memory
    bool on_device = false;  // true: the DeviceRun owns the memory
  };
  struct ValueState;
  EpStatus* NewContent(EpElementType type, const int64_t* dims, uint32_t rank, Content* content);
  EpStatus* CheckDeclared(uint32_t index, const Content& content) const;
  // Does the checks that are common to all functions that make an output.
  EpStatus* NewOutput(uint32_t index, EpElementType type, const int64_t* dims, uint32_t rank, Content* content);
  Rule MemoryEnds() const;
  static void Place(const DeviceRun::Piece* piece, const LentMemory* memory, EpTensorView* view);
  std::shared_ptr<LentMemory> OutputMemory(uint32_t index, const Content& content) const;
  ValueState* Use(EpValue* value, const char* function);
  EpValue* Give(Content content);

  DeviceRun* const device_;
  std::vector<std::shared_ptr<LentMemory>> input_memory_;
  std::vector<Content> input_contents_;
  Arena arena_;
  EpRunInfo info_ = {};
  const std::vector<ValueSpec> declared_;
  const unsigned char fill_;
  std::vector<std::optional<Content>> outputs_;
  std::vector<std::unique_ptr<Arena>> output_views_;
  std::vector<EpValue*> values_;
  EpRun* handle_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> told_{false};
  EpProfile* profile_ = nullptr;
  bool refuse_memory_ = false;
  bool has_refused_ = false;
  bool in_call_ = true;
  bool open_ = true;
};

}  // namespace epiphyte::conformance
