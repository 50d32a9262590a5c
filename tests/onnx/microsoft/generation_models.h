// Small models that generate text, as ONNX text: BeamSearch, GreedySearch and Sampling around decoders of one or two
// layers with weights from a formula.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace epiphyte::test::microsoft {

enum class Form {
  kGpt,               // Attention of com.microsoft, with masks and positions
  kGptOfTwoLayers,    // two layers of that kind
  kGptSharedWeights,  // the weights are in the outer graph
  kEncoder,           // an encoder that makes the first logits, and a decoder that reads the encoder's output
  kEncoderUnused,     // like kEncoder, but the decoder doesn't read the encoder's output
  kCrossEncoder,      // an encoder that only makes keys and values
  kWhisper,           // the encoder takes features
};

struct Fed {
  std::string type;  // "int32" or "float"
  std::vector<int64_t> dims;
  std::vector<double> numbers;
};

struct GenerationCase {
  std::string name;
  Form form = Form::kGpt;
  std::string op_type;
  std::string attributes;
  std::map<int, Fed> inputs;  // inputs by position; the others are omitted
  int outputs = 1;
  int seed = 1;
  int opset = 17;
};

std::vector<GenerationCase> GenerationCases();
std::string GenerationText(const GenerationCase& test);

}  // namespace epiphyte::test::microsoft
