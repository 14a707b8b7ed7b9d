// SPDX-License-Identifier: GPL-3.0-or-later
// The given experiment of a run, as opposed to the resolved one.
#include <gtest/gtest.h>

#include <QTemporaryDir>

#include "core/experiment/resolve.h"
#include "ui/model/runs/run_directory.h"

namespace trainyard::ui {
namespace {

class GivenExperiment : public testing::Test {
 protected:
  GivenExperiment()
      : given_(*experiment::load(TRAINYARD_SOURCE_DIR
                                 "/resources/experiments/four_devices_mirrored_digits.json")) {
    resolved_ = experiment::resolve(given_, TRAINYARD_SOURCE_DIR)->document;
  }
  void save() {
    ASSERT_TRUE(experiment::save(given_, directory_.filePath(kExperimentFile).toStdString()));
  }
  experiment::Experiment brought() const { return given_experiment(directory_.path(), resolved_); }

  QTemporaryDir directory_;
  experiment::Experiment given_, resolved_;
};

TEST_F(GivenExperiment, keeps_automatic_settings) {
  ASSERT_NE(given_, resolved_);
  save();
  EXPECT_EQ(brought(), given_);
}

TEST_F(GivenExperiment, has_absolute_data_paths) {
  given_.data.images = "data/images.gz";
  resolved_.data.images = "/home/someone/data/images.gz";
  save();
  experiment::Experiment expected = given_;
  expected.data.images = resolved_.data.images;
  EXPECT_EQ(brought(), expected);
}

TEST_F(GivenExperiment, is_the_resolved_one_if_missing_or_different) {
  EXPECT_EQ(brought(), resolved_);
  given_.topology.hosts[0].devices[0].name = "renamed since";
  save();
  EXPECT_EQ(brought(), resolved_);
}

}  // namespace
}  // namespace trainyard::ui
