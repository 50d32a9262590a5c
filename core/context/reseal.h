// Sealing again: for a context model that was changed on purpose, also by tools that know nothing of contexts, as
// onnx.save and onnx.compose.
//
//   ResealContextModel("model_ctx.onnx", environment.catalog());
#pragma once

#include <filesystem>
#include <memory>

#include "core/context/context_store.h"
#include "core/context/seal.h"
#include "core/registry/catalog.h"

namespace epiphyte::core {

// Makes the seal fit the .onnx as it is now, and the list of records too: a payload that has none gets one of its bytes
// as they are, and a record of no payload goes. Records of payloads that are there stay as they are, so a model whose
// payloads don't fit, or that can't be read, is refused (INVALID_GRAPH) with the first reason. Returns the state of the
// seal that was replaced; kIntact means that nothing had to be done. `store`: where payloads and initializers are, and
// the model if it stores models, under the name of its path; null: all are files.
SealState ResealContextModel(const std::filesystem::path& model, Catalog& catalog,
                             const std::shared_ptr<ContextStore>& store = nullptr);

// Seals the model as it is now, in place of any older seal, and publishes it in one step. The payload records are not
// touched, nor compared. Throws INVALID_PROTOBUF when the file is no ONNX model.
void Reseal(const std::filesystem::path& model, const std::shared_ptr<ContextStore>& store = nullptr);

}  // namespace epiphyte::core
