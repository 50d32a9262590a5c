// Operators on 8-bit integers, float operators in QDQ form, and quantization itself.
#include "host/conformance/operators/sizes/operator_sizes.h"

namespace epiphyte::operators {
namespace {

// clang-format off
constexpr OperatorRow kRows[] = {
    {"QLinearConv#u8s8", "uint8", {"T[1,64,56,56] float![]=0.02 T![]=128 int8![64,64,3,3] float![64]{0.001,0.01} int8![64]{0,1} float![]=0.05 T![]=128 int32![64]", "T[1,256,14,14] float![]=0.02 T![]=128 int8![256,256,3,3] float![]=0.005 int8![]=0 float![]=0.05 T![]=128", "T[1,3,224,224] float![]=0.02 T![]=128 int8![64,3,3,3] float![]=0.005 int8![]=0 float![]=0.05 T![]=128 int32![64]"}, "T", "pads=[1,1,1,1]"},
    {"QLinearConv#u8u8", "uint8", {"T[1,64,56,56] float![]=0.02 T![]=128 T![64,64,3,3] float![]=0.005 T![]=120 float![]=0.05 T![]=128 int32![64]", "T[1,256,14,14] float![]=0.02 T![]=128 T![256,256,3,3] float![]=0.005 T![]=120 float![]=0.05 T![]=128", "T[1,32,112,112] float![]=0.02 T![]=0 T![32,32,3,3] float![]=0.005 T![]=120 float![]=0.05 T![]=128"}, "T", "pads=[1,1,1,1]"},
    {"QLinearConv#s8s8", "int8", {"T[1,64,56,56] float![]=0.02 T![]=3 T![64,64,3,3] float![64]{0.001,0.01} T![64]{0,1} float![]=0.05 T![]=-7 int32![64]", "T[1,256,14,14] float![]=0.02 T![]=0 T![256,256,3,3] float![]=0.005 T![]=0 float![]=0.05 T![]=0", "T[1,128,28,28] float![]=0.02 T![]=0 T![128,128,3,3] float![]=0.005 T![]=0 float![]=0.05 T![]=0"}, "T", "pads=[1,1,1,1]"},
    {"QLinearConv#1x1", "uint8", {"T[1,256,56,56] float![]=0.02 T![]=128 int8![64,256,1,1] float![]=0.005 int8![]=0 float![]=0.05 T![]=128 int32![64]", "T[1,512,14,14] float![]=0.02 T![]=128 int8![1024,512,1,1] float![]=0.005 int8![]=0 float![]=0.05 T![]=128 int32![1024]", "T[1,24,56,56] float![]=0.02 T![]=128 int8![144,24,1,1] float![]=0.005 int8![]=0 float![]=0.05 T![]=128 int32![144]"}},
    {"QLinearConv#depthwise", "uint8", {"T[1,96,112,112] float![]=0.02 T![]=128 int8![96,1,3,3] float![]=0.005 int8![]=0 float![]=0.05 T![]=128 int32![96]; group=96", "T[1,384,14,14] float![]=0.02 T![]=128 int8![384,1,3,3] float![]=0.005 int8![]=0 float![]=0.05 T![]=128 int32![384]; group=384", "T[1,144,56,56] float![]=0.02 T![]=128 int8![144,1,3,3] float![]=0.005 int8![]=0 float![]=0.05 T![]=128 int32![144]; group=144"}, "T", "pads=[1,1,1,1]"},
    {"QLinearMatMul#u8s8", "uint8", {"T[128,768] float![]=0.02 T![]=128 int8![768,768] float![]=0.005 int8![]=0 float![]=0.05 T![]=128", "T[1,1024] float![]=0.02 T![]=128 int8![1024,4096] float![]=0.005 int8![]=0 float![]=0.05 T![]=128", "T[197,384] float![]=0.02 T![]=128 int8![384,1152] float![]=0.005 int8![]=0 float![]=0.05 T![]=128"}},
    {"QLinearMatMul#same", "uint8 int8", {"T[128,768] float![]=0.02 T![]=3 T![768,768] float![]=0.005 T![]=5 float![]=0.05 T![]=7", "T[1,1024] float![]=0.02 T![]=3 T![1024,4096] float![]=0.005 T![]=5 float![]=0.05 T![]=7", "T[12,128,64] float![]=0.02 T![]=3 T[12,64,128] float![]=0.005 T![]=5 float![]=0.05 T![]=7"}},
    {"MatMulInteger#weights_s8", "uint8 int8", {"T[128,768] int8![768,3072] T![]=3 int8![]=0", "T[1,1024] int8![1024,4096] T![]=3 int8![]=0", "T[197,384] int8![384,1152] T![]=3 int8![]=0"}, "int32"},
    {"MatMulInteger#u8u8", "uint8", {"T[128,768] T![768,3072] T![]=128 T![]=120", "T[1,1024] T![1024,4096] T![]=128 T![]=120", "T[12,128,64] T[12,64,128] T![]=128 T![]=120"}, "int32"},
    {"ConvInteger#u8u8", "uint8", {"T[1,64,56,56] T![64,64,3,3] T![]=128 T![]=120", "T[1,256,14,14] T![256,256,3,3] T![]=128 T![]=120", "T[1,32,112,112] T![64,32,3,3] T![]=128 T![]=120"}, "int32", "pads=[1,1,1,1]"},
    {"ConvInteger#u8s8", "uint8", {"T[1,64,56,56] int8![64,64,3,3] T![]=128 int8![]=0", "T[1,256,14,14] int8![256,256,3,3] T![]=128 int8![]=0", "T[1,32,112,112] int8![64,32,3,3] T![]=128 int8![]=0"}, "int32", "pads=[1,1,1,1]"},
    {"QuantizeLinear", "uint8 int8", {"float[1,64,112,112] float![]=0.02 T![]=3", "float[1,128,768] float![]=0.02 T![]=3", "float[1,1000] float![]=0.02 T![]=3"}},
    {"QuantizeLinear#channels", "uint8 int8", {"float[1,64,56,56] float![64]{0.01,0.1} T![64]{0,9}", "float[64,64,3,3] float![64]{0.01,0.1} T![64]{0,9}; axis=0", "float[128,768] float![768]{0.01,0.1} T![768]{0,9}"}},
    {"DequantizeLinear", "uint8 int8", {"T[1,64,112,112] float![]=0.02 T![]=3", "T[1,128,768] float![]=0.02 T![]=3", "T[1,1000] float![]=0.02 T![]=3"}, "float"},
    {"DequantizeLinear#channels", "uint8 int8", {"T[1,64,56,56] float![64]{0.01,0.1} T![64]{0,9}", "T[64,64,3,3] float![64]{0.01,0.1} T![64]{0,9}; axis=0", "T[128,768] float![768]{0.01,0.1} T![768]{0,9}"}, "float"},
    {"DequantizeLinear#bias", "int32", {"T[64] float![]=0.0002", "T[1,64,56,56] float![]=0.0002", "T[1,128,768] float![]=0.0002"}, "float"},
    {"DynamicQuantizeLinear", "float", {"T[1,128,768]", "T[1,64,112,112]", "T[1,1024]"}, "uint8 float uint8"},
    {"QDQ/Conv#3x3", "uint8 int8", {"T[1,64,56,56] T![64,64,3,3] int32![64]", "T[1,256,14,14] T![256,256,3,3] int32![256]", "T[1,3,224,224] T![64,3,3,3] int32![64]"}, "T", "pads=[1,1,1,1]"},
    {"QDQ/Conv#1x1", "uint8 int8", {"T[1,256,56,56] T![64,256,1,1] int32![64]", "T[1,512,14,14] T![1024,512,1,1] int32![1024]", "T[1,24,56,56] T![144,24,1,1] int32![144]"}},
    {"QDQ/Conv#depthwise", "uint8 int8", {"T[1,96,112,112] T![96,1,3,3] int32![96]; group=96", "T[1,384,14,14] T![384,1,3,3] int32![384]; group=384", "T[1,144,56,56] T![144,1,3,3] int32![144]; group=144"}, "T", "pads=[1,1,1,1]"},
    {"QDQ/MatMul", "uint8 int8", {"T[128,768] T![768,768]", "T[1,1024] T![1024,4096]", "T[197,384] T![384,1152]"}},
    {"QDQ/MatMul#two_inputs", "uint8 int8", {"T[12,128,64] T[12,64,128]", "T[12,128,128] T[12,128,64]", "T[1,8,1,64] T[1,8,64,512]"}},
    {"QDQ/Gemm", "uint8", {"T[1,2048] T![1000,2048] int32![1000]", "T[64,512] T![256,512] int32![256]", "T[1,1280] T![1000,1280] int32![1000]"}, "T", "transB=1"},
    {"QDQ/Add QDQ/Mul", "uint8 int8", {"T[1,256,56,56] T[1,256,56,56]", "T[1,128,768] T[1,128,768]", "T[1,64,28,28] T[1,64,28,28]"}},
    {"QDQ/Relu QDQ/Sigmoid QDQ/Softmax", "uint8", {"T[1,64,56,56]", "T[1,128,768]", "T[1,1000]"}},
    {"QDQ/GlobalAveragePool", "uint8", {"T[1,2048,7,7]", "T[1,1280,7,7]", "T[1,96,56,56]"}},
    {"QDQ/AveragePool", "uint8", {"T[1,192,28,28]", "T[1,768,17,17]", "T[1,64,56,56]"}, "T", "kernel_shape=[3,3] pads=[1,1,1,1]"},
    {"QDQ/MaxPool", "uint8", {"T[1,64,112,112]", "T[1,192,28,28]", "T[1,64,56,56]"}, "T", "kernel_shape=[3,3] strides=[2,2]"},
    {"QDQ/Concat", "uint8", {"T[1,64,56,56] T[1,64,56,56]", "T[1,256,28,28] T[1,32,28,28]", "T[1,8,64,64] T[1,8,64,64]"}, "T", "axis=1"},
    {"QDQ/Transpose", "uint8", {"T[1,64,56,56]", "T[1,3,224,224]", "T[1,128,12,64]"}, "T", "perm=[0,2,1,3]"},
};
// clang-format on

}  // namespace

std::span<const OperatorRow> QuantizedRows() { return kRows; }

}  // namespace epiphyte::operators
