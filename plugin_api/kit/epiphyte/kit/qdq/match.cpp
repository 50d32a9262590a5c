#include "epiphyte/kit/qdq/match.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "epiphyte/kit/qdq/bias.hpp"
#include "epiphyte/kit/qdq/quantization.hpp"
#include "epiphyte/kit/qdq/rules.hpp"

namespace epiphyte::kit::qdq {
namespace {

class Matcher {
 public:
  Matcher(const ir::Editor& editor, int32_t target, const Options& options, const Surroundings& surroundings,
          const Rule& rule)
      : editor_(editor),
        node_(editor.node(target)),
        options_(options),
        surroundings_(surroundings),
        rule_(rule),
        weight_only_(options.weight_only_products && rule.IsProduct() && Dequantizer(0) < 0 && Dequantizer(1) >= 0) {
    unit_.target = target;
  }

  bool Match() { return CheckVersion() && MatchInputs() && CheckBias() && MatchOutputs(); }
  Unit TakeUnit() { return std::move(unit_); }
  std::string TakeWhy() { return std::move(why_); }

 private:
  bool Fail(std::string why) {
    why_ = std::move(why);
    return false;
  }

  bool Taken(int32_t node) const {
    const auto index = static_cast<size_t>(node);
    return index < surroundings_.taken.size() && surroundings_.taken[index];
  }
  std::string Text(int32_t node) const { return NodeText(editor_.graph(), editor_.node(node)); }
  std::string InputText(size_t i) const {
    const std::string number = "its input " + std::to_string(i);
    return node_.HasInput(i) ? number + " '" + editor_.info(node_.inputs[i]).name + "'" : number;
  }
  std::string OutputText(size_t i) const {
    return "its output " + std::to_string(i) + " '" + editor_.info(node_.outputs[i]).name + "'";
  }

  int32_t Dequantizer(size_t input) const {
    const int32_t producer = node_.HasInput(input) ? editor_.Producer(node_.inputs[input]) : -1;
    return producer >= 0 && IsDequantize(editor_.node(producer)) ? producer : -1;
  }
  bool IsConstant(size_t input) const { return editor_.graph().FindConstant(node_.inputs[input]) != nullptr; }

  bool CheckVersion() {
    if (node_.since_version < rule_.since)
      return Fail("version " + std::to_string(node_.since_version) + " of it takes no integers, " +
                  std::to_string(rule_.since) + " does");
    // In training mode the results depend on the whole batch, in float.
    if (node_.op_type == "BatchNormalization" && node_.Int("training_mode", 0) != 0) return Fail("it is for training");
    return true;
  }

  // --- inputs

  bool MatchInputs() {
    const bool repeats = rule_.inputs.back() == '*';
    const size_t count = std::max(node_.inputs.size(), repeats ? size_t{1} : rule_.inputs.size());
    unit_.dequantize.assign(node_.inputs.size(), -1);
    quantizations_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const Input kind = rule_.InputAt(i);
      if (!node_.HasInput(i)) {
        if (kind == Input::kNumbers || kind == Input::kWeights) return Fail(InputText(i) + " is left out");
        continue;
      }
      if (kind == Input::kNone) return Fail(InputText(i) + " can't be in a QDQ unit");
      if (!MatchInput(i, weight_only_ && i == 0 ? Input::kParameter : kind)) return false;
    }
    return true;
  }

  bool MatchInput(size_t i, Input kind) {
    const int32_t dequantize = Dequantizer(i);
    if (dequantize < 0) return MatchPlainInput(i, kind);
    if (kind == Input::kParameter) return Fail(InputText(i) + " is dequantised, which its kind of input can't be");
    const std::string whose = Text(dequantize) + " in front of " + InputText(i);
    if (Taken(dequantize)) return Fail(whose + " was claimed by another provider");
    std::string why;
    quantizations_[i] = ReadQuantization(editor_.graph(), editor_.node(dequantize), &why);
    if (!quantizations_[i]) return Fail(whose + ": " + why);
    unit_.dequantize[i] = dequantize;
    switch (kind) {
      case Input::kNumbers:
      case Input::kNumber: return CheckNumbers(i, *quantizations_[i]);
      case Input::kWeights: return CheckWeights(i, *quantizations_[i]);
      default: return true;
    }
  }

  bool MatchPlainInput(size_t i, Input kind) {
    switch (kind) {
      case Input::kNumbers:
      case Input::kWeights: return Fail(InputText(i) + " isn't dequantised");
      case Input::kBias:
        if (IsConstant(i) || weight_only_) return true;
        return Fail("its bias '" + editor_.info(node_.inputs[i]).name + "' is neither dequantised nor a constant");
      case Input::kNumber:
      case Input::kOption: return IsConstant(i) || Fail(InputText(i) + " is neither dequantised nor a constant");
      default: return true;
    }
  }

