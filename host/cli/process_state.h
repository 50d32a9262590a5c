// Process state: state that all code of a process shares and that a plugin must leave unchanged. It is for the process
// in which doctor probes a plugin, where nothing else changes that state.
//
//   const ProcessState before = ProcessState::Current();
//   …
//   for (const std::string& change : ProcessState::Current().ChangesSince(before)) …
#pragma once

#include <sys/resource.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace epiphyte::cli {

class ProcessState {
 public:
  static ProcessState Current();

  // Returns a text for each change: "the working directory changed from '/a' to '/b'". New descriptors are no change,
  // because the plugin may open files.
  std::vector<std::string> ChangesSince(const ProcessState& before) const;

 private:
  static constexpr int kSignals = 32;  // 1 to 31

  std::string folder_;
  uint32_t file_mask_ = 0;
  std::string locale_;
  std::array<std::pair<rlim_t, rlim_t>, RLIM_NLIMITS> limits_{};
  std::array<uintptr_t, kSignals> handlers_{};
  std::map<std::string, std::string> environment_;
  std::map<int, std::pair<uint64_t, uint64_t>> descriptors_;  // device and inode of each open file
};

}  // namespace epiphyte::cli
