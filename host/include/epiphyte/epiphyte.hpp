// Epiphyte: runs ONNX models on execution providers that are found as plugins.
//
//   #include <epiphyte/epiphyte.hpp>
//
//   epiphyte::Environment environment;
//   epiphyte::SessionOptions options;
//   options.AddProvider("vulkan").AddProvider("cpu");
//   epiphyte::Session session(environment, "resnet50.onnx", options);
//
//   std::vector<float> pixels(3 * 224 * 224);
//   epiphyte::Value image = epiphyte::Value::Wrap<float>(pixels, {1, 3, 224, 224});
//   std::vector<epiphyte::Value> outputs = session.Run({{session.inputs()[0].name, image}});
//   std::span<const float> scores = outputs[0].Data<float>();
//
// Compile once and load the compiled context from then on:
//
//   options.Set("ep.context_enable", "1");
//   epiphyte::Session(environment, "resnet50.onnx", options);      // writes resnet50_ctx.onnx
//   epiphyte::Session fast(environment, "resnet50_ctx.onnx");
//
// Every failure is an epiphyte::Error. Each class states its thread contract at the top of its header.
#pragma once

#include "epiphyte/context.hpp"
#include "epiphyte/context_cache.hpp"
#include "epiphyte/context_store.hpp"
#include "epiphyte/context_tools.hpp"
#include "epiphyte/environment.hpp"
#include "epiphyte/error.hpp"
#include "epiphyte/files.hpp"
#include "epiphyte/io_binding.hpp"
#include "epiphyte/manifest_tools.hpp"
#include "epiphyte/memory.hpp"
#include "epiphyte/options.hpp"
#include "epiphyte/placement.hpp"
#include "epiphyte/plugin_catalog.hpp"
#include "epiphyte/session.hpp"
#include "epiphyte/text.hpp"
#include "epiphyte/transform.hpp"
#include "epiphyte/type.hpp"
#include "epiphyte/value.hpp"
#include "epiphyte/value_file.hpp"
