// Seal: a digest over all bytes of a context model, at the end of the file, so that a flipped bit anywhere is seen.
//
// The seal is the file's last protobuf entry: metadata whose key ends in XXH3-128 of everything before that entry, in
// hex (up to version 2 it was the value). Being ordinary metadata, it disturbs no other tool; a tool that writes the
// model again leaves a seal that doesn't fit any more, and the user is told how to renew it on purpose. A model without
// a seal whose metadata doesn't promise one (a context version of 2 and up does) is accepted: another tool wrote it.
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
#include "core/onnx/write_options.h"

namespace epiphyte::core {

// What to do about a model that was changed.
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

// Looks at the end of the file only as far as the seal's place is concerned, and at everything for the digest.
SealState CheckSeal(const void* data, uint64_t size, const ProgressCallback& on_progress = {});
// Size of the model's bytes without the seal; `size` when there is none.
uint64_t SizeWithoutSeal(const void* data, uint64_t size);

// Throws INVALID_GRAPH when the model's seal is broken, or when its metadata promises one and there is none where it
// belongs. `what` names the model. `metadata`: as read from the same bytes.
void RequireSeal(const void* data, uint64_t size, const Metadata& metadata, std::string_view what,
                 const ProgressCallback& on_progress = {});

}  // namespace epiphyte::core
