// SPDX-License-Identifier: GPL-3.0-or-later
// Shaped links around a transport: bytes take their time. That all a transport promises still holds
// is shown beside each backend's own tests (shaped_backend.h).
#include "core/comm/shaped_transport.h"

#include <gmock/gmock.h>

#include <memory>
#include <random>

#include "backends/inproc/transport.h"
#include "core/sim/links.h"
#include "tests/conformance/small_training.h"
#include "tests/conformance/transport_backend.h"
#include "tests/drawings.h"

namespace trainyard::conformance {
namespace {

using comm::ShapedLinks;
using comm::ShapedTransport;
using Links = std::shared_ptr<ShapedLinks>;

topology::Topology bus(int ranks, double bits_per_second, double latency_seconds) {
  topology::Topology drawing;
  drawing.hosts = {tests::drawn_host("host", ranks)};
  drawing.hosts[0].bus_bandwidth_bits_per_second = bits_per_second;
  drawing.hosts[0].bus_latency_seconds = latency_seconds;
  return drawing;
}

comm::DrawnLinks drawn(const topology::Topology& drawing) {
  return comm::drawn_links(topology::Network(drawing)).value();
}

std::vector<std::unique_ptr<Transport>> shaped_threads(int ranks, std::size_t arena_bytes,
                                                       int channels, const Links& links) {
  auto ends = inproc::make(ranks, arena_bytes, {channels, comm::kBriefPatience}).value();
  for (auto& end : ends) end = ShapedTransport::make(std::move(end), links).value();
  return ends;
}

// Two ranks and a clock that the test turns.
class ManualClock : public testing::Test {
 protected:
  bool comes() { return (*ends_[1]).receive(0, 0)->has_value(); }

