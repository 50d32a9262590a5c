#include "host/conformance/cases/operator_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>

#include "core/base/error.h"
#include "core/runtime/session.h"
#include "host/conformance/cases/case_values.h"
#include "host/conformance/cases/compare_values.h"
#include "host/conformance/cases/expectations.h"
#include "host/conformance/checks/checks.h"
#include "host/conformance/plugin_manifest.h"
#include "host/conformance/process/isolated_runs.h"

namespace epiphyte::conformance {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kCaseLimit(60);
constexpr const char* kNotClaimed = "\x01 not claimed";  // result for a case that the plugin does not claim
enum class Way { kPlain, kContext, kEmbeddedContext };

std::vector<fs::path> Numbered(const fs::path& folder, const std::string& prefix, const std::string& suffix) {
  std::vector<fs::path> found;
  for (size_t i = 0;; ++i) {
    fs::path path = folder / (prefix + std::to_string(i) + suffix);
    if (!fs::exists(path)) return found;
    found.push_back(std::move(path));
  }
}

std::vector<fs::path> FindCases(const fs::path& models) {
  if (!fs::is_directory(models)) {
    core::Fail(core::StatusCode::kNoSuchFile,
               "'{}' is no folder; a folder with cases in the layout of ONNX's backend tests is expected",
               models.string());
  }
  std::vector<fs::path> cases;
  const auto add = [&cases](const fs::path& folder) {
    if (fs::exists(folder / "model.onnx") && fs::is_directory(folder / "test_data_set_0")) cases.push_back(folder);
  };
  add(fs::canonical(models));
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::canonical(models))) {
    if (entry.is_directory()) add(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

class CaseRunner {
 public:
  CaseRunner(const Target& target, std::vector<fs::path> cases, Way way)
      : target_(target), cases_(std::move(cases)), way_(way) {}

  void Start() {
    environment_ = std::make_unique<core::Environment>(CatalogOf(target_, scratch_.path()));
    name_ = environment_->catalog().entries().at(0).manifest.name;
  }
  // Returns "" when the outputs are right, kNotClaimed, or a description of the error.
  std::string Run(size_t index) const {
    const fs::path folder = scratch_.path() / std::to_string(index);
    try {
      fs::create_directories(folder);
      return RunCase(cases_[index], folder);
    } catch (const core::Error& error) {
      return fmt::format("{}: {}", core::StatusCodeName(error.code()), error.message());
    } catch (const std::exception& error) {
      return error.what();
    }
  }

 private:
  core::SessionOptions Options() const {
    core::SessionOptions options;
    options.providers = {{name_, {}}};
    options.Set("session.disable_cpu_ep_fallback", "1");
    options.thread_count = 1;
    return options;
  }

  // Returns the placement of the model's nodes if the plugin has all of them.
  std::optional<core::Placement> Claimed(const fs::path& model) const {
    try {
      core::Placement placement = core::PlaceModel(*environment_, model, Options());
      const bool whole = std::all_of(placement.nodes.begin(), placement.nodes.end(),
                                     [&](const core::NodePlacement& node) { return node.provider == name_; });
      if (whole && !placement.nodes.empty()) return placement;
    } catch (const core::Error&) {  // no other provider takes the remaining nodes
    }
    return std::nullopt;
  }

  // Outputs of such a model have an expected type and shape, but no expected numbers.
  static bool DrawsRandomNumbers(const core::Placement& placement) {
    static constexpr std::string_view kRandom[] = {"Bernoulli",     "Multinomial",      "RandomNormal",
                                                   "RandomUniform", "RandomNormalLike", "RandomUniformLike"};
    return std::any_of(placement.nodes.begin(), placement.nodes.end(), [](const core::NodePlacement& node) {
      return node.domain.empty() &&
             std::find(std::begin(kRandom), std::end(kRandom), node.op_type) != std::end(kRandom);
    });
  }

  // Returns nullopt if the data's shape differs from the declared one, as in some of ONNX's own cases.
  static std::optional<std::vector<core::ValuePtr>> Inputs(const core::Session& session, const fs::path& set) {
    std::vector<core::ValuePtr> inputs(session.inputs().size());
    const std::vector<fs::path> files = Numbered(set, "input_", ".pb");
    if (files.size() > inputs.size()) return std::nullopt;
    for (size_t i = 0; i < files.size(); ++i) {
      const core::Type& type = *session.inputs()[i].type;
      inputs[i] = ReadCaseValue(files[i], type);
      if (!DeclaredAs(*inputs[i], type)) return std::nullopt;
    }
    return inputs;
  }
  static bool DeclaredAs(const core::Value& value, const core::Type& type) {
    if (!type.IsTensor() || !value.IsTensor()) return type.IsTensor() == value.IsTensor();
    if (type.element_type() != value.type()) return false;
    const EpTypeInfo& declared = *type.abi();
    if (declared.rank < 0) return true;
    const auto dims = value.dims();
    if (dims.size() != static_cast<size_t>(declared.rank)) return false;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (declared.dims[i] >= 0 && declared.dims[i] != dims[i]) return false;
    }
    return true;
  }

  std::string RunCase(const fs::path& folder, const fs::path& scratch) const {
    fs::path model = folder / "model.onnx";
    const std::optional<core::Placement> placement = Claimed(model);
    if (!placement) return kNotClaimed;
    const bool random = DrawsRandomNumbers(*placement);
    if (way_ != Way::kPlain) {
      core::SessionOptions compile = Options();
      compile.Set("ep.context_enable", "1");
      compile.Set("ep.context_embed_mode", way_ == Way::kEmbeddedContext ? "1" : "0");
      compile.Set("ep.context_file_path", (scratch / "model_ctx.onnx").string());
      const core::Session session(*environment_, model, compile);
      if (session.context_output() == nullptr || session.context_output()->context_nodes == 0)
        return "compiling wrote no context";
      model = session.context_output()->model;
    }
    core::Session session(*environment_, model, Options());
    if (way_ != Way::kPlain && !session.has_context()) return "the context was not loaded";
    for (const fs::path& set : Numbered(folder, "test_data_set_", "")) {
      const auto inputs = Inputs(session, set);
      if (!inputs) return kNotClaimed;
      const std::vector<core::ValuePtr> outputs = session.Run(*inputs);
      const std::vector<fs::path> files = Numbered(set, "output_", ".pb");
      for (size_t i = 0; i < outputs.size() && i < files.size(); ++i) {
        const core::ValuePtr expected = ReadCaseValue(files[i], *session.outputs()[i].type);
        if (!outputs[i]) return "output '" + session.outputs()[i].name + "' is missing";
        std::string difference;
        if (!random) {
          difference = CompareValues(*outputs[i], *expected, {.relative = 1e-3, .absolute = 1e-5}).difference;
        } else if (DescribeValue(*outputs[i]) != DescribeValue(*expected)) {
          difference = fmt::format("is {}, expected {}", DescribeValue(*outputs[i]), DescribeValue(*expected));
        }
        if (!difference.empty())
          return fmt::format("{}: output '{}' {}", set.filename().string(), session.outputs()[i].name, difference);
      }
    }
    return "";
  }

  const Target& target_;
  const std::vector<fs::path> cases_;
  const Way way_;
  const ScratchFolder scratch_;  // owned by the parent process, which removes it even if a child crashes
  std::unique_ptr<core::Environment> environment_;
  std::string name_;
};

// Returns the first few entries of a list, for a message.
std::string FirstOf(const std::vector<std::string>& all) {
  std::string text = fmt::format("{} of them; first: ", all.size());
  for (size_t i = 0; i < all.size() && i < 3; ++i) text += (i == 0 ? "" : "; ") + all[i];
  return text;
}

}  // namespace