  bool CheckBits(const std::string& whose, EpElementType type) {
    const int bits = BitsOf(type);
    if (bits >= options_.narrowest_bits && bits <= options_.widest_bits) return true;
    return Fail(whose + " is quantised to " + TypeName(type) + ", expected " + std::to_string(options_.narrowest_bits) +
                " to " + std::to_string(options_.widest_bits) + " bits");
  }

  bool CheckOneScale(const std::string& whose, const Quantization& found) {
    if (found.IsPerTensor()) return true;
    return Fail(whose + " has several scales, along axis " + std::to_string(found.axis) + "; one expected");
  }

  bool CheckNumbers(size_t i, const Quantization& found) {
    if (!CheckBits(InputText(i), found.type) || !CheckOneScale(InputText(i), found)) return false;
    if (numbers_ == nullptr) numbers_ = &found;
    if (found.type == numbers_->type) return true;
    return Fail(InputText(i) + " is quantised to " + TypeName(found.type) + ", and the first one to " +
                TypeName(numbers_->type));
  }

  bool CheckWeights(size_t i, const Quantization& found) {
    if (!CheckBits(InputText(i), found.type) || !CheckWeightAxis(i, found)) return false;
    // Weights that are signed like the numbers need no correction that depends on the input. Some hardware supports no
    // other weights.
    if (options_.any_weight_sign || !rule_.signed_weights || numbers_ == nullptr || !IsSigned(numbers_->type) ||
        BitsOf(numbers_->type) > 8 || (IsSigned(found.type) && BitsOf(found.type) <= BitsOf(numbers_->type)))
      return true;
    return Fail(InputText(i) + " is quantised to " + TypeName(found.type) + "; with numbers of " +
                TypeName(numbers_->type) + ", weights have a sign and no more bits");
  }

  bool CheckWeightAxis(size_t i, const Quantization& found) {
    if (found.IsPerTensor()) return true;
    const int32_t rank = editor_.info(node_.inputs[i]).rank;
    const int64_t channels = ChannelAxis(rule_, node_, rank, found.axis);
    if (channels < 0) return CheckOneScale(InputText(i), found);
    if (found.block != 0) {
      // Blocks must lie along the summed dimension, which is the other one of the last two.
      if (rule_.IsProduct() && rank == 2 && found.axis == 1 - channels) return true;
      return Fail(InputText(i) + " is quantised in blocks of axis " + std::to_string(found.axis) +
                  "; only the rows of MatMul's and Gemm's matrices can be");
    }
    if (found.axis == channels) return true;
    return Fail(InputText(i) + " has a scale for each index of axis " + std::to_string(found.axis) +
                "; one scale, or those of axis " + std::to_string(channels) + ", expected");
  }

  bool CheckBias() {
    for (size_t i = 0; i < node_.inputs.size(); ++i) {
      if (rule_.InputAt(i) != Input::kBias || !node_.HasInput(i)) continue;
      const std::string whose = "its bias '" + editor_.info(node_.inputs[i]).name + "'";
      if (node_.op_type == "Gemm" && node_.Float("beta", 1) != 1)
        return Fail(whose + " is multiplied by beta, which is " + std::to_string(node_.Float("beta", 1)) +
                    "; 1 expected");
      const std::optional<Quantization>& bias = quantizations_[i];
      if (!bias || weight_only_) continue;
      if (bias->type != EP_TYPE_INT32)
        return Fail(whose + " is quantised to " + TypeName(bias->type) + ", expected int32");
      for (size_t k = 0; k < bias->Count(); ++k) {
        if (bias->ZeroPoint(k) != 0) return Fail(whose + " has a zero point other than 0");
      }
      const bool is_exact = numbers_ != nullptr && i > 0 && quantizations_[i - 1] &&
                            HasProductScale(*bias, *numbers_, *quantizations_[i - 1]);
      if (options_.exact_bias_scale && !is_exact)
        return Fail(whose + " has another scale than its input's times its weights'");
    }
    return true;
  }

  // --- outputs

  bool MatchOutputs() {
    unit_.quantize.assign(node_.outputs.size(), -1);
    for (size_t i = 0; i < node_.outputs.size(); ++i) {
      if (!node_.HasOutput(i)) continue;
      const Output kind = rule_.OutputAt(i);
      if (kind == Output::kNone) return Fail(OutputText(i) + " can't be in a QDQ unit");
      if (kind == Output::kPlain || weight_only_) continue;
      if (MatchOutput(i)) continue;
      if (kind != Output::kEither || !options_.float_products) return false;
      unit_.quantize[i] = -1;
      unit_.clamp = -1;
      unit_.bounds.clear();
    }
    return true;
  }

