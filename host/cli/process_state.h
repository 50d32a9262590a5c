// Process state: what all code of a process shares and a plugin must leave as it found it. For the process in which
// doctor probes a plugin, where nothing else changes it.
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

  // Each in some words: "the working directory changed from '/a' to '/b'". Descriptors that are new are no change: the
  // plugin may have opened them.
  std::vector<std::string> ChangesSince(const ProcessState& before) const;

 private:
  static constexpr int kSignals = 32;  // 1 to 31

  std::string folder_;
  uint32_t file_mask_ = 0;
  std::string locale_;
  std::array<std::pair<rlim_t, rlim_t>, RLIM_NLIMITS> limits_{};
  std::array<uintptr_t, kSignals> handlers_{};
  std::map<std::string, std::string> environment_;
  std::map<int, std::pair<uint64_t, uint64_t>> descriptors_;  // device and number of the open file
};

}  // namespace epiphyte::cli
