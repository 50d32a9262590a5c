#include "tests/models/quantizer/model_measure.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <span>
#include <vector>

#include "tests/models/quantizer/quantized_models.h"
#include "tests/models/quantizer/quantizer_fixture.h"
#include "tests/models/sample_inputs.h"

namespace epiphyte::test {
namespace {

constexpr uint64_t kFirstSample = 1000;

size_t Top(std::span<const float> row) {
  return static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

}  // namespace

Agreement Compare(const std::string& name, const std::filesystem::path& folder, int samples) {
  const std::string quantized_name = name + "_qdq";
  const Session quantized(BundledEnvironment(), WriteQuantizedModel(quantized_name, folder), CpuOptions());
  const Session original(BundledEnvironment(), WriteOriginalOf(quantized_name, folder), CpuOptions());
  Agreement agreement;
  std::set<size_t> tops;
  double signal = 0, other = 0, product = 0, noise = 0;
  for (int i = 0; i < samples; ++i) {
    std::vector<NamedValue> inputs;
    for (const onnx::TensorProto& tensor : SampleInputs(name, kFirstSample + static_cast<uint64_t>(i))) {
      inputs.emplace_back(tensor.name(), ToValue(tensor));
    }
    const Value expected = original.Run(inputs)[0];
    const Value got = quantized.Run(inputs)[0];
    const auto a = expected.Data<float>();
    const auto b = got.Data<float>();
    for (size_t k = 0; k < a.size(); ++k) {
      const double x = double{a[k]}, y = double{b[k]};
      signal += x * x;
      other += y * y;
      product += x * y;
      noise += (x - y) * (x - y);
    }
    const auto length = static_cast<size_t>(expected.shape().back());
    for (size_t row = 0; row < a.size(); row += length, ++agreement.rows) {
      const size_t top = Top(a.subspan(row, length));
      agreement.same_top += top == Top(b.subspan(row, length));
      tops.insert(top);
    }
  }
  agreement.tops = static_cast<int>(tops.size());
  agreement.signal_to_noise = 10 * std::log10(signal / noise);
  agreement.cosine = product / std::sqrt(signal * other);
  return agreement;
}

std::string AgreementText(const Agreement& agreement) {
  char text[200];
  std::snprintf(text, sizeof(text), "SQNR %.1f dB, cosine %.5f, top-1 equal in %d of %d (%d classes)",
                agreement.signal_to_noise, agreement.cosine, agreement.same_top, agreement.rows, agreement.tops);
  return text;
}

}  // namespace epiphyte::test
