#include "host/conformance/operators/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "host/conformance/process/isolated_runs.h"
#include "host/conformance/operators/describe.h"

namespace epiphyte::operators {
namespace {

constexpr std::chrono::seconds kCaseLimit(60);
// If a whole form is listed as failing, it must fail at least once in this many cases from the first one on.
constexpr uint64_t kCasesThatMustFailOnce = 20;
constexpr size_t kMostReasonBytes = 300;

std::string FullName(const OperatorCases& op) {
  return op.domain.empty() ? std::string(op.op_type) : fmt::format("{}.{}", op.domain, op.op_type);
}

DataType TypeOf(const Case& c) {
  for (const Case::In& input : c.inputs)
    if (input.array) return input.quant.has_value() ? input.quant.type : input.array->type;
  return c.outputs.empty() || !c.outputs[0].array ? DataType::kUndefined : c.outputs[0].array->type;
}

struct Task {
  const OperatorCases* op = nullptr;
  size_t op_index = 0;  // index among the operators of the run
  Form form = Form::kPlain;
  uint64_t number = 0;
};

// An answer of a child process is a letter for the verdict, followed by the text.
constexpr char kPassed = 'P', kFailed = 'F', kNotClaimed = 'N', kByCore = 'C';
char LetterOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed: return kPassed;
    case Verdict::kFailed: return kFailed;
    case Verdict::kNotClaimed: return kNotClaimed;
    default: return kByCore;
  }
}

class Run {
 public:
  explicit Run(const CatalogueOptions& options) : options_(options), all_(AllOperators()) {
    report_.provider = options.runner.provider;
    for (const OperatorCases& op : all_) {
      if (options.operator_name.empty() || options.operator_name == FullName(op) || options.operator_name == op.op_type)
        AddTasksOf(op);
    }
    if (report_.operators.empty())
      core::Fail(core::StatusCode::kInvalidArgument, "the catalogue has no operator '{}'", options.operator_name);
  }

  CatalogueReport Make() {
    conformance::IsolatedTasks tasks;
    tasks.count = tasks_.size();
    tasks.start = [&] { Start(); };
    tasks.run = [&](size_t index) { return Answer(tasks_[index]); };
    const std::vector<std::string> answers = conformance::RunIsolated(
        tasks, kCaseLimit, [](const std::string& cause) { return kFailed + ("CRASH: " + cause); });
    for (size_t i = 0; i < tasks_.size(); ++i) Count(tasks_[i], answers[i]);
    FindSurprises();
    return std::move(report_);
  }

 private:
  void AddTasksOf(const OperatorCases& op) {
    const size_t index = report_.operators.size();
    report_.operators.emplace_back().name = FullName(op);
    for (const Form form : options_.forms) {
      // Cases with another type are skipped, up to this number.
      const uint64_t limit = options_.first + options_.cases * (options_.type ? 50 : 1);
      uint64_t found = 0;
      for (uint64_t number = options_.first; number < limit && found < options_.cases; ++number) {
        if (options_.type || (form != Form::kPlain && form != Form::kHostile)) {
          const std::optional<Case> c = MakeFormOf(op, form, number);
          if (!c || (options_.type && TypeOf(*c) != *options_.type)) continue;
        }
        ++found;
        tasks_.push_back({&op, index, form, number});
      }
    }
  }

  void Start() {
    try {
      runner_ = std::make_unique<Runner>(options_.make_environment(), options_.runner);
    } catch (const core::Error& error) {
      unusable_ = error.message();
    }
  }
  std::string Answer(const Task& task) {
    if (runner_ == nullptr) return kFailed + unusable_;
    const std::optional<Case> c = MakeFormOf(*task.op, task.form, task.number);
    const Random random(task.number);
    try {
      const Result result = task.form == Form::kHostile ? runner_->RunHostile(*c, random) : runner_->Run(*c, random);
      const std::string shown = result.verdict == Verdict::kFailed ? "\n" + Describe(*c) : "";
      return LetterOf(result.verdict) + result.text + shown;
    } catch (const std::exception& error) {
      return kFailed + fmt::format("throws what is no core::Error: {}", error.what());
    }
  }

  void Count(const Task& task, const std::string& answer) {
    OperatorReport& of = report_.operators[task.op_index];
    const std::string name = CaseName(*task.op, task.form, task.number);
    const std::string text = answer.substr(1);
    run_.insert(name);
    switch (answer[0]) {
      case kPassed: ++of.passed; return;
      case kByCore: ++of.by_core; return;
      case kNotClaimed:
        ++of.not_claimed;
        ++of.reasons[core::PrintableLine(text, kMostReasonBytes)];
        return;
      default: break;
    }
    const std::string form = name.substr(0, name.rfind('/'));
    const bool is_expected = options_.expected_failures.contains(name) || options_.expected_failures.contains(form);
    if (is_expected) {
      ++of.expected_failures;
      failed_expectedly_.insert(name);
      failed_expectedly_.insert(form);
    } else {
      ++of.failed;
      of.failures.push_back(name + ": " + text);
    }
  }

  void FindSurprises() {
    for (const std::string& name : options_.expected_failures) {
      if (failed_expectedly_.contains(name)) continue;
      if (run_.contains(name)) {
        report_.surprises.push_back(name + " does not fail but is listed; take it off the list");
      } else if (!IsCaseOrForm(name)) {
        report_.surprises.push_back(name + " is listed but there is no such case");
      } else if (MustHaveFailed(name)) {
        report_.surprises.push_back("no case of " + name + " fails but it is listed; take it off the list");
      }
    }
  }
  // Returns whether the name is a case or form of the catalogue, such as "Conv/plain" or "Conv/plain/17".
  bool IsCaseOrForm(const std::string& name) const {
    const size_t slash = name.find('/');
    if (slash == std::string::npos) return false;
    const std::string form = name.substr(slash + 1, name.find('/', slash + 1) - slash - 1);
    return std::any_of(all_.begin(), all_.end(),
                       [&](const OperatorCases& op) { return FullName(op) == name.substr(0, slash); }) &&
           std::any_of(AllForms().begin(), AllForms().end(), [&](Form one) { return NameOf(one) == form; });
  }
  // Returns whether a whole form is listed and the run had enough of its cases.
  bool MustHaveFailed(const std::string& name) const {
    if (std::count(name.begin(), name.end(), '/') != 1 || options_.type) return false;
    for (uint64_t number = 0; number < kCasesThatMustFailOnce; ++number)
      if (!run_.contains(name + "/" + std::to_string(number))) return false;
    return true;
  }

  const CatalogueOptions& options_;
  const std::vector<OperatorCases> all_;
  std::vector<Task> tasks_;
  std::unique_ptr<Runner> runner_;  // runner in the child process; null when the provider can't be used
  std::string unusable_;            // reason why `runner_` is null
  CatalogueReport report_;
  std::set<std::string> run_, failed_expectedly_;
};

}  // namespace

std::string CaseName(const OperatorCases& op, Form form, uint64_t number) {
  return fmt::format("{}/{}/{}", FullName(op), NameOf(form), number);
}

OperatorReport CatalogueReport::Total() const {
  OperatorReport total;
  for (const OperatorReport& one : operators) {
    total.passed += one.passed;
    total.failed += one.failed;
    total.not_claimed += one.not_claimed;
    total.expected_failures += one.expected_failures;
    total.by_core += one.by_core;
  }
  return total;
}
bool CatalogueReport::HasPassed() const { return Total().failed == 0 && surprises.empty(); }

CatalogueReport RunCatalogue(const CatalogueOptions& options) { return Run(options).Make(); }

}  // namespace epiphyte::operators
