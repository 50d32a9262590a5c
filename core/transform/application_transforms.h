// Transforms that an application supplies. The core trusts none of them: it checks the model after each transform like
// a model that is read from a file, before the next transform or a provider sees it.
//
//   class Mine : public ApplicationTransform { … };
//   RunApplicationTransforms(model, transforms, on_progress);
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/progress_callback.h"
#include "core/graph/graph.h"
#include "core/transform/node_history.h"

namespace epiphyte::core {

class OperatorSchemas;

// Changes that a transform made to one graph.
struct GraphChanges {
  bool any = false;
  // Nodes of the graph that are new, or have changed inputs or attributes. The types of their outputs may differ from
  // before.
  std::vector<const Node*> nodes;
};

class ApplicationTransform {
 public:
  // `kind`: "transform", "rewrite rule".
  ApplicationTransform(std::string kind, std::string name, std::string version)
      : kind_(std::move(kind)), name_(std::move(name)), version_(std::move(version)) {}
  virtual ~ApplicationTransform() = default;

  const std::string& name() const { return name_; }
  // Two transforms with equal name and version do the same. Empty: the version is unknown.
  const std::string& version() const { return version_; }
  // "rewrite rule 'x'", for messages.
  std::string label() const { return kind_ + " '" + name_ + "'"; }

  // Called for the model's graph, then for each graph nested in it, outer ones first. May throw anything.
  virtual GraphChanges Apply(Graph& graph, const ProgressCallback& on_progress) = 0;

 private:
  std::string kind_;
  std::string name_;
  std::string version_;
};

using ApplicationTransforms = std::vector<std::shared_ptr<ApplicationTransform>>;

// Runs the transforms in order. After each one that changed something, dead nodes are removed, types are inferred anew
// and the model is checked. The check covers: each value that is read has a producer, there are no cycles, operators
// exist and have the inputs and attributes that they need, types fit, and the model's inputs and outputs are as before.
// Throws what a transform throws, or what the check finds, prefixed with the transform's name. `history` records the
// removed nodes; may be null. `schemas` describes operators outside ONNX's domains; may be null. Returns the names of
// the transforms that changed something.
std::vector<std::string> RunApplicationTransforms(Model& model,
                                                  std::span<const std::shared_ptr<ApplicationTransform>> transforms,
                                                  const ProgressCallback& on_progress, NodeHistory* history = nullptr,
                                                  const OperatorSchemas* schemas = nullptr);

}  // namespace epiphyte::core
