// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QElapsedTimer>
#include <memory>
#include <vector>

namespace trainyard::ui {
namespace {

using testing::ElementsAre;

class TurnsTest : public testing::Test {
 protected:
  TurnsTest() {
    for (auto& owner : owners_) owner = std::make_unique<QObject>();
  }
  void ask(std::size_t owner, int piece) {
    Turns::instance().ask(owners_[owner].get(), [this, piece] { done_.push_back(piece); });
  }
  // Until so many pieces are done; never two in one turn of the event loop.
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

TEST_F(TurnsTest, runs_one_piece_in_a_turn_in_the_order_they_asked) {
  for (const int owner : {2, 0, 2, 3, 0, 1}) ask(static_cast<std::size_t>(owner), owner);
  EXPECT_TRUE(Turns::instance().waits(owners_[3].get()));
  EXPECT_THAT(watch(4), ElementsAre(2, 0, 3, 1));
  EXPECT_FALSE(Turns::instance().waits(owners_[3].get()));
}

TEST_F(TurnsTest, passes_over_who_is_gone) {
  for (const int owner : {2, 0, 1}) ask(static_cast<std::size_t>(owner), owner);
  owners_[0].reset();
  EXPECT_THAT(watch(2), ElementsAre(2, 1));
}

TEST_F(TurnsTest, who_has_more_to_do_asks_again_and_comes_after_the_others) {
  Turns::instance().ask(owners_[0].get(), [this] {
    done_.push_back(0);
    ask(0, 10);
  });
  ask(1, 1);
  EXPECT_THAT(watch(3), ElementsAre(0, 1, 10));
}

}  // namespace
}  // namespace trainyard::ui
