// Tape: reverse-mode differentiation that emits ai.onnx nodes. Nodes are visited from last to first. The rule of each
// operator (see rules.h) adds to the derivatives by the node's inputs.
//
//   void Exp(Step& s) { s.Give(0, s.Mul(s.g(), s.Out())); }
//
//   Followed followed(Rules());
//   followed.Add(x);                  // differentiate by x
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

// Properties of operators.
struct Rulebook {
  Rule (*find)(const Node& node);  // null when there is no rule
  // True for operators with piecewise constant output, such as roundings, comparisons and indices. Their derivative is
  // 0 wherever it exists.
  bool (*is_flat)(const Node& node);
  std::string (*names)();  // "Abs, Acos, …", for messages
};

// Values with derivatives by the values that were added. A stand-in in a nested graph counts as its outer value.
class Followed {
 public:
  explicit Followed(const Rulebook& rules) : rules_(rules) {}

  void Add(const ValueDef* value);
  // Adds the outputs of `node` that depend on such values. False when none of its outputs has a derivative by them.
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
  // `nodes`, in topological order, are those that compute `y` from followed values. Adds to existing derivatives.
  void Differentiate(std::span<Node* const> nodes, Value y, Value g);
  // The derivative by `value`, as a value of the emitter's graph; null when there is none.
  Value Of(const ValueDef* value) const;
  void Give(const ValueDef* value, Value part);

 private:
  Emitter& emitter_;
  Followed followed_;
  std::unordered_map<const ValueDef*, Value> derivatives_;
};

// Interface of a rule: the node, the derivatives by its outputs, and an emitter for new nodes.
class Step {
 public:
  Step(const Node& node, Emitter& emitter, Tape& tape) : node_(node), e_(emitter), tape_(tape) {}

  const Node& node() const { return node_; }
  Emitter& e() { return e_; }
  Value In(size_t index = 0) { return e_.Import(node_.input(index)); }
  Value Out(size_t index = 0) { return e_.Import(node_.output(index)); }
  // The derivative by an output; null when nothing depends on the output.
  Value g(size_t output = 0) { return node_.output(output) == nullptr ? nullptr : tape_.Of(node_.output(output)); }
  // Whether the derivative by the input is needed.
  bool Wants(size_t input) const { return node_.input(input) != nullptr && tape_.IsFollowed(node_.input(input)); }
  // Adds to the derivative by an input. `part` has the input's shape.
  void Give(size_t input, Value part);
  // Like Give, for a `part` with the output's shape, to which the input was broadcast.
  void GiveSum(size_t input, Value part);
  // Differentiates an operator as a composition: `forward` recomputes output 0 from other operators, and the derivative
  // is theirs.
  void Through(const std::function<Value()>& forward);

  int64_t Int(std::string_view name, int64_t fallback) const { return node_.IntAttribute(name, fallback); }
  double Float(std::string_view name, float fallback) const { return node_.FloatAttribute(name, fallback); }
  std::vector<int64_t> Ints(std::string_view name) const;
  // Normalizes an axis to a non-negative index and checks it if the input's rank is known. The rank must be known if
  // `axis` counts from the end.
  int64_t Axis(int64_t axis, size_t input = 0);
  // The rank of an input, which must be at least `least`.
  size_t RankFrom(size_t least, size_t input);
  // `axes` as an attribute or as an input that is known before the run. Empty when absent.
  std::vector<int64_t> Axes(size_t input);

  // Reports that this node can't be differentiated. `reason` completes "X node 'x' on the way …: ".
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
