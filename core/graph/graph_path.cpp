#include "core/graph/graph_path.h"

#include <fmt/format.h>

namespace epiphyte::core {

std::string BodyPath(std::string_view path, const Node& holder, uint32_t id, const Attribute& attribute, size_t index) {
  std::string label = holder.name();
  if (label.empty()) {
    for (const char c : holder.op_type()) label += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    label += fmt::format("_{}", id);
  }
  std::string name = fmt::format("{}{}{}/{}", path, path.empty() ? "" : "/", label, attribute.name());
  if (attribute.graphs().size() > 1) name += fmt::format("_{}", index);
  return name;
}

std::string PathOf(const Graph& graph) {
  const Node* holder = graph.parent();
  if (holder == nullptr) return {};
  for (const std::unique_ptr<Attribute>& attribute : holder->attributes()) {
    for (size_t i = 0; i < attribute->graphs().size(); ++i) {
      if (attribute->graphs()[i].get() == &graph)
        return BodyPath(PathOf(holder->graph()), *holder, holder->id(), *attribute, i);
    }
  }
  return {};
}

}  // namespace epiphyte::core
