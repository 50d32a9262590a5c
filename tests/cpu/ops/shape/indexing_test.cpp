// Operators with indices from the model: Gather and Scatter in all their forms, OneHot, TopK, Unique, Compress,
// NonZero.
#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/cpu/ops/move_testing.h"

namespace epiphyte::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Gather, RowsOfStringsAndPackedElements) {
  OpRunner strings("Gather", 13);
  strings.Input<std::string>({3}, {"a", "b", "c"}).Input<int32_t>({2, 2}, {-1, 0, 1, 1}).Run();
  EXPECT_EQ(strings.Dims(0), (Shape{2, 2}));
  EXPECT_THAT(strings.Output<std::string>(0), ElementsAre("c", "a", "b", "b"));
  OpRunner nibbles("Gather", 21);
  nibbles.Attribute("axis", 1).InputDatum(Packed(EP_TYPE_INT4, {2, 3}, {1, 2, 3, 4, 5, 6})).Input<int64_t>({2}, {2, 0});
  nibbles.Run();
  EXPECT_THAT(Unpacked(nibbles.OutputTensor(0)), ElementsAre(3, 1, 6, 4));
}

TEST(Gather, EmptyIndicesAndEmptyData) {
  OpRunner nothing("Gather", 13);
  nothing.Input<float>({2, 3}, Counting<float>(6)).Input<int64_t>({0}, {}).Run();
  EXPECT_EQ(nothing.Dims(0), (Shape{0, 3}));
  OpRunner from_nothing("Gather", 13);
  from_nothing.Input<float>({0}, {}).Input<int64_t>({1}, {0});
  EXPECT_THAT(Failure(from_nothing), HasSubstr("index 0"));
}

TEST(Gather, RefusesIndicesOutside) {
  for (int64_t index : {int64_t{3}, int64_t{-4}, INT64_MAX, INT64_MIN}) {
    OpRunner gather("Gather", 13);
    gather.Input<float>({3}, {1, 2, 3}).Input<int64_t>({1}, {index});
    EXPECT_THAT(Failure(gather), HasSubstr("[-3, 2]")) << index;
    OpRunner elements("GatherElements", 13);
    elements.Input<float>({3}, {1, 2, 3}).Input<int64_t>({1}, {index});
    EXPECT_THAT(Failure(elements), HasSubstr("[-3, 2]")) << index;
    OpRunner tuples("GatherND", 13);
    tuples.Input<float>({3}, {1, 2, 3}).Input<int64_t>({1}, {index});
    EXPECT_THAT(Failure(tuples), HasSubstr("[-3, 2]")) << index;
  }
}

TEST(GatherElements, CountsFromEitherEndAlongEveryAxis) {
  const Shape dims = {4, 5, 3};
  const std::vector<float> x = Counting<float>(60);
  for (int64_t axis : {0, 1, 2}) {
    const Shape shape = {axis == 0 ? 7 : 3, axis == 1 ? 6 : 5, axis == 2 ? 4 : 2};
    std::vector<int64_t> indices(static_cast<size_t>(shape[0] * shape[1] * shape[2]));
    std::vector<float> expected;
    const int64_t size = dims[static_cast<size_t>(axis)];
    for (size_t i = 0; i < indices.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      indices[i] = at * 7 % (2 * size) - size;
      Shape place = {at / (shape[1] * shape[2]), at / shape[2] % shape[1], at % shape[2]};
      place[static_cast<size_t>(axis)] = (indices[i] + size) % size;
      expected.push_back(x[static_cast<size_t>((place[0] * 5 + place[1]) * 3 + place[2])]);
    }
    OpRunner wide("GatherElements", 13), narrow("GatherElements", 13);
    wide.Attribute("axis", axis).Input<float>(dims, x).Input<int64_t>(shape, indices).Run();
    narrow.Attribute("axis", axis).Input<float>(dims, x);
    narrow.Input<int32_t>(shape, std::vector<int32_t>(indices.begin(), indices.end())).Run();
    EXPECT_EQ(wide.Output<float>(0), expected) << "axis " << axis;
    EXPECT_EQ(narrow.Output<float>(0), expected) << "axis " << axis;
  }
}

