# The preset `release` compiles several files of a target as one (CMAKE_UNITY_BUILD), which takes a quarter of the time,
# because common headers are read once. The files below are compiled alone, because a name of their unnamed namespace
# exists in another file, too. The preset `debug` compiles every file alone, so that each one includes what it uses.

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
epiphyte_compile_alone(conformance_suite_tests
  tests/conformance/suite/rules_test.cpp)
epiphyte_compile_alone(context_tests
  tests/context/complaints_test.cpp tests/context/options_determinism_test.cpp
  tests/context/options_loading_test.cpp tests/context/options_matrix_test.cpp tests/context/options_test.cpp
  tests/context/plain_nodes_test.cpp tests/context/store_test.cpp)
epiphyte_compile_alone(cpu_tests
  tests/cpu/ops/nn/bfloat16_attention_test.cpp tests/cpu/onednn/bfloat16_layouts_test.cpp tests/cpu/onednn/bfloat16_products_test.cpp
  tests/cpu/kernel/blocked_product_test.cpp tests/cpu/ops/quantized/byte_layout_test.cpp tests/cpu/ops/nn/conv_transpose_test.cpp
  tests/cpu/ops/nn/depthwise_conv_test.cpp tests/cpu/ops/quantized/matmul_nbits_test.cpp tests/cpu/ops/math/float_types_test.cpp
  tests/cpu/ops/math/reduction_test.cpp tests/cpu/exec/plan_gemm_test.cpp tests/cpu/exec/plan_late_test.cpp
  tests/cpu/exec/plan_recognition_test.cpp tests/cpu/exec/plan_warm_up_test.cpp tests/cpu/exec/plan_verify_test.cpp
  tests/cpu/kernel/small_floats_test.cpp tests/cpu/onednn/small_weights_test.cpp tests/cpu/onednn/split_products_test.cpp
  tests/cpu/ops/nn/window_test.cpp)
epiphyte_compile_alone(epiphyte_cli
  host/cli/inspect.cpp host/cli/policy.cpp)
epiphyte_compile_alone(epiphyte_conformance
  host/conformance/checks/check_device_kernels.cpp host/conformance/checks/check_device_memory.cpp
  host/conformance/checks/check_device_streams.cpp host/conformance/checks/check_execute.cpp host/conformance/checks/check_library.cpp
  host/conformance/checks/check_options.cpp host/conformance/checks/check_provider.cpp host/conformance/checks/check_report.cpp
  host/conformance/checks/check_schema.cpp host/conformance/checks/check_share.cpp host/conformance/debug_host/debug_context.cpp
  host/conformance/debug_host/debug_share.cpp)
epiphyte_compile_alone(epiphyte_core
  core/abi/host_info.cpp core/abi/profile.cpp core/onnx/gradient/elementwise.cpp core/onnx/gradient/movement.cpp
  core/onnx/gradient/products.cpp core/onnx/gradient/reductions.cpp core/onnx/gradient/rules.cpp
  core/onnx/gradient/windows.cpp core/onnx/microsoft/attention.cpp core/onnx/microsoft/decoders.cpp
  core/onnx/microsoft/early_operators.cpp core/onnx/microsoft/generation.cpp
  core/onnx/microsoft/grouped_attention.cpp core/onnx/microsoft/integer_products.cpp
  core/onnx/microsoft/masked_attention.cpp core/onnx/microsoft/multi_head_attention.cpp
  core/onnx/microsoft/normalizations.cpp core/onnx/microsoft/others.cpp core/onnx/microsoft/products.cpp
  core/onnx/microsoft/quantized.cpp core/onnx/microsoft/quantized_layout.cpp core/onnx/microsoft/token_scores.cpp
  core/onnx/overlay/types.cpp core/onnx/overlay/versions.cpp core/registry/exports.cpp core/registry/manifest.cpp)
epiphyte_compile_alone(epiphyte_cpu
  plugins/cpu/onednn/split_window.cpp plugins/cpu/ops/math/einsum_product.cpp plugins/cpu/ops/nn/conv_transpose.cpp
  plugins/cpu/ops/quantized/byte_weights.cpp plugins/cpu/ops/shape/concat_split.cpp)
epiphyte_compile_alone(epiphyte_cpu_images
  plugins/cpu/images/tiff.cpp)
epiphyte_compile_alone(epiphyte_kit
  plugin_api/kit/epiphyte/kit/graph/elements.cpp plugin_api/kit/epiphyte/kit/graph/import.cpp
  plugin_api/kit/epiphyte/kit/graph/text_read.cpp plugin_api/kit/epiphyte/kit/memory/weight_arena.cpp)
epiphyte_compile_alone(epiphyte_npu
  plugins/npu/client/context.cpp plugins/npu/client/sdk.cpp plugins/npu/exec/partition.cpp
  plugins/npu/graph/pools.cpp plugins/npu/graph/products.cpp)
