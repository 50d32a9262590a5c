// A whole network in the spelling of a static quantizer: QuantizeLinear and DequantizeLinear around every operator,
// int8 weights with a scale for each filter, an int32 bias with the scale of the sums. The Vulkan plugin runs it on
// integers from end to end. The CPU plugin computes node by node in float. Both agree with integers computed here.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/framework/onnx_text.h"
#include "tests/framework/temp_dir.h"
#include "tests/vulkan/ops/operator_harness.h"

namespace epiphyte::test {
namespace {

// A uint8 tensor of shape [1, channels, size, size] in the network.
struct Activation {
  std::string name;  // output of its DequantizeLinear
  int64_t channels = 0, size = 1;
  std::vector<int64_t> numbers;
  float scale = 1;
  int64_t zero = 0;

  double Real(size_t i) const { return static_cast<double>(numbers[i] - zero) * static_cast<double>(scale); }
  int64_t At(int64_t channel, int64_t row, int64_t column) const {
    if (row < 0 || row >= size || column < 0 || column >= size) return 0;
    return numbers[static_cast<size_t>((channel * size + row) * size + column)] - zero;
  }
};

// Writes the model and computes its results along the way: integer sums, and everything after them in double. Each
// result is quantized to its own range, as a calibration with this input would do.
class Network {
 public:
  explicit Network(int64_t channels, int64_t size) {
    Activation input{"x", channels, size, {}, 0.02f, 120};
    for (int64_t i = 0; i < channels * size * size; ++i) input.numbers.push_back(Pick(0, 255));
    for (size_t i = 0; i < input.numbers.size(); ++i) pixels_.push_back(input.Real(i));
    constants_ << "float x_s = {0.02}, uint8 x_z = {120}";
    nodes_ << "x_q = QuantizeLinear(x, x_s, x_z) x_dq = DequantizeLinear(x_q, x_s, x_z) ";
    input.name = "x_dq";
    input_ = input;
  }
  const Activation& input() const { return input_; }
  const std::vector<double>& pixels() const { return pixels_; }

  // Adds a convolution with padding of half the kernel. `high`: upper bound of a Clip from 0 on, or 0 for none.
  Activation Conv(const Activation& x, int64_t filters, int64_t kernel, int64_t stride, int64_t group, double high) {
    const std::string name = NewName();
    const int64_t pad = kernel / 2, depth = x.channels / group, size = (x.size + 2 * pad - kernel) / stride + 1;
    const Weights w =
        AddWeights(name, x, filters, depth * kernel * kernel, "," + std::to_string(depth) + "," + Twice(kernel), 0);
    std::vector<double> reals;
    for (int64_t filter = 0; filter < filters; ++filter)
      for (int64_t row = 0; row < size; ++row)
        for (int64_t column = 0; column < size; ++column) {
          int64_t sum = w.bias[static_cast<size_t>(filter)];
          size_t at = static_cast<size_t>(filter * depth * kernel * kernel);
          for (int64_t channel = 0; channel < depth; ++channel)
            for (int64_t a = 0; a < kernel; ++a)
              for (int64_t b = 0; b < kernel; ++b)
                sum += w.numbers[at++] * x.At(filter / (filters / group) * depth + channel, row * stride - pad + a,
                                              column * stride - pad + b);
          reals.push_back(static_cast<double>(sum) * static_cast<double>(x.scale) *
                          static_cast<double>(w.scales[static_cast<size_t>(filter)]));
        }
    nodes_ << name << " = Conv <kernel_shape = [" << Twice(kernel) << "], strides = [" << Twice(stride)
           << "], group = " << group << ", pads = [" << Twice(pad) << "," << Twice(pad) << "]> (" << x.name << ", "
           << name << "_w_dq, " << name << "_b_dq) ";
    if (high == 0) return Quantise(name, filters, size, reals);
    for (double& real : reals) real = std::clamp(real, 0.0, high);
    constants_ << ", float " << name << "_low = {0}, float " << name << "_high = {" << high << "}";
    nodes_ << name << "_c = Clip(" << name << ", " << name << "_low, " << name << "_high) ";
    return Quantise(name + "_c", filters, size, reals);
  }

