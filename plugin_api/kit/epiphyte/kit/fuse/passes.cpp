#include "epiphyte/kit/fuse/passes.hpp"

#include <algorithm>
#include <iterator>

#include "epiphyte/kit/fuse/activation.hpp"
#include "epiphyte/kit/fuse/bounds.hpp"
#include "epiphyte/kit/fuse/byte_tables.hpp"
#include "epiphyte/kit/fuse/channel_normalization.hpp"
#include "epiphyte/kit/fuse/dequantized.hpp"
#include "epiphyte/kit/fuse/flattened_products.hpp"
#include "epiphyte/kit/fuse/fold.hpp"
#include "epiphyte/kit/fuse/gelu.hpp"
#include "epiphyte/kit/fuse/gemm.hpp"
#include "epiphyte/kit/fuse/integer_products.hpp"
#include "epiphyte/kit/fuse/normalization.hpp"
#include "epiphyte/kit/fuse/pads.hpp"
#include "epiphyte/kit/fuse/quantized.hpp"
#include "epiphyte/kit/fuse/rotary.hpp"
#include "epiphyte/kit/fuse/skip_normalization.hpp"
#include "epiphyte/kit/fuse/softmax.hpp"
#include "epiphyte/kit/fuse/sum.hpp"
#include "epiphyte/kit/qdq/dynamic_products.hpp"

