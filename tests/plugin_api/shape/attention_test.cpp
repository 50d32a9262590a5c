// The shapes of Attention's operands, caches and masks.
#include <gmock/gmock.h>

#include "epiphyte/kit/shape/attention.hpp"
#include "tests/plugin_api/shape/complaint.h"

namespace epiphyte::test {
namespace {

using kit::AttentionMask;
using kit::AttentionShape;
using kit::Dims;
using kit::ShapeText;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(AttentionShape, HeadsMayStandFirstOrSideBySide) {
  const AttentionShape first(Dims{2, 8, 5, 16}, Dims{2, 4, 7, 16}, Dims{2, 4, 7, 12}, nullptr, nullptr, 0, 0);
  const AttentionShape beside(Dims{2, 5, 128}, Dims{2, 7, 64}, Dims{2, 7, 48}, nullptr, nullptr, 8, 4);
  for (const AttentionShape& shape : {first, beside}) {
    EXPECT_EQ(shape.heads, 8);
    EXPECT_EQ(shape.kv_heads, 4);
    EXPECT_EQ(shape.queries, 5);
    EXPECT_EQ(shape.total, 7);
    EXPECT_EQ(shape.size, 16);
    EXPECT_EQ(shape.v_size, 12);
    EXPECT_EQ(shape.SharedHead(5), 2);
    EXPECT_EQ(ShapeText(shape.Scores()), "[2,8,5,7]");
    EXPECT_EQ(ShapeText(shape.PresentKey()) + ShapeText(shape.PresentValue()), "[2,4,7,16][2,4,7,12]");
  }
  EXPECT_EQ(ShapeText(first.Output()), "[2,8,5,12]");
  EXPECT_EQ(ShapeText(beside.Output()), "[2,5,96]");
  // The offset is that of element 3 of query 4 of head 6 in batch 1.
  EXPECT_EQ(first.Offset(1, 6, 4, 8, 5, 16) + 3, ((1 * 8 + 6) * 5 + 4) * 16 + 3);
  EXPECT_EQ(beside.Offset(1, 6, 4, 8, 5, 16) + 3, (1 * 5 + 4) * 128 + 6 * 16 + 3);
}

TEST(AttentionShape, ACacheComesBeforeTheNewKeys) {
  const Dims past{2, 4, 10, 16};
  const AttentionShape shape(Dims{2, 8, 1, 16}, Dims{2, 4, 1, 16}, Dims{2, 4, 1, 16}, &past, &past, 0, 0);
  EXPECT_EQ(shape.past, 10);
  EXPECT_EQ(shape.total, 11);
  EXPECT_EQ(ShapeText(shape.PresentKey()), "[2,4,11,16]");
}

TEST(AttentionShape, OperandsThatDoNotFitAreRefused) {
  const auto complaint = [](Dims q, Dims k, Dims v, int64_t heads = 0, int64_t kv_heads = 0,
                            const Dims* past_key = nullptr, const Dims* past_value = nullptr) {
    return Complaint([&] { AttentionShape(q, k, v, past_key, past_value, heads, kv_heads); });
  };
  EXPECT_EQ(complaint({2, 3}, {2, 3}, {2, 3}),
            "Q, K and V have shapes [2,3], [2,3] and [2,3], expected three or four dimensions each");
  EXPECT_EQ(complaint({2, 6, 5, 16}, {2, 4, 7, 16}, {2, 4, 7, 16}),
            "6 query heads can't share 4 heads of keys and values");
  EXPECT_EQ(complaint({2, 5, 128}, {2, 7, 64}, {2, 7, 64}), "0 query heads can't share 0 heads of keys and values");
  EXPECT_EQ(complaint({2, 8, 5, 16}, {2, 4, 7, 15}, {2, 4, 7, 16}),
            "Q, K and V have shapes [2,8,5,16], [2,4,7,15] and [2,4,7,16], which do not fit 8 and 4 heads");
  const Dims past{2, 4, 10, 15}, flat{2, 40};
  EXPECT_EQ(complaint({2, 8, 1, 16}, {2, 4, 1, 16}, {2, 4, 1, 16}, 0, 0, &past, &past),
            "past_key and past_value must both be there, as [2,4,past,size]");
  EXPECT_THAT(complaint({2, 8, 1, 16}, {2, 4, 1, 16}, {2, 4, 1, 16}, 0, 0, &flat, &flat), HasSubstr("must both"));
  EXPECT_THAT(complaint({2, 8, 1, 16}, {2, 4, 1, 16}, {2, 4, 1, 16}, 0, 0, &past), HasSubstr("must both"));
  // With heads of 0 elements, the number of heads is limited only by the file.
  EXPECT_THAT(complaint({1, 1, 0}, {1, 1, 0}, {1, 1, 4}, int64_t{1} << 62, 1), HasSubstr("a product below 2^63"));
  EXPECT_THAT(complaint({1, 1 << 30, 0}, {1, 1 << 30, 0}, {1, 1 << 30, 0}, 4, 4), HasSubstr("fewer than 2^57"));
}

TEST(AttentionMask, BroadcastsAndMayBeShort) {
  const AttentionShape shape(Dims{2, 8, 5, 16}, Dims{2, 8, 7, 16}, Dims{2, 8, 7, 16}, nullptr, nullptr, 0, 0);
  const AttentionMask whole(shape, Dims{2, 8, 5, 7});
  EXPECT_THAT(whole.strides, ElementsAre(280, 35, 7, 1));
  EXPECT_EQ(whole.length, 7);
  const AttentionMask matrix(shape, Dims{5, 6});
  EXPECT_THAT(matrix.strides, ElementsAre(0, 0, 6, 1));
  EXPECT_EQ(matrix.length, 6);
  const AttentionMask column(shape, Dims{2, 1, 5, 1});
  EXPECT_THAT(column.strides, ElementsAre(5, 0, 1, 0));
  EXPECT_EQ(column.length, 7);
}

TEST(AttentionMask, OfAnotherShapeIsRefused) {
  const AttentionShape shape(Dims{2, 8, 5, 16}, Dims{2, 8, 7, 16}, Dims{2, 8, 7, 16}, nullptr, nullptr, 0, 0);
  EXPECT_EQ(Complaint([&] {
              AttentionMask(shape, Dims{4, 7});
            }),
            "mask has shape [4,7], expected one that broadcasts to [2,8,5,7]");
  EXPECT_THAT(Complaint([&] { AttentionMask(shape, Dims{5, 8}); }), HasSubstr("broadcasts to"));
  EXPECT_THAT(Complaint([&] { AttentionMask(shape, Dims{1, 1, 1, 1, 1}); }), HasSubstr("broadcasts to"));
}

}  // namespace
}  // namespace epiphyte::test
