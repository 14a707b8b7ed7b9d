// SPDX-License-Identifier: GPL-3.0-or-later
// Recorded chunk values in the stepper: from a handwritten history, in the panel.
#include "ui/stepper/recorded_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QComboBox>
#include <QSpinBox>
#include <QTest>
#include <cmath>

#include "core/collective/chunk_spans.h"
#include "core/run/meters/chunk_sampler.h"
#include "tests/core/strategy/experiments.h"
#include "tests/ui/has_all.h"
#include "ui/stepper/step_text.h"
#include "ui/stepper/stepper_panel.h"

namespace trainyard::ui {
namespace {

using telemetry::ChunkValues;
using testing::ElementsAre;

// Value that a rank holds: in fp32 the sums over ranks of such numbers depend on their order.
float held(int rank, std::int64_t place, int step) {
  return 0.1F * static_cast<float>(rank + 1) + 1e-3F * static_cast<float>(place) +
         static_cast<float>(step);
}

// Run of three devices with the small model of the strategy tests. Its ranks record numbers by the
// formula above.
class HandwrittenRun {
 public:
  explicit HandwrittenRun(experiment::StrategyKind kind = experiment::StrategyKind::mirrored) {
    experiment::Experiment e = strategy::small(3);
    e.strategy.kind = kind;
    e.strategy.algorithm = collective::Algorithm::ring;
    run = run_collectives(experiment::to_json(strategy::resolved(e))).value();
  }

  // Records the values of all buckets, computed by the run's own program; adds `error` to the
  // result on rank 1.
  void record_values(int step, float error = 0) {
    for (const RunBucket& bucket : run.buckets) {
      const collective::Exercise exercise = run.exercise(bucket);
      const collective::Steps steps = collective::steps(exercise).value();
      const auto spans = collective::chunk_spans(exercise);
      std::vector<ChunkValues> of_rank(
          bucket.ranks.size(),
          {step, bucket.group, bucket.number, bucket.dtype, bucket.elements, {}, {}, {}});
      for (const std::int64_t place : run::sampled_places(exercise)) {
        const auto chunk =
            std::ranges::find_if(spans,
                                 [&](const auto& span) {
                                   return span.first <= place && place < span.first + span.count;
                                 }) -
            spans.begin();
        collective::Values before(bucket.ranks.size());
        for (std::size_t position = 0; position < before.size(); ++position)
          before[position].assign(spans.size(),
                                  static_cast<double>(held(bucket.ranks[position], place, step)));
        const auto end = collective::state_at(steps, before, steps.count(), [](double a, double b) {
          return static_cast<double>(static_cast<float>(a) + static_cast<float>(b));
        });
        for (std::size_t position = 0; position < before.size(); ++position) {
          const auto& cell = end.held[position][static_cast<std::size_t>(chunk)];
          add(of_rank[position], place, held(bucket.ranks[position], place, step),
              static_cast<float>(cell.value) + (position == 1 ? error : 0));
        }
      }
      for (std::size_t position = 0; position < of_rank.size(); ++position)
        append_values(bucket.ranks[position], of_rank[position]);
    }
  }
  void append_values(int rank, const ChunkValues& values) {
    std::vector<std::byte> payload;
    telemetry::append(values, payload);
    ASSERT_TRUE(history.take({telemetry::FrameType::samples, rank, payload}));
  }

  RunCollectives run;
  telemetry::History history;

