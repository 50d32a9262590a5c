// Compilation: the partitions that one Compile turns into kernels.
//
// Most providers compile partitions one by one and override Provider::Compile. A provider that must see all partitions
// at once, for example to lay out memory that they share, overrides CompileAll:
//
//   void CompileAll(kit::Compilation& all) override {
//     const Layout layout = PlanMemory(all.partitions());
//     for (size_t i = 0; i < all.partitions().size(); ++i) {
//       if (!layout.fits[i]) {
//         all.Decline(i, "needs 9 MiB of the chip's 8");   // the host gives its nodes to another provider
//         continue;
//       }
//       all.SetKernel(i, Build(all.partitions()[i], layout));
//     }
//   }
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "epiphyte/kit/abi/graph_view.hpp"
#include "epiphyte/kit/abi/task.hpp"
#include "epiphyte/kit/plugin/kernel.hpp"

namespace epiphyte::kit {

// One graph to compile into one kernel. Valid until Compile returns; the name lives as long as the provider.
struct Partition {
  std::string_view name;
  GraphView graph;
  Task task;           // task of this partition; its progress counts as the partition's share of the whole
  uint32_t index = 0;  // index among all partitions of the provider; the same as in ContextSink::partitions()
};

// Throw it in Compile to decline a partition. The host gives the partition to another provider, and the session goes
// on.
class Declined : public Error {
 public:
  explicit Declined(std::string reason) : Error(EP_STATUS_NOT_IMPLEMENTED, std::move(reason)) {}
};

class Compilation {
 public:
  Compilation(const EpHostInfo& host, const EpPartitionInfo* const* partitions, uint64_t count, EpTask* task,
              EpKernel** kernels);
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  std::span<const Partition> partitions() const { return partitions_; }
  // Call exactly one of the two for each partition.
  void SetKernel(size_t i, std::unique_ptr<Kernel> kernel);
  void Decline(size_t i, const std::string& reason);
  const Task& task() const { return task_; }  // covers all partitions together

 private:
  friend class Trampolines;
  void ThrowUnlessComplete() const;

  Task task_;
  std::vector<Partition> partitions_;
  std::vector<bool> done_;
  EpKernel** kernels_;
};

}  // namespace epiphyte::kit
