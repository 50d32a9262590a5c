#include "core/onnx/schema/attribute_list.h"

#include <algorithm>

namespace epiphyte::core {
namespace {

// Removes the first entry from the list and returns it.
std::string_view TakeEntry(std::string_view* list) {
  const std::string_view entry = list->substr(0, list->find(' '));
  list->remove_prefix(std::min(list->size(), entry.size() + 1));
  return entry;
}

}  // namespace

char KindInList(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::string_view entry = TakeEntry(&list);
    if (entry.size() == name.size() + 2 && entry.starts_with(name)) return entry.back();
  }
  return 0;
}

AttributeType TypeOfKind(char kind) {
  switch (kind) {
    case 'f': return AttributeType::kFloat;
    case 'i': return AttributeType::kInt;
    case 's': return AttributeType::kString;
    case 't': return AttributeType::kTensor;
    case 'F': return AttributeType::kFloats;
    case 'S': return AttributeType::kStrings;
    default: return AttributeType::kInts;
  }
}

std::vector<std::string_view> NamesInList(std::string_view list) {
  std::vector<std::string_view> names;
  while (!list.empty()) {
    const std::string_view entry = TakeEntry(&list);
    names.push_back(entry.substr(0, entry.find(':')));
  }
  return names;
}

}  // namespace epiphyte::core
