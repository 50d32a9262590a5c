#include "tests/models/quantizer/fit_classifier.h"

#include <cmath>
#include <numeric>
#include <stdexcept>

namespace epiphyte::test {
namespace {

constexpr double kTopLogit = 10;
// Ridge, relative to the mean square of the image-specific part. It keeps the regression from fitting noise.
constexpr double kRidge = 0.1;

using Features = std::vector<double>;

double Dot(const Features& a, const Features& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

std::vector<Features> MeansOfClasses(const std::vector<Features>& features, size_t classes) {
  std::vector<Features> means(classes, Features(features.at(0).size()));
  const double part = static_cast<double>(classes) / static_cast<double>(features.size());
  for (size_t i = 0; i < features.size(); ++i) {
    for (size_t k = 0; k < means[0].size(); ++k) means[i % classes][k] += part * features[i][k];
  }
  return means;
}

// Subtracts the mean of all features from each, and returns the mean.
Features TakeMean(std::vector<Features>* features) {
  Features mean(features->at(0).size());
  for (const Features& one : *features) {
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += one[i] / static_cast<double>(features->size());
  }
  for (Features& one : *features) {
    for (size_t i = 0; i < mean.size(); ++i) one[i] -= mean[i];
  }
  return mean;
}

// Ridge regression to kTopLogit for the class itself and 0 for the others. The rows are kTopLogit (X X' + ridge)^-1 X,
// computed by elimination without pivoting, since the matrix is positive definite.
std::vector<Features> Separate(const std::vector<Features>& features) {
  const size_t count = features.size();
  std::vector<Features> matrix(count, Features(count));
  double trace = 0;
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < count; ++k) matrix[i][k] = Dot(features[i], features[k]);
    trace += matrix[i][i];
  }
  for (size_t i = 0; i < count; ++i) matrix[i][i] += kRidge * trace / static_cast<double>(count);
  std::vector<Features> rows = features;
  const auto subtract = [&](size_t from, size_t what) {
    const double factor = matrix[from][what] / matrix[what][what];
    for (size_t k = 0; k < count; ++k) matrix[from][k] -= factor * matrix[what][k];
    for (size_t k = 0; k < rows[from].size(); ++k) rows[from][k] -= factor * rows[what][k];
  };
  for (size_t what = 0; what < count; ++what) {
    for (size_t from = 0; from < count; ++from) {
      if (from != what) subtract(from, what);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    for (double& number : rows[i]) number *= kTopLogit / matrix[i][i];
  }
  return rows;
}

onnx::TensorProto* FindWeights(onnx::GraphProto* graph, const std::string& name) {
  for (onnx::TensorProto& tensor : *graph->mutable_initializer()) {
    if (tensor.name() == name) return &tensor;
  }
  throw std::invalid_argument("the classifier's '" + name + "' is no constant");
}

void SetFloats(onnx::TensorProto* tensor, const std::vector<float>& values) {
  tensor->set_raw_data(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

}  // namespace

void FitClassifier(ModelFile* file, const std::vector<Sample>& prototypes, size_t classes) {
  if (classes == 0 || prototypes.size() % classes != 0) {
    throw std::invalid_argument("there aren't as many prototypes of each class");
  }
  onnx::GraphProto* graph = file->model.mutable_graph();
  const onnx::NodeProto& gemm = graph->node(graph->node_size() - 1);
  if (gemm.op_type() != "Gemm" || IntAttribute(gemm, "transB", 0) != 1 || gemm.input_size() != 3) {
    throw std::invalid_argument("the model doesn't end in a classifier");
  }
  std::vector<Features> features;
  ObserveRuns(*file, {gemm.input(0)}, prototypes, [&](const std::string&, std::span<const float> elements) {
    features.emplace_back(elements.begin(), elements.end());
  });
  features = MeansOfClasses(features, classes);
  const size_t length = features.at(0).size();
  const Features mean = TakeMean(&features);
  const std::vector<Features> directions = Separate(features);

  onnx::TensorProto* weights = FindWeights(graph, gemm.input(1));
  onnx::TensorProto* bias = FindWeights(graph, gemm.input(2));
  std::vector<float> rows = file->Floats(*weights);
  std::vector<float> offsets(static_cast<size_t>(weights->dims(0)));
  if (features.size() > offsets.size()) throw std::invalid_argument("the model has fewer classes");
  for (size_t k = 0; k < offsets.size(); ++k) {
    Features row(rows.begin() + static_cast<int64_t>(k * length),
                 rows.begin() + static_cast<int64_t>((k + 1) * length));
    if (k < directions.size()) {
      row = directions[k];
    } else {
      const double factor = std::sqrt(Dot(directions[0], directions[0]) / Dot(row, row));
      for (double& number : row) number *= factor;
    }
    for (size_t i = 0; i < length; ++i) rows[k * length + i] = static_cast<float>(row[i]);
    offsets[k] = static_cast<float>(-Dot(row, mean));
  }
  SetFloats(weights, rows);
  SetFloats(bias, offsets);
}

}  // namespace epiphyte::test
