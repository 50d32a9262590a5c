// Model writer: streams the core's graph IR as ONNX bytes, so that weights are never in memory twice.
//
// Embedded tensors of 4 KiB and more, and EPContext payloads kept as tensors, start at multiples of 64 bytes, so that
// ReadModelFile can view them in place. The output is deterministic: equal models give equal bytes. Protobuf limits
// embedded models to 2 GiB - 1. For larger models WriteModel throws INVALID_ARGUMENT with the reason before it writes
// anything.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"
#include "core/onnx/wire/write_options.h"

namespace epiphyte::core {

void WriteModel(const Model& model, const WriteOptions& options, const ByteSink& sink);
// Number of bytes that WriteModel would write to `sink`.
uint64_t ModelByteSize(const Model& model, const WriteOptions& options);

}  // namespace epiphyte::core
