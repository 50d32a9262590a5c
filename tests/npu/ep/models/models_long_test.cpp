// As models_test.cpp, for minutes.
#include "tests/npu/ep/models/npu_models.h"

namespace epiphyte::test {
namespace {

TEST_F(NpuModels, MobileNetV2Over64Images) { ExpectTopLikeCpu("mobilenetv2_qdq", 64); }

TEST_F(NpuModels, ResNet50Over64Images) { ExpectTopLikeCpu("resnet50_qdq", 64); }

TEST_F(NpuModels, ResNet50WithSharedDequantize) { ExpectSharedDequantizeChangesNothing("resnet50_qdq"); }

}  // namespace
}  // namespace epiphyte::test
