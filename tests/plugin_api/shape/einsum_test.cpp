// Equations of Einsum and the output shapes that they give.
#include <gmock/gmock.h>

#include "epiphyte/kit/shape/einsum.hpp"
#include "tests/plugin_api/shape/complaint.h"

namespace epiphyte::test {
namespace {

using kit::Dims;
using kit::EinsumEquation;
using kit::EinsumShape;
using kit::ShapeText;

std::string ResultOf(const char* equation, std::vector<Dims> operands) {
  std::vector<const Dims*> shapes;
  for (const Dims& dims : operands) shapes.push_back(&dims);
  return ShapeText(EinsumShape(EinsumEquation::Parse(equation), shapes).y);
}

TEST(Einsum, ResultsHaveTheSizesOfTheirLabels) {
  EXPECT_EQ(ResultOf("ij,jk->ik", {{2, 3}, {3, 4}}), "[2,4]");
  EXPECT_EQ(ResultOf(" b i j , b j k -> b i k ", {{5, 2, 3}, {5, 3, 4}}), "[5,2,4]");
  EXPECT_EQ(ResultOf("ii->i", {{3, 3}}), "[3]");
  EXPECT_EQ(ResultOf("ij->", {{2, 3}}), "[]");
}

TEST(Einsum, WithoutAnArrowLettersThatOccurOnceAreKeptInOrder) {
  EXPECT_EQ(ResultOf("kj,ji", {{4, 3}, {3, 2}}), "[2,4]");
  EXPECT_EQ(ResultOf("...ii", {{7, 3, 3}}), "[7]");
}

TEST(Einsum, AnEllipsisBroadcasts) {
  EXPECT_EQ(ResultOf("...ij,...jk->...ik", {{6, 1, 2, 3}, {5, 3, 4}}), "[6,5,2,4]");
  EXPECT_EQ(ResultOf("...,...->...", {{2, 1}, {3}}), "[2,3]");
}

TEST(Einsum, EquationsThatAreNoneAreRefused) {
  const auto complaint = [](const char* text) { return Complaint([&] { EinsumEquation::Parse(text); }); };
  EXPECT_EQ(complaint("i1->i"), "equation 'i1->i' has '1' where a letter or an ellipsis is expected");
  EXPECT_EQ(complaint("i..j"), "equation 'i..j' has '.' where a letter or an ellipsis is expected");
  EXPECT_EQ(complaint("...i..."), "equation '...i...' has '.' where a letter or an ellipsis is expected");
  EXPECT_LT(complaint(std::string(1 << 20, '#').c_str()).size(), 300u);
}

TEST(Einsum, OperandsThatDoNotFitAreRefused) {
  EXPECT_EQ(Complaint([] { ResultOf("ij,jk->ik", {{2, 3}}); }), "the equation has 2 operands, the node 1");
  EXPECT_EQ(Complaint([] { ResultOf("ij->i", {{2, 3, 4}}); }), "an operand has rank 3, the equation gives it 2");
  EXPECT_EQ(Complaint([] { ResultOf("...ij->i", {{2}}); }), "an operand has rank 1, the equation gives it 2 or more");
  EXPECT_EQ(Complaint([] { ResultOf("ij,jk->ik", {{2, 3}, {4, 5}}); }), "a label stands for the sizes 3 and 4");
  EXPECT_EQ(Complaint([] { ResultOf("ij->k", {{2, 3}}); }), "output label 'k' is in no input");
  EXPECT_EQ(Complaint([] { ResultOf("ij->ii", {{2, 3}}); }), "output label 'i' appears twice");
  EXPECT_EQ(Complaint([] {
              ResultOf("i,j,k->ijk", {{1 << 30}, {1 << 30}, {1 << 30}});
            }),
            "shape [1073741824,1073741824,1073741824] found, fewer than 2^57 elements expected");
}

}  // namespace
}  // namespace epiphyte::test
