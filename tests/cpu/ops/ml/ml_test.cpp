// ai.onnx.ml and the optimizers of ai.onnx.preview.training. Expected values are worked out by hand.
#include <cmath>
#include <limits>

#include "tests/cpu/ops/move_testing.h"

namespace epiphyte::test {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

constexpr char kMl[] = "ai.onnx.ml";

cpu::Datum MakeMap(cpu::Datum keys, cpu::Datum values) {
  cpu::Datum map;
  map.kind = cpu::Datum::Kind::kMap;
  map.elements = std::make_shared<std::vector<cpu::Datum>>(std::vector<cpu::Datum>{std::move(keys), std::move(values)});
  return map;
}

// Sets the attributes of one tree: x[0] <= 0.5 ? leaf 1 : (x[1] > 2 ? leaf 3 : leaf 4). `weights` are those of its
// leaves.
void AddTree(OpRunner& runner, const std::string& kind, const std::vector<int64_t>& ids,
             const std::vector<float>& weights) {
  runner.Attribute("nodes_treeids", std::vector<int64_t>{0, 0, 0, 0, 0});
  runner.Attribute("nodes_nodeids", std::vector<int64_t>{0, 1, 2, 3, 4});
  runner.Attribute("nodes_featureids", std::vector<int64_t>{0, 0, 1, 0, 0});
  runner.Attribute("nodes_values", std::vector<float>{0.5f, 0, 2, 0, 0});
  runner.Attribute("nodes_modes", std::vector<std::string>{"BRANCH_LEQ", "LEAF", "BRANCH_GT", "LEAF", "LEAF"});
  runner.Attribute("nodes_truenodeids", std::vector<int64_t>{1, 0, 3, 0, 0});
  runner.Attribute("nodes_falsenodeids", std::vector<int64_t>{2, 0, 4, 0, 0});
  runner.Attribute("nodes_missing_value_tracks_true", std::vector<int64_t>{0, 0, 1, 0, 0});
  runner.Attribute(kind + "_treeids", std::vector<int64_t>{0, 0, 0});
  runner.Attribute(kind + "_nodeids", std::vector<int64_t>{1, 3, 4});
  runner.Attribute(kind + "_ids", ids);
  runner.Attribute(kind + "_weights", weights);
}

TEST(TreeEnsembleRegressor, FollowsBranchesAndMissingValues) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  OpRunner trees("TreeEnsembleRegressor", 3, kMl);
  AddTree(trees, "target", {0, 0, 0}, {10, 20, 30});
  trees.Attribute("base_values", std::vector<float>{1}).Input<float>({4, 2}, {0.5f, 0, 1, 3, 1, 2, nan, nan}).Run();
  EXPECT_THAT(trees.Output<float>(0), ElementsAre(11, 21, 31, 21));
}

TEST(TreeEnsembleClassifier, OneClassGivesTheOther) {
  OpRunner trees("TreeEnsembleClassifier", 1, kMl);
  AddTree(trees, "class", {0, 0, 0}, {0.25f, 0.5f, 0.75f});
  trees.Attribute("classlabels_strings", std::vector<std::string>{"no", "yes"}).Outputs(2);
  trees.Input<float>({3, 2}, {0, 0, 1, 3, 1, 2}).Run();
  EXPECT_THAT(trees.Output<std::string>(0), ElementsAre("no", "no", "yes"));
  EXPECT_THAT(trees.Output<float>(1), ElementsAre(0.75f, 0.25f, 0.5f, 0.5f, 0.25f, 0.75f));
}

TEST(TreeEnsembleClassifier, ManyClassesTakeTheBest) {
  OpRunner trees("TreeEnsembleClassifier", 1, kMl);
  AddTree(trees, "class", {0, 2, 1}, {1, 1, 1});
  trees.Attribute("classlabels_int64s", std::vector<int64_t>{7, 8, 9})
      .Outputs(2)
      .Input<float>({2, 2}, {1, 3, 1, 2})
      .Run();
  EXPECT_THAT(trees.Output<int64_t>(0), ElementsAre(9, 8));
}

