// NonMaxSuppression.
#include <algorithm>

#include "plugins/cpu/kernel/dispatch.h"
#include "plugins/cpu/kernel/move.h"
#include "plugins/cpu/kernel/parameter.h"

namespace epiphyte::cpu {
namespace {

struct Box {
  float x0, y0, x1, y1, area;
};

Box BoxOf(const float* b, bool center) {
  Box box;
  if (center) {
    box = {b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2, 0};
  } else {
    // Two opposite corners in any order, y before x.
    box = {std::min(b[1], b[3]), std::min(b[0], b[2]), std::max(b[1], b[3]), std::max(b[0], b[2]), 0};
  }
  box.area = (box.x1 - box.x0) * (box.y1 - box.y0);
  return box;
}

bool Overlap(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  const float height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  if (!(width > 0) || !(height > 0)) return false;
  const float intersection = width * height;
  const float either = a.area + b.area - intersection;
  if (!(a.area > 0) || !(b.area > 0) || !(either > 0)) return false;
  return intersection / either > threshold;
}

class NonMaxSuppressionKernel : public Kernel {
 public:
  explicit NonMaxSuppressionKernel(const KernelInit& init) : center_(init.node().Int("center_point_box", 0) != 0) {}

  void Run(OpContext& context) const override {
    const Tensor& boxes = context.Input(0);
    const Tensor& scores = context.Input(1);
    if (boxes.rank() != 3 || boxes.dims[2] != 4 || scores.rank() != 3 || scores.dims[0] != boxes.dims[0] ||
        scores.dims[2] != boxes.dims[1] || boxes.type != EP_TYPE_FLOAT || scores.type != EP_TYPE_FLOAT)
      FailOp(
          "boxes of type {} and shape {} and scores of type {} and shape {} found, float of [N,B,4] and [N,C,B] "
          "expected",
          TypeName(boxes.type), ShapeText(boxes.dims), TypeName(scores.type), ShapeText(scores.dims));
    const Tensor* most_input = Given(context, 2, "max_output_boxes_per_class", kIndexTypes);
    const Tensor* overlap_input = Given(context, 3, "iou_threshold", Types(EP_TYPE_FLOAT));
    const Tensor* least_input = Given(context, 4, "score_threshold", Types(EP_TYPE_FLOAT));
    const int64_t most = most_input != nullptr ? std::max<int64_t>(0, IntegerIn(*most_input)) : 0;
    const float overlap = overlap_input != nullptr ? *overlap_input->as<float>() : 0;
    if (!(overlap >= 0 && overlap <= 1)) FailOp("iou_threshold {} found, a value in [0, 1] expected", overlap);
    const float* least = least_input != nullptr ? least_input->as<float>() : nullptr;

    const int64_t batches = boxes.dims[0], count = boxes.dims[1], classes = scores.dims[1];
    std::vector<std::vector<int64_t>> chosen(static_cast<size_t>(most == 0 ? 0 : batches * classes));
    Parallel(context, static_cast<int64_t>(chosen.size()), std::max<int64_t>(1, 4096 / std::max<int64_t>(count, 1)),
             [&](int64_t begin, int64_t end) {
               for (int64_t i = begin; i < end; ++i)
                 chosen[static_cast<size_t>(i)] = Choose(boxes.as<float>() + i / classes * count * 4,
                                                         scores.as<float>() + i * count, count, most, overlap, least);
             });
    int64_t total = 0;
    for (const std::vector<int64_t>& some : chosen) total += static_cast<int64_t>(some.size());
    int64_t* out = context.Output(0, EP_TYPE_INT64, Dims{total, 3}).as<int64_t>();
    for (size_t i = 0; i < chosen.size(); ++i)
      for (int64_t box : chosen[i]) {
        *out++ = static_cast<int64_t>(i) / classes;
        *out++ = static_cast<int64_t>(i) % classes;
        *out++ = box;
      }
  }

 private:
  // Null also for an empty tensor: some models use it for an absent parameter.
  static const Tensor* Given(OpContext& context, size_t i, std::string_view name, TypeSet types) {
    const bool empty = context.HasInput(i) && context.Input(i).Count() == 0;
    return empty ? nullptr : OptionalParameter(context, i, name, types);
  }

  std::vector<int64_t> Choose(const float* boxes, const float* scores, int64_t count, int64_t most, float overlap,
                              const float* least) const {
    std::vector<int64_t> candidates;
    for (int64_t i = 0; i < count; ++i)
      if (scores[i] == scores[i] && (least == nullptr || scores[i] > *least)) candidates.push_back(i);
    // A heap, because often only the best few are needed.
    const auto worse = [scores](int64_t a, int64_t b) {
      return scores[a] != scores[b] ? scores[a] < scores[b] : a > b;
    };
    std::make_heap(candidates.begin(), candidates.end(), worse);
    std::vector<int64_t> chosen;
    std::vector<Box> kept;
    while (!candidates.empty() && static_cast<int64_t>(chosen.size()) < most) {
      std::pop_heap(candidates.begin(), candidates.end(), worse);
      const int64_t next = candidates.back();
      candidates.pop_back();
      const Box box = BoxOf(boxes + next * 4, center_);
      if (std::any_of(kept.begin(), kept.end(), [&](const Box& other) { return Overlap(box, other, overlap); }))
        continue;
      chosen.push_back(next);
      kept.push_back(box);
    }
    return chosen;
  }

  bool center_;
};

}  // namespace

void Register_non_max_suppression(KernelRegistry& registry) {
  registry.Add<NonMaxSuppressionKernel>("NonMaxSuppression");
}

}  // namespace epiphyte::cpu
