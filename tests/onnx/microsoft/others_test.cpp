// Operators that ONNX later adopted.
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

// The matrices are well-conditioned, so the GEMM of a matrix and its inverse is the identity.
TEST(MicrosoftOthers, InverseUndoesAProduct) {
  for (const Dims& dims : {Dims{3, 3}, Dims{1, 1}, Dims{2, 5, 5}, Dims{2, 3, 16, 16}}) {
    const int64_t n = dims.back();
    Array x = Random(dims);
    // The largest element of most columns is not on the diagonal.
    for (int64_t i = 0; i < x.count(); ++i)
      x.numbers[static_cast<size_t>(i)] += (i % (n * n)) / n == (i + 1) % n ? 3 : 0;
    x = As(x, DataType::kFloat);
    const Array one = Make(dims, [&](const Dims& i) { return i[i.size() - 1] == i[i.size() - 2] ? 1 : 0; });
    for (const RunAs& how :
         {RunAs{.opset = 9}, RunAs{.opset = 11}, RunAs{.open = true}, RunAs{.opset = 21}, RunAs{.context = true}}) {
      const Array y = Call("Inverse").In(x).Run(how)[0];
      ASSERT_EQ(y.dims, dims);
      const Array product = Make(dims, [&](const Dims& i) {
        double sum = 0;
        Dims a = i, b = i;
        for (int64_t k = 0; k < n; ++k) {
          a.back() = b[b.size() - 2] = k;
          sum += x.At(a) * y.At(b);
        }
        return sum;
      });
      ExpectNear(product, one, 1e-5);
    }
  }
}

TEST(MicrosoftOthers, InverseIsThatOfOnnxRuntime) {
  const Array x = Of({3, 3}, {0, 2, 1, 4, 0, 3, 1, 5, 0});
  const Array y = Of({3, 3}, {-15. / 26, 5. / 26, 6. / 26, 3. / 26, -1. / 26, 4. / 26, 20. / 26, 2. / 26, -8. / 26});
  ExpectNear(Call("Inverse").In(x).Run()[0], As(y, DataType::kFloat), 1e-7);
  ExpectNear(Call("Inverse").In(As(x, DataType::kDouble)).Run()[0], As(y, DataType::kDouble), 1e-15);
  ExpectNear(Call("Inverse").In(As(x, DataType::kFloat16)).Run()[0], As(y, DataType::kFloat16), 1e-3);
}

}  // namespace
}  // namespace epiphyte::test::microsoft
