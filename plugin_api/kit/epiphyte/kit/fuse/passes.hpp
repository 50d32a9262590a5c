// Passes: the rewrites of this folder as one table, in the one order in which every provider runs them (pipeline.hpp).
// The table says for each pass what must come before and after it, and why.
//
//   for (const fuse::PassInfo& pass : fuse::AllPasses()) log.Debug(std::string(pass.name));
//   fuse::InfoOf(fuse::Pass::kFuseGelu).run(editor, {});   // the same as fuse::FuseGelu(editor)
//
// A new pass is an enumerator here and a row in passes.cpp. Every provider then runs it, unless it declines it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "epiphyte/kit/fuse/attention.hpp"
#include "epiphyte/kit/fuse/elementwise.hpp"
#include "epiphyte/kit/fuse/products.hpp"
#include "epiphyte/kit/graph/editor.hpp"

namespace epiphyte::kit::fuse {

// The passes are named after the functions that they call, and listed in the order in which they run.
enum class Pass : uint8_t {
  kFuseQuantized,
  kFuseByteTables,
  kFuseIntegerProducts,
  kFuseBlockedWeights,
  kFoldDequantized,
  kSumsToAdditions,
  kFuseBounds,
  kMergeReluIntoClip,
  kFoldPads,
  kUnflattenProducts,
  kFoldIntoConvolutions,
  kQuantizeProducts,
  kFuseGemms,
  kFuseNormalizations,
  kFuseChannelNormalizations,
  kFuseSoftmax,
  kFuseGelu,
  kFuseHardSwish,
  kFuseSwish,
  kFuseMish,
  kFuseRotaryEmbedding,
  kFuseAttention,
  kFuseProducts,
  kFuseConvolutions,
  kFuseBatchNormalizations,
  kFuseSkipNormalizations,
  kFuseElementwise,
  kCount,
};

// Returns whether a node may replace others. The node is not part of the graph yet, but its values are.
using TakesNode = std::function<bool(const ir::Editor& editor, const ir::Node& node)>;

// Options of a provider. The first three apply to several passes, and to new ones where they make sense.
struct PassOptions {
  // Makes the TakesNode of one pass, from the graph that the pass starts with. Empty: every node may. Passes that make
  // operators of integers or of few bits ask it; the others rely on `takes_type` and on Pipeline's `accepts`.
  std::function<TakesNode(const ir::Graph& graph)> make_takes;
  // Returns whether operators of the kit support a float type. Empty: only float.
  std::function<bool(EpElementType type)> takes_type;
  // Called with the number of bytes whenever a pass has made new weights: see FoldIntoConvolutions.
  std::function<void(uint64_t bytes)> made;

  // FuseQuantized: see QuantizedOptions.
  bool computed_products = false;
  // FoldDequantized: constants with more bytes are not made.
  uint64_t most_dequantized_bytes = UINT64_MAX;
  // QuantizeProducts: float GEMMs and convolutions are dynamically quantized. This changes results, so a user asks for
  // it.
  bool quantize_products = false;
  // FuseRotaryEmbedding: see RotaryOptions.
  bool takes_positions = false;
  // FuseAttention: see AttentionOptions.
  AttentionOptions::Form attention_form = AttentionOptions::Form::kPermuted;
  bool attention_cache = false;
  // FuseProducts and FuseConvolutions: see ProductOptions.
  TakesNode takes_product;
  TakesNode takes_convolution;
  TakesActivation takes_activation;
  // FuseElementwise: makes ElementwiseOptions::alone from the graph that the pass starts with. Empty: never.
  std::function<std::function<bool(const ir::Editor& editor, int32_t node)>(const ir::Editor& editor)> make_alone;
  size_t most_elementwise_inputs = kMostElementwiseInputs;
  size_t most_elementwise_instructions = kMostElementwiseInstructions;
};

// One demand of a pass on the order.
struct PassNeed {
  static constexpr Pass kEveryOther = Pass::kCount;
  enum class Side : uint8_t { kAfter, kBefore };
  Side side = Side::kAfter;  // this pass runs after `other`, or before it
  Pass other = kEveryOther;
  std::string_view why = {};  // empty: no demand
};

struct PassInfo {
  static constexpr size_t kMostNeeds = 6;
  Pass pass = Pass::kCount;
  std::string_view name;  // name of the function, for logs and tests
  void (*run)(ir::Editor& editor, const PassOptions& options) = nullptr;
  PassNeed needs[kMostNeeds];
};

// The table, in the order of the enum.
std::span<const PassInfo> AllPasses();
const PassInfo& InfoOf(Pass pass);
// The first demand that an order breaks, as a sentence; "" if it keeps all. Demands on passes that are not in the order
// are kept.
std::string FindBrokenNeed(std::span<const Pass> order);

}  // namespace epiphyte::kit::fuse
