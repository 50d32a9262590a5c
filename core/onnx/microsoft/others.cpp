// Operators that ONNX took over later, and others that say what one of ONNX's does.
#include "core/onnx/microsoft/body.h"
#include "core/onnx/microsoft/table.h"

namespace epiphyte::core::microsoft {
namespace {

Names Inputs(const Body& body) {
  Names inputs;
  for (size_t i = 0; i < body.input_count(); ++i) inputs.push_back(body.In(i));
  return inputs;
}

void RequireOpset(const Body& body, int64_t opset) {
  if (body.opset() < opset)
    body.Unsupported("it needs opset {} of ai.onnx, the model uses {}; convert it to a newer opset", opset,
                     body.opset());
}

void BuildExpandDims(Body& body) {
  RequireOpset(body, 13);
  const Name axis = body.Cast(body.Reshape(body.Need(1, "axis"), {1}), DataType::kInt64);
  body.Return(0, body.Op("Unsqueeze", {body.Need(0, "X"), axis}));
}

void BuildGatherNd(Body& body) {
  const Name indices = body.Cast(body.Need(1, "indices"), DataType::kInt64);
  body.Return(0, body.Op("GatherND", {body.Need(0, "data"), indices}));
}

// (limits with one number each in any shape; the step is 1 where it is left out)
void BuildRange(Body& body) {
  const auto number = [&](size_t input) { return body.Op("Squeeze", {body.Need(input, "a limit")}); };
  const Name step = body.Has(2) ? number(2) : body.Cast(body.Integer(1), body.TypeOf(0));
  body.Return(0, body.Op("Range", {number(0), number(1), step}));
}

void BuildTrilu(Body& body) {
  RequireOpset(body, 14);
  body.Return(0, body.Op("Trilu", Inputs(body), body.Copy({"upper"})));
}

// In the order in which they come first.
void BuildUnique(Body& body) {
  const Names made = body.Ops("Unique", 4, {body.Need(0, "x")}, {A("sorted", 0)});
  body.Return(0, made[0]);
  body.Return(1, made[2]);
  body.Return(2, made[3]);
}

constexpr Operator kOperators[] = {
    {"ExpandDims", 2, 2, 1, "", BuildExpandDims}, {"GatherND", 2, 2, 1, "", BuildGatherNd},
    {"Range", 2, 3, 1, "", BuildRange},           {"Trilu", 1, 2, 1, "upper:i", BuildTrilu},
    {"Unique", 1, 1, 3, "", BuildUnique},
};

}  // namespace

std::span<const Operator> OtherOperators() { return kOperators; }

}  // namespace epiphyte::core::microsoft