TEST(GatherElements, RefusesIndicesOutsideInTheMidstOfOthers) {
  OpRunner gather("GatherElements", 13);
  gather.Attribute("axis", 1).Input<float>({2, 2}, {1, 2, 3, 4}).Input<int32_t>({2, 2}, {0, 1, 2, 0});
  EXPECT_THAT(Failure(gather), HasSubstr("index 2 found, a value in [-2, 1]"));
}

TEST(GatherElements, LongRowsHaveIndicesFromEitherEndAndRefuseOthersAnywhere) {
  constexpr int64_t kRow = 300, kSize = 37;
  for (const int64_t odd : {int64_t{-1}, int64_t{0}, int64_t{127}, int64_t{128}, int64_t{299}}) {
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < kRow; ++i) indices.push_back(i == odd ? i % kSize - kSize : i % kSize);
    const auto gather = [&] {
      OpRunner runner("GatherElements", 13);
      runner.Input<float>({kSize}, Counting<float>(kSize)).Input<int64_t>({kRow}, indices);
      return runner;
    };
    OpRunner right = gather();
    right.Run();
    const std::vector<float> x = Counting<float>(kSize), found = right.Output<float>(0);
    for (int64_t i = 0; i < kRow; ++i) ASSERT_EQ(found[static_cast<size_t>(i)], x[static_cast<size_t>(i % kSize)]) << i;
    if (odd < 0) continue;
    for (const int64_t outside : {kSize, -kSize - 1, INT64_MIN, INT64_MAX}) {
      indices[static_cast<size_t>(odd)] = outside;
      OpRunner wrong = gather();
      EXPECT_THAT(Failure(wrong), HasSubstr("[-37, 36]")) << odd << ": " << outside;
    }
  }
}

TEST(GatherElements, RefusesIndicesWiderThanTheData) {
  OpRunner gather("GatherElements", 13);
  gather.Input<float>({2, 2}, {1, 2, 3, 4}).Input<int64_t>({1, 3}, {0, 0, 0});
  EXPECT_THAT(Failure(gather), HasSubstr("at most that"));
}

TEST(GatherNd, RefusesBatchesThatDiffer) {
  OpRunner batches("GatherND", 13);
  batches.Attribute("batch_dims", 1).Input<float>({2, 2}, {1, 2, 3, 4}).Input<int64_t>({3, 1}, {0, 0, 0});
  EXPECT_THAT(Failure(batches), HasSubstr("equal dimensions"));
  OpRunner deep("GatherND", 13);
  deep.Input<float>({2, 2}, {1, 2, 3, 4}).Input<int64_t>({1, 3}, {0, 0, 0});
  EXPECT_THAT(Failure(deep), HasSubstr("at most 2"));
}

template <typename T>
std::vector<T> Scattered(const std::string& reduction, const std::vector<T>& data, const std::vector<T>& updates,
                         bool in_place) {
  OpRunner scatter("ScatterElements", 18);
  scatter.Attribute("reduction", reduction).Input<T>({static_cast<int64_t>(data.size())}, data);
  scatter.Input<int64_t>({3}, {1, 1, -1}).Input<T>({3}, updates).InPlace(in_place).Run();
  return scatter.Output<T>(0);
}

TEST(ScatterElements, CombinesRepeatedIndices) {
  for (bool in_place : {false, true}) {
    EXPECT_THAT(Scattered<float>("add", {1, 2, 3}, {10, 20, 30}, in_place), ElementsAre(1, 32, 33));
    EXPECT_THAT(Scattered<int32_t>("mul", {1, 2, 3}, {10, 20, 30}, in_place), ElementsAre(1, 400, 90));
    EXPECT_THAT(Scattered<uint8_t>("add", {1, 250, 3}, {10, 20, 30}, in_place), ElementsAre(1, 24, 33));
    EXPECT_THAT(Scattered<int8_t>("min", {1, 2, 3}, {-10, 20, 30}, in_place), ElementsAre(1, -10, 3));
    EXPECT_THAT(Scattered<uint64_t>("max", {1, 2, 3}, {UINT64_MAX, 0, 2}, in_place), ElementsAre(1, UINT64_MAX, 3));
  }
}

