// State that the npu providers of one share group have in common; see epiphyte/kit/abi/share.hpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plugins/npu/client/program.h"
#include "plugins/npu/exec/partition.h"

namespace epiphyte::npu {

// The group's workspace; providers reach it through kit::ShareGroup. [any thread]
class ShareWorkspace {
 public:
  using Partitions = std::vector<std::shared_ptr<const NpuPartition>>;

  // Compiled partitions wait here, in the order of their sessions, until the last session writes them. Throws if two
  // have the same name, because loading could not tell them apart. Also throws if they are for different NPUs.
  void Add(const Partitions& partitions);
  Partitions Take();

  // The SDK context that sessions with equal options share, and the groups of their programs.
  struct Device {
    std::shared_ptr<const SdkContext> context;
    std::shared_ptr<const Group> weights, scratch;  // null: not requested yet
  };
  // `key` is SDK, device and options. `make` creates the context for the first session.
  std::shared_ptr<const SdkContext> Context(const std::string& key,
                                            const std::function<std::shared_ptr<const SdkContext>()>& make);
  // Null if the SDK has no groups.
  std::shared_ptr<const Group> GroupOf(const std::string& key, NsdkGroupKind kind);

 private:
  std::mutex mutex_;
  Partitions partitions_;
  std::map<std::string, Device> devices_;
};

}  // namespace epiphyte::npu
