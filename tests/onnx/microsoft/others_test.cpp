// Operators that ONNX took over later.
#include <gmock/gmock.h>

#include "tests/onnx/microsoft/call.h"

namespace epiphyte::test::microsoft {
namespace {

using testing::HasSubstr;

Array Int64s(Dims dims, std::vector<double> numbers) {
  return Of(std::move(dims), std::move(numbers), DataType::kInt64);
}

TEST(MicrosoftOthers, SayWhatOneOfOnnxsDoes) {
  const Array x = Random({3, 4});
  const Array upper = Make({3, 4}, [&](const Dims& i) { return i[1] >= i[0] + 1 ? x.At(i) : 0; });
  Array wide = x;
  wide.dims = {3, 1, 4};
  for (const int64_t opset : {14, 17, 21}) {
    const RunAs how{.opset = opset};
    ExpectNear(Call("Trilu").In(x).Weights(Int64s({}, {1})).Int("upper", 1).Run(how)[0], upper, 0);
    ExpectNear(Call("ExpandDims").In(x).Weights(Scalar(-2, DataType::kInt32)).Run(how)[0], wide, 0);
    ExpectNear(Call("GatherND").In(x).In(Int64s({2, 2}, {0, 3, 2, 1})).Run(how)[0],
               Of({2}, {x.At({0, 3}), x.At({2, 1})}), 0);
    ExpectNear(Call("Range").In(Int64s({1}, {3})).In(Int64s({}, {9})).In(Int64s({1}, {2})).Run(how)[0],
               Int64s({3}, {3, 5, 7}), 0);
    ExpectNear(Call("Range").In(Scalar(2)).In(Scalar(4)).Run(how)[0], Of({2}, {2, 3}), 0);
    const Arrays unique = Call("Unique").In(Of({5}, {4, 1, 4, 2, 1})).Outputs({true, true, true}).Run(how);
    ExpectNear(unique[0], Of({3}, {4, 1, 2}), 0);
    ExpectNear(unique[1], Int64s({5}, {0, 1, 0, 2, 1}), 0);
    ExpectNear(unique[2], Int64s({3}, {2, 2, 1}), 0);
  }
  EXPECT_THAT(Call("Trilu").In(x).Failure({.opset = 11}), AllOf(HasSubstr("NOT_IMPLEMENTED"), HasSubstr("opset 14")));
}

}  // namespace
}  // namespace epiphyte::test::microsoft
