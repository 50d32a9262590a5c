#include "epiphyte/kit/qdq/units.hpp"

#include <algorithm>
#include <utility>

#include "epiphyte/kit/qdq/match.hpp"
#include "epiphyte/kit/qdq/quantization.hpp"

namespace epiphyte::kit::qdq {
namespace {

class Finder {
 public:
  Finder(const ir::Editor& editor, const Options& options, const Surroundings& surroundings)
      : editor_(editor),
        options_(options),
        surroundings_(surroundings),
        candidate_of_(static_cast<size_t>(editor.node_count()), -1) {
    found_.unit_of_node.assign(candidate_of_.size(), -1);
    found_.reasons.resize(candidate_of_.size());
  }

  Units Find() {
    for (int32_t n = 0; n < editor_.node_count(); ++n) FindCandidate(n);
    if (!options_.dequantized_outputs) DropThoseThatLeakFloats();
    for (int32_t n = 0; n < editor_.node_count(); ++n) Settle(n);
    for (int32_t n = 0; n < editor_.node_count(); ++n) GiveReason(n);
    return std::move(found_);
  }

 private:
  // Values of culprit_of_ that are no node indices: kNobody if all readers are in units, kGraph for a graph output.
  static constexpr int32_t kNobody = -1;
  static constexpr int32_t kGraph = -2;

  struct Candidate {
    Unit unit;
    std::vector<int32_t> reads;  // DequantizeLinear nodes without repetition
    bool dropped = false;
  };

  const ir::Node& node(int32_t n) const { return editor_.node(n); }
  std::string Text(int32_t n) const { return NodeText(editor_.graph(), node(n)); }
  bool IsEnd(int32_t n) const { return IsQuantize(node(n)) || IsDequantize(node(n)); }
  bool Taken(int32_t n) const {
    const auto index = static_cast<size_t>(n);
    return index < surroundings_.taken.size() && surroundings_.taken[index];
  }
  int32_t& candidate_of(int32_t n) { return candidate_of_[static_cast<size_t>(n)]; }
  std::string& reason(int32_t n) { return found_.reasons[static_cast<size_t>(n)]; }
  int32_t& unit_of(int32_t n) { return found_.unit_of_node[static_cast<size_t>(n)]; }

  void FindCandidate(int32_t n) {
    // A node with a candidate here is the clamp of an earlier target.
    if (editor_.removed(n) || candidate_of(n) >= 0) return;
    if (Taken(n)) {
      reason(n) = "another provider has it";
      return;
    }
    if (IsEnd(n)) return;
    Candidate candidate;
    if (!MatchUnit(editor_, n, options_, surroundings_, &candidate.unit, &reason(n))) return;
    Unit& unit = candidate.unit;
    if (options_.refuse) reason(n) = options_.refuse(editor_, unit);
    if (!reason(n).empty()) return;
    for (const int32_t end : unit.dequantize) {
      if (end >= 0) candidate.reads.push_back(end);
    }
    candidate.reads.insert(candidate.reads.end(), unit.bounds.begin(), unit.bounds.end());
    std::sort(candidate.reads.begin(), candidate.reads.end());
    candidate.reads.erase(std::unique(candidate.reads.begin(), candidate.reads.end()), candidate.reads.end());
    candidate_of(n) = static_cast<int32_t>(candidates_.size());
    if (unit.clamp >= 0) candidate_of(unit.clamp) = candidate_of(n);
    candidates_.push_back(std::move(candidate));
  }

  // --- floats that leave a unit through a DequantizeLinear

  bool IsInCandidate(int32_t n) {
    return candidate_of(n) >= 0 && !candidates_[static_cast<size_t>(candidate_of(n))].dropped;
  }

  // Records `culprit`, which reads a DequantizeLinear and is outside of units. The units that read the same
  // DequantizeLinear will be dropped.
  void Leak(int32_t dequantize, int32_t culprit) {
    int32_t& noted = culprit_of_[static_cast<size_t>(dequantize)];
    if (noted != kNobody) return;
    noted = culprit;
    for (const int32_t reader : editor_.Readers(node(dequantize).outputs[0])) {
      if (IsInCandidate(reader)) work_.push_back(static_cast<size_t>(candidate_of(reader)));
    }
  }

  void LookForLeak(int32_t dequantize) {
    const int32_t value = node(dequantize).outputs[0];
    if (editor_.IsOutput(value)) return Leak(dequantize, kGraph);
    for (const int32_t reader : editor_.Readers(value)) {
      if (!IsInCandidate(reader)) return Leak(dequantize, reader);
    }
  }

  std::string LeakText(int32_t dequantize) const {
    const int32_t culprit = culprit_of_[static_cast<size_t>(dequantize)];
    const std::string whose = Text(dequantize) + ", which it reads, ";
    if (culprit == kGraph) return whose + "makes an output of the graph, too";
    return whose + "is read by " + Text(culprit) + ", too, which is in no QDQ unit";
  }

