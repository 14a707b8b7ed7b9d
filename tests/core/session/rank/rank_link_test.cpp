// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/rank/rank_link.h"

#include <gtest/gtest.h>

namespace trainyard::session {
namespace {

using namespace std::chrono_literals;

// A line that takes nothing while it is shut, as one whose queue is full.
class Line {
 public:
  void shut(bool shut) { shut_ = shut; }
  std::vector<Message> taken() const {
    const std::lock_guard lock(mutex_);
    return taken_;
  }
  int refused() const { return refused_; }
  void answer(const Message& message) {
    const std::lock_guard lock(mutex_);
    answer_ = message;
  }

  std::unique_ptr<ControlClient> client() { return std::make_unique<End>(*this); }

 private:
  class End final : public ControlClient {
   public:
    explicit End(Line& line) : line_(line) {}
    base::Result<std::optional<Message>> receive(std::chrono::milliseconds) override {
      std::this_thread::sleep_for(1ms);
      const std::lock_guard lock(line_.mutex_);
      return std::exchange(line_.answer_, std::nullopt);
    }
    base::Result<void> send(const Message& message) override {
      if (line_.shut_) {
        ++line_.refused_;
        return base::fail({"made_by_test", base::ProblemCode::unavailable, "line",
                           "does not take messages", "", ""});
      }
      const std::lock_guard lock(line_.mutex_);
      line_.taken_.push_back(message);
      return {};
    }

   private:
    Line& line_;
  };

  std::atomic<bool> shut_{false};
  std::atomic<int> refused_{0};
  mutable std::mutex mutex_;
  std::vector<Message> taken_;
  std::optional<Message> answer_;
};

telemetry::Event numbered(int number) {
  telemetry::Event event;
  event.value = number;
  return event;
}

std::vector<double> numbers(const std::vector<Message>& messages) {
  std::vector<double> numbers;
  for (const Message& message : messages)
    if (const auto* events = std::get_if<Events>(&message))
      for (const telemetry::Event& event : events->events) numbers.push_back(event.value);
  return numbers;
}

std::uint64_t dropped(const std::vector<Message>& messages) {
  std::uint64_t dropped = 0;
  for (const Message& message : messages)
    if (const auto* events = std::get_if<Events>(&message)) dropped = events->dropped;
  return dropped;
}

template <class Done>
bool eventually(const Done& done) {
  for (int i = 0; i < 5000 && !done(); ++i) std::this_thread::sleep_for(1ms);
  return done();
}

class RankLinkTest : public testing::Test {
 protected:
  Line line_, pulse_;
  HeartbeatSender heartbeat_sender_{pulse_.client(), {Hello{}}};
  run::Gate gate_;
  telemetry::EventRing events_{8};
  std::unique_ptr<ControlClient> client_ = line_.client();
  RankLink link_{{0, &gate_, &heartbeat_sender_, &events_, nullptr}, *client_};
};

TEST_F(RankLinkTest, resends_events_in_order_after_the_connection_refused_them) {
  line_.shut(true);
  for (int i = 0; i < 3; ++i) events_.write(numbered(i));
  ASSERT_TRUE(eventually([&] { return line_.refused() > 0; }));
  for (int i = 3; i < 6; ++i) events_.write(numbered(i));
  line_.shut(false);
  ASSERT_TRUE(eventually([&] { return numbers(line_.taken()).size() >= 6; }));
  EXPECT_EQ(numbers(line_.taken()), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(dropped(line_.taken()), 0u);
}

TEST_F(RankLinkTest, counts_events_that_were_dropped_while_disconnected) {
  line_.shut(true);
  events_.write(numbered(0));
  ASSERT_TRUE(eventually([&] { return line_.refused() > 0; }));
  for (int i = 1; i <= 20; ++i) events_.write(numbered(i));
  line_.shut(false);
  ASSERT_TRUE(eventually([&] { return numbers(line_.taken()).size() >= 9; }));
  EXPECT_EQ(numbers(line_.taken()), (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(dropped(line_.taken()), 12u)
      << "received and dropped events add up to the written ones";
}

TEST_F(RankLinkTest, reports_no_step_before_its_metrics) {
  line_.shut(true);
  events_.write(numbered(0));
  heartbeat_sender_.rank_progress().step = 1;
  ASSERT_TRUE(eventually([&] { return line_.refused() > 3; }));
  line_.shut(false);
  ASSERT_TRUE(eventually([&] { return line_.taken().size() >= 2; }));
  EXPECT_TRUE(std::holds_alternative<Events>(line_.taken().front()));
}

TEST_F(RankLinkTest, keeps_the_last_events_for_a_slow_coordinator) {
  line_.shut(true);
  events_.write(numbered(7));
  std::thread later([&] {
    std::this_thread::sleep_for(200ms);
    line_.shut(false);
  });
  link_.close();
  later.join();
  EXPECT_EQ(numbers(line_.taken()), std::vector<double>{7});
}

// Returns the bytes of the pieces, which must be in order.
std::int64_t piece_bytes(const std::vector<Message>& messages) {
  std::int64_t bytes = 0;
  for (const Message& message : messages)
    if (const auto* piece = std::get_if<SavedPiece>(&message)) {
      EXPECT_EQ(piece->offset, bytes);
      bytes += std::ssize(piece->bytes);
    }
  return bytes;
}

bool has_report(const std::vector<Message>& messages) {
  return std::ranges::any_of(
      messages, [](const Message& one) { return std::get_if<Saved>(&one) != nullptr; });
}

// The coordinator confirms pieces, so that they never fill its queue.
TEST(RankLinkOfAnotherMachine, sends_parts_in_confirmed_pieces_before_their_report) {
  Line line, pulse;
  HeartbeatSender heartbeat_sender{pulse.client(), {Hello{}}};
  run::Gate gate;
  telemetry::EventRing events{8};
  SavedQueue saved;
  const auto client = line.client();
  RankLinkParts parts{0, &gate, &heartbeat_sender, &events};
  parts.saved = &saved;
  RankLink link(parts, *client);
  const std::int64_t bytes = 5'000'000;
  Saved report;
  report.rank = 0;
  report.file = "f";
  saved.put({report, std::string(bytes, 'x')});
  std::thread closes([&] { link.close(); });
  std::int64_t confirmed = 0;
  while (confirmed < bytes) {
    ASSERT_TRUE(eventually([&] { return piece_bytes(line.taken()) > confirmed; }));
    EXPECT_LE(piece_bytes(line.taken()) - confirmed, 2 << 20);
    EXPECT_FALSE(has_report(line.taken()));
    confirmed = piece_bytes(line.taken());
    line.answer(PieceReceived{0, "f", confirmed});
  }
  EXPECT_TRUE(eventually([&] { return has_report(line.taken()); }));
  closes.join();
}

}  // namespace
}  // namespace trainyard::session
