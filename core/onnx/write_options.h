// Where the bytes of a written model go.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace epiphyte::core {

// Called with successive pieces of the output.
using ByteSink = std::function<void(const void* data, uint64_t size)>;

struct GraphAnnotations;

struct WriteOptions {
  // Set: initializers of at least `external_threshold` bytes go to external_sink, 64-byte aligned (4096 for those of
  // 1 MiB and more), and refer to this file name.
  std::string external_file_name;
  uint64_t external_threshold = 0;
  ByteSink external_sink;
  // What the model was annotated with; see annotations.h. Null: nothing.
  const GraphAnnotations* annotations = nullptr;
};

}  // namespace epiphyte::core
