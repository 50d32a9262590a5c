// Small ONNX models, written with ONNX's own messages.
#pragma once

#include <string>
#include <vector>

namespace epiphyte::test {

// The model c = a + b; both are float[batch,3].
std::string AddModel();
// The model y = x · w, float[2,4] · float[4,3] with w as an initializer, so that compiling has work to do. All such
// models have the same weights and the same graph name, as PyTorch's exporter gives it. `negated`: y = -(x · w).
std::string MatMulModel(bool negated = false);
// A model with two outputs: the float sum of two inputs, and the sum's int64 shape. Input "attention_mask" is
// int64[batch].
std::string MaskModel();
// The model y = last(… first(x)) on float[2] with operators of one input. `double` is Add of a value with itself, and
// `square` is Pow with constant exponent 2. The result of the first operator is "v0", and so on. Nodes are named after
// their operator and position: "Relu_0".
std::string ChainModel(const std::vector<std::string>& operators);
// The model y = x + 1 if `flag`, else y = -x; on float[2].
std::string IfModel();
// A model with a Loop that adds 1 to `x`, an int64[1], `trips` times.
std::string CountingModel();
// The model present = TensorScatter(past, update, at). It writes float[1,2,1,4] into a float[1,2,N,4] at position `at`,
// int64[1], of the second last axis, as decoders keep keys and values. `attends`: the model also has y = weights ·
// present, float[1,2,1,4], with weights float[1,2,1,N].
std::string CacheModel(bool attends = false);
// The model y = x · x on float[2,2].
std::string SquareModel();
// The model y = x + x on float[2], and z, the element of y at index `at`, int64[1]. An index out of range makes the run
// fail.
std::string FailingModel();
// A model with an operator that no provider supports.
std::string UnknownOperatorModel();
// A model with an embedded EPContext node. Its source is "Nobody" and its payload is "bytes of a context".
std::string ForeignContextModel();

// The model y = Relu(x) on float[2]. Graph, input and node have this name, and the output has it with "_out" appended.
std::string NamedModel(const std::string& name);
// A model like NamedModel, with an input 'pixels' without a type.
std::string UntypedModel();
// The model y = x + w on float[2]. w is an initializer [1, 2] that is also an input.
std::string OverridableModel();
// The model y = [1, 2], by a Constant: the result is known without a run.
std::string KnownModel();
// A model of RegexFullMatch with this pattern on one string.
std::string PatternModel(const std::string& pattern);

}  // namespace epiphyte::test