namespace epiphyte::kit::fuse {
namespace {

constexpr PassNeed After(Pass other, std::string_view why) { return {PassNeed::Side::kAfter, other, why}; }
constexpr PassNeed Before(Pass other, std::string_view why) { return {PassNeed::Side::kBefore, other, why}; }

TakesNode MakeTakes(const ir::Editor& editor, const PassOptions& options) {
  return options.make_takes ? options.make_takes(editor.graph()) : TakesNode();
}

ProductOptions OptionsOfProducts(const PassOptions& options, const TakesNode& takes) {
  return {.takes_type = options.takes_type, .takes = takes, .takes_activation = options.takes_activation};
}

// One row a pass, in the order in which they run. Each demand stands at the pass that would suffer.
constexpr PassInfo kPasses[] = {
    {Pass::kFuseQuantized,
     "FuseQuantized",
     [](ir::Editor& editor, const PassOptions& options) {
       FuseQuantized(editor, {.takes = MakeTakes(editor, options), .computed_products = options.computed_products});
     },
     {Before(PassNeed::kEveryOther, "other passes take operators and DequantizeLinear nodes away from QDQ units")}},
    {Pass::kFuseByteTables,
     "FuseByteTables",
     [](ir::Editor& editor, const PassOptions& options) {
       FuseByteTables(editor, {.takes = MakeTakes(editor, options)});
     },
     {After(Pass::kFuseQuantized, "it joins the QLinearElementwise nodes that FuseQuantized makes")}},
    {Pass::kFuseIntegerProducts,
     "FuseIntegerProducts",
     [](ir::Editor& editor, const PassOptions& options) {
       FuseIntegerProducts(editor, {.takes = MakeTakes(editor, options)});
     },
     {}},
    {Pass::kFuseBlockedWeights,
     "FuseBlockedWeights",
     [](ir::Editor& editor, const PassOptions& options) {
       FuseBlockedWeights(editor, {.takes = MakeTakes(editor, options)});
     },
     {Before(Pass::kFoldDequantized, "FoldDequantized would make floats of the weights"),
      Before(Pass::kFuseProducts, "it looks for ONNX's MatMul and Gemm")}},
    {Pass::kFoldDequantized,
     "FoldDequantized",
     [](ir::Editor& editor, const PassOptions& options) {
       FoldDequantized(editor, options.most_dequantized_bytes, options.made);
     },
     {Before(Pass::kFoldIntoConvolutions, "FoldIntoConvolutions reads weights, which are constants only then"),
      Before(Pass::kQuantizeProducts, "QuantizeProducts reads weights, which are constants only then")}},
    {Pass::kSumsToAdditions,
     "SumsToAdditions",
     [](ir::Editor& editor, const PassOptions&) { SumsToAdditions(editor); },
     {Before(Pass::kUnflattenProducts, "UnflattenProducts looks for an Add of a row"),
      Before(Pass::kFoldIntoConvolutions, "FoldIntoConvolutions looks for Add"),
      Before(Pass::kFuseGemms, "FuseGemms looks for Add"),
      Before(Pass::kFuseProducts, "FuseProducts looks for Add of a residual"),
      Before(Pass::kFuseConvolutions, "FuseConvolutions looks for Add of a residual"),
      Before(Pass::kFuseSkipNormalizations, "FuseSkipNormalizations looks for Add")}},
    {Pass::kFuseBounds,
     "FuseBounds",
     [](ir::Editor& editor, const PassOptions&) { FuseBounds(editor); },
     {Before(Pass::kMergeReluIntoClip, "MergeReluIntoClip looks for Clip"),
      Before(Pass::kFoldPads, "zeros are never the maximum after Max(x, 0) if that is a Relu"),
      Before(Pass::kFuseHardSwish, "FuseHardSwish looks for Clip"),
      Before(Pass::kFuseProducts, "Clip and Relu are activations, Max and Min are not"),
      Before(Pass::kFuseConvolutions, "Clip and Relu are activations, Max and Min are not"),
      Before(Pass::kFuseBatchNormalizations, "Clip and Relu are activations, Max and Min are not")}},
    {Pass::kMergeReluIntoClip,
     "MergeReluIntoClip",
     [](ir::Editor& editor, const PassOptions&) { MergeReluIntoClip(editor); },
     {Before(Pass::kFuseProducts, "a GEMM takes one activation, which would be the Relu alone"),
      Before(Pass::kFuseConvolutions, "a convolution takes one activation, which would be the Relu alone"),
      Before(Pass::kFuseBatchNormalizations, "a BatchNormalization takes one activation, the Relu alone")}},
    {Pass::kFoldPads,
     "FoldPads",
     [](ir::Editor& editor, const PassOptions&) { FoldPads(editor); },
     {Before(Pass::kQuantizeProducts, "it looks for ONNX's Conv, not for ConvInteger"),
      Before(Pass::kFuseConvolutions, "it looks for ONNX's Conv")}},
    {Pass::kUnflattenProducts,
     "UnflattenProducts",
     [](ir::Editor& editor, const PassOptions&) { UnflattenProducts(editor); },
     {Before(Pass::kQuantizeProducts, "it looks for ONNX's MatMul"),
      Before(Pass::kFuseGemms, "a Gemm takes matrices only, so its Reshape nodes would stay"),
      Before(Pass::kFuseProducts, "a bias or activation after the Reshape follows the GEMM directly only then")}},
    {Pass::kFoldIntoConvolutions,
     "FoldIntoConvolutions",
     [](ir::Editor& editor, const PassOptions& options) { FoldIntoConvolutions(editor, options.made); },
     {Before(Pass::kQuantizeProducts, "it changes float weights"),
      Before(Pass::kFuseConvolutions, "it looks for ONNX's Conv"),
      Before(Pass::kFuseBatchNormalizations, "a BatchNormalization after a convolution costs nothing as weights")}},
    {Pass::kQuantizeProducts,
     "QuantizeProducts",
     [](ir::Editor& editor, const PassOptions& options) {
       if (!options.quantize_products) return;
       qdq::QuantizeProducts(editor, options.made);
       FuseIntegerProducts(editor, {.takes = MakeTakes(editor, options)});
     },
     {Before(Pass::kFuseProducts, "it looks for ONNX's MatMul and Gemm"),
      Before(Pass::kFuseConvolutions, "it looks for ONNX's Conv")}},
    {Pass::kFuseGemms,
     "FuseGemms",
     [](ir::Editor& editor, const PassOptions&) { FuseGemms(editor); },
     {Before(Pass::kFuseProducts, "it looks for ONNX's MatMul")}},
    {Pass::kFuseNormalizations,
     "FuseNormalizations",
     [](ir::Editor& editor, const PassOptions&) { FuseNormalizations(editor); },
     {}},
    {Pass::kFuseChannelNormalizations,
     "FuseChannelNormalizations",
     [](ir::Editor& editor, const PassOptions&) { FuseChannelNormalizations(editor); },
     {}},
    {Pass::kFuseSoftmax, "FuseSoftmax", [](ir::Editor& editor, const PassOptions&) { FuseSoftmax(editor); }, {}},
    {Pass::kFuseGelu,
     "FuseGelu",
     [](ir::Editor& editor, const PassOptions&) { FuseGelu(editor); },
     {Before(Pass::kFuseProducts, "Gelu is an activation, its arithmetic is not"),
      Before(Pass::kFuseConvolutions, "Gelu is an activation, its arithmetic is not"),
      Before(Pass::kFuseBatchNormalizations, "Gelu is an activation, its arithmetic is not")}},
    {Pass::kFuseHardSwish,
     "FuseHardSwish",
     [](ir::Editor& editor, const PassOptions&) { FuseHardSwish(editor); },
     {Before(Pass::kFuseProducts, "HardSwish is an activation, its arithmetic is not"),
      Before(Pass::kFuseConvolutions, "HardSwish is an activation, its arithmetic is not"),
      Before(Pass::kFuseBatchNormalizations, "HardSwish is an activation, its arithmetic is not")}},
    {Pass::kFuseSwish, "FuseSwish", [](ir::Editor& editor, const PassOptions&) { FuseSwish(editor); }, {}},
    {Pass::kFuseMish, "FuseMish", [](ir::Editor& editor, const PassOptions&) { FuseMish(editor); }, {}},
    {Pass::kFuseRotaryEmbedding,
     "FuseRotaryEmbedding",
     [](ir::Editor& editor, const PassOptions& options) {
       FuseRotaryEmbedding(editor, {.takes_type = options.takes_type, .takes_positions = options.takes_positions});
     },
     {}},
    {Pass::kFuseAttention,
     "FuseAttention",
     [](ir::Editor& editor, const PassOptions& options) {
       FuseAttention(
           editor,
           {.form = options.attention_form, .cache = options.attention_cache, .takes_type = options.takes_type});
     },
     {After(Pass::kFuseSoftmax, "it looks for Softmax"),
      Before(Pass::kFuseProducts, "it looks for ONNX's MatMul with the scale and mask as nodes")}},
    {Pass::kFuseProducts,
     "FuseProducts",
     [](ir::Editor& editor, const PassOptions& options) {
       FuseProducts(editor, OptionsOfProducts(options, options.takes_product));
     },
     {Before(Pass::kFuseSkipNormalizations, "a residual costs least where the GEMM adds it")}},
    {Pass::kFuseConvolutions,
     "FuseConvolutions",
     [](ir::Editor& editor, const PassOptions& options) {
       FuseConvolutions(editor, OptionsOfProducts(options, options.takes_convolution));
     },
     {}},
    {Pass::kFuseBatchNormalizations,
     "FuseBatchNormalizations",
     [](ir::Editor& editor, const PassOptions& options) {
       FuseBatchNormalizations(editor, {.takes_type = options.takes_type});
     },
     {}},
    {Pass::kFuseSkipNormalizations,
     "FuseSkipNormalizations",
     [](ir::Editor& editor, const PassOptions& options) {
       FuseSkipNormalizations(editor, {.takes_type = options.takes_type});
     },
     {After(Pass::kFuseNormalizations, "it looks for LayerNormalization and RMSNormalization")}},
    {Pass::kFuseElementwise,
     "FuseElementwise",
     [](ir::Editor& editor, const PassOptions& options) {
       ElementwiseOptions elementwise;
       elementwise.takes_type = options.takes_type;
       if (options.make_alone) elementwise.alone = options.make_alone(editor);
       elementwise.most_inputs = options.most_elementwise_inputs;
       elementwise.most_instructions = options.most_elementwise_instructions;
       FuseElementwise(editor, elementwise);
     },
     {After(PassNeed::kEveryOther, "other passes look for the operators that it joins")}},
};
static_assert(std::size(kPasses) == static_cast<size_t>(Pass::kCount));

constexpr bool IsInOrderOfEnum() {
  for (size_t i = 0; i < std::size(kPasses); ++i)
    if (kPasses[i].pass != static_cast<Pass>(i)) return false;
  return true;
}
static_assert(IsInOrderOfEnum());

}  // namespace

std::span<const PassInfo> AllPasses() { return kPasses; }

const PassInfo& InfoOf(Pass pass) { return kPasses[static_cast<size_t>(pass)]; }

std::string FindBrokenNeed(std::span<const Pass> order) {
  for (size_t at = 0; at < order.size(); ++at) {
    const PassInfo& info = InfoOf(order[at]);
    for (const PassNeed& need : info.needs) {
      if (need.why.empty()) continue;
      const bool runs_after = need.side == PassNeed::Side::kAfter;
      const std::span<const Pass> wrong = runs_after ? order.subspan(at + 1) : order.first(at);
      const auto broken = std::find_if(wrong.begin(), wrong.end(), [&](Pass other) {
        return need.other == PassNeed::kEveryOther || need.other == other;
      });
      if (broken == wrong.end()) continue;
      return std::string(info.name) + " runs " + (runs_after ? "before " : "after ") +
             std::string(InfoOf(*broken).name) + ": " + std::string(need.why);
    }
  }
  return {};
}

}  // namespace epiphyte::kit::fuse
