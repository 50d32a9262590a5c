#include "tests/onnx_backend/backend_case.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>

#include "core/base/error.h"
#include "host/conformance/cases/case_values.h"
#include "tests/framework/guarded_memory.h"
#include "tests/framework/temp_dir.h"
#include "tests/onnx_backend/value_files.h"

namespace epiphyte::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> DataSets(const fs::path& folder) {
  std::vector<fs::path> sets;
  for (size_t i = 0;; ++i) {
    fs::path set = folder / fmt::format("test_data_set_{}", i);
    if (!fs::is_directory(set)) return sets;
    sets.push_back(std::move(set));
  }
}

bool DrawsRandomNumbers(const onnx::NodeProto& node) {
  static constexpr std::string_view kRandom[] = {"Bernoulli",     "Multinomial",      "RandomNormal",
                                                 "RandomUniform", "RandomNormalLike", "RandomUniformLike"};
  const bool trains = node.op_type() == "Dropout" && node.input_size() == 3;
  return trains || std::find(std::begin(kRandom), std::end(kRandom), node.op_type()) != std::end(kRandom);
}

onnx::ModelProto ParseModel(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  onnx::ModelProto model;
  if (!model.ParseFromIstream(&stream)) {
    core::Fail(core::StatusCode::kInvalidProtobuf, "'{}' is not an ONNX model", path.string());
  }
  return model;
}

core::SessionOptions MakeOptions(const BackendRunOptions& options) {
  core::SessionOptions session_options;
  for (const std::string& provider : options.providers) {
    const auto found = options.provider_options.find(provider);
    session_options.providers.push_back({provider, {}});
    if (found != options.provider_options.end()) session_options.providers.back().options = found->second;
  }
  session_options.thread_count = 1;
  return session_options;
}

// Returns the same value in guarded memory: a kernel that reads past its end stops the case.
core::ValuePtr Guarded(core::ValuePtr value) {
  if (!value || !value->IsTensor() || value->type() == core::DataType::kString) return value;
  std::shared_ptr<void> memory = GuardedMemory(value->byte_size());
  if (value->byte_size() != 0) std::memcpy(memory.get(), value->data(), value->byte_size());
  void* const data = memory.get();
  return core::Value::Wrap(value->type(), value->dims(), data, value->byte_size(), [memory] {});
}

std::vector<core::ValuePtr> ReadInputs(const core::Session& session, const fs::path& set) {
  const std::vector<fs::path> files = NumberedFiles(set, "input_");
  if (files.size() > session.inputs().size()) {
    core::Fail(core::StatusCode::kInvalidArgument, "{} holds {} inputs, but the model takes {}", set.string(),
               files.size(), session.inputs().size());
  }
  std::vector<core::ValuePtr> inputs(session.inputs().size());
  for (size_t i = 0; i < files.size(); ++i)
    inputs[i] = Guarded(conformance::ReadCaseValue(files[i], *session.inputs()[i].type));
  return inputs;
}

std::string RunDataSet(core::Session& session, const fs::path& set, const conformance::Tolerance& tolerance,
                       bool random) {
  const std::vector<fs::path> expected_files = NumberedFiles(set, "output_");
  const std::vector<core::ValuePtr> inputs = ReadInputs(session, set);
  const std::vector<core::ValuePtr> outputs = session.Run(inputs);
  if (outputs.size() != expected_files.size()) {
    return fmt::format("{} outputs, expected {}", outputs.size(), expected_files.size());
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const core::ValueSpec& spec = session.outputs()[i];
    const core::ValuePtr expected = conformance::ReadCaseValue(expected_files[i], *spec.type);
    if (!outputs[i]) return fmt::format("output '{}' is missing", spec.name);
    std::string difference;
    if (!random) {
      difference = conformance::CompareValues(*outputs[i], *expected, tolerance).difference;
    } else if (conformance::DescribeValue(*outputs[i]) != conformance::DescribeValue(*expected)) {
      difference = fmt::format("is {}, expected {}", conformance::DescribeValue(*outputs[i]),
                               conformance::DescribeValue(*expected));
    }
    if (!difference.empty()) return fmt::format("{}: output '{}' {}", set.filename().string(), spec.name, difference);
  }
  return "";
}

// Removes input shapes that contradict the data. Some cases declare a wrong shape, but the expected outputs are those
// of the data. Returns whether a shape was removed.
bool DropWrongShapes(onnx::ModelProto& model, const fs::path& set) {
  bool changed = false;
  const std::vector<fs::path> files = NumberedFiles(set, "input_");
  for (int i = 0; i < model.graph().input_size() && i < static_cast<int>(files.size()); ++i) {
    onnx::TypeProto* type = model.mutable_graph()->mutable_input(i)->mutable_type();
    if (!type->has_tensor_type() || !type->tensor_type().has_shape()) continue;
    onnx::TensorProto data;
    std::ifstream stream(files[i], std::ios::binary);
    if (!data.ParseFromIstream(&stream)) continue;
    const auto& declared = type->tensor_type().shape().dim();
    const bool fits =
        std::equal(declared.begin(), declared.end(), data.dims().begin(), data.dims().end(),
                   [](const auto& dim, int64_t size) { return !dim.has_dim_value() || dim.dim_value() == size; });
    if (fits) continue;
    type->mutable_tensor_type()->clear_shape();
    changed = true;
  }
  return changed;
}

