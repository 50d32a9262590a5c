// Seal: a digest over all bytes of a context model, at the end of the file. It reveals a flipped bit anywhere.
//
// The seal is the file's last protobuf entry, a metadata entry. Its key ends in the XXH3-128, in hex, of
// everything before that entry. Up to version 2 the digest was the value. Being ordinary metadata, it disturbs no other
// tool. A tool that writes the model again leaves a seal that no longer matches, and the message tells the user how to
// renew it on purpose. A model without a seal is accepted as another tool's, unless its metadata promises one (context
// version 2 and up).
//
//   SealWriter writer(sink);
//   WriteModel(model, options, [&](const void* data, uint64_t size) { writer.Write(data, size); });
//   writer.Finish();
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/hash.h"
#include "core/context/context_metadata.h"
#include "core/onnx/wire/write_options.h"

namespace epiphyte::core {

// Advice in messages about a model that was changed.
inline constexpr std::string_view kChangeAdvice =
    "restore the file or compile the model again; if you changed it on purpose, renew its records and its seal with "
    "ResealContext, or at the command line with epiphyte verify --reseal MODEL";

class SealWriter {
 public:
  explicit SealWriter(ByteSink sink) : sink_(std::move(sink)) {}
  void Write(const void* data, uint64_t size);
  void Finish();  // writes the seal
 private:
  ByteSink sink_;
  Xxh128Stream digest_;
};

enum class SealState { kNone, kIntact, kBroken };

// Looks for the seal at the end of the file only; computes the digest over everything.
SealState CheckSeal(const void* data, uint64_t size, const ProgressCallback& on_progress = {});
// Size of the model's bytes without the seal; `size` when there is no seal.
uint64_t SizeWithoutSeal(const void* data, uint64_t size);

// Throws INVALID_GRAPH when the model's seal is broken, or when its metadata promises a seal that is missing. `what`
// names the model. `metadata`: the metadata read from the same bytes.
void RequireSeal(const void* data, uint64_t size, const Metadata& metadata, std::string_view what,
                 const ProgressCallback& on_progress = {});

}  // namespace epiphyte::core