  Activation Dense(const Activation& x, int64_t outputs) {
    const std::string name = NewName();
    const Weights w = AddWeights(name, x, outputs, x.channels, "," + std::to_string(x.channels), 0);
    std::vector<double> reals;
    for (int64_t output = 0; output < outputs; ++output) {
      int64_t sum = w.bias[static_cast<size_t>(output)];
      for (int64_t k = 0; k < x.channels; ++k)
        sum += w.numbers[static_cast<size_t>(output * x.channels + k)] * x.At(k, 0, 0);
      reals.push_back(static_cast<double>(sum) * static_cast<double>(x.scale) *
                      static_cast<double>(w.scales[static_cast<size_t>(output)]));
    }
    nodes_ << name << " = Gemm <transB = 1> (" << x.name << ", " << name << "_w_dq, " << name << "_b_dq) ";
    return Quantise(name, outputs, 1, reals);
  }

  Activation Add(const Activation& a, const Activation& b) {
    const std::string name = NewName();
    std::vector<double> reals;
    for (size_t i = 0; i < a.numbers.size(); ++i) reals.push_back(a.Real(i) + b.Real(i));
    nodes_ << name << " = Add(" << a.name << ", " << b.name << ") ";
    return Quantise(name, a.channels, a.size, reals);
  }

  Activation Concat(const Activation& a, const Activation& b) {
    const std::string name = NewName();
    std::vector<double> reals;
    for (const Activation* each : {&a, &b})
      for (size_t i = 0; i < each->numbers.size(); ++i) reals.push_back(each->Real(i));
    nodes_ << name << " = Concat <axis = 1> (" << a.name << ", " << b.name << ") ";
    return Quantise(name, a.channels + b.channels, a.size, reals);
  }

  Activation AveragePool(const Activation& x, int64_t kernel) {
    const std::string name = NewName();
    nodes_ << name << " = AveragePool <kernel_shape = [" << Twice(kernel) << "], strides = [" << Twice(kernel) << "]> ("
           << x.name << ") ";
    return Quantise(name, x.channels, x.size / kernel, Averages(x, kernel));
  }
  Activation GlobalAveragePool(const Activation& x) {
    const std::string name = NewName();
    nodes_ << name << " = GlobalAveragePool(" << x.name << ") ";
    return Quantise(name, x.channels, 1, Averages(x, x.size));
  }

  // Adds a MaxPool. It only moves elements, so input and output have the same scale.
  Activation MaxPool(const Activation& x) {
    const std::string name = NewName();
    nodes_ << name << " = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (" << x.name << ") ";
    Activation y{name, x.channels, x.size / 2, {}, x.scale, x.zero};
    for (int64_t channel = 0; channel < x.channels; ++channel)
      for (int64_t row = 0; row < y.size; ++row)
        for (int64_t column = 0; column < y.size; ++column) {
          int64_t most = INT64_MIN;
          for (int64_t i = 0; i < 4; ++i) most = std::max(most, x.At(channel, 2 * row + i / 2, 2 * column + i % 2));
          y.numbers.push_back(most + x.zero);
        }
    return AddEnds(y);
  }
  Activation Flatten(const Activation& x) {
    const std::string name = NewName();
    nodes_ << name << " = Flatten(" << x.name << ") ";
    Activation y = x;
    y.name = name;
    return AddEnds(y);
  }

  std::string Text(const Activation& y) const {
    return "g (float[1," + std::to_string(input_.channels) + "," + Twice(input_.size) + "] x) => (float[] y) <" +
           constants_.str() + "> { " + nodes_.str() + "y = Identity(" + y.name + ") }";
  }

 private:
  struct Weights {
    std::vector<int64_t> numbers, bias;
    std::vector<float> scales;
  };

