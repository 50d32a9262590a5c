// Small ONNX models, written with ONNX's own messages.
#pragma once

#include <string>
#include <vector>

namespace epiphyte::test {

// c = a + b, both float[batch,3].
std::string AddModel();
// y = x · w, float[2,4] · float[4,3] with w as an initializer: something worth compiling. All such models have the same
// weights and, as PyTorch's exporter calls it, the same graph name; `negated`: y = -(x · w).
std::string MatMulModel(bool negated = false);
// outputs: float sum of two inputs, and the int64 shape of it; input "attention_mask" is int64[batch].
std::string MaskModel();
// y = last(… first(x)) on float[2], operators with one input; `double` is Add of a value with itself, `square`
// its Pow by a constant 2. What the first
// makes is called "v0", and so on; nodes are called after their operator and place: "Relu_0".
std::string ChainModel(const std::vector<std::string>& operators);
// y = x + 1 if `flag`, else -x; on float[2].
std::string IfModel();
// y is `x`, an int64[1], with 1 added `trips` times, by a Loop.
std::string CountingModel();
// present = TensorScatter(past, update, at): writes float[1,2,1,4] into a float[1,2,N,4] at place `at`, int64[1], of
// the second last axis, as decoders keep keys and values. `attends`: and y = weights · present, float[1,2,1,4] from
// weights of float[1,2,1,N].
std::string CacheModel(bool attends = false);
// y = x · x on float[2,2].
std::string SquareModel();
// y = x + x on float[2], and then z, the element of y at place `at`, int64[1], which may be none.
std::string FailingModel();
// A model with an operator that no provider has.
std::string UnknownOperatorModel();
// A model with an embedded EPContext node. Its source is "Nobody" and its payload is "bytes of a context".
std::string ForeignContextModel();

// y = Relu(x) on float[2]: graph, input, output and node are all called so, the output with "_out" behind.
std::string NamedModel(const std::string& name);
// A model like NamedModel, with an input 'pixels' without a type.
std::string UntypedModel();
// y = x + w on float[2], with w = [1, 2] an initializer that is an input, too.
std::string OverridableModel();
// y = [1, 2], by a Constant: everything is known without a run.
std::string KnownModel();
// RegexFullMatch with that pattern on one string.
std::string PatternModel(const std::string& pattern);

}  // namespace epiphyte::test
