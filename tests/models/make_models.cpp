// epiphyte_make_models [--out DIR] [--only NAME[,NAME]...] writes the generated models, each with sample inputs in
// <name>.inputs/, and prints one line for each. Further options apply to quantized models (--help).

#include <charconv>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/models/models.h"
#include "tests/models/quantizer/quantized_models.h"
#include "tests/models/sample_inputs.h"
#include "tests/models/variants/variant.h"

namespace {

using epiphyte::test::Calibration;
using epiphyte::test::IsQuantizedName;
using epiphyte::test::QuantizedModelOptions;
using epiphyte::test::SplitVariant;

constexpr const char* kUsage =
    "usage: epiphyte_make_models [--out DIR] [--only NAME[,NAME]...] [options for quantised models]\n"
    "Writes the generated models to DIR (default: models), each with sample inputs in NAME.inputs; models that are\n"
    "there already stay, but for quantised ones of other options. Without names, all but the variants: NAME_f16,\n"
    "NAME_int8, NAME_int4, NAME_int4_dq, NAME_opset9, NAME_tf.\n"
    "  --calibration minmax|percentile  how the ranges of activations are chosen (default: minmax)\n"
    "  --percentile P                   of the numbers that stay in range (default: 99.99)\n"
    "  --samples N                      inputs to calibrate with (default: 8)\n"
    "  --activations uint8|int8         type of activations (default: uint8)\n"
    "  --symmetric                      activations have zero in the middle of the type\n"
    "  --per-tensor                     weights have one scale\n"
    "  --shared-dequantize              operators that read a value share its DequantizeLinear\n"
    "Names:";

void PrintUsage(std::FILE* stream) {
  std::fputs(kUsage, stream);
  for (const auto names : {epiphyte::test::ModelNames(), epiphyte::test::QuantizedModelNames()}) {
    for (std::string_view name : names) std::fprintf(stream, " %.*s", static_cast<int>(name.size()), name.data());
  }
  std::fputs(", or chain_<N> for any N\n", stream);
}

std::vector<std::string> SplitAtCommas(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream stream(list);
  for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
  return names;
}

struct Arguments {
  std::string folder = "models";
  std::vector<std::string> names;
  QuantizedModelOptions quantized;
};

template <typename Number>
bool Parse(std::string_view text, Number least, Number most, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() && *number >= least && *number <= most;
}

bool SetFlag(std::string_view flag, QuantizedModelOptions* options) {
  if (flag == "--symmetric") return options->quantize.activations.symmetric = true;
  if (flag == "--per-tensor") return !(options->quantize.per_channel = false);
  if (flag == "--shared-dequantize") return !(options->quantize.dedicated_dequantize = false);
  return false;
}

bool SetOption(std::string_view key, std::string_view value, Arguments* arguments) {
  QuantizedModelOptions& quantized = arguments->quantized;
  if (key == "--out") {
    arguments->folder = value;
  } else if (key == "--only") {
    arguments->names = SplitAtCommas(std::string(value));
  } else if (key == "--calibration" && (value == "minmax" || value == "percentile")) {
    quantized.quantize.calibration = value == "minmax" ? Calibration::kMinMax : Calibration::kPercentile;
  } else if (key == "--activations" && (value == "uint8" || value == "int8")) {
    quantized.quantize.activations.type = value == "int8" ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8;
  } else if (key == "--percentile") {
    return Parse(value, 50.0, 100.0, &quantized.quantize.percentile);
  } else if (key == "--samples") {
    return Parse(value, 1, 10000, &quantized.samples);
  } else {
    return false;
  }
  return true;
}

std::optional<Arguments> ReadArguments(int argc, char** argv) {
  Arguments arguments;
  for (const auto names : {epiphyte::test::ModelNames(), epiphyte::test::QuantizedModelNames()}) {
    for (const std::string_view name : names) {
      if (SplitVariant(name).variant == nullptr) arguments.names.emplace_back(name);
    }
  }
  for (int i = 1; i < argc; ++i) {
    if (SetFlag(argv[i], &arguments.quantized)) continue;
    if (i + 1 >= argc || !SetOption(argv[i], argv[i + 1], &arguments)) return std::nullopt;
    ++i;
  }
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    PrintUsage(stdout);
    return 0;
  }
  const std::optional<Arguments> arguments = ReadArguments(argc, argv);
  if (!arguments) {
    PrintUsage(stderr);
    return 2;
  }
  const std::filesystem::path folder = arguments->folder;
  try {
    for (const std::string& name : arguments->names) {
      const std::filesystem::path path = IsQuantizedName(name) ? WriteQuantizedModel(name, folder, arguments->quantized)
                                                               : epiphyte::test::WriteModel(name, folder);
      epiphyte::test::WriteSampleInputs(name, folder);
      std::printf("%-24s %9.2f MB  %s\n", name.c_str(), static_cast<double>(std::filesystem::file_size(path)) / 1e6,
                  path.c_str());
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "epiphyte_make_models: %s\n", error.what());
    return 1;
  }
  return 0;
}