// Returns the path of the case's own model, or of a corrected copy in `temp`.
fs::path CorrectedModel(const BackendCase& test, onnx::ModelProto& model, const TempDir& temp) {
  if (!DropWrongShapes(model, test.folder / "test_data_set_0")) return test.folder / "model.onnx";
  return temp.Write("corrected.onnx", model.SerializeAsString());
}

// Returns the first node that no listed provider claims, with the reason; "" when they claim all nodes. If everything
// was computed before the run and no node is left, the model counts as unclaimed.
std::string FindUnclaimed(const core::Placement& placement, const std::vector<std::string>& providers) {
  for (const core::NodePlacement& node : placement.nodes) {
    if (std::find(providers.begin(), providers.end(), node.provider) != providers.end()) continue;
    std::string why = fmt::format("{} '{}'", node.op_type, node.name);
    for (const core::Decline& decline : node.declines) why += fmt::format(": {}: {}", decline.provider, decline.reason);
    return why;
  }
  return placement.nodes.empty() ? "no node is left to run" : "";
}

// Makes a session of a case's model. With claimed_only, returns null for an unclaimed case, and *unclaimed says why.
std::unique_ptr<core::Session> OpenCase(core::Environment& environment, const fs::path& model,
                                        const core::SessionOptions& session_options, const BackendRunOptions& options,
                                        std::string* unclaimed) {
  std::unique_ptr<core::Session> session;
  try {
    session = std::make_unique<core::Session>(environment, model, session_options);
  } catch (const core::Error& error) {
    if (!options.claimed_only || error.code() != core::StatusCode::kNotImplemented) throw;
    *unclaimed = error.message();  // the fallback can't run it either
    return nullptr;
  }
  if (options.claimed_only) *unclaimed = FindUnclaimed(session->placement(), options.providers);
  return unclaimed->empty() ? std::move(session) : nullptr;
}

}  // namespace

bool DrawsRandomNumbers(const onnx::ModelProto& model) {
  const auto& nodes = model.graph().node();
  return std::any_of(nodes.begin(), nodes.end(), [](const onnx::NodeProto& node) { return DrawsRandomNumbers(node); });
}

std::vector<BackendCase> FindBackendCases(const fs::path& root) {
  std::vector<BackendCase> cases;
  const auto add = [&cases](const fs::path& folder) {
    if (fs::exists(folder / "model.onnx") && fs::is_directory(folder / "test_data_set_0")) {
      cases.push_back({folder.filename().string(), folder});
    }
  };
  // The canonical path has a file name even if the argument ends in a slash.
  const fs::path top = fs::canonical(root);
  add(top);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(top)) {
    if (entry.is_directory()) add(entry.path());
  }
  std::sort(cases.begin(), cases.end(), [](const BackendCase& a, const BackendCase& b) { return a.folder < b.folder; });
  return cases;
}

std::string RunBackendCase(core::Environment& environment, const BackendCase& test, const BackendRunOptions& options) {
  try {
    const TempDir temp, alone;
    onnx::ModelProto proto = ParseModel(test.folder / "model.onnx");
    const bool random = DrawsRandomNumbers(proto);
    fs::path model = CorrectedModel(test, proto, temp);
    std::string unclaimed;
    if (options.via_context) {
      const fs::path context_model = temp / "model_ctx.onnx";
      core::SessionOptions compiling = MakeOptions(options);
      compiling.Set("ep.context_enable", "1");
      compiling.Set("ep.context_file_path", context_model.string());
      compiling.Set("ep.context_embed_mode", options.embed_context ? "1" : "0");
      const std::unique_ptr<core::Session> compile = OpenCase(environment, model, compiling, options, &unclaimed);
      if (compile == nullptr) return std::string(kNotClaimed) + unclaimed;
      if (compile->context_output() == nullptr) return "compiling wrote no context model";
      model = context_model;
      if (options.embed_context) {  // the model is moved away from any payload file, which must not be needed
        model = alone / "model_ctx.onnx";
        fs::rename(context_model, model);
      }
    }
    const std::unique_ptr<core::Session> opened =
        OpenCase(environment, model, MakeOptions(options), options, &unclaimed);
    if (opened == nullptr) return std::string(kNotClaimed) + unclaimed;
    core::Session& session = *opened;
    for (int run = 1; run <= options.runs; ++run) {
      for (const fs::path& set : DataSets(test.folder)) {
        std::string failure = RunDataSet(session, set, options.tolerance, random);
        if (!failure.empty()) return run == 1 ? failure : fmt::format("run {}: {}", run, failure);
      }
    }
    return "";
  } catch (const core::Error& error) {
    return fmt::format("{}: {}", core::StatusCodeName(error.code()), error.message());
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace epiphyte::test
