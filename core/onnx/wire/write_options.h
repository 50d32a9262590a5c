// Options for writing a model, and the sink for its bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace epiphyte::core {

// Called with successive pieces of the output.
using ByteSink = std::function<void(const void* data, uint64_t size)>;

struct GraphAnnotations;

struct WriteOptions {
  // If set, initializers of at least `external_threshold` bytes go to external_sink and refer to this file name. They
  // are aligned to 64 bytes, or to 4096 from 1 MiB on.
  std::string external_file_name;
  uint64_t external_threshold = 0;
  ByteSink external_sink;
  // The model's annotations (annotations.h); may be null.
  const GraphAnnotations* annotations = nullptr;
};

}  // namespace epiphyte::core
