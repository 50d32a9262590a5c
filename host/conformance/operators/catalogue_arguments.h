// The catalogue's options on a command line: --cases N --first M --operator NAME --type T --form LIST.
//
//   CatalogueArguments arguments;
//   arguments.AddTo(app);
//   CLI11_PARSE(app, argc, argv);
//   CatalogueOptions options = arguments.Options();
#pragma once

#include <string>
#include <vector>

#include "host/conformance/operators/catalogue.h"

namespace CLI {
class App;
}

namespace epiphyte::operators {

class CatalogueArguments {
 public:
  // The object must live as long as the app parses.
  void AddTo(CLI::App& app);
  // Throws INVALID_ARGUMENT for an unknown type or form.
  CatalogueOptions Options() const;

 private:
  CatalogueOptions options_;
  std::string type_;
  std::vector<std::string> forms_;
};

}  // namespace epiphyte::operators
