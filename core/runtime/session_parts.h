// Source of a session, and its results besides the plan.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/type.h"

namespace epiphyte::core {

struct ModelSource {
  std::filesystem::path path;
  bool in_memory = false;  // the model is in `bytes`, and `path` is empty
  const void* bytes = nullptr;
  size_t size = 0;
};

// A model's input or output. Its type is never null; an unknown type is of kind UNKNOWN.
struct ValueSpec {
  std::string name;
  TypePtr type;
  ConstantPtr default_value = nullptr;  // set for an overridable initializer

  static ValueSpec Of(const ValueDef& value) {
    return {value.name(), value.type() != nullptr ? value.type() : Type::Unknown(), value.default_value()};
  }
};

// Files that a session wrote for ep.context_enable=1.
struct ContextOutput {
  std::filesystem::path model;
  std::vector<std::filesystem::path> files;  // binaries and external initializers
  size_t context_nodes = 0;
  size_t plain_nodes = 0;
};

}  // namespace epiphyte::core
