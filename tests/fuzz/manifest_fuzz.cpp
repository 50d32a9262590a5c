// Manifests: any bytes give a manifest or an Error.
#include "core/base/error.h"
#include "core/registry/manifest.h"
#include "tests/fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    epiphyte::core::ParseManifest({reinterpret_cast<const char*>(data), size}, "/plugins/fuzzed.yaml");
  } catch (const epiphyte::core::Error&) {
  }
  return 0;
}

std::vector<std::string> SeedInputs() {
  return {
      "manifest_version: 1\nname: vulkan\nvendor: Epiphyte\nversion: 0.1.0\nlicense: Apache-2.0\ndescription: a GPU\n"
      "library: { linux-x86_64: libepiphyte_vulkan.so, windows-x86_64: epiphyte_vulkan.dll }\nabi: \"0.2\"\n"
      "sources: [EpiphyteVulkan, Other]\ndevices: [gpu]\npriority: 200\nenabled: true\nfallback: false\n"
      "depends: [libvulkan.so.1]\noptions: { device: 0, precision: 'f16' }\n",
      "a: &x [1, 2]\nb: *x\n", std::string(3000, '['), std::string(3000, '{'), "? - ? - ? - x\n"};
}