epiphyte_compile_alone(epiphyte_npusim_objects
  plugins/npu/simulator/blob/reader.cpp plugins/npu/simulator/blob/writer.cpp
  plugins/npu/simulator/compiler/image_layer.cpp plugins/npu/simulator/compiler/lower_array.cpp
  plugins/npu/simulator/compiler/tokens.cpp plugins/npu/simulator/device/cycles.cpp
  plugins/npu/simulator/device/race.cpp plugins/npu/simulator/sdk/api.cpp)
epiphyte_compile_alone(epiphyte_operators
  host/conformance/operators/image.cpp host/conformance/operators/recurrent.cpp host/conformance/operators/shape.cpp)
epiphyte_compile_alone(epiphyte_test_device
  tests/device/plugin/machine.cpp tests/device/plugin/options.cpp tests/device/plugin/translate.cpp)
epiphyte_compile_alone(epiphyte_test_framework
  tests/framework/onnx_text.cpp)
epiphyte_compile_alone(epiphyte_test_models
  tests/models/text_recogniser.cpp tests/models/variants/tensorflow.cpp tests/models/vit.cpp)
epiphyte_compile_alone(epiphyte_vulkan
  plugins/vulkan/ops/move/mapped_copy.cpp plugins/vulkan/ops/quantized/integer_matmul.cpp
  plugins/vulkan/ops/quantized/quads.cpp plugins/vulkan/ops/recurrent/recurrent.cpp
  plugins/vulkan/ops/reduce/reduction.cpp)
epiphyte_compile_alone(faults_injection_tests
  tests/faults/kill_test.cpp)
epiphyte_compile_alone(faults_tests
  tests/faults/concurrency_test.cpp tests/faults/paths_test.cpp)
epiphyte_compile_alone(fuse_replay
  tests/fuzz/replay_main.cpp)
epiphyte_compile_alone(graph_tests
  tests/graph/graph_abi_test.cpp tests/graph/graph_uses_test.cpp)
epiphyte_compile_alone(host_tests
  tests/host/cli_test.cpp tests/host/cli_usage_test.cpp tests/host/context_tools_test.cpp
  tests/host/manifest_cli_test.cpp tests/host/policy_cli_test.cpp tests/host/printed_text_test.cpp
  tests/host/session_test.cpp tests/host/transform_test.cpp)
epiphyte_compile_alone(microsoft_tests
  tests/onnx/microsoft/generation_models.cpp tests/onnx/microsoft/masked_attention_test.cpp)
epiphyte_compile_alone(minimal_sdk
  plugins/npu/sdk/minimal/operators.cpp)
epiphyte_compile_alone(minimal_sdk_inside
  plugins/npu/sdk/minimal/operators.cpp)
epiphyte_compile_alone(models_tests
  tests/models/agreement.cpp)
epiphyte_compile_alone(npu_ep_tests
  tests/npu/ep/import_test.cpp)
epiphyte_compile_alone(plugin_api_tests
  tests/plugin_api/fuse/dequantized_test.cpp tests/plugin_api/fuse/flattened_products_test.cpp
  tests/plugin_api/fuse/pads_test.cpp tests/plugin_api/fuse/products_test.cpp
  tests/plugin_api/fuse/quantized_test.cpp tests/plugin_api/fuse/rotary_test.cpp
  tests/plugin_api/graph/import_test.cpp tests/plugin_api/graph/text_test.cpp
  tests/plugin_api/plugin/device_memory_test.cpp tests/plugin_api/plugin/device_test.cpp)
epiphyte_compile_alone(quantizer_tests
  tests/models/quantizer/quantize_test.cpp)
epiphyte_compile_alone(simd_tests
  tests/cpu/simd/elementwise/binary_test.cpp tests/cpu/simd/gemm/byte_product_test.cpp tests/cpu/simd/window/float_rows_test.cpp
  tests/cpu/simd/reduce/reduce_test.cpp tests/cpu/simd/gemm/row_dots_test.cpp tests/cpu/simd/elementwise/unary_test.cpp)
epiphyte_compile_alone(test_device_alone
  tests/device/plugin/machine.cpp tests/device/plugin/options.cpp tests/device/plugin/translate.cpp)
epiphyte_compile_alone(transform_tests
  tests/transform/control_flow_test.cpp)
epiphyte_compile_alone(vulkan_math_tests
  tests/vulkan/ops/math/cast_test.cpp tests/vulkan/ops/math/elementwise_test.cpp tests/vulkan/ops/math/rows_test.cpp
  tests/vulkan/ops/math/softmax_test.cpp tests/vulkan/ops/math/tiled_test.cpp)
epiphyte_compile_alone(vulkan_ops_tests
  tests/vulkan/ops/recurrent_test.cpp)
epiphyte_compile_alone(vulkan_program_tests
  tests/vulkan/program/row_work_test.cpp)
epiphyte_compile_alone(vulkan_spirv_tests
  plugins/vulkan/spirv/khr_matrices.cpp)
