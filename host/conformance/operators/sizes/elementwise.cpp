// Element-wise functions, arithmetic, comparisons, selections and casts.
#include "host/conformance/operators/sizes/operator_sizes.h"

namespace epiphyte::operators {
namespace {

// clang-format off
constexpr OperatorRow kRows[] = {
    {"Relu Sigmoid Tanh", "float float16 double", {"T[1,64,112,112]", "T[1,128,768]", "T[1,1000]"}},
    {"Exp Abs Neg", "float float16 double", {"T[1,64,56,56]", "T[1,128,3072]", "T[1,1000]"}},
    {"Erf", "float float16", {"T[1,64,56,56]", "T[1,128,3072]", "T[1,1000]"}},
    {"LeakyRelu Elu HardSigmoid HardSwish Softplus", "float float16", {"T[1,64,56,56]", "T[1,128,768]", "T[1,1000]"}},
    {"LeakyRelu", "double", {"T[1,64,56,56]", "T[1,128,768]", "T[1,1000]"}},
    {"Selu Celu ThresholdedRelu Softsign Mish@18 Shrink", "float", {"T[1,64,56,56]", "T[1,128,768]", "T[1,1000]"}},
    {"Gelu@20", "float float16", {"T[1,128,3072]", "T[1,197,1536]", "T[1,1,4096]"}},
    {"Gelu@20#tanh", "float float16", {"T[1,128,3072]", "T[1,197,1536]", "T[1,1,4096]"}, "T", "approximate=tanh"},
    {"Swish@24", "float", {"T[1,64,112,112]", "T[1,64,2048]", "T[1,1,8192]"}},
    {"Sqrt Log", "float float16 double", {"T[1,64,56,56]{0.1,4}", "T[1,128,768]{0.1,4}", "T[1,1000]{0.1,4}"}},
    {"Reciprocal", "float double", {"T[1,64,56,56]{0.1,4}", "T[1,128,768]{0.1,4}", "T[1,1000]{0.1,4}"}},
    {"Sin Cos", "float double", {"T[1,128,768]", "T[1,64,56,56]", "T[1,1,64]"}},
    {"Tan Asin Acos Atan Sinh Cosh Asinh Atanh", "float", {"T[1,128,768]{-0.9,0.9}", "T[1,64,56,56]{-0.9,0.9}", "T[1,1000]{-0.9,0.9}"}},
    {"Acosh", "float", {"T[1,128,768]{1,4}", "T[1,64,56,56]{1,4}", "T[1,1000]{1,4}"}},
    {"Floor Ceil Round", "float double", {"T[1,64,56,56]", "T[1,128,768]", "T[1,1000]"}},
    {"Sign", "float int64", {"T[1,64,56,56]", "T[1,128,768]", "T[1,1000]"}},
    {"Abs Neg", "int32 int64 int8", {"T[1,64,56,56]", "T[1,128,768]", "T[1,512]"}},
    {"Relu", "int8 int32", {"T[1,64,56,56]", "T[1,128,768]", "T[1,512]"}},
    {"Not", "bool", {"T[1,1,512,512]", "T[1,12,128,128]", "T[1,128]"}},
    {"IsNaN", "float float16 double", {"T[1,64,56,56]", "T[1,128,768]", "T[1,1000]"}, "bool"},
    {"IsInf", "float double", {"T[1,64,56,56]", "T[1,128,768]", "T[1,1000]"}, "bool"},
    {"BitwiseNot@18", "int32 uint8", {"T[1,64,56,56]", "T[1,128,768]", "T[1,512]"}},

    {"Add", "float float16 double int32 int64", {"T[1,64,112,112] T[1,64,112,112]", "T[1,128,768] T[1,128,768]", "T[1,1000] T[1,1000]"}},
    {"Add#bias", "float float16 double", {"T[1,128,768] T![768]", "T[1,64,56,56] T![64,1,1]", "T[12,128,128] T[1,128,128]"}},
    {"Add#scalar", "float int64", {"T[1,128,768] T![]=3", "T[1,64,56,56] T![]=3", "T[1,512] T![]=3"}},
    {"Mul", "float float16 double int32 int64", {"T[1,64,56,56] T[1,64,56,56]", "T[1,128,3072] T[1,128,3072]", "T[1,512] T[1,512]"}},
    {"Mul#channel", "float float16", {"T[1,96,56,56] T[1,96,1,1]", "T[1,672,14,14] T[1,672,1,1]", "T[1,128,768] T[1,128,1]"}},
    {"Sub", "float float16 double int32 int64", {"T[1,64,56,56] T[1,64,56,56]", "T[1,128,768] T[1,128,1]", "T[1,512] T[512]"}},
    {"Div", "float float16 double int32 int64", {"T[1,64,56,56] T[1,64,56,56]{1,9}", "T[1,128,768] T[1,128,1]{1,9}", "T[1,512] T![]=7"}},
    {"Pow#square", "float double", {"T[1,128,768] T![]=2", "T[1,64,56,56] T![]=2", "T[1,1000] T![]=2"}},
    {"Pow#cube", "float", {"T[1,128,3072] T![]=3", "T[1,64,56,56] T![]=3", "T[1,1000] T![]=3"}},
    {"Pow#any", "float double", {"T[1,128,768]{0.1,3} T[1,128,768]{-2,2}", "T[1,64,56,56]{0.1,3} T![]=0.45", "T[1,1000]{0.1,3} T[1]{-2,2}"}},
    {"Mod", "int32 int64", {"T[1,64,56,56] T[1,64,56,56]{1,9}", "T[1,128,768] T![]=7", "T[1,512] T![]=7"}},
    {"Mod#fmod", "float", {"T[1,64,56,56] T[1,64,56,56]{1,9}", "T[1,128,768] T![]=7", "T[1,512] T![]=7"}, "T", "fmod=1"},
    {"Max Min", "float float16 double int32 int64", {"T[1,64,56,56] T[1,64,56,56]", "T[1,128,768] T![]=1", "T[1,512] T[512]"}},
    {"Sum", "float double", {"T[1,256,56,56] T[1,256,56,56]", "T[1,64,56,56] T[1,64,56,56] T[1,64,56,56]", "T[1,128,768] T[1,128,768]"}},
    {"Mean", "float", {"T[1,64,56,56] T[1,64,56,56]", "T[1,128,768] T[1,128,768] T[1,128,768]", "T[1,1000] T[1,1000]"}},
    {"PRelu", "float", {"T[1,64,112,112] T![64,1,1]", "T[1,128,28,28] T![128,1,1]", "T[1,512] T![512]"}},
    {"Clip", "float float16 double int32 int8", {"T[1,96,112,112] T![]=0 T![]=6", "T[1,128,768] T![]=-1 T![]=1", "T[1,1000] T![]=0 T![]=1"}},
    {"BitShift", "uint8 uint32 uint64", {"T[1,64,56,56] T[1,64,56,56]{0,7}", "T[1,128,768] T![]=3", "T[1,512] T![]=3"}, "T", "direction=LEFT"},
    {"BitwiseAnd@18 BitwiseOr@18 BitwiseXor@18", "int32 uint8", {"T[1,64,56,56] T[1,64,56,56]", "T[1,128,768] T![]=3", "T[1,512] T[512]"}},
    {"And Or Xor", "bool", {"T[1,12,128,128] T[1,12,128,128]", "T[1,1,512,512] T[1,1,1,512]", "T[1,128] T[1,128]"}},
    {"Equal", "float double int32 int64 bool", {"T[1,64,56,56] T[1,64,56,56]", "T[1,128,768] T![]=1", "T[1,512] T[512]"}, "bool"},
    {"Greater Less", "float double int32 int64", {"T[1,64,56,56] T[1,64,56,56]", "T[1,128,768] T![]=1", "T[1,512] T[512]"}, "bool"},
    {"GreaterOrEqual LessOrEqual", "float int64", {"T[1,64,56,56] T[1,64,56,56]", "T[1,128,768] T![]=1", "T[1,512] T[512]"}, "bool"},
    {"Where", "float float16 double int32 int64 uint8", {"bool[1,12,128,128] T[1,12,128,128] T[1,12,128,128]", "bool[1,1,512,512] T[1,1,512,512] T[1,1,512,512]", "bool[1,128] T[1,128] T[1,128]"}},
    {"Where#scalar", "float float16 int64", {"bool[1,1,128,128] T[1,12,128,128] T![]=-100", "bool[1,1,1,512] T![]=0 T[1,8,512,512]", "bool[1,64] T![]=0 T[1,64]"}},

    {"Cast#to_float", "float16 double int32 int64 uint8 int8 bool", {"T[1,64,112,112]", "T[1,128,768]", "T[1,128]"}, "float", "to=1"},
    {"Cast#to_float16", "float double int64", {"T[1,64,112,112]", "T[1,128,768]", "T[1,1000]"}, "float16", "to=10"},
    {"Cast#to_double", "float int64", {"T[1,64,56,56]", "T[1,128,768]", "T[1,1000]"}, "double", "to=11"},
    {"Cast#to_int64", "float int32 uint8 bool", {"T[1,64,56,56]", "T[1,128,768]", "T[1,128]"}, "int64", "to=7"},
    {"Cast#to_int32", "float int64 bool", {"T[1,64,56,56]", "T[1,128,768]", "T[1,128]"}, "int32", "to=6"},
    {"Cast#to_uint8", "float int32", {"T[1,3,224,224]{0,200}", "T[1,3,480,640]{0,200}", "T[1,1000]{0,200}"}, "uint8", "to=2"},
    {"Cast#to_bool", "float int64", {"T[1,64,56,56]", "T[1,1,512,512]", "T[1,128]"}, "bool", "to=9"},
    {"Identity", "float int64", {"T[1,64,112,112]", "T[1,128,768]", "T[1,128]"}},
    {"Dropout", "float", {"T[1,64,112,112]", "T[1,128,768]", "T[1,4096]"}},
};
// clang-format on

}  // namespace

std::span<const OperatorRow> ElementwiseRows() { return kRows; }

}  // namespace epiphyte::operators
