// Frame for lines of GetCapability.
#include <epiphyte/kit/plugin/plugin.hpp>
#include <epiphyte/kit/qdq/host_units.hpp>

namespace kit = epiphyte::kit;
namespace qdq = epiphyte::kit::qdq;

std::string WhyNot(const kit::ir::Editor& editor, const qdq::Unit& unit);

class MyProvider : public kit::Provider {
  void GetCapability(const kit::GraphView& graph, kit::Claims& claims) override {
    // BLOCK
  }
};
