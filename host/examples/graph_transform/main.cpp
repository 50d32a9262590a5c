// A custom graph transform: it builds the normalisation of an input into the model, so that callers pass raw pixels.
// Every reader of INPUT gets (INPUT - MEAN) * SCALE.
//
//   graph_transform MODEL INPUT MEAN SCALE
//
// Runs the changed model on raw values and MODEL on normalised values, and compares the outputs.
#include <cmath>
#include <cstdlib>
#include <epiphyte/epiphyte.hpp>
#include <iostream>
#include <string>
#include <vector>

namespace {

using epiphyte::Error;
using epiphyte::GraphEditor;
using epiphyte::GraphValue;
using epiphyte::StatusCode;
using epiphyte::Value;

Value Scalar(float number) { return Value::Copy<float>(std::vector<float>{number}, {}); }

struct Normalization {
  std::string input;
  float mean = 0;
  float scale = 1;
};

epiphyte::GraphTransform Normalize(const Normalization& what) {
  epiphyte::GraphTransform transform;
  transform.name = "example.Normalize";
  // All parameters of the transform belong into its version, so that the context cache doesn't confuse two variants.
  transform.version = "1 " + what.input + " " + std::to_string(what.mean) + " " + std::to_string(what.scale);
  transform.apply = [what](GraphEditor& graph) {
    if (graph.is_nested()) return;  // the model's inputs are in the top-level graph
    const GraphValue input = graph.FindValue(what.input);
    if (!input || !input.is_input()) {
      throw Error(StatusCode::kInvalidArgument, "the model has no input '" + what.input + "'");
    }
    const GraphValue mean = graph.AddConstant(Scalar(what.mean), "mean");
    const GraphValue scale = graph.AddConstant(Scalar(what.scale), "scale");
    const GraphValue centred = graph.AddNode({.op_type = "Sub", .inputs = {input, mean}}).output(0);
    const GraphValue normal = graph.AddNode({.op_type = "Mul", .inputs = {centred, scale}}).output(0);
    graph.ReplaceUses(input, normal);  // the new nodes keep reading the input
  };
  return transform;
}

// Returns 0, 1, 2, … 255, 0, …, raw or normalised. Unknown dimensions become 1.
Value MakePixels(const epiphyte::ValueInfo& info, const Normalization* normalization) {
  epiphyte::Shape shape;
  if (auto dimensions = info.type.shape()) {
    for (const epiphyte::Dimension& dimension : *dimensions) shape.push_back(dimension.size < 0 ? 1 : dimension.size);
  }
  Value value = Value::Tensor(epiphyte::ElementType::kFloat, shape);
  int next = 0;
  for (float& pixel : value.MutableData<float>()) {
    pixel = static_cast<float>(next++ % 256);
    if (normalization != nullptr) pixel = (pixel - normalization->mean) * normalization->scale;
  }
  return value;
}

std::vector<Value> Run(const epiphyte::Session& session, const Normalization& what, bool normalize) {
  std::vector<Value> inputs;
  for (const epiphyte::ValueInfo& info : session.inputs()) {
    if (info.type.element_type() != epiphyte::ElementType::kFloat) {
      throw Error(StatusCode::kInvalidArgument, "input '" + info.name + "' is not of floats; this example wants those");
    }
    inputs.push_back(MakePixels(info, normalize && info.name == what.input ? &what : nullptr));
  }
  return session.Run(inputs);
}

void CheckSame(const std::vector<Value>& found, const std::vector<Value>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].element_type() != epiphyte::ElementType::kFloat) continue;
    for (size_t k = 0; k < expected[i].element_count(); ++k) {
      const float difference = std::abs(found[i].Data<float>()[k] - expected[i].Data<float>()[k]);
      if (difference <= 1e-3f * (1 + std::abs(expected[i].Data<float>()[k]))) continue;
      throw Error(StatusCode::kFail, "output " + std::to_string(i) + " differs by " + std::to_string(difference));
    }
  }
}

void Main(const std::string& model, const Normalization& what) {
  epiphyte::Environment environment;
  const epiphyte::Session normalizing(environment, model, epiphyte::SessionOptions().AddTransform(Normalize(what)));
  std::cout << "'" << what.input << "' is normalised in the model: " << normalizing.placement().Summary() << '\n';
  CheckSame(Run(normalizing, what, false), Run(epiphyte::Session(environment, model), what, true));
  std::cout << "raw pixels give what normalised ones gave\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: graph_transform MODEL INPUT MEAN SCALE\n";
    return 2;
  }
  try {
    Main(argv[1], {argv[2], std::strtof(argv[3], nullptr), std::strtof(argv[4], nullptr)});
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "graph_transform: error: " << error.what() << '\n';
    return 1;
  }
}
