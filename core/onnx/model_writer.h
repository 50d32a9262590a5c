// Model writer: the core's graph IR to ONNX bytes, streamed, so that weights are never in memory twice.
//
// Embedded tensors of 4 KiB and more, and EPContext payloads kept as tensors, start at multiples of 64 bytes, so that
// ReadModelFile views them in place. Deterministic: the same model gives the same bytes. Embedded models are limited by
// protobuf to 2 GiB - 1; beyond that WriteModel throws INVALID_ARGUMENT with the reason, before it has written
// anything.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace epiphyte::core {

// Called with successive pieces of the output.
using ByteSink = std::function<void(const void* data, uint64_t size)>;

struct WriteOptions {
  // Set: initializers of at least `external_threshold` bytes go to external_sink, 64-byte aligned (4096 for those of
  // 1 MiB and more), and refer to this file name.
  std::string external_file_name;
  uint64_t external_threshold = 0;
  ByteSink external_sink;
};

void WriteModel(const Model& model, const WriteOptions& options, const ByteSink& sink);
// The bytes of one metadata entry. They may be appended to a written model: protobuf takes them as part of it.
std::string MetadataEntry(std::string_view key, std::string_view value);
// What WriteModel would give to `sink`.
uint64_t ModelByteSize(const Model& model, const WriteOptions& options);

}  // namespace epiphyte::core