TEST(ScatterElements, IntegersWrapAround) {
  EXPECT_THAT(Scattered<int64_t>("add", {0, INT64_MAX, 0}, {1, 0, 0}, false), ElementsAre(0, INT64_MIN, 0));
  EXPECT_THAT(Scattered<uint16_t>("mul", {0, 65535, 0}, {65535, 1, 0}, false), ElementsAre(0, 1, 0));
}

TEST(ScatterElements, MovesStringsAndPackedElements) {
  OpRunner strings("ScatterElements", 18);
  strings.Input<std::string>({2}, {"a", "b"}).Input<int64_t>({1}, {1}).Input<std::string>({1}, {"z"}).Run();
  EXPECT_THAT(strings.Output<std::string>(0), ElementsAre("a", "z"));
  OpRunner nibbles("ScatterElements", 18);
  nibbles.InputDatum(Packed(EP_TYPE_UINT4, {3}, {1, 2, 3}))
      .Input<int64_t>({1}, {1})
      .InputDatum(Packed(EP_TYPE_UINT4, {1}, {9}));
  nibbles.Run();
  EXPECT_THAT(Unpacked(nibbles.OutputTensor(0)), ElementsAre(1, 9, 3));
}

TEST(ScatterNd, RefusesUpdatesOfAnotherShape) {
  OpRunner scatter("ScatterND", 18);
  scatter.Input<float>({2, 3}, Counting<float>(6)).Input<int64_t>({1, 1}, {0}).Input<float>({1, 2}, {1, 2});
  EXPECT_THAT(Failure(scatter), HasSubstr("[1,3] expected"));
  OpRunner index("ScatterND", 18);
  index.Input<float>({2}, {1, 2}).Input<int64_t>({1, 1}, {2}).Input<float>({1}, {1});
  EXPECT_THAT(Failure(index), HasSubstr("[-2, 1]"));
}

TEST(TensorScatter, WritesAtThePositionOfEachBatch) {
  OpRunner linear("TensorScatter", 24);
  linear.Attribute("axis", 1).Input<float>({2, 3, 1}, {0, 0, 0, 0, 0, 0}).Input<float>({2, 2, 1}, {1, 2, 3, 4});
  linear.Input<int64_t>({2}, {0, 1}).Run();
  EXPECT_THAT(linear.Output<float>(0), ElementsAre(1, 2, 0, 0, 3, 4));
  OpRunner circular("TensorScatter", 24);
  circular.Attribute("axis", 1).Attribute("mode", "circular").Input<float>({1, 3, 1}, {0, 0, 0});
  circular.Input<float>({1, 2, 1}, {1, 2}).Input<int64_t>({1}, {2}).Run();
  EXPECT_THAT(circular.Output<float>(0), ElementsAre(2, 0, 1));
}

TEST(TensorScatter, RefusesToWriteBeyondTheEnd) {
  OpRunner scatter("TensorScatter", 24);
  scatter.Attribute("axis", 1)
      .Input<float>({1, 3, 1}, {0, 0, 0})
      .Input<float>({1, 2, 1}, {1, 2})
      .Input<int64_t>({1}, {2});
  EXPECT_THAT(Failure(scatter), HasSubstr("[0, 1]"));
}

TEST(OneHot, IndicesOutsideAreCold) {
  OpRunner hot("OneHot", 11);
  hot.Input<float>({3}, {1.9f, -1, 1e30f}).Input<int64_t>({}, {2}).Input<int8_t>({2}, {0, 1}).Run();
  EXPECT_THAT(hot.Output<int8_t>(0), ElementsAre(0, 1, 0, 1, 0, 0));
  OpRunner negative("OneHot", 11);
  negative.Input<int64_t>({1}, {0}).Input<int64_t>({}, {-1}).Input<float>({2}, {0, 1});
  EXPECT_THAT(Failure(negative), HasSubstr("depth -1"));
}

