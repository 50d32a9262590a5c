#include "host/conformance/operators/describe.h"

#include <algorithm>
#include <sstream>

namespace epiphyte::operators {
namespace {

std::string Text(const Array& array) {
  constexpr size_t kMost = 24;
  std::ostringstream text;
  text.precision(9);
  text << core::DataTypeName(array.type) << operators::Text(array.dims) << " =";
  for (size_t i = 0; i < std::min(array.values.size(), kMost); ++i) text << ' ' << array.values[i];
  if (array.values.size() > kMost) text << " …";
  return text.str();
}

std::string Text(const AttributeValue& value) {
  std::ostringstream text;
  const auto list = [&text](const auto& elements) {
    text << '[';
    for (size_t i = 0; i < elements.size(); ++i) text << (i == 0 ? "" : ",") << elements[i];
    text << ']';
  };
  std::visit(
      [&](const auto& content) {
        using T = std::decay_t<decltype(content)>;
        if constexpr (std::is_same_v<T, Array>) {
          text << Text(content);
        } else if constexpr (std::is_same_v<T, std::string> || std::is_arithmetic_v<T>) {
          text << content;
        } else {
          list(content);
        }
      },
      value);
  return text.str();
}

}  // namespace

std::string Text(const Dims& dims) {
  std::string text;
  for (int64_t dim : dims) text += (text.empty() ? "" : ",") + std::to_string(dim);
  return "[" + text + "]";
}

std::string Describe(const Case& c) {
  std::string text = (c.domain.empty() ? "" : c.domain + "::") + c.op_type + ", opset " + std::to_string(c.opset);
  for (const auto& [name, value] : c.attributes) text += "\n  " + name + " = " + Text(value);
  for (const Case::In& input : c.inputs) text += "\n  input " + (input.array ? Text(*input.array) : "left out");
  for (const Case::Out& output : c.outputs) text += "\n  output " + (output.array ? Text(*output.array) : "left out");
  return text;
}

}  // namespace epiphyte::operators
