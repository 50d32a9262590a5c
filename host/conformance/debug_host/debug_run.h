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
  // `declared`: what the graph says of the outputs. `fill`: what output memory holds before it is written. `device`: of
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
  // Execute has returned: nothing of the run can be used any more, but for memory that submitted work uses.
  void EndCall();
  // After an Execute that succeeded, and its work: checks that all is set, and gives the outputs. Ends the run.
  std::vector<Tensor> TakeOutputs();
  void End();

  // Null with the violation noted when a plugin has no run that it may use.
  static DebugRun* Find(const EpRun* run, const char* function);
  static EpStatus* NoRun();

  // The tables' functions.
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
  // False when no run of the process knows it.
  static void ReleaseValue(EpValue* value);

 private:
  struct Content {  // content of an output or a value
    EpTypeKind kind = EP_KIND_TENSOR;
    EpElementType type = EP_TYPE_UNDEFINED;
    std::vector<int64_t> dims;
    std::shared_ptr<LentMemory> memory;
    bool given = true;       // memory that the plugin may write to
    bool on_device = false;  // then it is the DeviceRun's
  };
  struct ValueState;
  EpStatus* NewContent(EpElementType type, const int64_t* dims, uint32_t rank, Content* content);
  EpStatus* CheckDeclared(uint32_t index, const Content& content) const;
  // Common checks of all functions that make an output.
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
