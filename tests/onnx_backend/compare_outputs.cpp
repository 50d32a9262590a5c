// epiphyte_compare_outputs ACTUAL EXPECTED [--rtol R] [--atol A] [--top1 | --rms]
//
// Compares output_<N>.pb of two folders. Each output gives one line with the largest absolute and relative difference.
// The last line is the largest absolute difference of all. The exit code is 0 when everything is within the tolerance.
// With --top1 the exit code is 0 when, in each row (last dimension) of each output, the same element is the largest.
// With --rms the last line is for the worst float output: the root mean square of the differences, divided by that of
// the expected numbers. The exit code is then 0 when the outputs could be compared.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "host/conformance/cases/compare_values.h"
#include "tests/onnx_backend/value_files.h"

namespace epiphyte::test {
namespace {

constexpr const char* kUsage = "usage: epiphyte_compare_outputs ACTUAL EXPECTED [--rtol R] [--atol A] [--top1 | --rms]";

// Returns the number of rows in which another element is the largest.
size_t RowsWithAnotherLargest(const core::Value& actual, const core::Value& expected) {
  const std::span<const int64_t> dims = expected.dims();
  if (actual.type() != core::DataType::kFloat || expected.type() != core::DataType::kFloat ||
      !std::ranges::equal(actual.dims(), dims) || dims.empty())
    throw std::runtime_error(conformance::DescribeValue(actual) + " and " + conformance::DescribeValue(expected) +
                             " have no rows of floats to compare");
  const auto columns = static_cast<size_t>(dims.back());
  const auto *a = static_cast<const float*>(actual.data()), *e = static_cast<const float*>(expected.data());
  size_t others = 0;
  for (size_t row = 0; columns > 0 && row < expected.element_count() / columns; ++row, a += columns, e += columns)
    others += std::max_element(a, a + columns) - a != std::max_element(e, e + columns) - e ? 1 : 0;
  return others;
}

int Main(int argc, char** argv) {
  conformance::Tolerance tolerance{.relative = 0, .absolute = 0};
  bool top1 = false, rms = false;
  std::vector<std::filesystem::path> folders;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const bool has_value = i + 1 < argc;
    if (argument == "--rtol" && has_value) {
      tolerance.relative = std::atof(argv[++i]);
    } else if (argument == "--atol" && has_value) {
      tolerance.absolute = std::atof(argv[++i]);
    } else if (argument == "--top1") {
      top1 = true;
    } else if (argument == "--rms") {
      rms = true;
    } else {
      folders.emplace_back(argument);
    }
  }
  if (folders.size() != 2) throw std::invalid_argument(kUsage);
  const std::vector<core::ValuePtr> actual = ReadTensorFiles(folders[0], "output_");
  const std::vector<core::ValuePtr> expected = ReadTensorFiles(folders[1], "output_");
  if (actual.empty() || actual.size() != expected.size()) {
    throw std::runtime_error(folders[0].string() + " holds " + std::to_string(actual.size()) + " outputs, " +
                             folders[1].string() + " " + std::to_string(expected.size()));
  }
  if (rms) {
    double worst = 0;
    for (size_t i = 0; i < actual.size(); ++i) {
      const std::string found = conformance::DescribeValue(*actual[i]);
      const std::string wanted = conformance::DescribeValue(*expected[i]);
      if (found != wanted)
        throw std::runtime_error("output_" + std::to_string(i) + " is " + found + ", expected " + wanted);
      worst = std::max(worst, conformance::CompareValues(*actual[i], *expected[i], tolerance).relative_rms);
    }
    std::printf("%.3g\n", worst);
    return 0;
  }
  bool equal = true;
  double largest = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const conformance::Comparison comparison = conformance::CompareValues(*actual[i], *expected[i], tolerance);
    std::printf("output_%zu %s: largest difference %.3g absolute, %.3g relative%s%s\n", i,
                conformance::DescribeValue(*expected[i]).c_str(), comparison.max_absolute, comparison.max_relative,
                comparison.equal() ? "" : "; ", comparison.difference.c_str());
    const size_t others = top1 ? RowsWithAnotherLargest(*actual[i], *expected[i]) : 0;
    if (others > 0) std::printf("output_%zu: another element is the largest in %zu rows\n", i, others);
    equal = equal && (top1 ? others == 0 : comparison.equal());
    largest = std::max(largest, comparison.max_absolute);
  }
  std::printf("%.3g\n", largest);
  return equal ? 0 : 1;
}

}  // namespace
}  // namespace epiphyte::test

int main(int argc, char** argv) {
  try {
    return epiphyte::test::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "epiphyte_compare_outputs: %s\n", error.what());
    return 2;
  }
}
