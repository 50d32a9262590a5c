// Tape: differentiation in reverse mode, as ai.onnx nodes. Nodes are walked from the last to the first, each with the
// rule of its operator (see rules.h), which gives its inputs their parts of the derivative.
//
//   void Exp(Step& s) { s.Give(0, s.Mul(s.g(), s.Out())); }
//
//   Followed followed(Rules());
//   followed.Add(x);                  // what is differentiated by
//   Tape tape(emitter, followed);
//   tape.Differentiate(nodes, y, g);  // g: the derivative by y
//   Value dx = tape.Of(x);            // null: y doesn't depend on x
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/onnx/gradient/emitter.h"

namespace epiphyte::core::gradient {

class Step;
using Rule = void (*)(Step&);

// What is known of operators.
struct Rulebook {
  Rule (*find)(const Node& node);  // null where there is none
  // Whether what the operator makes is constant wherever it has a derivative: roundings, comparisons, indices.
  bool (*is_flat)(const Node& node);
  std::string (*names)();  // "Abs, Acos, …", for messages
};

// Values that have derivatives by some others. Stand-ins of nested graphs count as what they stand for.
class Followed {
 public:
  explicit Followed(const Rulebook& rules) : rules_(rules) {}

  void Add(const ValueDef* value);
  // Adds what `node` makes of such values; false when it makes nothing of them that has a derivative.
  bool Extend(const Node& node);
  bool Has(const ValueDef* value) const;
  const Rulebook& rules() const { return rules_; }

 private:
  const Rulebook& rules_;
  std::unordered_set<const ValueDef*> values_;
};

class Tape {
 public:
  Tape(Emitter& emitter, Followed followed) : emitter_(emitter), followed_(std::move(followed)) {}

  bool IsFollowed(const ValueDef* value) const { return followed_.Has(value); }
  // `nodes` in topological order; those that make `y` of what is followed. Adds to the derivatives that there are.
  void Differentiate(std::span<Node* const> nodes, Value y, Value g);
  // As the emitter's graph sees it.
  Value Of(const ValueDef* value) const;
  void Give(const ValueDef* value, Value part);

 private:
  Emitter& emitter_;
  Followed followed_;
  std::unordered_map<const ValueDef*, Value> derivatives_;
};

// What a rule sees: the node, the derivatives by its outputs, and an emitter for its own.
class Step {
 public:
  Step(const Node& node, Emitter& emitter, Tape& tape) : node_(node), e_(emitter), tape_(tape) {}

  const Node& node() const { return node_; }
  Emitter& e() { return e_; }
  Value In(size_t index = 0) { return e_.Import(node_.input(index)); }
  Value Out(size_t index = 0) { return e_.Import(node_.output(index)); }
  // The derivative by an output; null when nothing depends on it.
  Value g(size_t output = 0) { return node_.output(output) == nullptr ? nullptr : tape_.Of(node_.output(output)); }
  // Whether the derivative by the input is asked for.
  bool Wants(size_t input) const { return node_.input(input) != nullptr && tape_.IsFollowed(node_.input(input)); }
  // A part of it, of the input's shape.
  void Give(size_t input, Value part);
  // … of the output's shape, to which the input was broadcast.
  void GiveSum(size_t input, Value part);
  // For what is a composition of other operators: `forward` makes output 0 of them anew, and the derivative is theirs.
  void Through(const std::function<Value()>& forward);

  int64_t Int(std::string_view name, int64_t fallback) const { return node_.IntAttribute(name, fallback); }
  double Float(std::string_view name, float fallback) const { return node_.FloatAttribute(name, fallback); }
  std::vector<int64_t> Ints(std::string_view name) const;
  // Not negative, and one of the input's where their number is known, as it must be where `axis` counts from the end.
  int64_t Axis(int64_t axis, size_t input = 0);
  // How many dimensions an input has, which has to have `least`.
  size_t RankFrom(size_t least, size_t input);
  // `axes`: an attribute, or an input that is known before the run. Empty when it is absent.
  std::vector<int64_t> Axes(size_t input);

  // This node can't be differentiated; `reason` completes "X node 'x' on the way …: ".
  template <typename... Args>
  [[noreturn]] void Refuse(fmt::format_string<Args...> format, Args&&... args) {
    RefuseBecause(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  [[noreturn]] void RefuseBecause(const std::string& reason);

  const Node& node_;
  Emitter& e_;
  Tape& tape_;
};

}  // namespace epiphyte::core::gradient
