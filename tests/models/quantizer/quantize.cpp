#include "tests/models/quantizer/quantize.h"

#include <stdexcept>

#include "tests/models/quantizer/qdq_writer.h"
#include "tests/models/rewrite/prepare.h"

namespace epiphyte::test {
namespace {

void Check(const ModelFile& file, const std::vector<Sample>& samples, const QuantizeOptions& options) {
  if (file.Opset() < 13) {
    throw std::invalid_argument("the model has opset " + std::to_string(file.Opset()) +
                                "; scales for channels need 13 or later");
  }
  if (samples.empty()) throw std::invalid_argument("calibration needs at least one sample");
  if (options.activations.type != onnx::TensorProto::UINT8 && options.activations.type != onnx::TensorProto::INT8) {
    throw std::invalid_argument("activations are quantised to uint8 or int8");
  }
}

}  // namespace

std::string OptionsText(const QuantizeOptions& options) {
  std::string text = options.activations.type == onnx::TensorProto::INT8 ? "int8" : "uint8";
  if (options.activations.symmetric) text += " symmetric";
  text += options.calibration == Calibration::kMinMax ? " minmax" : " percentile " + std::to_string(options.percentile);
  if (!options.per_channel) text += " per-tensor";
  if (!options.dedicated_dequantize) text += " shared";
  return text;
}

onnx::ModelProto QuantizeModel(ModelFile file, const std::vector<Sample>& samples, const QuantizeOptions& options) {
  Check(file, samples, options);
  PrepareForQuantization(&file);
  const std::set<std::string> activations = FloatActivations(file);
  const ActivationMap seen =
      MeasureActivations(file, activations, samples, options.calibration == Calibration::kPercentile);
  const GraphIndex index(file.model.graph());
  const QuantizedPlacement placement(index, activations);
  const QuantizedRanges ranges(index, placement, seen, options);
  onnx::GraphProto graph = QdqWriter(file, index, placement, ranges, options).Write();

  onnx::ModelProto model;
  model.set_ir_version(file.model.ir_version());
  *model.mutable_opset_import() = file.model.opset_import();
  *model.mutable_functions() = file.model.functions();
  *model.mutable_graph() = std::move(graph);
  return model;
}

}  // namespace epiphyte::test
