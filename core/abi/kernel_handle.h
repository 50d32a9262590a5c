// KernelHandle: owns one kernel that a plugin made, and is its only owner in the process.
//
//   KernelHandle handle(plugin, made[i]);      // empty when another handle has this kernel already
#pragma once

#include <utility>

#include "core/registry/catalog.h"

namespace epiphyte::core {

class KernelHandle {
 public:
  KernelHandle() = default;
  // Takes the kernel over, or leaves it alone when another handle has it.
  KernelHandle(const LoadedPlugin& plugin, EpKernel* kernel);
  KernelHandle(KernelHandle&& other) noexcept
      : plugin_(other.plugin_), kernel_(std::exchange(other.kernel_, nullptr)) {}
  KernelHandle& operator=(KernelHandle other) noexcept {
    std::swap(plugin_, other.plugin_);
    std::swap(kernel_, other.kernel_);
    return *this;
  }
  ~KernelHandle();

  explicit operator bool() const { return kernel_ != nullptr; }
  EpKernel* get() const { return kernel_; }

 private:
  const LoadedPlugin* plugin_ = nullptr;
  EpKernel* kernel_ = nullptr;
};

}  // namespace epiphyte::core
