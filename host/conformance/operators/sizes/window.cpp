// Pools, normalizations over feature maps, images and signals.
#include "host/conformance/operators/sizes/operator_sizes.h"

namespace epiphyte::operators {
namespace {

// clang-format off
constexpr OperatorRow kRows[] = {
    {"MaxPool#3x3s2", "float float16 double uint8 int8", {"T[1,64,112,112]", "T[1,192,28,28]", "T[4,64,56,56]"}, "T", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]"},
    {"MaxPool#2x2s2", "float double", {"T[1,64,224,224]", "T[1,128,56,56]", "T[1,32,80,80]"}, "T", "kernel_shape=[2,2] strides=[2,2]"},
    {"MaxPool#5x5", "float", {"T[1,256,20,20]", "T[1,128,40,40]", "T[1,512,13,13]"}, "T", "kernel_shape=[5,5] pads=[2,2,2,2]"},
    {"MaxPool#indices", "float", {"T[1,64,56,56]", "T[1,128,28,28]", "T[1,32,112,112]"}, "T int64", "kernel_shape=[2,2] strides=[2,2]"},
    {"MaxPool#1d", "float", {"T[1,256,1000]", "T[8,64,256]", "T[1,64,16000]"}, "T", "kernel_shape=[3] strides=[2]"},
    {"AveragePool#3x3", "float float16", {"T[1,192,28,28]", "T[1,768,17,17]", "T[1,64,56,56]"}, "T", "kernel_shape=[3,3] pads=[1,1,1,1]"},
    {"AveragePool#2x2s2", "float float16", {"T[1,128,56,56]", "T[1,256,28,28]", "T[1,512,14,14]"}, "T", "kernel_shape=[2,2] strides=[2,2]"},
    {"AveragePool#all", "float", {"T[1,2048,7,7]", "T[8,512,7,7]", "T[1,1280,7,7]"}, "T", "kernel_shape=[7,7]"},
    {"LpPool", "float", {"T[1,64,56,56]", "T[1,192,28,28]", "T[1,32,112,112]"}, "T", "kernel_shape=[2,2] strides=[2,2]"},
    {"GlobalAveragePool", "float float16", {"T[1,2048,7,7]", "T[1,1280,7,7]", "T[1,96,112,112]"}},
    {"GlobalMaxPool", "float float16", {"T[1,2048,7,7]", "T[1,1280,7,7]", "T[1,96,112,112]"}},
    {"GlobalLpPool", "float", {"T[1,2048,7,7]", "T[1,1280,7,7]", "T[1,96,112,112]"}},
    {"MaxUnpool", "float", {"T[1,64,28,28] int64[1,64,28,28]{0,200704}", "T[1,128,14,14] int64[1,128,14,14]{0,100352}", "T[1,32,56,56] int64[1,32,56,56]{0,401408}"}, "T", "kernel_shape=[2,2] strides=[2,2]"},
    {"MaxRoiPool", "float", {"T[1,256,38,50] T[100,5]{0,0.9}", "T[1,64,56,56] T[16,5]{0,0.9}", "T[1,512,14,14] T[50,5]{0,0.9}"}, "T", "pooled_shape=[7,7] spatial_scale=40.0"},
    {"RoiAlign", "float", {"T[1,256,50,50] T[100,4]{0,48} int64[100]{0,1}", "T[1,64,100,100] T[32,4]{0,90} int64[32]{0,1}", "T[1,256,14,14] T[16,4]{0,13} int64[16]{0,1}"}, "T", "output_height=7 output_width=7 sampling_ratio=2"},
    {"BatchNormalization", "float float16 double", {"T[1,64,112,112] T![64] T![64] T![64] T![64]{0.5,1.5}", "T[1,512,14,14] T![512] T![512] T![512] T![512]{0.5,1.5}", "T[32,256] T![256] T![256] T![256] T![256]{0.5,1.5}"}},
    {"InstanceNormalization", "float float16", {"T[1,64,56,56] T![64] T![64]", "T[1,32,128,128] T![32] T![32]", "T[1,256,16,16] T![256] T![256]"}},
    {"GroupNormalization@21", "float float16", {"T[1,320,64,64] T![320] T![320]", "T[1,128,56,56] T![128] T![128]", "T[1,512,16,16] T![512] T![512]"}, "T", "num_groups=32"},
    {"LayerNormalization", "float float16 double", {"T[1,128,768] T![768] T![768]", "T[1,197,384] T![384] T![384]", "T[1,1,4096] T![4096] T![4096]"}, "T", "axis=-1"},
    {"RMSNormalization@23", "float float16 double", {"T[1,128,768] T![768]", "T[1,64,2048] T![2048]", "T[1,1,4096] T![4096]"}, "T", "axis=-1"},
    {"LRN", "float", {"T[1,96,55,55]", "T[1,256,27,27]", "T[1,64,56,56]"}, "T", "size=5"},
    {"LpNormalization", "float double", {"T[1,512]", "T[100,128]", "T[1,64,56,56]"}, "T", "axis=1"},
    {"MeanVarianceNormalization", "float", {"T[1,64,56,56]", "T[1,3,224,224]", "T[4,32,28,28]"}, "T", "axes=[0,2,3]"},
    {"Resize#nearest", "float float16 uint8 int8", {"T[1,128,40,40] - float![4]=1,1,2,2", "T[1,64,56,56] - float![4]=1,1,2,2", "T[1,256,20,20] - float![4]=1,1,2,2"}, "T", "mode=nearest coordinate_transformation_mode=asymmetric nearest_mode=floor"},
    {"Resize#linear", "float float16 uint8", {"T[1,64,56,56] - float![4]=1,1,2,2", "T[1,3,480,640] - float![4]=1,1,0.5,0.5", "T[1,19,65,65] - float![4]=1,1,8,8"}, "T", "mode=linear coordinate_transformation_mode=half_pixel"},
    {"Resize#linear_corners", "float", {"T[1,64,56,56] - float![4]=1,1,2,2", "T[1,256,14,14] - float![4]=1,1,2,2", "T[1,21,33,33] - float![4]=1,1,4,4"}, "T", "mode=linear coordinate_transformation_mode=align_corners"},
    {"Resize#cubic", "float", {"T[1,3,128,128] - float![4]=1,1,2,2", "T[1,3,480,640] - float![4]=1,1,0.5,0.5", "T[1,1,224,224] - float![4]=1,1,1.5,1.5"}, "T", "mode=cubic"},
    {"Resize@18#antialias", "float", {"T[1,3,480,640] - float![4]=1,1,0.5,0.5", "T[1,3,512,512] - float![4]=1,1,0.4375,0.4375", "T[1,64,56,56] - float![4]=1,1,0.5,0.5"}, "T", "mode=linear antialias=1"},
    {"GridSample", "float", {"T[1,64,56,56] T[1,56,56,2]{-1,1}", "T[1,3,224,224] T[1,224,224,2]{-1,1}", "T[8,32,16,16] T[8,100,4,2]{-1,1}"}},
    {"AffineGrid@20", "float double", {"T[1,2,3] int64![4]=1,3,224,224", "T[8,2,3] int64![4]=8,3,64,64", "T[1,3,4] int64![5]=1,1,16,32,32"}},
    {"DepthToSpace", "float float16 uint8", {"T[1,256,28,28]", "T[1,64,112,112]", "T[1,48,90,160]"}, "T", "blocksize=4"},
    {"DepthToSpace#crd", "float", {"T[1,256,28,28]", "T[1,64,112,112]", "T[1,48,90,160]"}, "T", "blocksize=4 mode=CRD"},
    {"SpaceToDepth", "float", {"T[1,3,640,640]", "T[1,64,56,56]", "T[1,16,112,112]"}, "T", "blocksize=2"},
    {"Col2Im@18", "float", {"T[1,576,3136] int64![2]=56,56 int64![2]=3,3; pads=[1,1,1,1]", "T[1,147,784] int64![2]=28,28 int64![2]=7,7; pads=[3,3,3,3]", "T[4,144,196] int64![2]=14,14 int64![2]=3,3; pads=[1,1,1,1]"}},
    {"CenterCropPad@18", "float uint8", {"T[1,3,256,256] int64![4]=1,3,224,224", "T[3,480,640] int64![3]=3,512,512", "T[1,64,56,56] int64![4]=1,64,64,64"}},
    {"NonMaxSuppression", "float", {"T[1,1000,4]{0,1} T[1,1,1000]{0,1} int64![1]=100 float![1]=0.5 float![1]=0.3", "T[1,8400,4]{0,1} T[1,4,8400]{0,1} int64![1]=20 float![1]=0.45 float![1]=0.9", "T[1,100,4]{0,1} T[1,80,100]{0,1} int64![1]=10 float![1]=0.5 float![1]=0.5"}, "int64"},
    {"DFT", "float double", {"T[1,512,1]; onesided=1", "T[100,400,1]; onesided=1", "T[1,4096,2]"}, "T", "axis=1"},
    {"DFT@20#axis_input", "float", {"T[80,512,1] - int64![]=1; onesided=1", "T[1,16384,1] - int64![]=1", "T[8,1000,2] - int64![]=1"}},
    {"STFT", "float double", {"T[1,16000,1] int64![]=160 T![400] int64![]=400", "T[1,48000,1] int64![]=256 T![1024] int64![]=1024", "T[4,4000,1] int64![]=128 T![256] int64![]=256"}},
    {"HannWindow HammingWindow BlackmanWindow", "float", {"int64[]=400", "int64[]=1024", "int64[]=16384"}},
    {"MelWeightMatrix", "float", {"int64[]=80 int64[]=400 int64[]=16000 float[]=0 float[]=8000", "int64[]=128 int64[]=1024 int64[]=22050 float[]=0 float[]=8000", "int64[]=40 int64[]=512 int64[]=16000 float[]=20 float[]=4000"}},
};
// clang-format on

}  // namespace

std::span<const OperatorRow> WindowRows() { return kRows; }

}  // namespace epiphyte::operators