 private:
  static void add(ChunkValues& values, std::int64_t place, float before, float after) {
    values.places.push_back(place);
    for (const auto& [number, to] :
         {std::pair{before, &values.before}, std::pair{after, &values.after}}) {
      const auto bytes = std::as_bytes(std::span(&number, 1));
      to->insert(to->end(), bytes.begin(), bytes.end());
    }
  }
};

TEST(RecordedValues, exist_for_steps_recorded_by_every_member) {
  HandwrittenRun handwritten;
  handwritten.record_values(0);
  handwritten.record_values(2);
  const RunBucket& bucket = handwritten.run.buckets.front();
  ChunkValues alone = handwritten.history.chunk_values().at({bucket.group, bucket.number, 0, 1});
  alone.step = 1;
  handwritten.append_values(1, alone);
  EXPECT_THAT(recorded_steps(handwritten.history, bucket), ElementsAre(0, 2));
  EXPECT_FALSE(
      recorded_values(handwritten.history, bucket, handwritten.run.exercise(bucket), 1, 0));
}

TEST(RecordedValues, have_the_recorded_elements_of_each_chunk) {
  HandwrittenRun handwritten;
  handwritten.record_values(2);
  const RunBucket& bucket = handwritten.run.buckets.front();
  const collective::Exercise exercise = handwritten.run.exercise(bucket);
  const auto spans = collective::chunk_spans(exercise);
  const auto places = run::sampled_places(exercise);
  ASSERT_EQ(recorded_elements(handwritten.history, bucket, exercise, 2), 4);
  for (int element = 0; element < 4; ++element) {
    const RecordedValues values =
        recorded_values(handwritten.history, bucket, exercise, 2, element).value();
    for (int rank = 0; rank < 3; ++rank)
      for (std::size_t chunk = 0; chunk < spans.size(); ++chunk)
        EXPECT_EQ(values.before[static_cast<std::size_t>(rank)][chunk],
                  static_cast<double>(
                      held(rank, places[4 * chunk + static_cast<std::size_t>(element)], 2)));
  }
  EXPECT_FALSE(recorded_values(handwritten.history, bucket, exercise, 2, 4));
}

TEST(RecordedValues, do_not_exist_for_unrecorded_buckets) {
  HandwrittenRun handwritten;
  handwritten.record_values(0);
  RunBucket longer = handwritten.run.buckets.front();
  ++longer.elements;
  EXPECT_THAT(recorded_steps(handwritten.history, longer), ElementsAre());
  EXPECT_FALSE(
      recorded_values(handwritten.history, longer, handwritten.run.exercise(longer), 0, 0));
}

TEST(RunCollectives, have_roots_and_ranks_without_all_reduce) {
  const HandwrittenRun handwritten(experiment::StrategyKind::data_parallel);
  const auto token = [&](const std::string& wanted, const std::vector<int>& ranks) {
    return std::ranges::any_of(handwritten.run.buckets, [&](const RunBucket& one) {
      return one.token == wanted && one.ranks == ranks;
    });
  };
  EXPECT_TRUE(token("REDUCE.b0>r0", {0, 1, 2}));
  EXPECT_TRUE(token("BCAST.b1<r0", {0, 2}) || token("BCAST.b0<r0", {0, 2})) << "rows of rank 2";
  EXPECT_FALSE(handwritten.run.has_single_kind());
  for (const RunBucket& bucket : handwritten.run.buckets)
    EXPECT_TRUE(collective::steps(handwritten.run.exercise(bucket))) << bucket.token;
}

class RecordedStepper : public testing::Test {
 protected:
  void look(HandwrittenRun& handwritten) {
    panel_.resize(1500, 460);
    panel_.show();
    panel_.bar().set_run("by hand", handwritten.run, &handwritten.history);
    auto& ranks = *combo("ranks");
    ranks.setCurrentIndex(ranks.count() - 1);
    emit ranks.activated(ranks.currentIndex());
  }
  void choose(const char* field, int index) {
    ASSERT_LT(index, combo(field)->count());
    combo(field)->setCurrentIndex(index);
    emit combo(field)->activated(index);
  }
  QComboBox* combo(const char* field) { return panel_.findChild<QComboBox*>(field); }
  QString cell(int rank, int chunk) {
    return panel_.table().model()->index(rank, chunk).data().toString();
  }
  QString accessible_text(int rank, int chunk) {
    return panel_.table().model()->index(rank, chunk).data(Qt::AccessibleTextRole).toString();
  }
  int rows() { return panel_.table().model()->rowCount(); }
  int chunks() { return panel_.table().model()->columnCount(); }

