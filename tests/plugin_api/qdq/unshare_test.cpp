// Every operator gets its own DequantizeLinear nodes.
#include "epiphyte/kit/qdq/unshare.hpp"

#include <gmock/gmock.h>

#include "epiphyte/kit/graph/check.hpp"
#include "tests/plugin_api/qdq/unit_text.h"

namespace epiphyte::test {
namespace {

// Returns the nodes of the graph afterwards, and its units.
std::string Unshared(const std::string& statements, size_t copies) {
  kit::ir::Graph graph = kit::ir::FromText(Text(statements));
  kit::ir::Editor editor(graph);
  EXPECT_EQ(kit::qdq::UnshareDequantize(editor), copies);
  editor.Finish();
  kit::ir::Check(graph);
  const kit::ir::Editor after(graph);
  const kit::qdq::Units found = kit::qdq::FindUnits(after);
  ExpectWhole(after, found);
  for (const kit::qdq::Unit& unit : found.units) EXPECT_TRUE(unit.shared.empty());
  return kit::ir::NodesToText(graph) + UnitsText(after, found);
}

TEST(UnshareDequantize, GivesEachReaderItsOwn) {
  EXPECT_EQ(Unshared("in q: uint8[4]\nx = DequantizeLinear@13(q, s, z) : float[4]\na = Sigmoid@13(x)\n"
                     "ra = QuantizeLinear@13(a, s, z)\nb = Tanh@13(x)\nrb = QuantizeLinear@13(b, s, z)\nout ra, rb",
                     1),
            "x = DequantizeLinear(q, s, z)\n"
            "a = Sigmoid(x)\n"
            "ra = QuantizeLinear(a, s, z)\n"
            "x_1 = DequantizeLinear(q, s, z)\n"
            "b = Tanh(x_1)\n"
            "rb = QuantizeLinear(b, s, z)\n"
            "Sigmoid(x) -> ra\n"
            "Tanh(x_1) -> rb");
}

TEST(UnshareDequantize, MakesUnitsOfWhatOthersReadInFloat) {
  EXPECT_EQ(Unshared("in q: uint8[4]\nx = DequantizeLinear@13(q, s, z) : float[4]\nf = Foo(x)\na = Mul@14(x, x)\n"
                     "ra = QuantizeLinear@13(a, s, z)\nout f, ra",
                     1),
            "x = DequantizeLinear(q, s, z)\n"
            "f = Foo(x)\n"
            "x_1 = DequantizeLinear(q, s, z)\n"
            "a = Mul(x_1, x_1)\n"
            "ra = QuantizeLinear(a, s, z)\n"
            "Mul(x_1, x_1) -> ra")
      << "one for an operator that reads it twice";
}

TEST(UnshareDequantize, LeavesTheFirstToTheGraphsOutput) {
  EXPECT_EQ(Unshared("in q: uint8[4]\nx = DequantizeLinear@13(q, s, z) : float[4]\na = Sigmoid@13(x)\n"
                     "ra = QuantizeLinear@13(a, s, z)\nout x, ra",
                     1),
            "x = DequantizeLinear(q, s, z)\n"
            "x_1 = DequantizeLinear(q, s, z)\n"
            "a = Sigmoid(x_1)\n"
            "ra = QuantizeLinear(a, s, z)\n"
            "Sigmoid(x_1) -> ra");
}

TEST(UnshareDequantize, LeavesTheFirstToBodies) {
  EXPECT_EQ(Unshared("in c: bool[]\nin q: uint8[4]\nx = DequantizeLinear@13(q, s, z) : float[4]\na = Sigmoid@13(x)\n"
                     "ra = QuantizeLinear@13(a, s, z)\nt = If@16(c) reads (x)\nb = Tanh@13(x)\n"
                     "rb = QuantizeLinear@13(b, s, z)\nout t, ra, rb",
                     2),
            "x = DequantizeLinear(q, s, z)\n"
            "x_1 = DequantizeLinear(q, s, z)\n"
            "a = Sigmoid(x_1)\n"
            "ra = QuantizeLinear(a, s, z)\n"
            "t = If(c) reads (x)\n"
            "x_2 = DequantizeLinear(q, s, z)\n"
            "b = Tanh(x_2)\n"
            "rb = QuantizeLinear(b, s, z)\n"
            "Sigmoid(x_1) -> ra\n"
            "Tanh(x_2) -> rb");
}

TEST(UnshareDequantize, LeavesWhatIsWhole) {
  EXPECT_EQ(Unshared("in q: uint8[4]\nx = DequantizeLinear@13(q, s, z) : float[4]\na = Sigmoid@13(x)\n"
                     "ra = QuantizeLinear@13(a, s, z)\nout ra",
                     0),
            "x = DequantizeLinear(q, s, z)\na = Sigmoid(x)\nra = QuantizeLinear(a, s, z)\nSigmoid(x) -> ra");
}

}  // namespace
}  // namespace epiphyte::test
