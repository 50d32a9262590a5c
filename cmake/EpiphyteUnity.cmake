# The preset `release` compiles several files of a folder as one (CMAKE_UNITY_BUILD), which takes a quarter of the time,
# because common headers are read once. The preset `debug` compiles every file alone, so that each one includes what it
# uses. A new file changes the units of its folder only.

# The most files of a unit. A changed file compiles its whole unit.
set(EPIPHYTE_UNITY_FILES 8)

# Groups the files of a target by folder. A folder's files are spread evenly over as few units as hold them.
function(epiphyte_group_by_folder target)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  set(folders "")
  foreach(source IN LISTS sources)
    if(NOT source MATCHES "\\.cpp$" OR source MATCHES "^\\$<")
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} NORMALIZE)
    cmake_path(GET source PARENT_PATH of)
    list(APPEND folders ${of})
    list(APPEND "files_of_${of}" ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(of IN LISTS folders)
    set(files ${files_of_${of}})
    list(SORT files)
    list(LENGTH files count)
    math(EXPR units "(${count} + ${EPIPHYTE_UNITY_FILES} - 1) / ${EPIPHYTE_UNITY_FILES}")
    cmake_path(RELATIVE_PATH of BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE name)
    string(MAKE_C_IDENTIFIER ${name} name)
    set(number 0)
    foreach(file IN LISTS files)
      math(EXPR unit "${number} * ${units} / ${count} + 1")
      set_property(SOURCE ${file} TARGET_DIRECTORY ${target} PROPERTY UNITY_GROUP ${name}_${unit})
      math(EXPR number "${number} + 1")
    endforeach()
  endforeach()
  set_property(TARGET ${target} PROPERTY UNITY_BUILD_MODE GROUP)
endfunction()

function(epiphyte_group_all_by_folder folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "EXECUTABLE|LIBRARY" AND NOT type STREQUAL "INTERFACE_LIBRARY")
      epiphyte_group_by_folder(${target})
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    epiphyte_group_all_by_folder(${below})
  endforeach()
endfunction()
if(CMAKE_UNITY_BUILD)
  epiphyte_group_all_by_folder(${PROJECT_SOURCE_DIR})
endif()

# The files below are compiled alone, because a name of their unnamed namespace exists in another file of their unit, too.
#
# epiphyte_compile_alone(TARGET FILE...): relative to the project's folder.
function(epiphyte_compile_alone target)
  if(NOT TARGET ${target})
    return()
  endif()
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/)
  set_property(SOURCE ${ARGN} TARGET_DIRECTORY ${target} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

epiphyte_compile_alone(abi_tests
  tests/abi/task_test.cpp)
epiphyte_compile_alone(broken_sdk
  tests/npu/broken_sdk/fault_blob.cpp tests/npu/broken_sdk/fault_library.cpp tests/npu/broken_sdk/fault_run.cpp)
epiphyte_compile_alone(context_tests
  tests/context/complaints_test.cpp tests/context/options_determinism_test.cpp tests/context/options_loading_test.cpp
  tests/context/options_matrix_test.cpp tests/context/options_test.cpp tests/context/plain_nodes_test.cpp
  tests/context/store_test.cpp)
epiphyte_compile_alone(cpu_tests
  tests/cpu/exec/plan_gemm_test.cpp tests/cpu/exec/plan_late_test.cpp tests/cpu/exec/plan_recognition_test.cpp
  tests/cpu/exec/plan_verify_test.cpp tests/cpu/exec/plan_warm_up_test.cpp tests/cpu/kernel/blocked_product_test.cpp
  tests/cpu/kernel/small_floats_test.cpp tests/cpu/onednn/bfloat16_layouts_test.cpp
  tests/cpu/onednn/bfloat16_products_test.cpp tests/cpu/onednn/small_weights_test.cpp
  tests/cpu/onednn/split_products_test.cpp tests/cpu/ops/math/float_types_test.cpp
  tests/cpu/ops/math/reduction_test.cpp tests/cpu/ops/nn/bfloat16_attention_test.cpp
  tests/cpu/ops/nn/conv_transpose_test.cpp tests/cpu/ops/nn/depthwise_conv_test.cpp tests/cpu/ops/nn/window_test.cpp
  tests/cpu/ops/quantized/byte_layout_test.cpp tests/cpu/ops/quantized/matmul_nbits_test.cpp)
epiphyte_compile_alone(epiphyte
  host/api/graph_state.cpp)
epiphyte_compile_alone(epiphyte_cli
  host/cli/inspect.cpp host/cli/policy.cpp)
epiphyte_compile_alone(epiphyte_conformance
  host/conformance/checks/check_device_memory.cpp host/conformance/debug_host/debug_context.cpp)
epiphyte_compile_alone(epiphyte_core
  core/abi/host_info.cpp core/abi/profile.cpp core/onnx/microsoft/grouped_attention.cpp core/onnx/overlay/types.cpp
  core/registry/exports.cpp core/registry/manifest.cpp)
epiphyte_compile_alone(epiphyte_cpu
  plugins/cpu/ops/math/einsum_product.cpp plugins/cpu/ops/nn/conv_transpose.cpp
  plugins/cpu/ops/quantized/byte_weights.cpp plugins/cpu/ops/quantized/integer_matmul.cpp)
epiphyte_compile_alone(epiphyte_cpu_images
  plugins/cpu/images/tiff.cpp)
epiphyte_compile_alone(epiphyte_kit
  plugin_api/kit/epiphyte/kit/graph/import.cpp plugin_api/kit/epiphyte/kit/graph/text_read.cpp
  plugin_api/kit/epiphyte/kit/memory/weight_arena.cpp)
epiphyte_compile_alone(epiphyte_npu
  plugins/npu/client/context.cpp plugins/npu/client/sdk.cpp plugins/npu/graph/pools.cpp)
epiphyte_compile_alone(epiphyte_npusim_objects
  plugins/npu/simulator/blob/reader.cpp plugins/npu/simulator/compiler/image_layer.cpp
  plugins/npu/simulator/compiler/lower_array.cpp)
epiphyte_compile_alone(epiphyte_test_models
  tests/models/text_recogniser.cpp tests/models/variants/tensorflow.cpp tests/models/vit.cpp tests/models/whisper.cpp)
epiphyte_compile_alone(epiphyte_vulkan
  plugins/vulkan/ops/coop_tiles.cpp plugins/vulkan/ops/move/mapped_copy.cpp
  plugins/vulkan/ops/quantized/integer_matmul.cpp plugins/vulkan/ops/quantized/quads.cpp
  plugins/vulkan/ops/recurrent/recurrent.cpp plugins/vulkan/ops/reduce/reduction.cpp)
epiphyte_compile_alone(faults_injection_tests
  tests/faults/kill_test.cpp)
epiphyte_compile_alone(host_tests
  tests/host/cli_test.cpp tests/host/cli_usage_test.cpp tests/host/context_tools_test.cpp
  tests/host/manifest_cli_test.cpp tests/host/policy_cli_test.cpp tests/host/printed_text_test.cpp
  tests/host/session_test.cpp tests/host/transform_test.cpp)
epiphyte_compile_alone(microsoft_tests
  tests/onnx/microsoft/generation_models.cpp)
epiphyte_compile_alone(npu_ep_tests
  tests/npu/ep/import_test.cpp)
epiphyte_compile_alone(nsdk_conformance_suite
  plugins/npu/sdk/conformance/check_run.cpp)
epiphyte_compile_alone(plugin_api_tests
  tests/plugin_api/fuse/flattened_products_test.cpp tests/plugin_api/fuse/pads_test.cpp
  tests/plugin_api/fuse/products_test.cpp tests/plugin_api/plugin/device_memory_test.cpp
  tests/plugin_api/plugin/device_test.cpp tests/plugin_api/twins_test.cpp)
epiphyte_compile_alone(quantizer_tests
  tests/models/quantizer/quantize_test.cpp)
epiphyte_compile_alone(registry_tests
  tests/registry/policy_test.cpp)
epiphyte_compile_alone(simd_tests
  tests/cpu/simd/elementwise/binary_test.cpp tests/cpu/simd/elementwise/unary_test.cpp
  tests/cpu/simd/gemm/byte_product_test.cpp tests/cpu/simd/gemm/row_dots_test.cpp
  tests/cpu/simd/gemm/split_product_test.cpp tests/cpu/simd/reduce/reduce_test.cpp
  tests/cpu/simd/window/float_rows_test.cpp)
epiphyte_compile_alone(transform_tests
  tests/transform/control_flow_test.cpp)
epiphyte_compile_alone(vulkan_math_tests
  tests/vulkan/ops/math/cast_test.cpp tests/vulkan/ops/math/elementwise_test.cpp tests/vulkan/ops/math/rows_test.cpp)
epiphyte_compile_alone(vulkan_ops_tests
  tests/vulkan/ops/recurrent_test.cpp)
epiphyte_compile_alone(vulkan_program_tests
  tests/vulkan/program/row_work_test.cpp)