TEST(TreeEnsemble, RefusesGraphsThatAreNoTrees) {
  const auto failure = [](const std::vector<int64_t>& on_true, const std::vector<int64_t>& ids, int64_t columns) {
    OpRunner trees("TreeEnsembleRegressor", 1, kMl);
    trees.Attribute("nodes_truenodeids", on_true);  // overrides AddTree's value: the first attribute with a name counts
    AddTree(trees, "target", ids, {1, 2, 3});
    trees.Input<float>({1, columns}, std::vector<float>(static_cast<size_t>(columns), 1.0f));
    return Failure(trees);
  };
  EXPECT_EQ(failure({1, 0, 3, 0, 0}, {0, 0, 0}, 2), "");
  EXPECT_THAT(failure({1, 0, 0, 0, 0}, {0, 0, 0}, 2), HasSubstr("no root leads to"));
  EXPECT_THAT(failure({1, 0, 2, 0, 0}, {0, 0, 0}, 2), HasSubstr("two roots"));
  EXPECT_THAT(failure({1, 0, 9, 0, 0}, {0, 0, 0}, 2), HasSubstr("child 9"));
  EXPECT_THAT(failure({1, 0, 3, 0, 0}, {0, 5, 0}, 2), HasSubstr("target 5"));
  EXPECT_THAT(failure({1, 0, 3, 0, 0}, {0, 0, 0}, 1), HasSubstr("at least 2 columns"));
}

TEST(TreeEnsemble, TestsMembershipSinceVersion5) {
  OpRunner trees("TreeEnsemble", 5, kMl);
  trees.Attribute("n_targets", 1).Attribute("tree_roots", std::vector<int64_t>{0});
  trees.Attribute("nodes_featureids", std::vector<int64_t>{0});
  trees.Attribute("nodes_truenodeids", std::vector<int64_t>{0})
      .Attribute("nodes_falsenodeids", std::vector<int64_t>{1});
  trees.Attribute("nodes_trueleafs", std::vector<int64_t>{1}).Attribute("nodes_falseleafs", std::vector<int64_t>{1});
  trees.Attribute("nodes_modes", MakeDatum<uint8_t>({1}, {6})).Attribute("nodes_splits", MakeDatum<double>({1}, {0}));
  trees.Attribute("membership_values", MakeDatum<double>({3}, {2, 4, std::numeric_limits<double>::quiet_NaN()}));
  trees.Attribute("leaf_targetids", std::vector<int64_t>{0, 0})
      .Attribute("leaf_weights", MakeDatum<double>({2}, {1, -1}));
  trees.Input<double>({3, 1}, {2, 3, 4}).Run();
  EXPECT_THAT(trees.Output<double>(0), ElementsAre(1, -1, 1));
}

