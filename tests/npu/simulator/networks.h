// Whole networks with random weights, layer by layer as published, quantized to int8, for counting cycles.
//
//   GraphBuilder b("resnet50");
//   BuildResNet50(b);      // K. He et al. 2015: strides in the first 1x1 of a block, 3.86 G MACs
//   BuildResNet50V15(b);   // strides in the 3x3, as most frameworks have it since: 4.09 G MACs
#pragma once

#include <cmath>

#include "tests/npu/simulator/graph_builder.h"

namespace epiphyte::npusim {

class NetworkBuilder {
 public:
  explicit NetworkBuilder(GraphBuilder& b) : b_(b) {}

  // Adds a convolution. Its scales let results of random weights use the 8 bits without much saturation.
  uint32_t Conv(uint32_t x, int64_t out, int64_t kernel, int64_t stride, bool relu, int64_t groups = 1) {
    const std::vector<int64_t>& dims = b_.Dims(x);
    const int64_t in = dims[1] / groups;
    const int64_t pad = kernel / 2;
    const auto size = [&](int64_t of) { return (of + 2 * pad - kernel) / stride + 1; };
    const float x_scale = b_.QuantisationOf(x).scale;
    // Keeps the scale of a result near the scale of its input, however deep the network is.
    const float w_scale = 1.0f / (60.0f * std::sqrt(static_cast<float>(in * kernel * kernel)));
    const uint32_t w = b_.RandomConstant(NSDK_INT8, {out, in, kernel, kernel}, {w_scale, 0});
    b_.PerChannel(w, 0, std::vector<float>(static_cast<size_t>(out), w_scale));
    const uint32_t bias = b_.RandomConstant(NSDK_INT32, {out}, {x_scale * w_scale, 0});
    b_.PerChannel(bias, 0, std::vector<float>(static_cast<size_t>(out), x_scale * w_scale));
    const float y_scale = x_scale * (relu ? 0.75f : 1.25f);
    const int32_t zero = relu ? -128 : 0;
    const uint32_t y = b_.Value(NSDK_INT8, {dims[0], out, size(dims[2]), size(dims[3])}, {y_scale, zero});
    std::vector<OpParam> params = {{NSDK_STRIDES, {stride, stride}}, {NSDK_PADS, {pad, pad, pad, pad}}};
    if (groups != 1) params.push_back({NSDK_GROUPS, {groups}});
    if (relu) params.push_back({NSDK_LOW, {zero}});
    b_.Op(NSDK_CONV, {x, w, bias}, {y}, std::move(params), "conv" + std::to_string(count_++));
    return y;
  }

  uint32_t Add(uint32_t a, uint32_t b, bool relu) {
    const float scale = 1.2f * std::max(b_.QuantisationOf(a).scale, b_.QuantisationOf(b).scale);
    const int32_t zero = relu ? -128 : 0;
    const uint32_t y = b_.Value(NSDK_INT8, b_.Dims(a), {scale, zero});
    b_.Op(NSDK_ADD, {a, b}, {y}, relu ? std::vector<OpParam>{{NSDK_LOW, {zero}}} : std::vector<OpParam>{},
          "add" + std::to_string(count_++));
    return y;
  }

  // Adds the average over the plane and the classifier.
  void Head(uint32_t x, int64_t classes) {
    const std::vector<int64_t> dims = b_.Dims(x);
    const Quantisation q = b_.QuantisationOf(x);
    const uint32_t mean = b_.Value(NSDK_INT8, {dims[0], dims[1], 1, 1}, q);
    b_.Op(NSDK_AVERAGE_POOL, {x}, {mean}, {{NSDK_KERNEL, {dims[2], dims[3]}}}, "mean");
    const uint32_t flat = b_.Value(NSDK_INT8, {dims[0], dims[1]}, q);
    b_.Op(NSDK_RESHAPE, {mean}, {flat}, {}, "flatten");
    const float w_scale = 0.01f;
    const uint32_t w = b_.RandomConstant(NSDK_INT8, {classes, dims[1]}, {w_scale, 0});
    const uint32_t bias = b_.RandomConstant(NSDK_INT32, {classes}, {q.scale * w_scale, 0});
    const uint32_t y =
        b_.Value(NSDK_INT8, {dims[0], classes}, {q.scale * w_scale * 60 * std::sqrt(static_cast<float>(dims[1])), 0});
    b_.Op(NSDK_MATMUL, {flat, w, bias}, {y}, {{NSDK_TRANSPOSE_B, {1}}}, "classifier");
    b_.Output(y, "logits");
  }