TEST(TopK, NaNIsTheLargestAndTiesGoToTheFirst) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  OpRunner top("TopK", 11);
  top.Input<float>({5}, {2, nan, 3, 3, 1}).Input<int64_t>({1}, {3}).Outputs(2).Run();
  EXPECT_THAT(top.Output<int64_t>(1), ElementsAre(1, 2, 3));
  OpRunner bottom("TopK", 11);
  bottom.Attribute("largest", 0).Input<float>({5}, {2, nan, 3, 3, 1}).Input<int64_t>({1}, {5}).Outputs(2).Run();
  EXPECT_THAT(bottom.Output<int64_t>(1), ElementsAre(4, 0, 2, 3, 1));
}

TEST(TopK, HalfPrecisionAndRefusals) {
  const std::vector<cpu::Float16> halves = {cpu::Float16(1.0f), cpu::Float16(-2.0f), cpu::Float16(3.0f)};
  OpRunner half("TopK", 24);
  half.InputDatum(MakeDatum(EP_TYPE_FLOAT16, {3}, halves.data())).Input<int64_t>({1}, {1}).Outputs(2).Run();
  EXPECT_THAT(half.Output<int64_t>(1), ElementsAre(2));
  OpRunner many("TopK", 11);
  many.Input<float>({2}, {1, 2}).Input<int64_t>({1}, {3}).Outputs(2);
  EXPECT_THAT(Failure(many), HasSubstr("[0, 2]"));
}

// Rows with many equal elements, and every combination of k, axis and `largest`.
template <typename T>
void ExpectTheFirstOfASortedRow() {
  for (int64_t dim : {1, 5, 63, 200, 1000, 5000}) {
    std::vector<T> x(static_cast<size_t>(3 * dim));
    uint32_t state = 7;
    for (T& value : x) value = T(static_cast<float>((state = state * 1664525u + 1013904223u) >> 24));
    for (int64_t k : {int64_t{1}, std::min<int64_t>(dim, 7), dim / 2 + 1, dim}) {
      for (int axis : {0, 1}) {
        for (int largest : {0, 1}) {
          OpRunner top("TopK", 11);
          top.Attribute("axis", axis).Attribute("largest", largest);
          top.Input<T>(axis == 1 ? Shape{3, dim} : Shape{dim, 3}, x).template Input<int64_t>({1}, {k}).Outputs(2).Run();
          const std::vector<int64_t> indices = top.Output<int64_t>(1);
          for (int64_t row = 0; row < 3; ++row) {
            const auto at = [&](int64_t i) {
              return static_cast<float>(x[static_cast<size_t>(axis == 1 ? row * dim + i : i * 3 + row)]);
            };
            std::vector<int64_t> order(static_cast<size_t>(dim));
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(),
                             [&](int64_t a, int64_t b) { return largest != 0 ? at(a) > at(b) : at(a) < at(b); });
            for (int64_t i = 0; i < k; ++i)
              ASSERT_EQ(indices[static_cast<size_t>(axis == 1 ? row * k + i : i * 3 + row)],
                        order[static_cast<size_t>(i)])
                  << k << " of " << dim << ", axis " << axis << ", largest " << largest << ", row " << row;
          }
        }
      }
    }
  }
}
TEST(TopK, OfEveryTypeIsTheBeginningOfTheSortedRow) {
  ExpectTheFirstOfASortedRow<float>();
  ExpectTheFirstOfASortedRow<double>();
  ExpectTheFirstOfASortedRow<cpu::Float16>();
  ExpectTheFirstOfASortedRow<uint8_t>();
  ExpectTheFirstOfASortedRow<int32_t>();
  ExpectTheFirstOfASortedRow<int64_t>();
  ExpectTheFirstOfASortedRow<uint64_t>();
}

