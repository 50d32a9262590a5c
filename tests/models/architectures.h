// The architectures, one file each. Every function builds the whole model in memory.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>

namespace epiphyte::test {

onnx::ModelProto BuildResNet50();
onnx::ModelProto BuildMobileNetV2();
onnx::ModelProto BuildSqueezeNet11();
onnx::ModelProto BuildBertBase();
onnx::ModelProto BuildLstmTagger();
onnx::ModelProto BuildDetectorTail();
onnx::ModelProto BuildControlFlow();
onnx::ModelProto BuildVoiceActivity();
onnx::ModelProto BuildTextRecogniser();
onnx::ModelProto BuildDenseNet121();
onnx::ModelProto BuildInceptionV3();
onnx::ModelProto BuildShuffleNetV2();
onnx::ModelProto BuildEfficientNetB0();
onnx::ModelProto BuildVitS16();
onnx::ModelProto BuildWhisperEncoder();
onnx::ModelProto BuildWhisperDecoder();
onnx::ModelProto BuildUnet();
onnx::ModelProto BuildWakeWord();
onnx::ModelProto BuildTinyAdd();
onnx::ModelProto BuildChain(int64_t node_count);

// Prefill and decode graph of one decoder. Their shared weights are written to `weights_path`.
struct LlamaModels {
  onnx::ModelProto prefill;
  onnx::ModelProto decode;
};
LlamaModels BuildLlama(const std::filesystem::path& weights_path);
// One of the two Llama models, with its weights inside.
onnx::ModelProto BuildLlamaWhole(bool decode);

}  // namespace epiphyte::test
