// PartitionNames: "<prefix><graph>_<provider>_<n>", unique in a model and the same whenever it is partitioned again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace epiphyte::core {

class PartitionNames {
 public:
  explicit PartitionNames(std::string_view prefix) : prefix_(prefix) {}
  // Characters of the names outside [A-Za-z0-9_.-] become '_'; long names are cut.
  std::string Next(std::string_view graph, std::string_view provider);

 private:
  std::string prefix_;
  std::unordered_map<std::string, uint64_t> used_;  // stem → names given out
};

}  // namespace epiphyte::core
