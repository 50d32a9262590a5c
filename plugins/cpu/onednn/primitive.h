// PrimitiveCall: a oneDNN primitive with its arguments, ready to run repeatedly with other pointers.
#pragma once

#include <new>
#include <string_view>
#include <vector>

#include "plugins/cpu/onednn/compat.h"
#include "plugins/cpu/onednn/scoped_single_thread.h"
#include "plugins/cpu/onednn/threading.h"
#include "plugins/cpu/onednn/warm_up_scope.h"

namespace epiphyte::cpu {

// True for oneDNN's reference implementation, which is many times slower than the others.
template <typename PrimitiveDesc>
bool IsReference(const PrimitiveDesc& pd) {
  return std::string_view(pd.impl_info_str()).find("ref") != std::string_view::npos;
}

class PrimitiveCall {
 public:
  // Replaces the previous primitive. `scratchpad` comes from a primitive descriptor made with UserScratchpad(), which
  // has also checked the memory for the objects made here.
  void Reset(dnnl::primitive primitive, const MemoryDesc& scratchpad) {
    if (!stream_) stream_ = dnnl::stream(CpuEngine());
    primitive_ = std::move(primitive);
    independent_ = MembersAreIndependent(primitive_);
    alone_ = ScopedSingleThread::IsActive();
    memories_.clear();
    args_.clear();
    slots_.clear();
    scratchpad_bytes_ = scratchpad.get_size();
    if (scratchpad_bytes_ != 0) Add(DNNL_ARG_SCRATCHPAD, scratchpad);
  }
  void Add(int arg, const MemoryDesc& desc) {
    memories_.emplace_back(desc, CpuEngine(), static_cast<void*>(nullptr));
    args_.push_back({arg, memories_.back().get()});
    slots_.push_back(arg);
  }
  void Set(int arg, const void* data) {
    for (size_t i = 0; i < slots_.size(); ++i)
      if (slots_[i] == arg) memories_[i].set_data_handle(const_cast<void*>(data));
  }
  void Run(OpContext& context) {
    if (scratchpad_bytes_ != 0) Set(DNNL_ARG_SCRATCHPAD, context.Scratch(scratchpad_bytes_));
    Execute();
  }
  // Runs with its own scratch memory: for a primitive that a kernel runs many times in a row.
  void RunAlone() {
    if (scratchpad_.size() < scratchpad_bytes_) scratchpad_.resize(scratchpad_bytes_);
    if (scratchpad_bytes_ != 0) Set(DNNL_ARG_SCRATCHPAD, scratchpad_.data());
    Execute();
  }
  explicit operator bool() const { return static_cast<bool>(primitive_); }

 private:
  void Execute() {
    if (WarmUpScope::IsActive()) [[unlikely]]
      return;
    const IndependentMembers independent(independent_);
    const ScopedSingleThread alone(alone_);
    const dnnl_status_t status =
        dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(args_.size()), args_.data());
    if (status == dnnl_out_of_memory) throw std::bad_alloc();
    if (status != dnnl_success)
      throw kit::Error(EP_STATUS_EP_FAIL, FormatText("oneDNN failed with status {}", static_cast<int>(status)));
  }

  dnnl::stream stream_;
  dnnl::primitive primitive_;
  bool independent_ = false;
  bool alone_ = false;  // runs on one thread, as when it was made
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> args_;
  std::vector<int> slots_;
  size_t scratchpad_bytes_ = 0;
  std::vector<char> scratchpad_;
};

}  // namespace epiphyte::cpu
