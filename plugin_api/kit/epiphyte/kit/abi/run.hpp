// Run: one Execute, as a kernel sees it.
//
//   void Execute(const kit::Run& run) override {
//     const EpTensorView& x = run.input(0);
//     float* y = run.Output<float>(0, EP_TYPE_FLOAT, {x.dims, x.rank});
//     for (uint64_t i = 0; i < x.element_count; ++i) y[i] = 2 * static_cast<const float*>(x.data)[i];
//   }
//
// Of the thread that runs Execute, where nothing else is said. Everything that the host refuses is thrown as an Error.
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
  // For who has asked already.
  Run(const EpHostInfo& host, EpRun* run, const EpRunInfo& info) : host_(host), run_(run), info_(info) {}

  size_t input_count() const { return info_.input_count; }
  size_t output_count() const { return info_.output_count; }
  // False for an optional input that is left out.
  bool HasInput(size_t i) const { return i < info_.input_count && info_.inputs[i] != nullptr; }
  // Throws when input i is absent or no tensor.
  const EpTensorView& input(size_t i) const {
    if (!HasInput(i) || info_.inputs[i]->tensor == nullptr) [[unlikely]]
      FailInput(i, "a tensor");
    return *info_.inputs[i]->tensor;
  }
  // Of any kind. Throws when it is absent.
  const EpValueView& value(size_t i) const {
    if (!HasInput(i)) [[unlikely]]
      FailInput(i, "a value");
    return *info_.inputs[i];
  }

  // Makes output i a dense tensor and gives its memory, not initialised, aligned to 64 bytes.
  template <typename T>
  T* Output(uint32_t i, EpElementType type, std::span<const int64_t> dims) const {
    void* data = nullptr;
    ThrowIfFailed(host_,
                  host_.run->AllocateOutput(run_, i, type, dims.data(), static_cast<uint32_t>(dims.size()), &data));
    return static_cast<T*>(data);
  }
  // A tensor of strings, which are copied.
  void SetStrings(uint32_t i, std::span<const int64_t> dims, std::span<const EpString> strings) const;

  // Values other than tensors are made from the inside out, and then set.
  OwnedValue MakeTensor(EpElementType type, std::span<const int64_t> dims, void** data) const;
  OwnedValue MakeStrings(std::span<const int64_t> dims, std::span<const EpString> strings) const;
  // `type`: the element type of the tensors inside.
  OwnedValue MakeSequence(EpElementType type, std::span<const OwnedValue> elements) const;
  OwnedValue MakeMap(const OwnedValue& keys, const OwnedValue& values) const;
  OwnedValue MakeEmptyOptional() const;
  // The value behind the view of an input, or of an element of one, without a copy.
  OwnedValue Share(const EpValueView& view) const;
  void SetOutput(uint32_t i, const OwnedValue& value) const;

  // The application has given the run up: throw soon. [any thread]
  bool IsCancelled() const { return host_.run->IsCancelled(run_) != 0; }
  void ThrowIfCancelled() const;

  // What the application gave this run for this provider.
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

// How much memory a run may use: ask before memory is taken whose size depends on the data. On a host without limits,
// everything is allowed.
class RunLimits {
 public:
  RunLimits() = default;
  explicit RunLimits(const EpHostInfo& host);

  // Counts `bytes` until this Execute ends, or until Return. Throws FAIL, with the option to raise, instead of letting
  // the plugin allocate.
  void Take(const Run& run, uint64_t bytes) const { Take(run.handle(), bytes); }
  void Take(EpRun* run, uint64_t bytes) const;
  void Return(EpRun* run, uint64_t bytes) const;

 private:
  const EpHostInfo* host_ = nullptr;
  const EpRunLimitsApi* api_ = nullptr;  // null: none
};

}  // namespace epiphyte::kit
