// Runs the inference of every operator in every version, libonnx's and the core's own, on nodes that are wrong in every
// way a file allows. A case may give types or an Error. It may not crash, hang, throw anything else or request too much
// memory.
//
//   inference_sweep                        every operator: systematic cases and 100 random ones
//   inference_sweep --random 5000          … more random ones
//   inference_sweep --depth thorough       … more values combined with each other
//   inference_sweep --only Scan            operators with this name
//   inference_sweep --only Scan --version 9 --case 17  one case, in this process, for a debugger
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <typeinfo>

#include "core/base/error.h"
#include "core/base/progress_callback.h"
#include "core/onnx/infer/inference.h"
#include "core/onnx/schema/libonnx_schemas.h"
#include "tests/onnx/inference_sweep/guarded_heap.h"
#include "tests/onnx/inference_sweep/inference_case.h"

namespace epiphyte::test {
namespace {

constexpr time_t kSecondsPerCase = 10;  // limit in CPU seconds
constexpr int kMostFindingsPerOperator = 20;
// Operators with bodies get more cases, because they have more to combine.
constexpr size_t kRandomCasesPerBody = 20;
constexpr std::string_view kDomains[] = {"", "ai.onnx.ml", "ai.onnx.preview.training"};

struct Settings {
  size_t random_cases = 100;
  SweepDepth depth = SweepDepth::kQuick;
  std::string only;
  int64_t version = 0;  // 0: all
  std::optional<size_t> one_case;
};

struct Operator {
  std::string domain;
  std::string op_type;
  int64_t version;
  const core::OperatorSchema* schema;
};

// Progress of a child, in memory that it shares with its parent.
struct Progress {
  size_t op = 0;  // index into the operators
  size_t at = 0;  // index of the operator's case
  size_t cases = 0;
  int findings_of_operator = 0;
  char finding[512] = {};
};

// Returns the operators that the settings select, by default all. The schemas live as long as the table.
std::vector<Operator> FindOperators(core::SchemaTable& schemas, const Settings& settings) {
  std::set<std::tuple<std::string, std::string, int64_t>> found;
  for (const std::string_view domain : kDomains) {
    for (const std::string_view op_type : core::LibonnxOperators(domain)) {
      for (int64_t opset = 1; opset <= core::MaxOpset(domain); ++opset) {
        const int64_t version = core::LibonnxSinceVersion(domain, op_type, opset);
        if (version > 0) found.emplace(domain, op_type, version);
      }
    }
  }
  for (const core::OverlayVersion& row : core::OverlayVersions()) {
    found.emplace(row.domain, row.op_type, row.since_version);
  }
  std::vector<Operator> operators;
  for (const auto& [domain, op_type, version] : found) {
    if (!settings.only.empty() && op_type != settings.only) continue;
    if (settings.version != 0 && version != settings.version) continue;
    operators.push_back({domain, op_type, version, schemas.Find(domain, op_type, version)});
    if (operators.back().schema == nullptr) std::abort();
  }
  return operators;
}

InferenceCase MakeCase(const CaseMaker& maker, size_t index) {
  if (index < maker.systematic().size()) return maker.systematic()[index];
  std::mt19937 random(static_cast<uint32_t>(index));
  return maker.MakeRandom(random);
}

// The process ends with SIGPROF when a case takes longer than kSecondsPerCase.
void StartTimer() {
  const itimerval limit = {{0, 0}, {kSecondsPerCase, 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
}

// Runs the case. Returns a finding, or "" if the case passes.
std::string Try(const InferenceCase& c) {
  std::string finding;
  ArmGuardedHeap();
  try {
    const std::unique_ptr<core::Graph> graph = BuildGraph(c);
    core::InferTypes(*graph, {}, nullptr);
  } catch (const core::Error&) {
  } catch (const std::exception& error) {
    finding = fmt::format("throws {}: {}", typeid(error).name(), error.what());
  }
  DisarmGuardedHeap();
  if (LargestAllocation() > kMostBytesPerAllocation) finding = fmt::format("asks for {} bytes", LargestAllocation());
  return finding;
}

// Runs the cases from `progress` on.
[[noreturn]] void RunChild(const std::vector<Operator>& operators, const Settings& settings, Progress* progress) {
  for (; progress->op < operators.size(); ++progress->op, progress->at = 0) {
    const Operator& op = operators[progress->op];
    const CaseMaker maker(*op.schema, op.version, settings.depth);
    const size_t random_cases = settings.random_cases * (maker.has_graph_attributes() ? kRandomCasesPerBody : 1);
    for (; progress->at < maker.systematic().size() + random_cases; ++progress->at, ++progress->cases) {
      StartTimer();
      const std::string finding = Try(MakeCase(maker, progress->at));
      if (finding.empty()) continue;
      std::snprintf(progress->finding, sizeof progress->finding, "%s", finding.c_str());
      _exit(1);
    }
  }
  _exit(0);
}

// Returns the number of findings.
int Sweep(const std::vector<Operator>& operators, const Settings& settings, Progress* progress) {
  int findings = 0;
  for (;;) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) std::abort();
    if (child == 0) RunChild(operators, settings, progress);
    int status = 0;
    waitpid(child, &status, 0);
    if (progress->op == operators.size()) return findings;
    ++findings;
    const std::string end = progress->finding[0] != '\0' ? progress->finding
                            : WIFSIGNALED(status)        ? strsignal(WTERMSIG(status))
                                                         : fmt::format("exit {}", WEXITSTATUS(status));
    const Operator& op = operators[progress->op];
    const CaseMaker maker(*op.schema, op.version, settings.depth);
    fmt::print("case {}: {}: {}\n", progress->at, MakeCase(maker, progress->at).Describe(), end);
    progress->finding[0] = '\0';
    ++progress->at;
    if (++progress->findings_of_operator < kMostFindingsPerOperator) continue;
    progress->findings_of_operator = 0;
    ++progress->op;
    progress->at = 0;
  }
}

int TryOne(const Operator& op, const Settings& settings) {
  const InferenceCase c = MakeCase(CaseMaker(*op.schema, op.version, settings.depth), *settings.one_case);
  fmt::print("{}\n", c.Describe());
  std::fflush(nullptr);
  const std::string finding = Try(c);
  fmt::print("{}\n", finding.empty() ? "survived" : finding);
  return finding.empty() ? 0 : 1;
}

int Main(const Settings& settings) {
  void* const shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  auto* const progress = new (shared) Progress;
  core::SchemaTable schemas;
  const std::vector<Operator> operators = FindOperators(schemas, settings);
  if (operators.empty()) return 2;
  if (settings.one_case) return TryOne(operators.front(), settings);
  const int findings = Sweep(operators, settings, progress);
  fmt::print("{} operators and versions, {} cases, {} findings\n", operators.size(), progress->cases, findings);
  return findings == 0 ? 0 : 1;
}

}  // namespace
}  // namespace epiphyte::test

int main(int argc, char** argv) {
  epiphyte::test::Settings settings;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--random") settings.random_cases = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--depth" && std::string_view(argv[i + 1]) == "thorough")
      settings.depth = epiphyte::test::SweepDepth::kThorough;
    if (option == "--version") settings.version = std::atoll(argv[i + 1]);
    if (option == "--only") settings.only = argv[i + 1];
    if (option == "--case") settings.one_case = std::strtoull(argv[i + 1], nullptr, 10);
  }
  return epiphyte::test::Main(settings);
}
