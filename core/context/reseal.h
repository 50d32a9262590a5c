// Sealing again: for a context model that was changed on purpose, also by tools that don't know contexts, such as
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

// Renews the seal of the .onnx as it is now, and its list of records. A payload without a record gets one of its
// current bytes, and a record without a payload is removed. Other records stay as they are. A model with payloads that
// don't match, or that can't be read, is refused (INVALID_GRAPH) with the first reason.
//
// Returns the state of the seal that was replaced; kIntact means that nothing had to be done. `store` holds payloads
// and initializers, and the model too if it stores models, under the name of its path; null: all are files.
SealState ResealContextModel(const std::filesystem::path& model, Catalog& catalog,
                             const std::shared_ptr<ContextStore>& store = nullptr);

// Seals the model as it is now, in place of any older seal, and publishes it in one step. Payload records are neither
// changed nor compared. Throws INVALID_PROTOBUF when the file is no ONNX model.
void Reseal(const std::filesystem::path& model, const std::shared_ptr<ContextStore>& store = nullptr);

}  // namespace epiphyte::core
