// DebugInference: one InferTypes call. It checks the types that the plugin sets; all handles end with the object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "epiphyte/ep_schema.h"
#include "host/conformance/memory/lent_memory.h"

namespace epiphyte::conformance {

class DebugInference {
 public:
  // `ints` has the known elements of each input; empty if none are known.
  DebugInference(size_t outputs, const std::vector<std::vector<int64_t>>& ints);
  ~DebugInference();
  DebugInference(const DebugInference&) = delete;
  DebugInference& operator=(const DebugInference&) = delete;

  EpInference* handle() const { return handle_; }
  // Returns a type such as "tensor(float)[2]" for each output; "" if none was set.
  const std::vector<std::string>& types() const { return types_; }

  EpStatus* GetInts(uint64_t input, const int64_t** values, uint64_t* count) const;
  EpStatus* SetOutput(uint64_t output, const EpTypeInfo* type);

 private:
  std::vector<std::unique_ptr<LentMemory>> ints_;  // null: not known
  std::vector<std::string> types_;
  EpInference* handle_;
};

}  // namespace epiphyte::conformance
