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
class HandMadeRun {
 public:
  explicit HandMadeRun(experiment::StrategyKind kind = experiment::StrategyKind::mirrored) {
    experiment::Experiment e = strategy::small(3);
    e.strategy.kind = kind;
    e.strategy.algorithm = collective::Algorithm::ring;
    run = run_collectives(experiment::to_json(strategy::resolved(e))).value();
  }

  // Records the values of all buckets, computed by the run's own program; adds `wrong_by` to the
  // result on rank 1.
  void put_aside(int step, float wrong_by = 0) {
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
              static_cast<float>(cell.value) + (position == 1 ? wrong_by : 0));
        }
      }
      for (std::size_t position = 0; position < of_rank.size(); ++position)
        tell(bucket.ranks[position], of_rank[position]);
    }
  }
  void tell(int rank, const ChunkValues& values) {
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

TEST(RecordedValues, are_of_steps_that_every_member_has_put_aside) {
  HandMadeRun made;
  made.put_aside(0);
  made.put_aside(2);
  const RunBucket& bucket = made.run.buckets.front();
  ChunkValues alone = made.history.chunk_values().at({bucket.group, bucket.number, 0, 1});
  alone.step = 1;
  made.tell(1, alone);
  EXPECT_THAT(recorded_steps(made.history, bucket), ElementsAre(0, 2));
  EXPECT_FALSE(recorded_values(made.history, bucket, made.run.exercise(bucket), 1, 0));
}

TEST(RecordedValues, are_those_of_the_places_in_each_chunk) {
  HandMadeRun made;
  made.put_aside(2);
  const RunBucket& bucket = made.run.buckets.front();
  const collective::Exercise exercise = made.run.exercise(bucket);
  const auto spans = collective::chunk_spans(exercise);
  const auto places = run::sampled_places(exercise);
  ASSERT_EQ(recorded_elements(made.history, bucket, exercise, 2), 4);
  for (int element = 0; element < 4; ++element) {
    const RecordedValues values =
        recorded_values(made.history, bucket, exercise, 2, element).value();
    for (int rank = 0; rank < 3; ++rank)
      for (std::size_t chunk = 0; chunk < spans.size(); ++chunk)
        EXPECT_EQ(values.before[static_cast<std::size_t>(rank)][chunk],
                  static_cast<double>(
                      held(rank, places[4 * chunk + static_cast<std::size_t>(element)], 2)));
  }
  EXPECT_FALSE(recorded_values(made.history, bucket, exercise, 2, 4));
}

TEST(RecordedValues, of_another_bucket_than_was_put_aside_are_none) {
  HandMadeRun made;
  made.put_aside(0);
  RunBucket longer = made.run.buckets.front();
  ++longer.elements;
  EXPECT_THAT(recorded_steps(made.history, longer), ElementsAre());
  EXPECT_FALSE(recorded_values(made.history, longer, made.run.exercise(longer), 0, 0));
}

TEST(RunCollectives,
     of_strategies_that_do_not_all_reduce_has_their_collectives_with_roots_and_ranks) {
  const HandMadeRun made(experiment::StrategyKind::data_parallel);
  const auto token = [&](const std::string& wanted, const std::vector<int>& ranks) {
    return std::ranges::any_of(made.run.buckets, [&](const RunBucket& one) {
      return one.token == wanted && one.ranks == ranks;
    });
  };
  EXPECT_TRUE(token("REDUCE.b0>r0", {0, 1, 2}));
  EXPECT_TRUE(token("BCAST.b1<r0", {0, 2}) || token("BCAST.b0<r0", {0, 2})) << "rows of rank 2";
  EXPECT_FALSE(made.run.has_single_kind());
  for (const RunBucket& bucket : made.run.buckets)
    EXPECT_TRUE(collective::steps(made.run.exercise(bucket))) << bucket.token;
}

class TrueStepper : public testing::Test {
 protected:
  void look(HandMadeRun& made) {
    panel_.resize(1500, 460);
    panel_.show();
    panel_.bar().set_run("by hand", made.run, &made.history);
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

TEST_F(TrueStepper, shows_the_numbers_of_the_run_and_ticks_off_those_that_it_had_too) {
  HandMadeRun made;
  made.put_aside(0);
  look(made);
  const auto places = run::sampled_places(made.run.exercise(made.run.buckets.front()));
  EXPECT_EQ(cell(2, 0), value_text(static_cast<double>(held(2, places[0], 0))) + " (2)");
  EXPECT_TRUE(panel_.foot().contains(
      "Recorded values of bucket 0 of run by hand: recorded element 1 of 4 of each chunk, "
      "as held before the collective, "
      "in step 0. Sums are rounded in fp32, as on the ranks."))
      << panel_.foot().toStdString();
  EXPECT_FALSE(cell(0, 0).contains("in the run"));
  panel_.stepper().go_to_end();
  for (int rank = 0; rank < rows(); ++rank)
    for (int chunk = 0; chunk < chunks(); ++chunk)
      EXPECT_TRUE(cell(rank, chunk).endsWith(", same as in the run"))
          << cell(rank, chunk).toStdString();
  EXPECT_TRUE(panel_.sentence().endsWith(
      QString("All %1 values are bitwise equal to the run.").arg(rows() * chunks())))
      << panel_.sentence().toStdString();
  EXPECT_TRUE(accessible_text(1, 1).contains("complete, same as in the run"));
}

TEST_F(TrueStepper, says_where_the_run_had_another_number_however_close) {
  HandMadeRun made;
  made.put_aside(0, 1e-6F);
  look(made);
  panel_.stepper().go_to_end();
  EXPECT_TRUE(cell(0, 0).endsWith(", same as in the run"));
  EXPECT_TRUE(cell(1, 0).contains(", in the run: 0.")) << cell(1, 0).toStdString();
  EXPECT_TRUE(panel_.sentence().contains(
      QString("%1 of %2 values differ from the run.").arg(chunks()).arg(rows() * chunks())))
      << panel_.sentence().toStdString();
}

TEST_F(TrueStepper, another_step_and_another_element_show_their_own_numbers) {
  HandMadeRun made;
  made.put_aside(0);
  made.put_aside(4);
  look(made);
  const auto places = run::sampled_places(made.run.exercise(made.run.buckets.front()));
  ASSERT_EQ(combo("values_step")->count(), 3) << "two steps, and an example";
  choose("values_step", 1);
  EXPECT_EQ(cell(1, 0), value_text(static_cast<double>(held(1, places[0], 4))) + " (1)");
  choose("values_element", 3);
  EXPECT_EQ(cell(1, 0), value_text(static_cast<double>(held(1, places[3], 4))) + " (1)");
  choose("values_step", 2);
  EXPECT_TRUE(panel_.foot().contains("Example values; byte counts of bucket 0 of run by hand."));
  EXPECT_TRUE(panel_.findChild<QSpinBox*>("seed")->isVisible());
  choose("values_step", 0);
  EXPECT_FALSE(panel_.findChild<QSpinBox*>("seed")->isVisible()) << "true numbers follow no seed";
}

TEST_F(TrueStepper, true_numbers_cannot_be_typed_over) {
  HandMadeRun made;
  made.put_aside(0);
  look(made);
  EXPECT_FALSE(panel_.table().model()->index(0, 0).flags().testFlag(Qt::ItemIsEditable));
  choose("values_step", 1);
  EXPECT_TRUE(panel_.table().model()->index(0, 0).flags().testFlag(Qt::ItemIsEditable));
}

TEST_F(TrueStepper, of_another_algorithm_than_the_runs_nothing_true_is_claimed) {
  HandMadeRun made;
  made.put_aside(0);
  look(made);
  choose("algorithm", combo("algorithm")->findText("star"));
  EXPECT_TRUE(panel_.foot().contains("The run used ring, not the algorithm shown"))
      << panel_.foot().toStdString();
  EXPECT_FALSE(panel_.stepper().has_recorded_values());
  EXPECT_FALSE(combo("values_step")->isVisible());
}

TEST_F(TrueStepper, a_run_that_put_nothing_aside_is_said_to) {
  HandMadeRun made;
  look(made);
  EXPECT_TRUE(panel_.foot().contains("The run recorded no values.")) << panel_.foot().toStdString();
  made.put_aside(0);
  panel_.bar().history_grew();
  EXPECT_TRUE(panel_.foot().contains("Recorded values"))
      << "as soon as it has: " << panel_.foot().toStdString();
}

TEST_F(TrueStepper, ranks_of_a_part_of_the_run_have_their_own_names) {
  HandMadeRun made(experiment::StrategyKind::data_parallel);
  made.put_aside(0);
  look(made);
  const auto& buckets = made.run.buckets;
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
  EXPECT_TRUE(panel_.sentence().startsWith("Rank 0 sends chunk 0 to rank 2"))
      << panel_.sentence().toStdString();
  EXPECT_TRUE(panel_.sentence().endsWith("All 2 values are bitwise equal to the run."))
      << panel_.sentence().toStdString();
}

}  // namespace
}  // namespace trainyard::ui