  uint32_t MaxPool(uint32_t x, int64_t kernel, int64_t stride, int64_t pad) {
    const std::vector<int64_t>& dims = b_.Dims(x);
    const auto size = [&](int64_t of) { return (of + 2 * pad - kernel) / stride + 1; };
    const uint32_t y = b_.Value(NSDK_INT8, {dims[0], dims[1], size(dims[2]), size(dims[3])}, b_.QuantisationOf(x));
    b_.Op(NSDK_MAX_POOL, {x}, {y},
          {{NSDK_KERNEL, {kernel, kernel}}, {NSDK_STRIDES, {stride, stride}}, {NSDK_PADS, {pad, pad, pad, pad}}},
          "maxpool" + std::to_string(count_++));
    return y;
  }

 private:
  GraphBuilder& b_;
  int count_ = 0;
};

inline void BuildResNet(GraphBuilder& b, int64_t size, bool stride_in_3x3) {
  NetworkBuilder net(b);
  uint32_t x = b.Input("image", NSDK_INT8, {1, 3, size, size}, {1.0f / 64, 0});
  x = net.Conv(x, 64, 7, 2, true);
  x = net.MaxPool(x, 3, 2, 1);
  const struct { int64_t width, blocks, stride; } stages[] = {{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}};
  for (const auto& stage : stages) {
    for (int64_t block = 0; block < stage.blocks; ++block) {
      const int64_t stride = block == 0 ? stage.stride : 1;
      const uint32_t shortcut = block == 0 ? net.Conv(x, 4 * stage.width, 1, stride, false) : x;
      x = net.Conv(x, stage.width, 1, stride_in_3x3 ? 1 : stride, true);
      x = net.Conv(x, stage.width, 3, stride_in_3x3 ? stride : 1, true);
      x = net.Conv(x, 4 * stage.width, 1, 1, false);
      x = net.Add(x, shortcut, true);
    }
  }
  net.Head(x, 1000);
}

inline void BuildResNet50(GraphBuilder& b, int64_t size = 224) { BuildResNet(b, size, false); }
inline void BuildResNet50V15(GraphBuilder& b, int64_t size = 224) { BuildResNet(b, size, true); }

// Source: M. Sandler et al. 2018, width 1.0; 300.8 M MACs at 224.
inline void BuildMobileNetV2(GraphBuilder& b, int64_t size = 224) {
  NetworkBuilder net(b);
  uint32_t x = b.Input("image", NSDK_INT8, {1, 3, size, size}, {1.0f / 64, 0});
  x = net.Conv(x, 32, 3, 2, true);
  const struct {
    int64_t expand, out, blocks, stride;
  } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  for (const auto& stage : stages) {
    for (int64_t block = 0; block < stage.blocks; ++block) {
      const int64_t in = b.Dims(x)[1];
      const int64_t stride = block == 0 ? stage.stride : 1;
      uint32_t y = stage.expand == 1 ? x : net.Conv(x, in * stage.expand, 1, 1, true);
      y = net.Conv(y, in * stage.expand, 3, stride, true, in * stage.expand);
      y = net.Conv(y, stage.out, 1, 1, false);
      x = stride == 1 && in == stage.out ? net.Add(y, x, false) : y;
    }
  }
  x = net.Conv(x, 1280, 1, 1, true);
  net.Head(x, 1000);
}

}  // namespace epiphyte::npusim