TEST(LinearClassifier, TwoLabelsFromOneScore) {
  OpRunner linear("LinearClassifier", 1, kMl);
  linear.Attribute("coefficients", std::vector<float>{1, -1}).Attribute("intercepts", std::vector<float>{0.25f});
  linear.Attribute("classlabels_ints", std::vector<int64_t>{3, 5}).Attribute("post_transform", "LOGISTIC").Outputs(2);
  linear.Input<int64_t>({2, 2}, {1, 0, 0, 1}).Run();
  EXPECT_THAT(linear.Output<int64_t>(0), ElementsAre(5, 3));
  const auto logistic = [](float x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_THAT(linear.Output<float>(1),
              Pointwise(FloatNear(1e-6f), {logistic(-1.25f), logistic(1.25f), logistic(0.75f), logistic(-0.75f)}));
}

TEST(LinearRegressor, RefusesAnotherWidth) {
  OpRunner linear("LinearRegressor", 1, kMl);
  linear.Attribute("coefficients", std::vector<float>{1, -1}).Input<float>({1, 3}, {1, 2, 3});
  EXPECT_THAT(Failure(linear), HasSubstr("2 columns"));
}

TEST(SvmRegressor, SumsKernelsOfSupportVectors) {
  OpRunner svm("SVMRegressor", 1, kMl);
  svm.Attribute("kernel_type", "RBF")
      .Attribute("kernel_params", std::vector<float>{0.5f, 0, 0})
      .Attribute("n_supports", 2);
  svm.Attribute("coefficients", std::vector<float>{2, -1}).Attribute("support_vectors", std::vector<float>{0, 1});
  svm.Attribute("rho", std::vector<float>{0.5f}).Input<float>({1, 1}, {1}).Run();
  EXPECT_THAT(svm.Output<float>(0), Pointwise(FloatNear(1e-6f), {2 * std::exp(-0.5f) - 1 + 0.5f}));
}

TEST(SvmClassifier, RefusesListsThatAreTooShort) {
  OpRunner svm("SVMClassifier", 1, kMl);
  svm.Attribute("classlabels_ints", std::vector<int64_t>{0, 1, 2})
      .Attribute("vectors_per_class", std::vector<int64_t>{1, 1, 1});
  svm.Attribute("support_vectors", std::vector<float>{1, 2, 3})
      .Attribute("coefficients", std::vector<float>{1, 2, 3, 4, 5, 6});
  svm.Attribute("rho", std::vector<float>{1}).Outputs(2).Input<float>({1, 1}, {1});
  EXPECT_THAT(Failure(svm), HasSubstr("1 rho"));
}

TEST(LabelEncoder, EveryPairOfTypesHasADefault) {
  OpRunner encoder("LabelEncoder", 4, kMl);
  encoder.Attribute("keys_tensor", MakeDatum<int16_t>({2}, {1, 2}))
      .Attribute("values_strings", std::vector<std::string>{"a", "b"});
  encoder.Input<int16_t>({3}, {2, 9, 1}).Run();
  EXPECT_THAT(encoder.Output<std::string>(0), ElementsAre("b", "_Unused", "a"));
  OpRunner nan("LabelEncoder", 4, kMl);
  nan.Attribute("keys_floats", std::vector<float>{NAN, 1}).Attribute("values_int64s", std::vector<int64_t>{5, 6});
  nan.Input<float>({3}, {1, NAN, 2}).Run();
  EXPECT_THAT(nan.Output<int64_t>(0), ElementsAre(6, 5, -1));
  OpRunner lengths("LabelEncoder", 2, kMl);
  lengths.Attribute("keys_int64s", std::vector<int64_t>{1}).Attribute("values_int64s", std::vector<int64_t>{1, 2});
  lengths.Input<int64_t>({1}, {1});
  EXPECT_THAT(Failure(lengths), HasSubstr("1 keys and 2 values"));
}

TEST(DictVectorizer, MissingKeysAreZero) {
  OpRunner vectorizer("DictVectorizer", 1, kMl);
  vectorizer.Attribute("string_vocabulary", std::vector<std::string>{"a", "c", "b", "z"});
  vectorizer.InputDatum(MakeMap(MakeDatum<std::string>({2}, {"c", "a"}), MakeDatum<int64_t>({2}, {8, 4}))).Run();
  EXPECT_THAT(vectorizer.Output<int64_t>(0), ElementsAre(4, 8, 0, 0));
}

TEST(CastMap, DenseAndSparse) {
  const cpu::Datum map = MakeMap(MakeDatum<int64_t>({2}, {3, 1}), MakeDatum<std::string>({2}, {"2.5", "7"}));
  OpRunner dense("CastMap", 1, kMl);
  dense.InputDatum(map).Run();
  EXPECT_THAT(dense.Output<float>(0), ElementsAre(7, 2.5f));
  OpRunner sparse("CastMap", 1, kMl);
  sparse.Attribute("map_form", "SPARSE").Attribute("max_map", 5).Attribute("cast_to", "TO_INT64").InputDatum(map).Run();
  EXPECT_THAT(sparse.Output<int64_t>(0), ElementsAre(0, 7, 0, 2, 0));
  OpRunner narrow("CastMap", 1, kMl);
  narrow.Attribute("map_form", "SPARSE").Attribute("max_map", 3).InputDatum(map);
  EXPECT_THAT(Failure(narrow), HasSubstr("[0, 2]"));
}

TEST(ZipMap, MakesAMapOfEachRow) {
  OpRunner zip("ZipMap", 1, kMl);
  zip.Attribute("classlabels_strings", std::vector<std::string>{"a", "b"}).Input<float>({2, 2}, {1, 2, 3, 4}).Run();
  const auto& maps = *zip.OutputDatum(0).elements;
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_EQ(maps[1].kind, cpu::Datum::Kind::kMap);
  EXPECT_THAT(Values<std::string>((*maps[1].elements)[0].tensor), ElementsAre("a", "b"));
  EXPECT_THAT(Values<float>((*maps[1].elements)[1].tensor), ElementsAre(3, 4));
}

TEST(FeatureVectorizer, DimensionsBehindTheFirstAreOneRow) {
  OpRunner all("FeatureVectorizer", 1, kMl);
  all.Input<float>({2, 2, 3}, Counting<float>(12)).Input<float>({2, 1}, {50, 51}).Run();
  EXPECT_EQ(all.Dims(0), (Shape{2, 7}));
  EXPECT_THAT(all.Output<float>(0), ElementsAre(0, 1, 2, 3, 4, 5, 50, 6, 7, 8, 9, 10, 11, 51));
  // ONNX leaves this case open. As in ONNX Runtime, each row keeps its first elements.
  OpRunner cut("FeatureVectorizer", 1, kMl);
  cut.Attribute("inputdimensions", std::vector<int64_t>{4}).Input<int64_t>({2, 3, 1, 2}, Counting<int64_t>(12)).Run();
  EXPECT_THAT(cut.Output<float>(0), ElementsAre(0, 1, 2, 3, 6, 7, 8, 9));
}

TEST(Imputer, ReplacesNaNColumnByColumn) {
  OpRunner imputer("Imputer", 1, kMl);
  imputer.Attribute("imputed_value_floats", std::vector<float>{10, 20}).Attribute("replaced_value_float", NAN);
  imputer.Input<double>({2, 2}, {NAN, 1, 2, NAN}).Run();
  EXPECT_THAT(imputer.Output<double>(0), ElementsAre(10, 1, 2, 20));
}

TEST(Optimizers, MomentumWithNesterov) {
  OpRunner momentum("Momentum", 1, "ai.onnx.preview.training");
  momentum.Attribute("alpha", 0.5f)
      .Attribute("beta", 1.0f)
      .Attribute("mode", "nesterov")
      .Attribute("norm_coefficient", 0.0f);
  momentum.Input<float>({}, {0.1f}).Input<int64_t>({}, {1});
  momentum.Input<double>({1}, {1}).Input<double>({1}, {2}).Input<double>({1}, {4}).Outputs(2).Run();
  EXPECT_THAT(momentum.Output<double>(1), ElementsAre(4));
  EXPECT_NEAR(momentum.Output<double>(0)[0], 1 - 0.1 * (2 + 0.5 * 4), 1e-7);
  OpRunner few("Adam", 1, "ai.onnx.preview.training");
  few.Input<float>({}, {0.1f}).Input<int64_t>({}, {1}).Input<float>({1}, {1});
  EXPECT_THAT(Failure(few), HasSubstr("4 groups"));
}

// The schema's default epsilon prevents 0 / 0 when the gradient is zero.
TEST(Optimizers, AZeroGradientLeavesTheWeightsAlone) {
  for (const char* name : {"Adagrad", "Adam"}) {
    OpRunner optimizer(name, 1, "ai.onnx.preview.training");
    optimizer.Input<float>({}, {0.1f}).Input<int64_t>({}, {0});
    optimizer.Input<double>({1}, {3}).Input<double>({1}, {0}).Input<double>({1}, {0});
    const bool two_states = std::string_view(name) == "Adam";
    if (two_states) optimizer.Input<double>({1}, {0});
    optimizer.Outputs(two_states ? 3 : 2).Run();
    EXPECT_THAT(optimizer.Output<double>(0), ElementsAre(3)) << name;
  }
}

}  // namespace
}  // namespace epiphyte::test
