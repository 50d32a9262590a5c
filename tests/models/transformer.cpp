#include "tests/models/transformer.h"

#include <cmath>

namespace epiphyte::test {

std::string Dense(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t in, int64_t out,
                  float deviation) {
  const std::string weight = graph.Random(name + ".weight", {in, out}, deviation);
  const std::string bias = graph.Random(name + ".bias", {out}, deviation);
  return graph.Node("Add", {bias, graph.Node("MatMul", {x, weight})});
}

std::string LayerNorm(GraphBuilder& graph, const std::string& x, const std::string& name, int64_t size, float epsilon) {
  const std::vector<int64_t> last = {-1};
  const std::string mean = graph.Node("ReduceMean", {x}, {{"axes", last}});
  const std::string centred = graph.Node("Sub", {x, mean});
  const std::string square = graph.Node("Pow", {centred, graph.FloatConstant(2)});
  const std::string variance = graph.Node("ReduceMean", {square}, {{"axes", last}});
  const std::string deviation = graph.Node("Sqrt", {graph.Node("Add", {variance, graph.FloatConstant(epsilon)})});
  const std::string normal = graph.Node("Div", {centred, deviation});
  const std::string scaled = graph.Node("Mul", {normal, graph.Random(name + ".weight", {size}, 0.1f, 1)});
  return graph.Node("Add", {scaled, graph.Random(name + ".bias", {size}, 0.1f)});
}

std::string Gelu(GraphBuilder& graph, const std::string& x) {
  const std::string erf = graph.Node("Erf", {graph.Node("Div", {x, graph.FloatConstant(std::sqrt(2.0f))})});
  const std::string y = graph.Node("Mul", {x, graph.Node("Add", {erf, graph.FloatConstant(1)})});
  return graph.Node("Mul", {y, graph.FloatConstant(0.5f)});
}

std::string SizeOf(GraphBuilder& graph, const std::string& x, int64_t axis) {
  const std::string size = graph.Node("Gather", {graph.Node("Shape", {x}), graph.IntConstant(axis)}, {{"axis", 0}});
  return graph.Node("Unsqueeze", {size, graph.IntsConstant({0})});
}

std::string ReshapeTo(GraphBuilder& graph, const std::string& x, const std::vector<std::string>& sizes) {
  return graph.Node("Reshape", {x, graph.Node("Concat", sizes, {{"axis", 0}})});
}

}  // namespace epiphyte::test
