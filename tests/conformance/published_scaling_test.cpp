// SPDX-License-Identifier: GPL-3.0-or-later
// The simulator beside the published scaling of replicas (published_scaling.h, where the constant
// that is fitted stands as tests/bench found it).
#include "tests/published_scaling.h"

#include <gtest/gtest.h>

namespace trainyard::tests {
namespace {

constexpr double kFittedScaling = 0.01;

TEST(PublishedScaling, of_horovod_is_predicted_from_one_model) {
  const Figure figure = horovod_512();
  for (std::size_t i = 0; i < figure.points.size(); ++i) {
    SCOPED_TRACE(figure.points[i].model);
    EXPECT_NEAR(figure.error(i, figure.with(figure.fitted)), 0,
                i == figure.fit ? kFittedScaling : figure.most_error);
  }
}

// Published parameter counts: 138.4 million, 44.5 (convolutions have biases here) and 23.8.
TEST(PublishedScaling, has_models_with_the_published_number_of_parameters) {
  const auto millions = [](const model::ModelSpec& spec, std::int64_t side) {
    return static_cast<double>(model::build(spec, {side, side, 3}, 1000).value().elements) / 1e6;
  };
  EXPECT_NEAR(millions(vgg16(), 224), 138.4, 0.1);
  EXPECT_NEAR(millions(resnet101().model, 224), 44.5, 1);
  EXPECT_NEAR(millions(inception_v3(), 280), 23.8, 0.3);
}

}  // namespace
}  // namespace trainyard::tests
