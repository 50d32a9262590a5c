# libonnx, as ONNX::onnx and ONNX::onnx_proto in the folder that includes this, and ONNX_VERSION. So they are called in
# release 1.17, which Debian 13 has; that of Debian 12, 1.12, calls them onnx and onnx_proto.
find_package(ONNX CONFIG REQUIRED)
foreach(library onnx onnx_proto)
  if(NOT TARGET ONNX::${library})
    add_library(ONNX::${library} ALIAS ${library})
  endif()
endforeach()
