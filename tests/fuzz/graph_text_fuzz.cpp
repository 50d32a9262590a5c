// Graphs as text: any bytes give either a graph that passes Check or an Error of one line. A graph that was read stays
// the same when it is written and read again.
#include <cstdio>
#include <cstdlib>

#include "epiphyte/kit/abi/error.hpp"
#include "epiphyte/kit/graph/editor.hpp"
#include "epiphyte/kit/graph/text.hpp"
#include "tests/fuzz/fuzz_target.h"

using namespace epiphyte::kit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    ir::Graph graph = ir::FromText({reinterpret_cast<const char*>(data), size});
    const std::string text = ir::ToText(graph, SIZE_MAX);
    const std::string again = ir::ToText(ir::FromText(text), SIZE_MAX);
    if (text != again) {
      std::fprintf(stderr, "written:\n%sread and written again:\n%s", text.c_str(), again.c_str());
      std::abort();
    }
    ir::Editor(graph).Finish();
    ir::FromText(ir::ToText(graph, SIZE_MAX));
  } catch (const Error& error) {
    if (error.code() != EP_STATUS_INVALID_GRAPH) std::abort();
  }
  return 0;
}

std::vector<std::string> SeedInputs() {
  return {
      "graph \"part_0\"\nin x: float[1,3,-1,8]\nconst w: float[2,3] = …\nconst b: float[2] = [0.5, -inf]\n"
      "c = Conv@11<kernel_shape=[3,3], pads=[1,1]>(x, w, b) : float[1,2,-1,8]\n"
      "[last] y, _ = epiphyte.kit::Elementwise<code=[6,0,-1], parameters=[0.0,6.5]>(c, _) : float, ?\nout y, c\n",
      "const a: int4[3] = [-8, 7, 0]\nconst b: float8e4m3fn[2] = [448, nan]\nconst c: complex64[1] = [(1,-2)]\n"
      "const d: string[2] = [\"a\\n\\x7f\", \"\"]\nconst e: float[0,3] = []\nconst f: bool[] = [1]\nout a, f\n",
      "y = Some<a=-3, b=ints[], c=0.5, d=[1.0,nan], e=\"t\", f=[\"a\"], g=float[2]{0.5, 1}, h=[int64[]{3}], "
      "i=sparse(float[1]{2}, int64[1]{7}), j=[sparse(float[0]{}, int64[0]{})], p=?5>()  # all kinds\n",
      "in a: seq(float)\nin b: optional(int64[2,-1])\nin c: map(string)\nin d: sparse(float[4])\nin e: ?(int32)\n"
      "\"x:0\", _ = \"my domain\"::If<then_branch=?5>(_) reads (a, b)\n"};
}
