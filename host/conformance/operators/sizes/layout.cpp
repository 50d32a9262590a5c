// Operators that move, select, repeat and make elements.
#include "host/conformance/operators/sizes/operator_sizes.h"

namespace epiphyte::operators {
namespace {

// clang-format off
constexpr OperatorRow kRows[] = {
    {"Transpose#heads", "float float16 double int64 uint8", {"T[1,128,12,64]; perm=[0,2,1,3]", "T[1,197,6,64]; perm=[0,2,1,3]", "T[8,64,32,64]; perm=[0,2,1,3]"}},
    {"Transpose#nchw_to_nhwc", "float float16 uint8", {"T[1,64,56,56]; perm=[0,2,3,1]", "T[1,3,224,224]; perm=[0,2,3,1]", "T[1,512,14,14]; perm=[0,2,3,1]"}},
    {"Transpose#nhwc_to_nchw", "float uint8", {"T[1,224,224,3]; perm=[0,3,1,2]", "T[1,480,640,3]; perm=[0,3,1,2]", "T[1,56,56,64]; perm=[0,3,1,2]"}},
    {"Transpose#matrix", "float double int8", {"T[768,768]; perm=[1,0]", "T[12,128,64]; perm=[0,2,1]", "T[1,84,8400]; perm=[0,2,1]"}},
    {"Concat#channels", "float float16 double int64 uint8", {"T[1,64,56,56] T[1,64,56,56]; axis=1", "T[1,256,28,28] T[1,32,28,28]; axis=1", "T[1,8,64,64] T[1,8,1,64]; axis=2"}},
    {"Concat#last", "float int64", {"T[1,128,32] T[1,128,32]; axis=-1", "T[1,8400,4] T[1,8400,80]; axis=-1", "T[1] T[1] T[1] T[1]; axis=0"}},
    {"Split", "float float16 int64", {"T[1,128,2304] int64![3]=768,768,768; axis=-1", "T[1,64,56,56] int64![3]=16,16,32; axis=1", "T[1,84,8400] int64![3]=4,40,40; axis=1"}, "T T T"},
    {"Slice", "float float16 double int32 int64 uint8 bool", {"T[1,64,112,112] int64![2]=0,0 int64![2]=56,56 int64![2]=2,3", "T[1,128,768] int64![1]=0 int64![1]=1 int64![1]=1", "T[1,12,512,512] int64![1]=0 int64![1]=128 int64![1]=3"}},
    {"Slice#steps", "float", {"T[1,3,640,640] int64![1]=0 int64![1]=640 int64![1]=3 int64![1]=2", "T[1,64,56,56] int64![2]=0,0 int64![2]=56,56 int64![2]=2,3 int64![2]=2,2", "T[1,128,64] int64![1]=-1 int64![1]=-1000 int64![1]=1 int64![1]=-1"}},
    {"Pad", "float float16 int64 uint8", {"T[1,64,56,56] int64![8]=0,0,1,1,0,0,1,1", "T[1,3,480,640] int64![8]=0,0,80,0,0,0,80,0", "T[1,100] int64![4]=0,0,0,28"}},
    {"Pad#reflect", "float", {"T[1,64,56,56] int64![8]=0,0,1,1,0,0,1,1", "T[1,16000] int64![4]=0,200,0,200", "T[1,3,256,256] int64![8]=0,0,3,3,0,0,3,3"}, "T", "mode=reflect"},
    {"Pad#edge", "float", {"T[1,64,56,56] int64![8]=0,0,1,1,0,0,1,1", "T[1,16000] int64![4]=0,200,0,200", "T[1,3,256,256] int64![8]=0,0,3,3,0,0,3,3"}, "T", "mode=edge"},
    {"Reshape", "float int64", {"T[1,128,768] int64![4]=1,128,12,64", "T[1,64,56,56] int64![3]=1,64,3136", "T[1,12] int64![1]=12"}},
    {"Flatten", "float", {"T[1,2048,7,7]", "T[1,512,1,1]", "T[8,256,6,6]"}},
    {"Squeeze", "float", {"T[1,2048,1,1] int64![2]=2,3", "T[1,128,768] int64![1]=0", "T[1,1,512,512] int64![1]=1"}},
    {"Unsqueeze", "float int64", {"T[1,128] int64![2]=1,2", "T[128,768] int64![1]=0", "T[512,512] int64![2]=0,1"}},
    {"Expand", "float float16 int64 bool", {"T[1,1,1,128] int64![4]=1,12,128,128", "T[1,64,1,1] int64![4]=1,64,56,56", "T[1,8,1,64,64] int64![5]=1,8,4,64,64"}},
    {"Tile", "float double int64 uint8", {"T[1,1,128,64] int64![4]=1,12,1,1", "T[1,64,1,1] int64![4]=1,1,56,56", "T[1,128] int64![2]=4,1"}},
    {"Gather#embedding", "float float16 double", {"T![30522,768] int64[1,128]{0,30522}", "T![5000,128] int64[40,1]{0,5000}", "T![512,768] int64[1,128]{0,512}"}},
    {"Gather#axis", "float int64", {"T[1,128,768] int64![]=0; axis=1", "T[1,64,56,56] int64[32]{0,64}; axis=1", "T[4] int64![]=2; axis=0"}},
    {"GatherElements", "float double int64", {"T[1,8400,4] int64[1,300,4]{0,8400}; axis=1", "T[128,768] int64[128,768]{0,768}; axis=1", "T[1,12,128,128] int64[1,12,128,128]{0,128}; axis=3"}},
    {"GatherND", "float int64", {"T[64,56,56] int64[1000,2]{0,56}", "T[1,8400,4] int64[1,300,1]{0,8400}; batch_dims=1", "T[128,768] int64[128,2]{0,128}"}},
    {"ScatterElements", "float double int64", {"T[1,8400] int64[1,300]{0,8400} T[1,300]; axis=1", "T[128,768] int64[128,64]{0,768} T[128,64]; axis=1", "T[1,12,128,128] int64[1,12,128,8]{0,128} T[1,12,128,8]; axis=3"}},
    {"ScatterElements@18#add", "float", {"T[1,8400] int64[1,300]{0,8400} T[1,300]; axis=1", "T[128,768] int64[128,64]{0,768} T[128,64]; axis=1", "T[1,1000] int64[1,1000]{0,1000} T[1,1000]; axis=1"}, "T", "reduction=add"},
    {"ScatterND", "float double int64", {"T[1,64,512] int64[1,2]{0,1} T[1,512]", "T[1000,64] int64[100,1]{0,1000} T[100,64]", "T[64,56,56] int64[500,3]{0,56} T[500]"}},
    {"TensorScatter@24", "float", {"T[1,8,512,64] T[1,8,1,64] int64[1]{0,500}; axis=2", "T[4,8,128,64] T[4,8,1,64] int64[4]{0,100}; axis=2", "T[1,4,64,32] T[1,4,8,32] int64[1]{0,50}; axis=2"}},
    {"OneHot", "float int64", {"int64[1,128]{0,1000} int64![]=1000 T![2]=0,1", "int64[32]{0,10} int64![]=10 T![2]=0,1", "int64[1,64,64]{0,21} int64![]=21 T![2]=0,1"}},
    {"Compress", "float int64", {"T[1000,4] bool[1000]; axis=0", "T[8400,84] bool[8400]; axis=0", "T[128,128] bool[128]; axis=1"}},
    {"Trilu", "float int64 bool", {"T[1,1,128,128] int64![]=1", "T[512,512] int64![]=1", "T[12,64,64] int64![]=0"}},
    {"EyeLike", "float int64", {"T[128,128]", "T[512,512]", "T[16,16]"}},
    {"Range", "float int64 int32", {"T[]=0 T[]=128 T[]=1", "T[]=0 T[]=8400 T[]=1", "T[]=0 T[]=16 T[]=1"}},
    {"ConstantOfShape#float", "float", {"int64[3]=1,128,768", "int64[4]=1,64,56,56", "int64[1]=128"}},
    {"ReverseSequence", "float", {"T[40,4,128] int64[4]{10,40}", "T[100,8,64] int64[8]{10,100}", "T[26,16,512] int64[16]{10,26}"}, "T", "batch_axis=1 time_axis=0"},
    {"Shape", "float", {"T[1,64,56,56]", "T[1,128,768]", "T[1,128]"}, "int64"},
    {"Size", "float", {"T[1,64,56,56]", "T[1,128,768]", "T[1,128]"}, "int64"},
    {"RandomNormalLike RandomUniformLike", "float", {"T[1,4,64,64]", "T[1,64,56,56]", "T[1,128]"}},
    {"Bernoulli", "float", {"T[1,4,64,64]{0,1}", "T[1,64,56,56]{0,1}", "T[1,128]{0,1}"}},
    {"Multinomial", "float", {"T[1,1000]; sample_size=1", "T[8,30000]; sample_size=1", "T[1,100]; sample_size=16"}, "int32"},
};
// clang-format on

}  // namespace

std::span<const OperatorRow> LayoutRows() { return kRows; }

}  // namespace epiphyte::operators
