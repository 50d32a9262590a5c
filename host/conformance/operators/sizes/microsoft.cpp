// Operators of com.microsoft, as exporters and optimisers write them.
#include "host/conformance/operators/sizes/operator_sizes.h"

namespace epiphyte::operators {
namespace {

// clang-format off
constexpr OperatorRow kRows[] = {
    {"com.microsoft:MatMulNBits#4", "float float16", {"T[1,2048] uint8![5632,64,16] T![5632,64]{0.001,0.01}; K=2048 N=5632", "T[64,2048] uint8![2048,64,16] T![2048,64]{0.001,0.01}; K=2048 N=2048", "T[1,1024] uint8![1024,32,16] T![1024,32]{0.001,0.01}; K=1024 N=1024"}, "T", "bits=4 block_size=32"},
    {"com.microsoft:MatMulNBits#4_zero_points", "float", {"T[1,2048] uint8![5632,16,64] T![5632,16]{0.001,0.01} uint8![5632,8]; K=2048 N=5632", "T[64,2048] uint8![2048,16,64] T![2048,16]{0.001,0.01} uint8![2048,8]; K=2048 N=2048", "T[1,1024] uint8![1024,8,64] T![1024,8]{0.001,0.01} uint8![1024,4]; K=1024 N=1024"}, "T", "bits=4 block_size=128"},
    {"com.microsoft:MatMulNBits#4_by_bytes", "float", {"T[1,2048] uint8![8192,64,16] T![8192,64]{0.001,0.01}; K=2048 N=8192", "T[128,2048] uint8![2048,64,16] T![2048,64]{0.001,0.01}; K=2048 N=2048", "T[1,1024] uint8![1024,32,16] T![1024,32]{0.001,0.01}; K=1024 N=1024"}, "T", "bits=4 block_size=32 accuracy_level=4"},
    {"com.microsoft:MatMulNBits#8", "float", {"T[1,2048] uint8![2048,64,32] T![2048,64]{0.001,0.01}; K=2048 N=2048", "T[64,1024] uint8![1024,32,32] T![1024,32]{0.001,0.01}; K=1024 N=1024", "T[1,1024] uint8![1024,32,32] T![1024,32]{0.001,0.01}; K=1024 N=1024"}, "T", "bits=8 block_size=32"},
    {"com.microsoft:GatherBlockQuantized", "float", {"uint8![16000,1024] int64[1,64]{0,16000} T![16000,64]{0.001,0.01}", "uint8![32000,1024] int64[1,1]{0,32000} T![32000,64]{0.001,0.01}", "uint8![5000,128] int64[1,128]{0,5000} T![5000,8]{0.001,0.01}"}, "T", "bits=4 block_size=32 quantize_axis=1"},
    {"com.microsoft:FusedConv", "float", {"T[1,64,56,56] T![64,64,3,3] T![64]", "T[1,256,14,14] T![256,256,3,3] T![256]", "T[1,16,160,160] T![32,16,3,3] T![32]"}, "T", "pads=[1,1,1,1] activation=Relu"},
    {"com.microsoft:FusedMatMul", "float", {"T[128,768] T![768,3072]", "T[12,128,64] T[12,64,128]", "T[1,1024] T![1024,4096]"}, "T", "alpha=0.125"},
    {"com.microsoft:FusedGemm", "float", {"T[64,512] T![512,256] T![256]", "T[1,1536] T![1536,128] T![128]", "T[32,128] T![128,64] T![64]"}, "T", "activation=Relu"},
    {"com.microsoft:Gelu com.microsoft:FastGelu com.microsoft:QuickGelu", "float", {"T[1,128,3072]", "T[1,197,1536]", "T[1,1,4096]"}},
    {"com.microsoft:BiasGelu", "float", {"T[1,128,3072] T![3072]", "T[1,197,1536] T![1536]", "T[1,1,4096] T![4096]"}},
    {"com.microsoft:SkipLayerNormalization", "float", {"T[1,128,768] T[1,128,768] T![768] T![768] T![768]", "T[1,197,384] T[1,197,384] T![384] T![384]", "T[1,1,4096] T[1,1,4096] T![4096] T![4096]"}},
    {"SimplifiedLayerNormalization", "float", {"T[1,128,768] T![768]", "T[1,64,2048] T![2048]", "T[1,1,4096] T![4096]"}},
    {"com.microsoft:SkipSimplifiedLayerNormalization", "float", {"T[1,128,768] T[1,128,768] T![768]", "T[1,64,2048] T[1,64,2048] T![2048]", "T[1,1,4096] T[1,1,4096] T![4096]"}, "T - - T"},
    {"com.microsoft:EmbedLayerNormalization", "float", {"int32[1,128]{0,30522} int32[1,128]{0,2} T![30522,768] T![512,768] T![2,768] T![768] T![768]", "int32[8,32]{0,5000} int32[8,32]{0,2} T![5000,256] T![512,256] T![2,256] T![256] T![256]", "int32[1,16]{0,5000} int32[1,16]{0,2} T![5000,384] T![512,384] T![2,384] T![384] T![384]"}, "T int32"},
    {"com.microsoft:Attention", "float", {"T[1,128,768] T![768,2304]{-0.05,0.05} T![2304]; num_heads=12", "T[1,197,384] T![384,1152]{-0.05,0.05} T![1152]; num_heads=6", "T[8,32,256] T![256,768]{-0.05,0.05} T![768]; num_heads=4"}},
    {"com.microsoft:MultiHeadAttention", "float", {"T[1,128,768] T[1,128,768] T[1,128,768]; num_heads=12", "T[1,197,384] T[1,197,384] T[1,197,384]; num_heads=6", "T[1,1,512] T[1,64,512] T[1,64,512]; num_heads=8"}},
    {"com.microsoft:GroupQueryAttention", "float", {"T[1,1,1024] T[1,1,256] T[1,1,256] T[1,4,512,64] T[1,4,512,64] int32[1,1]=511 int32![]=512; num_heads=16 kv_num_heads=4", "T[1,64,1024] T[1,64,256] T[1,64,256] T[1,4,64,64] T[1,4,64,64] int32[1,1]=63 int32![]=64; num_heads=16 kv_num_heads=4", "T[1,1,2048] T[1,1,512] T[1,1,512] T[1,8,128,64] T[1,8,128,64] int32[1,1]=127 int32![]=128; num_heads=32 kv_num_heads=8"}, "T T T"},
    {"com.microsoft:RotaryEmbedding", "float", {"T[1,12,128,64] int64[1]=0 T[128,32] T[128,32]", "T[1,32,1,128] int64[1]=100 T[512,64] T[512,64]", "T[4,8,64,64] int64[1]=0 T[64,32] T[64,32]"}},
    {"com.microsoft:DynamicQuantizeMatMul", "float", {"T[128,768] int8![768,3072] float![]=0.005 int8![]=0", "T[1,1024] int8![1024,4096] float![]=0.005 int8![]=0", "T[197,384] int8![384,1152] float![]=0.005 int8![]=0"}},
    {"com.microsoft:MatMulIntegerToFloat", "float", {"uint8[128,768] int8![768,3072] float[]=0.02 float![]=0.005 uint8[]=128", "uint8[1,1024] int8![1024,4096] float[]=0.02 float![]=0.005 uint8[]=128", "uint8[197,384] int8![384,1152] float[]=0.02 float![]=0.005 uint8[]=128"}},
    {"com.microsoft:QLinearAdd com.microsoft:QLinearMul", "uint8 int8", {"T[1,256,56,56] float![]=0.02 T![]=3 T[1,256,56,56] float![]=0.03 T![]=5 float![]=0.05 T![]=7", "T[1,128,768] float![]=0.02 T![]=3 T[1,128,768] float![]=0.03 T![]=5 float![]=0.05 T![]=7", "T[1,64,28,28] float![]=0.02 T![]=3 T[1,64,28,28] float![]=0.03 T![]=5 float![]=0.05 T![]=7"}},
    {"com.microsoft:QLinearSigmoid com.microsoft:QLinearLeakyRelu", "uint8 int8", {"T[1,64,56,56] float![]=0.02 T![]=3 float![]=0.004 T![]=7", "T[1,128,768] float![]=0.02 T![]=3 float![]=0.004 T![]=7", "T[1,1000] float![]=0.02 T![]=3 float![]=0.004 T![]=7"}},
    {"com.microsoft:QLinearAveragePool", "uint8", {"T[1,192,28,28] float![]=0.02 T![]=3 float![]=0.02 T![]=7", "T[1,768,17,17] float![]=0.02 T![]=3 float![]=0.02 T![]=7", "T[1,64,56,56] float![]=0.02 T![]=3 float![]=0.02 T![]=7"}, "T", "kernel_shape=[3,3]"},
    {"com.microsoft:QLinearGlobalAveragePool", "uint8", {"T[1,2048,7,7] float![]=0.02 T![]=3 float![]=0.02 T![]=7", "T[1,1280,7,7] float![]=0.02 T![]=3 float![]=0.02 T![]=7", "T[1,96,56,56] float![]=0.02 T![]=3 float![]=0.02 T![]=7"}, "T", "channels_last=0"},
    {"com.microsoft:QLinearSoftmax", "uint8", {"T[1,12,128,128] float![]=0.02 T![]=3 float![]=0.004 T![]=0", "T[1,1000] float![]=0.02 T![]=3 float![]=0.004 T![]=0", "T[64,512] float![]=0.02 T![]=3 float![]=0.004 T![]=0"}, "T", "axis=-1 opset=13"},
    {"com.microsoft:QLinearConcat", "uint8", {"float![]=0.02 T![]=3 T[1,64,56,56] float![]=0.03 T![]=5 T[1,64,56,56] float![]=0.02 T![]=3", "float![]=0.02 T![]=3 T[1,256,28,28] float![]=0.03 T![]=5 T[1,32,28,28] float![]=0.02 T![]=3", "float![]=0.02 T![]=3 T[1,8,64,64] float![]=0.03 T![]=5 T[1,8,64,64] float![]=0.02 T![]=3"}, "T", "axis=1"},
    {"com.microsoft:QGemm", "uint8", {"T[64,512] float![]=0.02 T![]=3 int8![512,256] float![]=0.005 int8![]=0 int32![256] float![]=0.05 T![]=7", "T[1,1536] float![]=0.02 T![]=3 int8![1536,128] float![]=0.005 int8![]=0 int32![128] float![]=0.05 T![]=7", "T[32,128] float![]=0.02 T![]=3 int8![128,64] float![]=0.005 int8![]=0 int32![64] float![]=0.05 T![]=7"}},
    {"com.microsoft:NhwcMaxPool", "uint8 int8", {"T[1,112,112,64]", "T[1,28,28,192]", "T[1,56,56,64]"}, "T", "kernel_shape=[3,3] strides=[2,2]"},
    {"com.microsoft:QuantizeLinear", "uint8", {"float[1,64,112,112] float![]=0.02 T![]=3", "float[1,128,768] float![]=0.02 T![]=3", "float[1,1000] float![]=0.02 T![]=3"}},
    {"com.microsoft:DequantizeLinear", "uint8", {"T[1,64,112,112] float![]=0.02 T![]=3", "T[1,128,768] float![]=0.02 T![]=3", "T[1,1000] float![]=0.02 T![]=3"}, "float"},
};
// clang-format on

}  // namespace

std::span<const OperatorRow> MicrosoftRows() { return kRows; }

}  // namespace epiphyte::operators