CaseCounts RunOperatorCases(Journal& journal, const Target& target, const CaseOptions& options) {
  const std::vector<fs::path> cases = FindCases(options.models);
  std::set<std::string> expected;
  for (const fs::path& file : options.expected_failures) expected.merge(ReadExpectations(file));
  CaseCounts counts;
  counts.found = cases.size();
  std::set<std::string> failed_expectedly;
  std::set<std::string> claimed;
  for (const auto& [way, rule] :
       {std::pair(Way::kPlain, Rule::kCasesAreRight), std::pair(Way::kContext, Rule::kCasesViaContext),
        std::pair(Way::kEmbeddedContext, Rule::kCasesViaEmbeddedContext)}) {
    CaseRunner runner(target, cases, way);
    IsolatedTasks tasks;
    tasks.count = cases.size();
    tasks.start = [&] { runner.Start(); };
    tasks.run = [&](size_t index) { return runner.Run(index); };
    const std::vector<std::string> answers =
        RunIsolated(tasks, kCaseLimit, [](const std::string& cause) { return "CRASH: " + cause; });
    std::vector<std::string> failures;
    size_t passed = 0;
    for (size_t i = 0; i < cases.size(); ++i) {
      const std::string name = cases[i].filename().string();
      if (answers[i] == kNotClaimed) continue;
      claimed.insert(name);
      if (answers[i].empty()) {
        ++passed;
      } else if (expected.contains(name)) {
        failed_expectedly.insert(name);
      } else {
        failures.push_back(name + ": " + answers[i]);
      }
    }
    if (way == Way::kPlain) counts.claimed = claimed.size();
    (way == Way::kPlain ? counts.right : way == Way::kContext ? counts.right_context : counts.right_embedded) = passed;
    if (!failures.empty()) {
      journal.Fail(rule, FirstOf(failures));
    } else if (passed != 0) {
      journal.Pass(rule);
    } else {
      journal.NotApplicable(rule, "the plugin claims none of the cases whole");
    }
  }
  std::vector<std::string> surprises;
  for (const std::string& name : expected) {
    if (!failed_expectedly.contains(name))
      surprises.push_back(
          name + (claimed.contains(name) ? " passes" : " is not claimed by the plugin, or there is no such case"));
  }
  if (!surprises.empty()) {
    journal.Fail(Rule::kExpectedFailuresFail, FirstOf(surprises));
  } else if (expected.empty()) {
    journal.NotApplicable(Rule::kExpectedFailuresFail, "no list of expected failures was given");
  } else {
    journal.Pass(Rule::kExpectedFailuresFail);
  }
  return counts;
}

}  // namespace epiphyte::conformance