  std::atomic<std::int64_t> now_ns_{1'000'000'000};
  Links links_ =
      ShapedLinks::make(drawn(bus(2, 1e9, 10e-6)), 2, [this] { return now_ns_.load(); }).value();
  std::vector<std::unique_ptr<Transport>> ends_ = shaped_threads(2, 1 << 20, 2, links_);
};

TEST_F(ManualClock, delays_a_message_to_the_nanosecond) {
  ASSERT_TRUE(good(ends_[0]->post(1, 0, tag_of(0), ends_[0]->arena().first(1000))));
  EXPECT_FALSE(comes());
  now_ns_ += 8'000 + 10'000 - 1;
  EXPECT_FALSE(comes());
  now_ns_ += 1;
  EXPECT_TRUE(comes());
  EXPECT_TRUE(comes()) << "asked again";
}

TEST_F(ManualClock, does_not_release_a_delayed_message) {
  ASSERT_TRUE(good(ends_[0]->post(1, 0, tag_of(0), ends_[0]->arena().first(1000))));
  EXPECT_FALSE(ends_[1]->release(0, 0));
  EXPECT_FALSE(comes());
  EXPECT_FALSE(ends_[1]->release(0, 0));
  now_ns_ += 18'000;
  EXPECT_TRUE(comes());
  EXPECT_TRUE(good(ends_[1]->release(0, 0)));
  EXPECT_EQ(ends_[0]->consumed(1, 0), 1u);
}

TEST_F(ManualClock, late_receiver_does_not_delay_queued_messages) {
  for (int op = 0; op < 10; ++op)
    ASSERT_TRUE(good(ends_[0]->post(1, 0, tag_of(op), ends_[0]->arena().first(1000))));
  now_ns_ += 10 * 8'000 + 10'000;  // it looks for the first time when the last has come
  for (int op = 0; op < 10; ++op) {
    EXPECT_TRUE(comes()) << op;
    ASSERT_TRUE(good(ends_[1]->release(0, 0)));
  }
}

TEST_F(ManualClock, does_not_delay_an_abort) {
  ASSERT_TRUE(good(ends_[0]->post(1, 0, tag_of(0), ends_[0]->arena().first(1000))));
  EXPECT_FALSE(comes());
  ends_[0]->abort(
      {"made_by_test", base::ProblemCode::canceled, "rank 0", "was stopped by a test", "", ""});
  EXPECT_FALSE(ends_[1]->receive(0, 0));
  EXPECT_FALSE(ends_[1]->release(0, 0));
}

TEST(ShapedTransport, wait_ends_when_a_delayed_message_arrives) {
  const Links links = ShapedLinks::make(drawn(bus(2, 1e9, 20e-3)), 1).value();
  const auto ends = shaped_threads(2, 4096, 1, links);
  const std::int64_t begin = base::now_nanoseconds();
  ASSERT_TRUE(good(ends[0]->post(1, 0, tag_of(0), ends[0]->arena().first(64))));
  ends[1]->wait(milliseconds(1));  // the first returns at once
  while (!ends[1]->receive(0, 0)->has_value()) ends[1]->wait(seconds(1000));
  EXPECT_GE(base::now_nanoseconds() - begin, 20'000'000);
}

TEST(ShapedTransport, refuses_links_of_another_group) {
  auto ends = inproc::make(2, 4096).value();
  EXPECT_FALSE(ShapedTransport::make(std::move(ends[0]),
                                     ShapedLinks::make(drawn(bus(3, 1e9, 0)), 8).value()));
}

// The simulator's links and these, given the same messages: the same picosecond for each.
TEST(ShapedLinks, agree_with_the_simulator_on_every_arrival) {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    topology::Topology drawing = bus(6, 1e8 + static_cast<double>(random() % 1'000'000'000), 1e-6);
    drawing.hosts.push_back(tests::drawn_host("other", 2));
    drawing.links.push_back(
        {"host", "other", 1e8 + static_cast<double>(random() % 400'000'000), 1e-5});
    if (round % 2 == 1)  // messages are split over parallel links
      drawing.links.push_back(
          {"other", "host", 1e8 + static_cast<double>(random() % 400'000'000), 2e-5});
    const topology::Network network(drawing);
    const std::vector<topology::DeviceId> workers = network.workers();
    const comm::DrawnLinks plan_is_of_drawing = drawn(drawing);
    std::vector<std::byte> memory(comm::LinkShares::bytes(plan_is_of_drawing, 1) + 64);
    void* start = memory.data();
    std::size_t space = memory.size();
    std::align(64, 1, start, space);
    comm::LinkShares shares =
        comm::LinkShares::format({static_cast<std::byte*>(start), space}, plan_is_of_drawing, 1);
    sim::Links simulated(network);

    struct Sent {
      comm::LaneName lane;
      sim::Path path;
      std::int64_t bytes = 0;
      sim::Picoseconds at = 0;
    };
    std::vector<Sent> all;  // up to two messages a lane
    for (int from = 0; from < 8; ++from)
      for (int to = 0; to < 8; ++to)
        for (unsigned message = 0; from != to && message < random() % 3; ++message)
          all.push_back({{from, to, 0},
                         sim::Path(network
                                       .route(workers[static_cast<std::size_t>(from)],
                                              workers[static_cast<std::size_t>(to)])
                                       .value()),
                         static_cast<std::int64_t>(random() % 1'000'000),
                         static_cast<sim::Picoseconds>(random())});
    std::sort(all.begin(), all.end(), [](const Sent& a, const Sent& b) { return a.at < b.at; });

    std::vector<sim::Picoseconds> ends(all.size());
    std::size_t next = 0;
    for (sim::Picoseconds now = 0;;) {
      const sim::Picoseconds end = simulated.next_end(now);
      if (next < all.size() && all[next].at < end) {
        now = all[next].at;
        simulated.start(static_cast<int>(next), 8 * all[next].lane.from + all[next].lane.to,
                        all[next].path, all[next].bytes, now);
        ++next;
      } else if (end == sim::Links::kNever) {
        break;
      } else {
        now = end;
        for (const int number : simulated.take_ended(now))
          ends[static_cast<std::size_t>(number)] = now;
      }
    }
    for (const Sent& sent : all)
      shares.post(sent.lane, static_cast<std::uint64_t>(sent.bytes), sent.at);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& route =
          plan_is_of_drawing
              .routes[static_cast<std::size_t>(all[i].lane.from * 8 + all[i].lane.to)];
      EXPECT_EQ(shares.oldest(all[i].lane, sim::kLongest / 2).next_check,
                ends[i] + sim::picoseconds(route.latency_seconds))
          << round << " " << i;
      shares.release(all[i].lane);
    }
  }
}

tests::MakeTransports over(double bits_per_second, double latency_seconds) {
  return [=](int ranks, std::size_t arena_bytes) {
    return shaped_threads(
        ranks, arena_bytes, 8,
        ShapedLinks::make(drawn(bus(ranks, bits_per_second, latency_seconds)), 8).value());
  };
}

std::vector<std::unique_ptr<Transport>> unshaped(int ranks, std::size_t arena_bytes) {
  return inproc::make(ranks, arena_bytes).value();
}

TEST(ShapedTraining, gives_the_same_result_and_bytes_and_takes_the_time_of_the_links) {
  for (const auto algorithm : {collective::Algorithm::ring, collective::Algorithm::direct}) {
    experiment::Experiment e = tests::small(3, 24);
    e.strategy.algorithm = algorithm;
    e.training.steps = 10;
    const auto resolved = experiment::resolve(e, ".").value();
    const auto free = tests::train(resolved, compute::reference::make, unshaped);
    const auto slow = tests::train(resolved, compute::reference::make, over(1e6, 0));
    for (std::size_t rank = 0; rank < 3; ++rank) {
      ASSERT_EQ(slow[rank].problem, base::Problem{});
      EXPECT_EQ(slow[rank].parameters, free[rank].parameters);
      double bits = 0;
      for (std::size_t peer = 0; peer < 3; ++peer) {
        EXPECT_EQ(slow[rank].traffic[peer].sent_payload_bytes,
                  free[rank].traffic[peer].sent_payload_bytes);
        bits += 8.0 * static_cast<double>(slow[rank].traffic[peer].sent_payload_bytes);
      }
      EXPECT_GE(slow[rank].seconds, bits / 1e6) << "its outgoing direction is at its limit";
    }
  }
}

TEST(ShapedTraining, allocates_nothing_in_later_steps) {
  for (const int ranks : {2, 4})
    EXPECT_THAT(tests::allocated_by_more_steps(tests::small(ranks, 24), over(10e9, 1e-6)),
                testing::Each(0))
        << ranks;
}

}  // namespace
}  // namespace trainyard::conformance
