#include "epiphyte/kit/plugin/compilation.hpp"

#include "epiphyte/kit/plugin/handles.hpp"

namespace epiphyte::kit {

Compilation::Compilation(const EpHostInfo& host, const EpPartitionInfo* const* partitions, uint64_t count, EpTask* task,
                         EpKernel** kernels)
    : task_(host, task), done_(static_cast<size_t>(count), false), kernels_(kernels) {
  partitions_.reserve(static_cast<size_t>(count));
  for (uint64_t i = 0; i < count; ++i) {
    partitions_.push_back(
        {partitions[i]->name, GraphView(host, partitions[i]->graph), task_.Part(i, count), partitions[i]->index});
  }
}

void Compilation::SetKernel(size_t i, std::unique_ptr<Kernel> kernel) {
  if (kernel == nullptr) {
    throw Error(EP_STATUS_EP_FAIL, "compiling partition '" + std::string(partitions_.at(i).name) +
                                       "' gave no kernel; throw kit::Declined for what can't be compiled");
  }
  if (done_.at(i))
    throw Error(EP_STATUS_EP_FAIL, "partition '" + std::string(partitions_[i].name) + "' is done already");
  kernels_[i] = ToHandle(task_.host(), std::move(kernel));
  done_[i] = true;
}

void Compilation::Decline(size_t i, const std::string& reason) {
  ThrowIfFailed(task_.host(), task_.host().task->DeclinePartition(task_.handle(), i, reason.c_str()));
  done_.at(i) = true;
}

void Compilation::ThrowUnlessComplete() const {
  for (size_t i = 0; i < done_.size(); ++i) {
    if (done_[i]) continue;
    throw Error(EP_STATUS_EP_FAIL,
                "partition '" + std::string(partitions_[i].name) + "' was neither compiled nor declined in CompileAll");
  }
}

}  // namespace epiphyte::kit
