// The catalogue's verdicts, lists of expected failures, and choices of cases.
#include "host/conformance/operators/catalogue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <functional>
#include <set>
#include <sstream>

#include "host/conformance/operators/plugin_catalogue.h"
#include "host/conformance/operators/sizes/operator_sizes.h"
#include "host/conformance/suite.h"
#include "tests/framework/test_session.h"

namespace epiphyte::operators {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

CatalogueOptions Options(const std::string& provider, const std::string& op, Form form, uint64_t cases = 4) {
  CatalogueOptions options;
  options.forms = {form};
  options.cases = cases;
  options.operator_name = op;
  options.runner.provider = provider;
  options.make_environment = test::BuildTreeEnvironment;
  return options;
}

TEST(Catalogue, CountsCasesThatPass) {
  const CatalogueReport report = RunCatalogue(Options("cpu", "Tanh", Form::kPlain));
  ASSERT_EQ(report.operators.size(), 1u);
  EXPECT_EQ(report.operators[0].name, "Tanh");
  EXPECT_EQ(report.Total().passed, 4u);
  EXPECT_TRUE(report.HasPassed());
}

TEST(Catalogue, GivesThePluginsReasonForWhatItDoesNotClaim) {
  const CatalogueReport report = RunCatalogue(Options("npu", "Tanh", Form::kPlain));
  EXPECT_EQ(report.Total().not_claimed, 4u);
  ASSERT_FALSE(report.operators[0].reasons.empty());
  EXPECT_THAT(report.operators[0].reasons.begin()->first, HasSubstr("quantised"));
  EXPECT_TRUE(report.HasPassed());
}

TEST(Catalogue, NamesEachCaseThatFails) {
  CatalogueOptions options = Options("cpu", "Erf", Form::kPlain, 20);
  options.type = DataType::kFloat;
  options.runner.tolerance.factor = 0;
  const CatalogueReport report = RunCatalogue(options);
  ASSERT_GT(report.Total().failed, 0u);
  EXPECT_THAT(report.operators[0].failures[0], StartsWith("Erf/plain/"));
  EXPECT_FALSE(report.HasPassed());
  std::ostringstream text;
  WriteText(text, report, /*verbose=*/false);
  EXPECT_THAT(text.str(), HasSubstr("\ncpu: 20 cases of 1 operators: "));
}

TEST(Catalogue, ListedFailuresAreExpected) {
  CatalogueOptions options = Options("cpu", "Erf", Form::kPlain, 20);
  options.runner.tolerance.factor = 0;
  options.expected_failures = {"Erf/plain"};
  const CatalogueReport report = RunCatalogue(options);
  EXPECT_GT(report.Total().expected_failures, 0u);
  EXPECT_TRUE(report.HasPassed());
}

TEST(Catalogue, ListedCaseThatPassesIsAnError) {
  CatalogueOptions options = Options("cpu", "Relu", Form::kPlain);
  options.expected_failures = {"Relu/plain/1"};
  const CatalogueReport report = RunCatalogue(options);
  EXPECT_THAT(report.surprises, ElementsAre(HasSubstr("Relu/plain/1 does not fail")));
  EXPECT_FALSE(report.HasPassed());
}

TEST(Catalogue, ListedFormWithoutAFailureIsAnErrorWhenEnoughOfItRan) {
  CatalogueOptions options = Options("cpu", "Relu", Form::kPlain, 20);
  options.expected_failures = {"Relu/plain"};
  EXPECT_THAT(RunCatalogue(options).surprises, ElementsAre(HasSubstr("no case of Relu/plain fails")));
  options.cases = 2;
  EXPECT_THAT(RunCatalogue(options).surprises, IsEmpty());
}

TEST(Catalogue, ListedNameThatIsNoCaseIsAnError) {
  CatalogueOptions options = Options("cpu", "Relu", Form::kPlain, 1);
  options.expected_failures = {"Rleu/plain/1"};
  EXPECT_THAT(RunCatalogue(options).surprises, ElementsAre(HasSubstr("there is no such case")));
}

TEST(Catalogue, TypeChoosesCases) {
  CatalogueOptions options = Options("cpu", "Add", Form::kPlain, 3);
  options.type = DataType::kInt8;
  EXPECT_EQ(RunCatalogue(options).Total().passed, 3u);
}

TEST(Catalogue, UnknownOperatorIsRefused) {
  EXPECT_THAT(test::FailureOf([] { RunCatalogue(Options("cpu", "Rleu", Form::kPlain)); }),
              HasSubstr("the catalogue has no operator 'Rleu'"));
}

TEST(Catalogue, ProcessThatDiesFailsItsCase) {
  CatalogueOptions options = Options("cpu", "Relu", Form::kPlain, 1);
  options.make_environment = []() -> std::unique_ptr<core::Environment> { _exit(3); };
  const CatalogueReport report = RunCatalogue(options);
  ASSERT_EQ(report.Total().failed, 1u);
  EXPECT_THAT(report.operators[0].failures[0], HasSubstr("CRASH: the process ended with status 3"));
}

TEST(Catalogue, RunsOnALibraryWithoutAManifest) {
  CatalogueOptions options;
  options.forms = {Form::kPlain};
  options.cases = 2;
  options.operator_name = "Relu";
  const CatalogueReport report = RunCatalogueOn(conformance::ReadTarget(EPIPHYTE_CPU_LIBRARY), options);
  EXPECT_EQ(report.provider, "cpu");
  EXPECT_EQ(report.Total().passed, 2u);
}

// Each quantized form has a case that the CPU provider computes within one step.
TEST(QuantizedForm, ExistsForTheOperatorsOfTheKitsRules) {
  for (const char* op : {"Conv", "MatMul", "Gemm", "Add", "Softmax", "MaxPool", "Concat", "Resize"}) {
    const CatalogueReport report = RunCatalogue(Options("cpu", op, Form::kQuantized, 10));
    EXPECT_GT(report.Total().passed, 0u) << op;
    EXPECT_TRUE(report.HasPassed()) << op
                                    << (report.operators[0].failures.empty() ? "" : report.operators[0].failures[0]);
  }
}

// Operators with cases but without sizes. They are newer than ONNX Runtime's, or were replaced by others long ago.
constexpr std::string_view kWithoutSizes[] = {"BitCast", "CastLike", "CumProd", "Scatter", "Upsample"};

TEST(Sizes, ExistForEveryOperatorWithCases) {
  std::set<std::string, std::less<>> with_sizes(std::begin(kWithoutSizes), std::end(kWithoutSizes));
  for (const OperatorRow* row : AllRows()) {
    std::istringstream names{std::string(row->operators)};
    for (std::string name; names >> name;) {
      if (name.starts_with("QDQ/")) name.erase(0, 4);
      with_sizes.insert(name.substr(0, name.find_first_of("@#")));
    }
  }
  for (const OperatorCases& op : AllOperators()) {
    const std::string name = (op.domain.empty() ? "" : std::string(op.domain) + ":") + std::string(op.op_type);
    EXPECT_TRUE(with_sizes.contains(name)) << name << " has cases; give it a row in host/conformance/operators/sizes";
  }
}

}  // namespace
}  // namespace epiphyte::operators
