// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/runs/work_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QElapsedTimer>
#include <memory>
#include <vector>

namespace trainyard::ui {
namespace {

using testing::ElementsAre;

class WorkSchedulerTest : public testing::Test {
 protected:
  WorkSchedulerTest() {
    for (auto& owner : owners_) owner = std::make_unique<QObject>();
  }
  void ask(std::size_t owner, int piece, Work work = Work::reading) {
    WorkScheduler::instance().ask(owners_[owner].get(), work,
                                  [this, piece] { done_.push_back(piece); });
  }
  // Waits until `count` tasks are done, at most one per turn of the event loop.
  const std::vector<int>& watch(std::size_t count) {
    QElapsedTimer patience;
    patience.start();
    while (done_.size() < count && !patience.hasExpired(20'000)) {
      const std::size_t before = done_.size();
      QCoreApplication::processEvents();
      EXPECT_LE(done_.size(), before + 1);
    }
    return done_;
  }

  std::unique_ptr<QObject> owners_[4];
  std::vector<int> done_;
};

TEST_F(WorkSchedulerTest, runs_one_task_per_event_loop_turn_in_order) {
  for (const int owner : {2, 0, 2, 3, 0, 1}) ask(static_cast<std::size_t>(owner), owner);
  EXPECT_TRUE(WorkScheduler::instance().waits(owners_[3].get()));
  EXPECT_THAT(watch(4), ElementsAre(2, 0, 3, 1));
  EXPECT_FALSE(WorkScheduler::instance().waits(owners_[3].get()));
}

TEST_F(WorkSchedulerTest, skips_deleted_owners) {
  for (const int owner : {2, 0, 1}) ask(static_cast<std::size_t>(owner), owner);
  owners_[0].reset();
  EXPECT_THAT(watch(2), ElementsAre(2, 1));
}

TEST_F(WorkSchedulerTest, task_that_requests_again_runs_after_the_others) {
  WorkScheduler::instance().ask(owners_[0].get(), Work::reading, [this] {
    done_.push_back(0);
    ask(0, 10);
  });
  ask(1, 1);
  EXPECT_THAT(watch(3), ElementsAre(0, 1, 10));
}

// A run that is read requests tasks repeatedly; charts run occasionally.
TEST_F(WorkSchedulerTest, reading_has_priority_over_charts) {
  for (const int owner : {0, 1}) ask(static_cast<std::size_t>(owner), owner, Work::drawing);
  for (const int owner : {2, 3}) ask(static_cast<std::size_t>(owner), owner);
  EXPECT_THAT(watch(2), ElementsAre(2, 3));
  for (const int owner : {2, 3}) ask(static_cast<std::size_t>(owner), owner);
  EXPECT_THAT(watch(6), ElementsAre(2, 3, 2, 0, 3, 1));
}

TEST_F(WorkSchedulerTest, task_may_delete_its_owner_and_a_waiting_owner) {
  WorkScheduler::instance().ask(owners_[0].get(), Work::reading, [this] {
    done_.push_back(0);
    owners_[0].reset();
    owners_[1].reset();
  });
  for (const int owner : {1, 2}) ask(static_cast<std::size_t>(owner), owner);
  EXPECT_THAT(watch(2), ElementsAre(0, 2));
}

}  // namespace
}  // namespace trainyard::ui
