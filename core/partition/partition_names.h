// PartitionNames: "<prefix><graph>_<provider>_<n>", with the lowest number that is free.
//
// Plugins find their graphs in a payload by these names. One PartitionNames therefore has all names that may be in one
// payload: those of a model, or of all models of a share group, where graphs may have equal names. A name depends only
// on the calls made so far. The same models in the same order get the same names, whatever else the process does.
//
//   PartitionNames names;
//   names.Take("main_graph_npu_0");
//   names.Next("", "main_graph", "npu");  // "main_graph_npu_1"
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace epiphyte::core {

class PartitionNames {
 public:
  // Marks a name as taken.
  void Take(std::string name) { taken_.insert(std::move(name)); }
  // Returns the next free name. Characters of graph and provider outside [A-Za-z0-9_.-] become '_'; long names are cut.
  std::string Next(std::string_view prefix, std::string_view graph, std::string_view provider);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, uint64_t> next_;  // for each stem the first number that may be free
};

}  // namespace epiphyte::core