  Document document_;
  StepperPanel panel_{document_};
};

TEST_F(RecordedStepper, shows_recorded_values_and_confirms_matches) {
  HandwrittenRun handwritten;
  handwritten.record_values(0);
  look(handwritten);
  const auto places =
      run::sampled_places(handwritten.run.exercise(handwritten.run.buckets.front()));
  EXPECT_EQ(cell(2, 0), value_text(static_cast<double>(held(2, places[0], 0))) + " (2)");
  EXPECT_THAT(panel_.foot(), test::HasAll("Recorded values of bucket 0", "run by hand",
                                          "element 1 of 4", "step 0", "fp32"));
  EXPECT_FALSE(cell(0, 0).contains("in the run"));
  panel_.stepper().go_to_end();
  for (int rank = 0; rank < rows(); ++rank)
    for (int chunk = 0; chunk < chunks(); ++chunk)
      EXPECT_THAT(cell(rank, chunk), test::HasAll("same as"));
  EXPECT_THAT(panel_.sentence(),
              test::HasAll(std::to_string(rows() * chunks()) + " values", "bit for bit"));
  EXPECT_THAT(accessible_text(1, 1), test::HasAll("complete", "same as"));
}

TEST_F(RecordedStepper, reports_values_that_differ_by_one_ulp) {
  HandwrittenRun handwritten;
  handwritten.record_values(0, 1e-6F);
  look(handwritten);
  panel_.stepper().go_to_end();
  EXPECT_THAT(cell(0, 0), test::HasAll("same as"));
  EXPECT_THAT(cell(1, 0), test::HasAll("in the run: 0."));
  EXPECT_THAT(panel_.sentence(), test::HasAll(std::to_string(chunks()) + " of " +
                                              std::to_string(rows() * chunks()) + " values"));
}

TEST_F(RecordedStepper, shows_values_of_the_selected_step_and_element) {
  HandwrittenRun handwritten;
  handwritten.record_values(0);
  handwritten.record_values(4);
  look(handwritten);
  const auto places =
      run::sampled_places(handwritten.run.exercise(handwritten.run.buckets.front()));
  ASSERT_EQ(combo("values_step")->count(), 3) << "two steps and an example";
  choose("values_step", 1);
  EXPECT_EQ(cell(1, 0), value_text(static_cast<double>(held(1, places[0], 4))) + " (1)");
  choose("values_element", 3);
  EXPECT_EQ(cell(1, 0), value_text(static_cast<double>(held(1, places[3], 4))) + " (1)");
  choose("values_step", 2);
  EXPECT_THAT(panel_.foot(), test::HasAll("Example values", "bucket 0", "run by hand"));
  EXPECT_TRUE(panel_.findChild<QSpinBox*>("seed")->isVisible());
  choose("values_step", 0);
  EXPECT_FALSE(panel_.findChild<QSpinBox*>("seed")->isVisible())
      << "recorded values do not depend on a seed";
}

TEST_F(RecordedStepper, recorded_values_are_read_only) {
  HandwrittenRun handwritten;
  handwritten.record_values(0);
  look(handwritten);
  EXPECT_FALSE(panel_.table().model()->index(0, 0).flags().testFlag(Qt::ItemIsEditable));
  choose("values_step", 1);
  EXPECT_TRUE(panel_.table().model()->index(0, 0).flags().testFlag(Qt::ItemIsEditable));
}

TEST_F(RecordedStepper, other_algorithm_than_the_run_has_no_recorded_values) {
  HandwrittenRun handwritten;
  handwritten.record_values(0);
  look(handwritten);
  choose("algorithm", combo("algorithm")->findText("star"));
  EXPECT_THAT(panel_.foot(), test::HasAll("The run used ring"));
  EXPECT_FALSE(panel_.stepper().has_recorded_values());
  EXPECT_FALSE(combo("values_step")->isVisible());
}

TEST_F(RecordedStepper, reports_a_run_without_recorded_values) {
  HandwrittenRun handwritten;
  look(handwritten);
  EXPECT_THAT(panel_.foot(), test::HasAll("no values"));
  handwritten.record_values(0);
  panel_.bar().history_grew();
  EXPECT_TRUE(panel_.foot().contains("Recorded values"))
      << "after the first recorded values: " << panel_.foot().toStdString();
}

TEST_F(RecordedStepper, ranks_of_a_group_have_their_names) {
  HandwrittenRun handwritten(experiment::StrategyKind::data_parallel);
  handwritten.record_values(0);
  look(handwritten);
  const auto& buckets = handwritten.run.buckets;
  const auto rows_of_2 = std::ranges::find_if(buckets, [](const RunBucket& one) {
    return one.ranks == std::vector{0, 2};
  });
  ASSERT_NE(rows_of_2, buckets.end());
  choose("bucket", static_cast<int>(rows_of_2 - buckets.begin()));
  EXPECT_EQ(rows(), 2);
  EXPECT_EQ(panel_.table().model()->headerData(1, Qt::Vertical).toString().section('\n', 0, 0),
            "rank 2");
  EXPECT_TRUE(combo("bucket")->currentText().contains(", ranks 0, 2"))
      << combo("bucket")->currentText().toStdString();
  panel_.stepper().go_to_end();
  EXPECT_THAT(panel_.sentence(),
              test::HasAll("Rank 0 ", "chunk 0", "rank 2", "2 values", "bit for bit"));
}

}  // namespace
}  // namespace trainyard::ui
