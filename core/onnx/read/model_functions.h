// ModelFunctions: the model-local functions of a model. Model::functions holds it until they are inlined.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/onnx/read/graph_reader.h"

namespace epiphyte::core {

class ModelFunctions {
 public:
  // `owner` keeps the bytes alive; null: they are copied. Throws INVALID_GRAPH for a function without a name, a
  // duplicate, recursive calls, and functions that unfold to more than a million nodes or nest calls deeper than
  // kMaxNesting.
  ModelFunctions(const std::vector<std::string_view>& function_protos, std::shared_ptr<const void> owner,
                 std::shared_ptr<ExternalData> external);

  // Null when the node doesn't call a model-local function.
  const FunctionBody* Find(std::string_view domain, std::string_view op_type) const;
  // The original messages, for writing them again.
  const std::vector<std::string_view>& protos() const { return protos_; }
  const TensorReader& tensors() const { return tensors_; }

  static const ModelFunctions* Of(const Model& model) {
    return static_cast<const ModelFunctions*>(model.functions.get());
  }

 private:
  using Key = std::pair<std::string, std::string>;  // domain, qualified operator
  void CheckCalls() const;

  std::shared_ptr<const void> owner_;
  std::shared_ptr<ExternalData> external_;
  std::vector<std::string> copies_;
  std::vector<std::string_view> protos_;
  TensorReader tensors_;
  std::map<Key, FunctionBody> bodies_;
};

}  // namespace epiphyte::core