  // The only reader of a value, if the value is its first input. Otherwise -1, and `why_` says why.
  int32_t OnlyReader(int32_t value, const std::string& whose) {
    const std::vector<int32_t>& readers = editor_.Readers(value);
    if (editor_.IsOutput(value)) {
      Fail(whose + " is an output of the graph, in float");
    } else if (readers.size() != 1) {
      Fail(whose + " has " + std::to_string(readers.size()) + " readers, expected one QuantizeLinear");
    } else if (Taken(readers[0])) {
      Fail(whose + " is read by " + Text(readers[0]) + ", which another provider claimed");
    } else if (!editor_.node(readers[0]).HasInput(0) || editor_.node(readers[0]).inputs[0] != value) {
      Fail(whose + " is a parameter of " + Text(readers[0]));
    } else {
      return readers[0];
    }
    return -1;
  }

  bool MatchOutput(size_t i) {
    int32_t reader = OnlyReader(node_.outputs[i], OutputText(i));
    if (reader < 0) return false;
    const int32_t clamp = IsClamp(editor_.node(reader)) && node_.outputs.size() == 1 ? reader : -1;
    if (clamp >= 0) {
      reader = editor_.node(clamp).HasOutput(0)
                   ? OnlyReader(editor_.node(clamp).outputs[0], "what " + Text(clamp) + " makes of its output")
                   : -1;
      if (reader < 0) return false;
    }
    if (!IsQuantize(editor_.node(reader)))
      return Fail(OutputText(i) + " is read by " + Text(clamp >= 0 ? clamp : reader) + ", expected a QuantizeLinear");
    std::string why;
    const auto found = ReadQuantization(editor_.graph(), editor_.node(reader), &why);
    if (!found) return Fail(Text(reader) + " behind " + OutputText(i) + ": " + why);
    if (!CheckResult(i, *found) || (clamp >= 0 && !MatchClamp(clamp, *found))) return false;
    unit_.quantize[i] = reader;
    return true;
  }

  bool CheckResult(size_t i, const Quantization& found) {
    if (!CheckOneScale(OutputText(i), found)) return false;
    if (found.type != numbers_->type)
      return Fail(OutputText(i) + " is quantised to " + TypeName(found.type) + ", its input to " +
                  TypeName(numbers_->type));
    if (rule_.moves && !options_.moves_between_scales && !SameQuantization(found, *numbers_))
      return Fail(OutputText(i) + " is quantised with another scale or zero point than its input, and " +
                  node_.op_type + " only moves elements");
    return true;
  }

  bool MatchClamp(int32_t clamp, const Quantization& found) {
    const std::string whose = Text(clamp) + ", which reads its output,";
    std::string why;
    const std::optional<Clamp> range = ReadClamp(editor_, editor_.node(clamp), found, &unit_.bounds, &why);
    if (!range) return Fail(whose + " can't be part of the unit: " + why);
    if (!range->IsIdle(found.type) && (rule_.moves || !options_.working_clamps))
      return Fail(whose + " changes numbers: " + std::to_string(range->low) + " to " + std::to_string(range->high) +
                  " are left of " + std::to_string(LowestOf(found.type)) + " to " +
                  std::to_string(HighestOf(found.type)));
    for (const int32_t bound : unit_.bounds) {
      if (Taken(bound)) return Fail(whose + " has bounds that are another provider's: " + Text(bound));
    }
    unit_.clamp = clamp;
    unit_.range = *range;
    return true;
  }

  const ir::Editor& editor_;
  const ir::Node& node_;
  const Options& options_;
  const Surroundings& surroundings_;
  const Rule& rule_;
  const bool weight_only_;
  std::vector<std::optional<Quantization>> quantizations_;  // one for each input
  const Quantization* numbers_ = nullptr;                   // quantisation of the first kNumbers input
  Unit unit_;
  std::string why_;
};

}  // namespace

bool MatchUnit(const ir::Editor& editor, int32_t target, const Options& options, const Surroundings& surroundings,
               Unit* unit, std::string* why) {
  const ir::Node& node = editor.node(target);
  const Rule* rule = FindRule(node);
  if (rule == nullptr) {
    *why = "no QDQ unit is made of " + (node.domain.empty() ? node.op_type : node.domain + "::" + node.op_type);
    return false;
  }
  Matcher matcher(editor, target, options, surroundings, *rule);
  if (!matcher.Match()) {
    *why = matcher.TakeWhy();
    return false;
  }
  *unit = matcher.TakeUnit();
  return true;
}

}  // namespace epiphyte::kit::qdq