TEST(TopK, UnsortedOnesComeInTheOrderOfTheirIndices) {
  OpRunner top("TopK", 11);
  top.Attribute("sorted", 0).Input<float>({6}, {2, 9, 3, 3, 7, 1}).Input<int64_t>({1}, {3}).Outputs(2).Run();
  EXPECT_THAT(top.Output<int64_t>(1), ElementsAre(1, 2, 4));
  EXPECT_THAT(top.Output<float>(0), ElementsAre(9, 3, 7));
}

TEST(Unique, StringsInOrderOfAppearance) {
  OpRunner unique("Unique", 11);
  unique.Attribute("sorted", 0).Input<std::string>({4}, {"b", "a", "b", "c"}).Outputs(4).Run();
  EXPECT_THAT(unique.Output<std::string>(0), ElementsAre("b", "a", "c"));
  EXPECT_THAT(unique.Output<int64_t>(1), ElementsAre(0, 1, 3));
  EXPECT_THAT(unique.Output<int64_t>(2), ElementsAre(0, 1, 0, 2));
  EXPECT_THAT(unique.Output<int64_t>(3), ElementsAre(2, 1, 1));
}

// Short and long inputs, with many equal numbers and with numbers that differ in every digit.
template <typename T>
void ExpectUnique(const std::vector<T>& special = {}) {
  for (const int64_t count : {1, 7, 48, 49, 1000, 5000}) {
    for (const bool wide : {false, true}) {
      std::vector<T> x(static_cast<size_t>(count));
      uint64_t state = 7;
      for (T& value : x) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        if constexpr (std::is_floating_point_v<T>) {
          value =
              std::ldexp(static_cast<T>(static_cast<int64_t>(state)), wide ? static_cast<int>(state >> 40 & 63) : -60);
          if (!wide) value = std::round(value);
        } else {
          value = static_cast<T>(wide ? state >> 8 : state >> 60);
        }
      }
      std::copy_n(special.begin(), std::min(special.size(), x.size()), x.begin());
      OpRunner unique("Unique", 11);
      unique.Input<T>({count}, x).Outputs(4).Run();
      const auto less = [](T a, T b) { return a < b || (a == a && b != b); };
      std::vector<int64_t> order(x.size()), first, group(x.size()), counts;
      std::iota(order.begin(), order.end(), 0);
      const auto at = [&](size_t i) { return x[static_cast<size_t>(order[i])]; };
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return less(x[static_cast<size_t>(a)], x[static_cast<size_t>(b)]);
      });
      for (size_t i = 0; i < order.size(); ++i) {
        if (i == 0 || less(at(i - 1), at(i))) {
          first.push_back(order[i]);
          counts.push_back(0);
        }
        group[static_cast<size_t>(order[i])] = static_cast<int64_t>(first.size()) - 1;
        ++counts.back();
      }
      EXPECT_EQ(unique.Output<int64_t>(1), first) << count;
      EXPECT_EQ(unique.Output<int64_t>(2), group) << count;
      EXPECT_EQ(unique.Output<int64_t>(3), counts) << count;
    }
  }
}
TEST(Unique, NumbersOfEveryTypeInTheirOrder) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  ExpectUnique<float>({0.0f, nan, -0.0f, infinity, -nan, -infinity, 1e-40f, -1e-40f});
  ExpectUnique<double>({0.0, nan, -0.0, infinity, -nan, -infinity});
  ExpectUnique<int8_t>();
  ExpectUnique<uint8_t>();
  ExpectUnique<int16_t>();
  ExpectUnique<int32_t>({INT32_MIN, INT32_MAX, -1, 0});
  ExpectUnique<uint32_t>();
  ExpectUnique<int64_t>({INT64_MIN, INT64_MAX, -1, 0});
  ExpectUnique<uint64_t>();
}

TEST(Unique, OfNothing) {
  OpRunner unique("Unique", 11);
  unique.Input<float>({0}, {}).Outputs(4).Run();
  EXPECT_EQ(unique.Dims(0), Shape{0});
  EXPECT_EQ(unique.Dims(2), Shape{0});
}

