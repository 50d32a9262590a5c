// Node and ValueDef: attribute access, and constants resolved through scopes.
#include <algorithm>

#include "core/base/error.h"
#include "core/graph/graph.h"

namespace epiphyte::core {

const ConstantPtr& ValueDef::ResolvedConstant() const {
  const ValueDef* value = this;
  while (value->outer_ != nullptr) value = value->outer_;
  return value->constant_;
}

const Attribute* Node::FindAttribute(std::string_view name) const {
  for (const std::unique_ptr<Attribute>& attribute : attributes_) {
    if (attribute->name() == name) return attribute.get();
  }
  return nullptr;
}

int64_t Node::IntAttribute(std::string_view name, int64_t fallback) const {
  const Attribute* attribute = FindAttribute(name);
  return attribute != nullptr && attribute->type() == AttributeType::kInt ? attribute->i() : fallback;
}

float Node::FloatAttribute(std::string_view name, float fallback) const {
  const Attribute* attribute = FindAttribute(name);
  return attribute != nullptr && attribute->type() == AttributeType::kFloat ? attribute->f() : fallback;
}

std::string Node::StringAttribute(std::string_view name, std::string_view fallback) const {
  const Attribute* attribute = FindAttribute(name);
  if (attribute == nullptr || attribute->type() != AttributeType::kString) return std::string(fallback);
  return attribute->s();
}

void Node::SetAttribute(Attribute attribute) {
  graph_->CheckSubgraphs(attribute);
  const bool holds_graphs = !attribute.graphs().empty();
  auto added = std::make_unique<Attribute>(std::move(attribute));
  const auto old = std::find_if(attributes_.begin(), attributes_.end(),
                                [&](const auto& existing) { return existing->name() == added->name(); });
  if (old == attributes_.end()) {
    attributes_.push_back(std::move(added));
    Graph::AdoptSubgraphs(this, *attributes_.back());
    return;
  }
  const bool rebuild = holds_graphs || !(*old)->graphs().empty();
  Graph::ReleaseSubgraphs(this, **old);
  *old = std::move(added);
  if (!rebuild) return;
  // subgraphs_ is in attribute order.
  subgraphs_.clear();
  for (const std::unique_ptr<Attribute>& existing : attributes_) Graph::AdoptSubgraphs(this, *existing);
}

void Node::RemoveAttribute(std::string_view name) {
  const auto found = std::find_if(attributes_.begin(), attributes_.end(),
                                  [&](const auto& attribute) { return attribute->name() == name; });
  if (found == attributes_.end()) return;
  const std::unique_ptr<Attribute> removed = std::move(*found);
  attributes_.erase(found);
  Graph::ReleaseSubgraphs(this, *removed);
}

}  // namespace epiphyte::core
