// Commands that pass verification and take hours: each notices that its run is cancelled.
#include <gtest/gtest.h>

#include "plugins/npu/simulator/device/device.h"
#include "plugins/npu/simulator/isa/encoding.h"

namespace epiphyte::npusim {
namespace {

// Runs one command and cancels it at the third progress call, which comes long after it began.
void ExpectHearsTheEnd(const QuantizedOp& work) {
  const Config config{.scratchpad_bytes = 16 << 20};
  const Command command{.queue = kExecute, .work = work};
  Verify({&command, 1}, config, {});
  int asked = 0;
  const bool finished = Device(config).Run({&command, 1}, {}, [&](size_t done) {
    EXPECT_EQ(done, 0u);
    return ++asked < 3;
  });
  EXPECT_FALSE(finished);
  EXPECT_EQ(asked, 3);
}

TEST(LongCommand, PoolStopsWhenCancelled) {
  PoolCommand pool;
  pool.height = pool.width = 1024;
  pool.window.height = pool.window.width = 128;
  pool.out_height = pool.out_width = 2000;
  ExpectHearsTheEnd(pool);
}

TEST(LongCommand, ConvolutionStopsWhenCancelled) {
  ConvCommand conv;
  conv.height = conv.width = 64;
  conv.in_channels = 64;
  conv.window.height = conv.window.width = 64;
  conv.out_channels = 8;
  conv.out_height = 64;
  conv.out_width = 32;
  ExpectHearsTheEnd(conv);
}

TEST(LongCommand, DepthwiseConvolutionStopsWhenCancelled) {
  ConvCommand conv;
  conv.height = conv.width = 128;
  conv.in_channels = conv.out_channels = 16;
  conv.depthwise = 1;
  conv.window.height = conv.window.width = 128;
  conv.out_height = 32;
  conv.out_width = 32;
  ExpectHearsTheEnd(conv);
}

TEST(LongCommand, ElementwiseStopsWhenCancelled) {
  ElementwiseCommand add;
  add.count = {16, 1000, 1000, 1, 1};
  ExpectHearsTheEnd(add);
}

TEST(LongCommand, SoftmaxStopsWhenCancelled) {
  SoftmaxCommand softmax;
  softmax.rows = 4000;
  softmax.columns = 1000;
  ExpectHearsTheEnd(softmax);
}

TEST(LongCommand, LayerNormStopsWhenCancelled) {
  LayerNormCommand norm;
  norm.rows = 4000;
  norm.columns = 1000;
  ExpectHearsTheEnd(norm);
}

TEST(LongCommand, ResizeStopsWhenCancelled) {
  ResizeCommand resize;
  resize.out_height = resize.out_width = 1900;
  ExpectHearsTheEnd(resize);
}

}  // namespace
}  // namespace epiphyte::npusim
