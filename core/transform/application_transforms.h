// Transforms that an application brings along. Nothing that they do is believed: what each leaves is checked as a model
// that is read, before the next one or a provider sees it.
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

// What a transform did to one graph.
struct GraphChanges {
  bool any = false;
  // Of the graph: those that are new and those whose inputs or attributes changed. What they make may be of another
  // type than before.
  std::vector<const Node*> nodes;
};

class ApplicationTransform {
 public:
  // `kind`: "transform", "rewrite rule".
  ApplicationTransform(std::string kind, std::string name, std::string version)
      : kind_(std::move(kind)), name_(std::move(name)), version_(std::move(version)) {}
  virtual ~ApplicationTransform() = default;

  const std::string& name() const { return name_; }
  // Two that have one name and one version do the same. Empty: nobody knows.
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

// Runs them one after the other. After each that changed something, what nobody needs any more is removed, types are
// inferred anew, and the model is checked: everything that is read is made by somebody and nothing by itself, operators
// exist and have what they need, types fit, inputs and outputs are what they were. Throws what a transform throws, or
// what is wrong then, with the transform's name in front. `history`, which may be null, is told of the nodes that go;
// `schemas`, which may be null, describes operators of other domains than ONNX's. Returns the names of those that
// changed something.
std::vector<std::string> RunApplicationTransforms(Model& model,
                                                  std::span<const std::shared_ptr<ApplicationTransform>> transforms,
                                                  const ProgressCallback& on_progress, NodeHistory* history = nullptr,
                                                  const OperatorSchemas* schemas = nullptr);

}  // namespace epiphyte::core