  int64_t Pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  std::string NewName() { return "n" + std::to_string(count_++); }
  static std::string Twice(int64_t number) { return std::to_string(number) + "," + std::to_string(number); }
  template <typename T>
  static std::string ListText(const std::vector<T>& numbers) {
    std::ostringstream text;
    text.precision(9);
    for (size_t i = 0; i < numbers.size(); ++i) text << (i == 0 ? "" : ",") << numbers[i];
    return text.str();
  }

  // Adds weights of shape [outputs, depth…] and a bias, each with its DequantizeLinear.
  Weights AddWeights(const std::string& name, const Activation& x, int64_t outputs, int64_t depth,
                     const std::string& dims, int64_t axis) {
    Weights w;
    std::vector<float> bias_scales;
    for (int64_t i = 0; i < outputs * depth; ++i) w.numbers.push_back(Pick(-127, 127));
    for (int64_t i = 0; i < outputs; ++i) {
      w.bias.push_back(Pick(-20000, 20000));
      w.scales.push_back(static_cast<float>(Pick(10, 100)) / 20000);
      bias_scales.push_back(x.scale * w.scales.back());
    }
    const std::string of = "[" + std::to_string(outputs) + "]";
    constants_ << ", int8[" << outputs << dims << "] " << name << "_w = {" << ListText(w.numbers) << "}, float" << of
               << " " << name << "_ws = {" << ListText(w.scales) << "}, int8" << of << " " << name << "_wz = {"
               << ListText(std::vector<int64_t>(static_cast<size_t>(outputs), 0)) << "}, int32" << of << " " << name
               << "_b = {" << ListText(w.bias) << "}, float" << of << " " << name << "_bs = {" << ListText(bias_scales)
               << "}";
    nodes_ << name << "_w_dq = DequantizeLinear <axis = " << axis << "> (" << name << "_w, " << name << "_ws, " << name
           << "_wz) " << name << "_b_dq = DequantizeLinear <axis = 0> (" << name << "_b, " << name << "_bs) ";
    return w;
  }

  static std::vector<double> Averages(const Activation& x, int64_t kernel) {
    std::vector<double> reals;
    for (int64_t channel = 0; channel < x.channels; ++channel)
      for (int64_t row = 0; row + kernel <= x.size; row += kernel)
        for (int64_t column = 0; column + kernel <= x.size; column += kernel) {
          int64_t sum = 0;
          for (int64_t i = 0; i < kernel * kernel; ++i) sum += x.At(channel, row + i / kernel, column + i % kernel);
          reals.push_back(static_cast<double>(sum) * static_cast<double>(x.scale) /
                          static_cast<double>(kernel * kernel));
        }
    return reals;
  }

  Activation Quantise(const std::string& name, int64_t channels, int64_t size, const std::vector<double>& reals) {
    const double low = std::min(0.0, *std::min_element(reals.begin(), reals.end()));
    const double high = std::max(0.0, *std::max_element(reals.begin(), reals.end()));
    Activation y{name, channels, size, {}, static_cast<float>((high - low) / 255), 0};
    y.zero = std::llround(-low / static_cast<double>(y.scale));
    for (const double real : reals)
      y.numbers.push_back(std::clamp<int64_t>(
          static_cast<int64_t>(std::nearbyint(real / static_cast<double>(y.scale))) + y.zero, 0, 255));
    return AddEnds(y);
  }
  Activation AddEnds(Activation y) {
    const std::string end = "(" + y.name + ", " + y.name + "_s, " + y.name + "_z) ";
    constants_ << ", float " << y.name << "_s = {" << ListText(std::vector<float>{y.scale}) << "}, uint8 " << y.name
               << "_z = {" << y.zero << "}";
    nodes_ << y.name << "_q = QuantizeLinear" << end << y.name << "_dq = DequantizeLinear(" << y.name << "_q, "
           << y.name << "_s, " << y.name << "_z) ";
    y.name += "_dq";
    return y;
  }

