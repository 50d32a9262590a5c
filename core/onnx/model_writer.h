// Model writer: the core's graph IR to ONNX bytes, streamed, so that weights are never in memory twice.
//
// Embedded tensors of 4 KiB and more, and EPContext payloads kept as tensors, start at multiples of 64 bytes, so that
// ReadModelFile views them in place. Deterministic: the same model gives the same bytes. Embedded models are limited by
// protobuf to 2 GiB - 1; beyond that WriteModel throws INVALID_ARGUMENT with the reason, before it has written
// anything.
#pragma once

#include <cstdint>

#include "core/graph/graph.h"
#include "core/onnx/write_options.h"

namespace epiphyte::core {

void WriteModel(const Model& model, const WriteOptions& options, const ByteSink& sink);
// What WriteModel would give to `sink`.
uint64_t ModelByteSize(const Model& model, const WriteOptions& options);

}  // namespace epiphyte::core
