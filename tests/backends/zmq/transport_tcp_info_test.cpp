// SPDX-License-Identifier: GPL-3.0-or-later
// What the transport counts against what the kernel counts: tcpi_bytes_acked of tcp(7)'s TCP_INFO, summed over the sockets
// of both ends.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>

#include "backends/zmq/transport_frame.h"
#include "tests/backends/zmq/tcp_pair.h"
#include "tests/conformance/transport_backend.h"

namespace trainyard::conformance {
namespace {

// Bytes that TCP sockets of this process sent and whose receipt the other end confirmed.
std::uint64_t acknowledged_by_tcp() {
  std::uint64_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    tcp_info info{};
    socklen_t length = sizeof info;
    if (::getsockopt(std::stoi(entry.path().filename()), IPPROTO_TCP, TCP_INFO, &info, &length) == 0) sum += info.tcpi_bytes_acked;
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

// ZMTP 3.1 puts flags and a length before each frame: 2 bytes up to a size of 255, 9 beyond (rfc.zeromq.org, 37/ZMTP).
std::uint64_t on_the_wire(std::uint64_t size) { return size + (size <= 255 ? 2 : 9); }

TEST(ZmqTransport, counts_the_bytes_that_tcp_counts) {
  zmq::TransportOptions options;
  options.heartbeat_interval = options.heartbeat_limit = std::chrono::minutes(10);  // its frames are no messages
  const auto ends = tcp_pair(options);
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
    expected += 2 * (on_the_wire(zmq::frame_header_bytes) + on_the_wire(size));  // each way: a header and a payload,
    expected += 2 * on_the_wire(zmq::frame_header_bytes);                        // and back the word that it was consumed
  }
  EXPECT_EQ(settled() - before, expected);
  const comm::Traffic last = ends[0]->traffic(1);
  EXPECT_EQ(last.sent_payload_bytes - first.sent_payload_bytes, 0u + 1 + 255 + 256 + 65'537 + 3'000'000);
  EXPECT_EQ(last.received_payload_bytes - first.received_payload_bytes, 0u + 1 + 255 + 256 + 65'537 + 3'000'000);
  EXPECT_EQ(last.sent_header_bytes - first.sent_header_bytes, 6 * 2 * zmq::frame_header_bytes) << "6 messages and the word for 6";
}

}  // namespace
}  // namespace trainyard::conformance
