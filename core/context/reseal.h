// Sealing again: for a context model that was changed on purpose.
//
//   ResealContextModel("model_ctx.onnx", environment.catalog());
#pragma once

#include <filesystem>

#include "core/context/seal.h"
#include "core/registry/catalog.h"

namespace epiphyte::core {

// Makes the seal fit the .onnx as it is now. Only the seal: the records of its payloads stay, so a model whose payloads
// don't fit, or that can't be read, is refused (INVALID_GRAPH) with the first reason. Returns the state of the seal
// that was replaced; kIntact means that nothing had to be done.
SealState ResealContextModel(const std::filesystem::path& model, Catalog& catalog);

// Seals the model as it is now, in place of any older seal, and publishes it in one step. The payload records are not
// touched, nor compared. Throws INVALID_PROTOBUF when the file is no ONNX model.
void Reseal(const std::filesystem::path& model);

}  // namespace epiphyte::core
