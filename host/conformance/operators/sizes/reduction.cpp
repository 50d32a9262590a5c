// Reductions, Softmax and its relatives, scans, sorting and losses.
#include "host/conformance/operators/sizes/operator_sizes.h"

namespace epiphyte::operators {
namespace {

// clang-format off
constexpr OperatorRow kRows[] = {
    {"ReduceMean", "float float16 double", {"T[1,128,768]; axes=[-1]", "T[1,64,56,56]; axes=[2,3]", "T[1,1,4096]; axes=[-1]"}},
    {"ReduceMax ReduceMin", "float double int32 int64 uint8", {"T[1,128,768]; axes=[-1]", "T[1,64,56,56]; axes=[2,3]", "T[1,12,128,128]; axes=[1]"}},
    {"ReduceSum", "float float16 double int32 int64", {"T[1,128,768] int64![1]=-1", "T[1,64,56,56] int64![2]=2,3", "T[1,12,128,128] int64![1]=1"}},
    {"ReduceProd ReduceSumSquare ReduceL1 ReduceL2 ReduceLogSumExp", "float double", {"T[1,128,768]; axes=[-1]", "T[1,64,56,56]; axes=[2,3]", "T[1,12,128,128]; axes=[1]"}},
    {"ReduceLogSum", "float", {"T[1,128,768]{0.1,2}; axes=[-1]", "T[1,64,56,56]{0.1,2}; axes=[2,3]", "T[1,12,128,128]{0.1,2}; axes=[1]"}},
    {"ReduceMean#first", "float", {"T[128,768]; axes=[0]", "T[197,384]; axes=[0]", "T[32,3,224,224]; axes=[0]"}},
    {"ReduceSum#all", "float int64", {"T[1,128,768]", "T[1,64,56,56]", "T[1,1000]"}},
    {"ArgMax", "float double int32 int8 uint8", {"T[1,30522]; axis=1", "T[1,21,512,512]; axis=1", "T[128,1000]; axis=-1"}, "int64"},
    {"ArgMin", "float double int32", {"T[1,30522]; axis=1", "T[64,512]; axis=1", "T[1,21,128,128]; axis=1"}, "int64"},
    {"Softmax", "float float16 double", {"T[1,12,128,128]; axis=-1", "T[1,1000]; axis=-1", "T[1,64,32000]; axis=-1"}},
    {"Softmax#channels", "float", {"T[1,21,128,128]; axis=1", "T[1,4,8400]; axis=1", "T[1,16,4,8400]; axis=1"}},
    {"LogSoftmax", "float double", {"T[1,1000]; axis=-1", "T[26,16,96]; axis=-1", "T[1,64,32000]; axis=-1"}},
    {"Hardmax", "float", {"T[1,1000]; axis=-1", "T[128,128]; axis=-1", "T[64,32000]; axis=-1"}},
    {"TopK", "float double int64 int32", {"T[1,30000] int64![1]=100", "T[1,1000] int64![1]=5", "T[1,8400] int64![1]=300"}, "T int64"},
    {"TopK#smallest", "float", {"T[128,1024] int64![1]=8", "T[1,30000] int64![1]=1", "T[64,512] int64![1]=64"}, "T int64", "largest=0"},
    {"CumSum", "float double int32 int64", {"T[1,512] int64![]=1", "T[1,128,768] int64![]=1", "T[8,4096] int64![]=1"}},
    {"NonZero", "float int32 int64 bool", {"T[1,512]{0,2}", "T[128,128]{0,2}", "T[1,8400]{0,2}"}, "int64"},
    {"Unique", "float int64", {"T[1000]", "T[8400]", "T[100]"}, "T int64 int64 int64"},
    {"SoftmaxCrossEntropyLoss", "float", {"T[32,1000] int64[32]{0,1000}", "T[128,100] int64[128]{0,100}", "T[1,21,64,64] int64[1,64,64]{0,21}"}},
    {"NegativeLogLikelihoodLoss", "float", {"T[32,1000] int64[32]{0,1000}", "T[128,100] int64[128]{0,100}", "T[1,21,64,64] int64[1,64,64]{0,21}"}},
};
// clang-format on

}  // namespace

std::span<const OperatorRow> ReductionRows() { return kRows; }

}  // namespace epiphyte::operators
