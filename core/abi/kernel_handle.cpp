#include "core/abi/kernel_handle.h"

#include "core/abi/owned_handles.h"
#include "core/abi/plugin_calls.h"

namespace epiphyte::core {

KernelHandle::KernelHandle(const LoadedPlugin& plugin, EpKernel* kernel) : plugin_(&plugin) {
  if (kernel == nullptr) return;
  try {
    if (OwnedHandles::Kernels().Add(plugin.descriptor, kernel)) kernel_ = kernel;
  } catch (...) {
    // No handle owns the kernel yet, so it is released here.
    CallRelease(plugin, "ReleaseKernel", [&] { plugin.descriptor->provider->ReleaseKernel(kernel); });
    throw;
  }
}

KernelHandle::~KernelHandle() {
  if (kernel_ == nullptr) return;
  OwnedHandles::Kernels().Remove(plugin_->descriptor, kernel_);
  CallRelease(*plugin_, "ReleaseKernel", [&] { plugin_->descriptor->provider->ReleaseKernel(kernel_); });
}

}  // namespace epiphyte::core
