// Run: one Execute as the kernel sees it.
//
//   void Execute(const kit::Run& run) override {
//     const EpTensorView& x = run.input(0);
//     float* y = run.Output<float>(0, EP_TYPE_FLOAT, {x.dims, x.rank});
//     for (uint64_t i = 0; i < x.element_count; ++i) y[i] = 2 * static_cast<const float*>(x.data)[i];
//   }
//
// Call it on the thread that runs Execute, unless a function says otherwise. Each refusal of the host is thrown as an
// Error.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/ep_run_limits.h"
#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/abi/value.hpp"

namespace epiphyte::kit {

class Run {
 public:
  Run(const EpHostInfo& host, EpRun* run) : host_(host), run_(run) {
    info_.struct_size = sizeof(info_);
    ThrowIfFailed(host, host.run->GetInfo(run, &info_));
  }
  // For a caller that has the run's info already.
  Run(const EpHostInfo& host, EpRun* run, const EpRunInfo& info) : host_(host), run_(run), info_(info) {}

  size_t input_count() const { return info_.input_count; }
  size_t output_count() const { return info_.output_count; }
  // False for an optional input that is left out.
  bool HasInput(size_t i) const { return i < info_.input_count && info_.inputs[i] != nullptr; }
  // Throws when input i is absent or not a tensor.
  const EpTensorView& input(size_t i) const {
    if (!HasInput(i) || info_.inputs[i]->tensor == nullptr) [[unlikely]]
      FailInput(i, "a tensor");
    return *info_.inputs[i]->tensor;
  }
  // An input of any kind. Throws when it is absent.
  const EpValueView& value(size_t i) const {
    if (!HasInput(i)) [[unlikely]]
      FailInput(i, "a value");
    return *info_.inputs[i];
  }

  // Makes output i a dense tensor and returns its memory, uninitialised and aligned to 64 bytes.
  template <typename T>
  T* Output(uint32_t i, EpElementType type, std::span<const int64_t> dims) const {
    void* data = nullptr;
    ThrowIfFailed(host_,
                  host_.run->AllocateOutput(run_, i, type, dims.data(), static_cast<uint32_t>(dims.size()), &data));
    return static_cast<T*>(data);
  }
  // Makes output i a tensor of strings. The strings are copied.
  void SetStrings(uint32_t i, std::span<const int64_t> dims, std::span<const EpString> strings) const;

  // Make values other than tensors from the inside out, then set them as outputs.
  OwnedValue MakeTensor(EpElementType type, std::span<const int64_t> dims, void** data) const;
  OwnedValue MakeStrings(std::span<const int64_t> dims, std::span<const EpString> strings) const;
  // `type` is the element type of the tensors in the sequence.
  OwnedValue MakeSequence(EpElementType type, std::span<const OwnedValue> elements) const;
  OwnedValue MakeMap(const OwnedValue& keys, const OwnedValue& values) const;
  OwnedValue MakeEmptyOptional() const;
  // Shares the value behind a view of an input, or of an element of an input, without a copy.
  OwnedValue Share(const EpValueView& view) const;
  void SetOutput(uint32_t i, const OwnedValue& value) const;

  // True: the application cancelled the run; throw soon. [any thread]
  bool IsCancelled() const { return host_.run->IsCancelled(run_) != 0; }
  void ThrowIfCancelled() const;

  // A run option that the application set for this provider; nothing when it is not set.
  std::optional<std::string_view> Option(std::string_view key) const;
  std::string_view tag() const { return info_.tag; }
  const EpRunInfo& info() const { return info_; }
  EpRun* handle() const { return run_; }
  const EpHostInfo& host() const { return host_; }

 private:
  [[noreturn]] void FailInput(size_t i, const char* expected) const;

  const EpHostInfo& host_;
  EpRun* run_;
  EpRunInfo info_ = {};
};

// The memory limit of a run. Call Take before you allocate memory with a size that depends on the data. A host without
// limits allows everything.
class RunLimits {
 public:
  RunLimits() = default;
  explicit RunLimits(const EpHostInfo& host);

  // Counts `bytes` against the limit until this Execute ends or Return is called. Call it before allocating: it throws
  // FAIL beyond the limit, and names the option to raise.
  void Take(const Run& run, uint64_t bytes) const { Take(run.handle(), bytes); }
  void Take(EpRun* run, uint64_t bytes) const;
  void Return(EpRun* run, uint64_t bytes) const;

 private:
  const EpHostInfo* host_ = nullptr;
  const EpRunLimitsApi* api_ = nullptr;  // null: the host has no limits
};

}  // namespace epiphyte::kit