  void DropThoseThatLeakFloats() {
    culprit_of_.assign(candidate_of_.size(), kNobody);
    std::vector<bool> looked(candidate_of_.size(), false);
    for (const Candidate& candidate : candidates_) {
      for (const int32_t dequantize : candidate.reads) {
        if (!looked[static_cast<size_t>(dequantize)]) LookForLeak(dequantize);
        looked[static_cast<size_t>(dequantize)] = true;
      }
    }
    while (!work_.empty()) {
      Candidate& candidate = candidates_[work_.back()];
      work_.pop_back();
      if (candidate.dropped) continue;
      const auto leak = std::find_if(candidate.reads.begin(), candidate.reads.end(), [this](int32_t dequantize) {
        return culprit_of_[static_cast<size_t>(dequantize)] != kNobody;
      });
      candidate.dropped = true;
      reason(candidate.unit.target) = LeakText(*leak);
      for (const int32_t dequantize : candidate.reads) Leak(dequantize, candidate.unit.target);
    }
  }

  // --- nodes to units

  void Own(int32_t n, Unit* unit) {
    unit->nodes.push_back(n);
    unit_of(n) = static_cast<int32_t>(found_.units.size());
  }

  // Makes the unit of target `n`, unless `n` belongs to another unit. The calls come in order of nodes, so a node that
  // two units read belongs to the first.
  void Settle(int32_t n) {
    if (editor_.removed(n) || unit_of(n) >= 0) return;
    Unit unit;
    if (!IsInCandidate(n)) {
      if (IsEnd(n) && WillBeInUnit(n)) return;
      unit.target = n;
      Own(n, &unit);
    } else {
      Candidate& candidate = candidates_[static_cast<size_t>(candidate_of(n))];
      unit = std::move(candidate.unit);
      for (const int32_t dequantize : candidate.reads) {
        if (unit_of(dequantize) >= 0) {
          unit.shared.push_back(dequantize);
        } else {
          Own(dequantize, &unit);
        }
      }
      Own(n, &unit);
      if (unit.clamp >= 0) Own(unit.clamp, &unit);
      for (const int32_t quantize : unit.quantize) {
        if (quantize >= 0) Own(quantize, &unit);
      }
      std::sort(unit.nodes.begin(), unit.nodes.end());
    }
    found_.units.push_back(std::move(unit));
  }

  // True for a DequantizeLinear that a later target reads. A QuantizeLinear always comes after the target of its unit.
  bool WillBeInUnit(int32_t n) {
    if (!IsDequantize(node(n)) || !node(n).HasOutput(0)) return false;
    const std::vector<int32_t>& readers = editor_.Readers(node(n).outputs[0]);
    return std::any_of(readers.begin(), readers.end(), [this](int32_t reader) { return IsInCandidate(reader); });
  }

  // --- reasons why nodes are in no unit

  void GiveReason(int32_t n) {
    if (editor_.removed(n)) return;
    const Unit& unit = found_.units[static_cast<size_t>(unit_of(n))];
    if (unit.IsQdq()) {
      reason(n).clear();
      return;
    }
    if (!reason(n).empty()) return;
    const bool dequantizes = IsDequantize(node(n));
    int32_t neighbour = -1;
    if (dequantizes && node(n).HasOutput(0)) {
      const std::vector<int32_t>& readers = editor_.Readers(node(n).outputs[0]);
      if (!readers.empty()) neighbour = readers[0];
    } else if (!dequantizes && node(n).HasInput(0)) {
      neighbour = editor_.Producer(node(n).inputs[0]);
    }
    reason(n) =
        neighbour < 0
            ? std::string(dequantizes ? "no operator reads what it dequantises" : "no operator makes what it quantises")
            : Text(neighbour) + (dequantizes ? " behind it" : " in front of it") + " is in no QDQ unit with it";
    if (neighbour >= 0 && !IsEnd(neighbour) && !reason(neighbour).empty()) reason(n) += ": " + reason(neighbour);
  }

  const ir::Editor& editor_;
  const Options& options_;
  const Surroundings& surroundings_;
  std::vector<Candidate> candidates_;
  std::vector<int32_t> candidate_of_;  // for each node: candidate with this target or clamp; -1: none
  std::vector<int32_t> culprit_of_;    // for each DequantizeLinear: its reader outside of units
  std::vector<size_t> work_;           // candidates to drop
  Units found_;
};

}  // namespace

Units FindUnits(const ir::Editor& editor, const Options& options, const Surroundings& surroundings) {
  return Finder(editor, options, surroundings).Find();
}

}  // namespace epiphyte::kit::qdq
