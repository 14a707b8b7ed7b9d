// SPDX-License-Identifier: GPL-3.0-or-later
// Byte counts of the transport against those of the kernel: tcpi_bytes_acked of tcp(7)'s TCP_INFO,
// summed over the sockets of both ends.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>

#include "backends/zmq/transport_frame.h"
#include "core/compute/reference/reference.h"
#include "tests/backends/zmq/sockets_with_memory.h"
#include "tests/conformance/small_training.h"
#include "tests/conformance/transport_backend.h"

namespace trainyard::conformance {
namespace {

// Bytes that TCP sockets of this process sent and whose receipt the other end confirmed.
std::uint64_t acknowledged_by_tcp() {
  std::uint64_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    tcp_info info{};
    socklen_t length = sizeof info;
    if (::getsockopt(std::stoi(entry.path().filename()), IPPROTO_TCP, TCP_INFO, &info, &length) ==
        0)
      sum += info.tcpi_bytes_acked;
  }
  return sum;
}

// The kernel confirms a little later than ZeroMQ reads: waits until nothing has come for a while.
std::uint64_t settled() {
  std::uint64_t before = acknowledged_by_tcp();
  for (int quiet = 0; quiet < 10;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::uint64_t now = acknowledged_by_tcp();
    quiet = now == before ? quiet + 1 : 0;
    before = now;
  }
  return before;
}

// ZMTP 3.1 puts flags and a length before each frame: 2 bytes up to a size of 255, 9 beyond
// (rfc.zeromq.org, 37/ZMTP).
std::uint64_t on_the_wire(std::uint64_t size) { return size + (size <= 255 ? 2 : 9); }

// A message is a header and a payload, and back comes the word that it was consumed.
std::uint64_t of_message(std::uint64_t payload) {
  return on_the_wire(zmq::kFrameHeaderBytes) + on_the_wire(payload) +
         on_the_wire(zmq::kFrameHeaderBytes);
}

TEST(ZmqTransport, counts_the_bytes_that_tcp_counts) {
  const auto ends = tcp_pair();
  std::vector<std::byte> memory(3'000'000);
  fill(memory, 1);
  pass(*ends[0], *ends[1], 0, 0, std::span(memory).first(1));
  pass(*ends[1], *ends[0], 0, 0, std::span(memory).first(1));
  const std::uint64_t before = settled();
  const comm::Traffic first = ends[0]->traffic(1);

  std::uint64_t expected = 0;
  std::uint32_t op = 1;
  for (const std::size_t size : {0u, 1u, 255u, 256u, 65'537u, 3'000'000u}) {
    pass(*ends[0], *ends[1], 0, op, std::span(memory).first(size));
    pass(*ends[1], *ends[0], 0, op++, std::span(memory).first(size));
    expected += 2 * of_message(size);
  }
  EXPECT_EQ(settled() - before, expected);
  const comm::Traffic last = ends[0]->traffic(1);
  EXPECT_EQ(last.sent_payload_bytes - first.sent_payload_bytes,
            0u + 1 + 255 + 256 + 65'537 + 3'000'000);
  EXPECT_EQ(last.received_payload_bytes - first.received_payload_bytes,
            0u + 1 + 255 + 256 + 65'537 + 3'000'000);
  EXPECT_EQ(last.sent_header_bytes - first.sent_header_bytes, 6 * 2 * zmq::kFrameHeaderBytes)
      << "6 messages and one reply";
}

// Sends of a planned training run.
struct Sends {
  std::uint64_t payload = 0, messages = 0, on_tcp = 0;
};

Sends sends_of(const experiment::Resolved& resolved) {
  const plan::Plan plan = strategy::make_plan(resolved).value();
  Sends sends;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const plan::RankPlan of_rank = plan.rank_plan(rank);
    for (std::int64_t step = 0; step < plan.schedule.steps; ++step)
      for (const plan::Op& op :
           of_rank.programs[static_cast<std::size_t>(of_rank.program(plan.schedule.program(step)))]
               .ops) {
        if (op.kind != plan::OpKind::send) continue;
        const auto bytes = static_cast<std::uint64_t>(op.reads[0].count) *
                           base::size_of(of_rank.buffers[op.reads[0].buffer.index()].dtype);
        sends.payload += bytes, ++sends.messages, sends.on_tcp += of_message(bytes);
      }
  }
  return sends;
}

// Stays open after its rank is done, so that the kernel can still be asked.
class Borrowed final : public WrappedTransport {
 public:
  Borrowed(std::unique_ptr<comm::Transport> inner,
           std::vector<std::unique_ptr<comm::Transport>>& back)
      : WrappedTransport(std::move(inner)), back_(back) {}
  ~Borrowed() override { back_.push_back(take()); }

 private:
  std::vector<std::unique_ptr<comm::Transport>>& back_;
};

class TrainingOverTcp : public testing::TestWithParam<std::tuple<collective::Algorithm, int>> {};

// Payload is 2(n-1)/n of the gradients a rank and step, of ring and of direct.
TEST_P(TrainingOverTcp, sends_the_bytes_of_its_plan_as_counted_by_tcp) {
  const auto [algorithm, ranks] = GetParam();
  experiment::Experiment e = tests::small(ranks, 24);
  e.strategy.algorithm = algorithm;
  e.strategy.bucket_bytes = 6000;  // chunks of up to 255 bytes, and beyond
  e.training.steps = 5;
  e.data.held_out_samples = 0;
  const experiment::Resolved resolved = experiment::resolve(e, ".").value();
  std::deque<tests::Lines> memory;
  std::vector<std::unique_ptr<comm::Transport>> back;
  std::uint64_t before = 0;
  const auto outcomes = tests::train(resolved, compute::reference::make,
                                     [&, n = ranks](int, std::size_t arena_bytes) {
                                       auto ends = tests::over_sockets(n, arena_bytes, memory, {});
                                       for (auto& end : ends)
                                         end = std::make_unique<Borrowed>(std::move(end), back);
                                       before = settled();
                                       return ends;
                                     });
  const std::uint64_t on_tcp = settled() - before;
  comm::Traffic all;
  for (const tests::RankOutcome& rank : outcomes) {
    ASSERT_EQ(rank.problem, base::Problem{});
    for (const comm::Traffic& peer : rank.traffic) {
      all.sent_payload_bytes += peer.sent_payload_bytes,
          all.received_payload_bytes += peer.received_payload_bytes;
      all.sent_header_bytes += peer.sent_header_bytes;
    }
  }
  const Sends sends = sends_of(resolved);
  EXPECT_EQ(sends.payload,
            static_cast<std::uint64_t>(5 * 2 * (ranks - 1) * resolved.model.elements * 8));
  EXPECT_EQ(all.sent_payload_bytes, sends.payload);
  EXPECT_EQ(all.received_payload_bytes, sends.payload);
  EXPECT_EQ(all.sent_header_bytes, 2 * sends.messages * zmq::kFrameHeaderBytes);
  EXPECT_EQ(on_tcp, sends.on_tcp);
}

INSTANTIATE_TEST_SUITE_P(algorithms, TrainingOverTcp,
                         testing::Combine(testing::Values(collective::Algorithm::ring,
                                                          collective::Algorithm::direct),
                                          testing::Range(2, 9)),
                         [](const auto& row) {
                           return std::string(base::name_of(std::get<0>(row.param))) + "_of_" +
                                  std::to_string(std::get<1>(row.param));
                         });

}  // namespace
}  // namespace trainyard::conformance
