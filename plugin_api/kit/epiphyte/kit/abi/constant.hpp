// RetainedConstant: keeps the data of a constant mapped for a kernel, without a copy. See EpTaskApi.
//
//   // in Compile
//   weights_ = kit::RetainedConstant(host, task, node.input(1));
//   // in Execute
//   const float* w = static_cast<const float*>(weights_->data);
#pragma once

#include <utility>

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/abi/graph_view.hpp"

namespace epiphyte::kit {

class RetainedConstant {
 public:
  RetainedConstant() = default;
  // Throws for a value that is not a constant of the task's graphs.
  RetainedConstant(const EpHostInfo& host, EpTask* task, const ValueView& value)
      : host_(&host), view_(value.constant()) {
    ThrowIfFailed(host, host.task->RetainConstant(task, value.handle(), &constant_));
  }
  RetainedConstant(RetainedConstant&& other) noexcept
      : host_(other.host_), view_(other.view_), constant_(std::exchange(other.constant_, nullptr)) {}
  RetainedConstant& operator=(RetainedConstant other) noexcept {
    std::swap(host_, other.host_);
    std::swap(view_, other.view_);
    std::swap(constant_, other.constant_);
    return *this;
  }
  ~RetainedConstant() {
    if (constant_ != nullptr) host_->task->ReleaseConstant(constant_);
  }

  explicit operator bool() const { return constant_ != nullptr; }
  // Both are valid as long as this object holds the reference.
  const EpTensorView& operator*() const { return *view_; }
  const EpTensorView* operator->() const { return view_; }

 private:
  const EpHostInfo* host_ = nullptr;
  const EpTensorView* view_ = nullptr;
  EpConstant* constant_ = nullptr;
};

}  // namespace epiphyte::kit
