// Operators that ONNX adopted later, and operators that are equivalent to one of ONNX's.
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

// Each limit is one number in any shape. The step is 1 when omitted.
void BuildRange(Body& body) {
  const auto number = [&](size_t input) { return body.Op("Squeeze", {body.Need(input, "a limit")}); };
  const Name step = body.Has(2) ? number(2) : body.Cast(body.Integer(1), body.TypeOf(0));
  body.Return(0, body.Op("Range", {number(0), number(1), step}));
}

void BuildTrilu(Body& body) {
  RequireOpset(body, 14);
  body.Return(0, body.Op("Trilu", Inputs(body), body.Copy({"upper"})));
}

// Unique elements in the order of their first occurrence.
void BuildUnique(Body& body) {
  const Names made = body.Ops("Unique", 4, {body.Need(0, "x")}, {A("sorted", 0)});
  body.Return(0, made[0]);
  body.Return(1, made[2]);
  body.Return(2, made[3]);
}

// Inverts the last two dimensions by Gauss-Jordan elimination with partial pivoting, in double.
void BuildInverse(Body& body) {
  const Name x = body.Need(0, "X");
  const DataType type = body.FloatTypeOf(0);
  constexpr DataType kWide = DataType::kDouble;
  const Name shape = body.Op("Shape", {x});
  const Name n = body.SizeOf(x, -1);
  // [matrices, n, 2 n]: each matrix with the identity to its right.
  const Name square = body.Op("Reshape", {body.Cast(x, kWide), body.Concat({body.Integers({-1}), n, n}, 0)});
  const Name count = body.SizeOf(square, 0);
  const Name rows = body.Op("Range", {body.Integer(0), body.Squeeze(n, {0}), body.Integer(1)});
  const Name is_diagonal = body.Op("Equal", {body.Unsqueeze(rows, {1}), rows});
  const Name identity = body.Op("Expand", {body.Cast(is_diagonal, kWide), body.Concat({count, n, n}, 0)});
  const State start = {body.Concat({square, identity}, 2), kWide, {-1, -1, -1}};
  const auto eliminate = [&](const Names& states, const Name& turn) {
    const Name column = body.Op("Abs", {body.Gather(states[0], turn, 2)});
    const Name is_done = body.Op("Less", {rows, turn});
    const Name pivot = body.Op("ArgMax", {body.Where(is_done, body.Number(-1, kWide), column)}, {A("axis", 1)});
    // Swaps the pivot's row with the row of this turn.
    const Name is_turn = body.Op("Equal", {rows, turn});
    const Name others = body.Where(body.Op("Equal", {rows, pivot}), turn, rows);
    const Name places = body.Unsqueeze(body.Where(is_turn, pivot, others), {2});
    const Name swapped = body.Op(
        "GatherElements", {states[0], body.Op("Expand", {places, body.Op("Shape", {states[0]})})}, {A("axis", 1)});
    const Name factors = body.Gather(swapped, turn, 2);
    const Name divisor = body.Unsqueeze(body.Gather(factors, turn, 1), {1});
    const Name row = body.Unsqueeze(body.Div(body.Gather(swapped, turn, 1), divisor), {1});
    const Name reduced = body.Sub(swapped, body.Mul(body.Unsqueeze(factors, {2}), row));
    return Turn{
        body.Op("Less", {turn, body.Squeeze(n, {0})}), {body.Where(body.Unsqueeze(is_turn, {1}), row, reduced)}, {}};
  };
  const Name solved = body.Loop(body.Squeeze(n, {0}), {start}, eliminate).front();
  const Name inverse = body.Slice(solved, n, body.Add(n, n), 2);
  body.Return(0, body.Op("Reshape", {body.Cast(inverse, type), shape}));
}

constexpr Operator kOtherOperators[] = {
    {"ExpandDims", 2, 2, 1, "", BuildExpandDims}, {"GatherND", 2, 2, 1, "", BuildGatherNd},
    {"Inverse", 1, 1, 1, "", BuildInverse},       {"Range", 2, 3, 1, "", BuildRange},
    {"Trilu", 1, 2, 1, "upper:i", BuildTrilu},    {"Unique", 1, 1, 3, "", BuildUnique},
};

}  // namespace

std::span<const Operator> OtherOperators() { return kOtherOperators; }

}  // namespace epiphyte::core::microsoft
