// A custom execution provider that the application registers at run time by the path of its library.
//
//   provider_by_path LIBRARY MODEL     runs MODEL with the provider and without, and compares the outputs
#include <cmath>
#include <cstring>
#include <epiphyte/epiphyte.hpp>
#include <iostream>
#include <string>
#include <vector>

namespace {

using epiphyte::ElementType;
using epiphyte::Error;
using epiphyte::StatusCode;
using epiphyte::Value;

// Returns the same input for every run: -2, -1.75, … 2 for floats, 0 for other types. Unknown dimensions become 1.
Value MakeInput(const epiphyte::ValueInfo& info) {
  epiphyte::Shape shape;
  if (auto dimensions = info.type.shape()) {
    for (const epiphyte::Dimension& dimension : *dimensions) shape.push_back(dimension.size < 0 ? 1 : dimension.size);
  }
  Value value = Value::Tensor(info.type.element_type(), shape);
  if (value.element_type() == ElementType::kFloat) {
    float next = -2.25f;
    for (float& element : value.MutableData<float>()) element = (next = next < 2 ? next + 0.25f : -2);
  } else {
    std::memset(value.mutable_data(), 0, value.byte_size());
  }
  return value;
}

std::vector<Value> Run(const epiphyte::Session& session) {
  std::vector<Value> inputs;
  for (const epiphyte::ValueInfo& info : session.inputs()) inputs.push_back(MakeInput(info));
  return session.Run(inputs);
}

void CheckSame(const std::vector<Value>& found, const std::vector<Value>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].element_type() != ElementType::kFloat) continue;
    for (size_t k = 0; k < expected[i].element_count(); ++k) {
      const float difference = std::abs(found[i].Data<float>()[k] - expected[i].Data<float>()[k]);
      if (difference <= 1e-4f * (1 + std::abs(expected[i].Data<float>()[k]))) continue;
      throw Error(StatusCode::kFail, "output " + std::to_string(i) + " differs by " + std::to_string(difference));
    }
  }
}

void Main(const std::string& library, const std::string& model) {
  epiphyte::Environment environment;
  // The library gets the same checks as one with a manifest; this call throws the problem.
  const epiphyte::PluginInfo plugin = environment.plugins().Add(library, {.priority = 300});
  std::cout << "registered " << plugin.name << ' ' << plugin.version << '\n';
  // The provider is asked first; the CPU provider gets the nodes that it doesn't claim.
  const epiphyte::Session session(environment, model, epiphyte::SessionOptions().AddProvider(plugin.name));
  std::cout << session.placement().Summary() << '\n';
  CheckSame(Run(session), Run(epiphyte::Session(environment, model, epiphyte::SessionOptions().AddProvider("cpu"))));
  std::cout << "the outputs are those of the CPU\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: provider_by_path LIBRARY MODEL\n";
    return 2;
  }
  try {
    Main(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "provider_by_path: error: " << error.what() << '\n';
    return 1;
  }
}