TEST(NonZero, NegativeZeroIsZeroAndNaNIsNot) {
  OpRunner floats("NonZero", 13);
  floats.Input<float>({2, 2}, {-0.0f, std::numeric_limits<float>::quiet_NaN(), 0, 1}).Run();
  EXPECT_EQ(floats.Dims(0), (Shape{2, 2}));
  EXPECT_THAT(floats.Output<int64_t>(0), ElementsAre(0, 1, 1, 1));
}

TEST(NonZero, AScalarHasNoAxesToTellAnIndexOf) {
  for (const float x : {0.0f, 2.0f}) {
    OpRunner runner("NonZero", 13);
    runner.Input<float>({}, {x}).Run();
    EXPECT_EQ(runner.Dims(0), (Shape{0, x == 0 ? 0 : 1}));
  }
}

TEST(NonZero, FindsPlacesInLongRowsOfEachPlane) {
  const Shape dims = {2, 3, 700};
  std::vector<int32_t> x(2 * 3 * 700);
  std::vector<int64_t> planes, rows, columns;
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = (i * 2654435761u >> 7) % 3 == 0 || i % 700 == 255 || i % 700 == 256 ? static_cast<int32_t>(i) + 1 : 0;
    if (x[i] == 0) continue;
    planes.push_back(static_cast<int64_t>(i / 2100));
    rows.push_back(static_cast<int64_t>(i / 700 % 3));
    columns.push_back(static_cast<int64_t>(i % 700));
  }
  OpRunner runner("NonZero", 13);
  runner.Input<int32_t>(dims, x).Run();
  std::vector<int64_t> expected = planes;
  expected.insert(expected.end(), rows.begin(), rows.end());
  expected.insert(expected.end(), columns.begin(), columns.end());
  EXPECT_EQ(runner.Output<int64_t>(0), expected);
}

// Items of one element and of many, in one block and in several; all, some or none are kept.
template <typename T>
void ExpectCompressed(const Shape& dims, int64_t axis, int64_t keep_one_of) {
  int64_t outer = 1, inner = 1;
  for (int64_t i = 0; i < static_cast<int64_t>(dims.size()); ++i) {
    if (i < axis) outer *= dims[static_cast<size_t>(i)];
    if (i > axis) inner *= dims[static_cast<size_t>(i)];
  }
  const int64_t count = dims[static_cast<size_t>(axis)] - 1;  // the condition is one shorter than the axis
  const std::vector<T> x = Counting<T>(outer * (count + 1) * inner);
  std::vector<bool> condition;
  for (int64_t i = 0; i < count; ++i) condition.push_back(keep_one_of > 0 && i * 5 % keep_one_of == 0);
  std::vector<T> expected;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < count; ++i)
      for (int64_t k = 0; k < inner && condition[static_cast<size_t>(i)]; ++k)
        expected.push_back(x[static_cast<size_t>((o * (count + 1) + i) * inner + k)]);
  OpRunner compress("Compress", 11);
  compress.Attribute("axis", axis).Input<T>(dims, x).template Input<bool>({count}, condition).Run();
  EXPECT_EQ(compress.Output<T>(0), expected) << "axis " << axis << ", one of " << keep_one_of;
}
TEST(Compress, KeepsWhatIsChosen) {
  for (const int64_t keep_one_of : {0, 1, 3}) {
    ExpectCompressed<float>({20001}, 0, keep_one_of);
    ExpectCompressed<int64_t>({301, 170}, 0, keep_one_of);
    ExpectCompressed<uint8_t>({7, 40, 611}, 1, keep_one_of);
    ExpectCompressed<double>({3, 5, 2}, 2, keep_one_of);
  }
}

TEST(Compress, RefusesAConditionThatIsTooLong) {
  OpRunner compress("Compress", 11);
  compress.Input<float>({2}, {1, 2}).Input<bool>({3}, {false, true, true});
  EXPECT_THAT(Failure(compress), HasSubstr("at most that many"));
}

}  // namespace
}  // namespace epiphyte::test