  std::mt19937 random_{11};
  int count_ = 0;
  Activation input_;
  std::vector<double> pixels_;
  std::ostringstream constants_, nodes_;
};

class QdqNetwork : public OperatorTest {
 protected:
  void SetUp() override {
    OperatorTest::SetUp();
    if (IsSkipped()) return;
    Network network(3, 24);
    const Activation stem = network.Conv(network.input(), 8, 3, 2, 1, 6.0);
    const Activation depthwise = network.Conv(stem, 8, 3, 1, 8, 6.0);
    const Activation residual = network.Add(stem, network.Conv(depthwise, 8, 1, 1, 1, 0));
    const Activation pooled = network.MaxPool(residual);
    const Activation left = network.Conv(pooled, 5, 1, 1, 1, 0);
    const Activation right = network.Conv(pooled, 6, 3, 1, 1, 3.0);
    const Activation averaged = network.AveragePool(network.Concat(left, right), 2);
    const Activation multiplied = network.Conv(averaged, 22, 3, 1, 11, 0);
    expected_ = network.Dense(network.Flatten(network.GlobalAveragePool(multiplied)), 10);
    model_ = dir_ / "network.onnx";
    const std::string bytes = OnnxFromText("<ir_version: 8, opset_import: [\"\" : 13]> " + network.Text(expected_));
    std::ofstream(model_, std::ios::binary) << bytes;
    input_ = Numbers(DataType::kFloat, {1, 3, 24, 24}, network.pixels());
    environment_ = BuildTreeEnvironment();
  }

  void ExpectNumbers(const std::filesystem::path& model, const std::string& provider, bool context) {
    SCOPED_TRACE(provider + (context ? ", through a context" : ""));
    core::Session session(*environment_, model, OptionsFor({provider}));
    EXPECT_EQ(session.has_context(), context);
    const std::vector<float> found = FloatsOf(*session.Run(std::span(&input_, 1))[0]);
    ASSERT_EQ(found.size(), expected_.numbers.size());
    for (size_t i = 0; i < found.size(); ++i) {
      const double number = static_cast<double>(found[i]) / static_cast<double>(expected_.scale);
      EXPECT_NEAR(number, static_cast<double>(expected_.numbers[i] - expected_.zero), 1.01) << "output " << i;
    }
  }
  std::filesystem::path Compile(const std::string& provider) {
    core::SessionOptions options = OptionsFor({provider});
    options.Set("ep.context_enable", "1");
    std::filesystem::path context = dir_ / (provider + "_ctx.onnx");
    options.Set("ep.context_file_path", context.string());
    core::Session session(*environment_, model_, options);
    return context;
  }
  core::Placement Place() { return core::PlaceModel(*environment_, model_, OptionsFor({"vulkan"})); }

  std::filesystem::path model_;

 private:
  TempDir dir_;
  Activation expected_;
  ValuePtr input_;
  std::unique_ptr<core::Environment> environment_;
};

TEST_F(QdqNetwork, GivesTheIntegersOnVulkan) {
  ExpectNumbers(model_, "vulkan", false);
  ExpectNumbers(Compile("vulkan"), "vulkan", true);
}

TEST_F(QdqNetwork, GivesTheIntegersOnTheCpu) {
  ExpectNumbers(model_, "cpu", false);
  ExpectNumbers(Compile("cpu"), "cpu", true);
}

// On Vulkan, only the application's input is quantized and only the result is dequantized.
TEST_F(QdqNetwork, HasNoFloatsInBetweenOnVulkan) {
  int quantised = 0, dequantised = 0;
  for (const core::NodePlacement& node : Place().nodes)
    for (const std::string& note : node.notes) {
      quantised += note.starts_with("quantize_linear");
      dequantised += note.starts_with("dequantize_linear");
    }
  EXPECT_EQ(quantised, 1);
  EXPECT_EQ(dequantised, 1);
}

}  // namespace
}  // namespace epiphyte::test
