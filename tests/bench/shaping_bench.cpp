// SPDX-License-Identifier: GPL-3.0-or-later
// How near imposed links come to what was drawn: payload that a receiver saw and copied, over the
// time from the first post to the last copy. "stream": the sender keeps its channel full. "shared":
// two senders stream into one receiver, whose way in is the drawn bandwidth; the ratio is that of
// both together, and "fair" the lesser's part of a half. "turns": a message is posted when the one
// before was consumed, so the time to wake up and to copy counts too. Over the bus of one host, and
// over links through a switch. Messages of kCounted bytes and more that stream, or share, must come
// within 5 % of what was drawn: else it ends with 1.
//
//   bench_shaping [inproc|shm|zmq]...     (all of them)
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include "backends/inproc/transport.h"
#include "backends/shm/transport.h"
#include "backends/zmq/transport.h"
#include "core/base/clock.h"
#include "core/base/units.h"
#include "core/comm/expect.h"
#include "core/comm/shaped_transport.h"
#include "tests/drawings.h"

namespace {

using namespace trainyard;
using comm::Transport;
using Ends = std::vector<std::unique_ptr<Transport>>;

constexpr double kSecondsEach = 0.5, kLongestMessage = 1.2;
constexpr std::chrono::microseconds kPatient{60'000'000};
constexpr int kReceiver = 0;

constexpr std::size_t kCounted = std::size_t{1} << 20;
constexpr double kAllowed = 0.05;

enum class Over { bus, links };

comm::DrawnLinks drawn(Over over, int ranks, double bits_per_second) {
  topology::Topology drawing =
      over == Over::bus ? tests::drawn_hosts(1, ranks) : tests::drawn_hosts(ranks, 1);
  for (topology::Host& host : drawing.hosts) {
    host.bus_bandwidth_bits_per_second = over == Over::bus ? bits_per_second : 1e15;
    host.bus_latency_seconds = 0;
  }
  for (topology::Link& link : drawing.links)
    link.bandwidth_bits_per_second = bits_per_second, link.latency_seconds = 0;
  return comm::drawn_links(topology::Network(drawing)).value();
}

Ends over_shm(int ranks, std::size_t bytes) {
  const int file =
      shm::create(std::vector<std::size_t>(static_cast<std::size_t>(ranks), bytes), 1).value();
  Ends ends;
  for (int rank = 0; rank < ranks; ++rank)
    ends.push_back(shm::open(file, rank, comm::kBriefPatience).value());
  ::close(file);
  return ends;
}

Ends over_zmq(int ranks) {
  const std::string directory =
      std::filesystem::temp_directory_path() / ("bench-shaping-" + std::to_string(::getpid()));
  std::filesystem::create_directories(directory);
  std::vector<std::unique_ptr<zmq::Bound>> bound;
  std::vector<std::string> endpoints;
  zmq::TransportOptions options;
  options.channels = 1;
  for (int rank = 0; rank < ranks; ++rank) {
    bound.push_back(
        zmq::bind(rank, ranks, 1, "ipc://" + directory + "/" + std::to_string(rank), options)
            .value());
    endpoints.push_back(bound.back()->endpoint());
  }
  Ends ends;
  for (auto& socket : bound) {
    auto end = socket->connect(endpoints).value();
    ends.push_back(std::move(end));
  }
  const auto connected = [](const auto& end) {
    return dynamic_cast<zmq::Transport&>(*end).connected();
  };
  while (!std::all_of(ends.begin(), ends.end(), connected))
    for (const auto& end : ends) end->wait(std::chrono::milliseconds(1));
  std::filesystem::remove_all(directory);
  return ends;
}

Ends shaped(const std::string& transport, Over over, int ranks, std::size_t bytes,
            double bits_per_second) {
  Ends ends = transport == "inproc" ? inproc::make(ranks, bytes, {1, comm::kBriefPatience}).value()
              : transport == "shm"  ? over_shm(ranks, bytes)
                                    : over_zmq(ranks);
  const auto links = comm::ShapedLinks::make(drawn(over, ranks, bits_per_second), 1).value();
  for (auto& end : ends) end = comm::ShapedTransport::make(std::move(end), links).value();
  return ends;
}

comm::Tag tag(int message) { return {1, 0, static_cast<std::uint32_t>(message)}; }

void stop(const base::Problem& problem) {
  std::fprintf(stderr, "%s\n", base::to_string(problem).c_str());
  std::exit(3);
}

void send(Transport& end, int messages, std::size_t bytes, bool in_turns) {
  std::vector<std::byte> own;
  if (end.arena().empty()) own.resize(bytes);
  const std::span<std::byte> memory =
      end.arena().empty() ? std::span(own) : end.arena().first(bytes);
  for (int m = 0; m < messages; ++m) {
    if (auto ok = comm::await_post(end, kReceiver, 0, tag(m), memory, kPatient); !ok)
      stop(ok.error());
    if (!in_turns && m + 1 < messages) continue;
    if (auto ok =
            comm::await_consumed(end, kReceiver, 0, static_cast<std::uint64_t>(m) + 1, kPatient);
        !ok)
      stop(ok.error());
  }
}

// Takes the messages of all senders as they come; when the last of each was copied.
std::vector<std::int64_t> receive(Transport& end, int messages, std::size_t bytes) {
  std::vector<std::byte> copy(bytes);
  const auto peers = static_cast<std::size_t>(end.ranks());
  std::vector<int> taken(peers, 0);
  std::vector<std::int64_t> done(peers, 0);
  for (std::size_t left = peers - 1; left > 0;) {
    bool moved = false;
    for (std::size_t peer = 1; peer < peers; ++peer) {
      const int from = static_cast<int>(peer);
      if (taken[peer] == messages) continue;
      const auto message = comm::receive_expected(end, from, 0, {tag(taken[peer]), bytes});
      if (!message) stop(message.error());
      if (!*message) continue;
      std::memcpy(copy.data(), (*message)->bytes.data(), bytes);
      if (auto ok = end.release(from, 0); !ok) stop(ok.error());
      moved = true;
      if (++taken[peer] < messages) continue;
      done[peer] = base::now_nanoseconds();
      --left;
    }
    if (!moved) end.wait(std::chrono::milliseconds(2));
  }
  return done;
}

struct Measured {
  double ratio = 0, fair = 1;
};

Measured measure(const std::string& transport, Over over, int senders, std::size_t bytes,
                 double bits_per_second, int messages, bool in_turns) {
  const Ends ends = shaped(transport, over, senders + 1, bytes, bits_per_second);
  for (const auto& end : ends)
    std::fill(end->arena().begin(), end->arena().end(), std::byte{1});  // pages are there
  const std::int64_t begin = base::now_nanoseconds();
  std::vector<std::thread> threads;
  for (int s = 1; s <= senders; ++s)
    threads.emplace_back(
        [&, s] { send(*ends[static_cast<std::size_t>(s)], messages, bytes, in_turns); });
  const auto done = receive(*ends[kReceiver], messages, bytes);
  for (std::thread& thread : threads) thread.join();
  const auto [first, last] = std::minmax_element(done.begin() + 1, done.end());
  const double bits = 8.0 * static_cast<double>(bytes) * messages;
  return {bits * senders / base::seconds(*last - begin) / bits_per_second,
          base::seconds(*first - begin) / base::seconds(*last - begin)};
}

bool near(double ratio) { return std::abs(ratio - 1) <= kAllowed; }

// Prints a row. Returns true if the measured values are close to the drawn ones.
bool print_row(const std::string& transport, Over over, double bits_per_second, std::size_t bytes) {
  const double takes = 8.0 * static_cast<double>(bytes) / bits_per_second;
  if (takes > kLongestMessage) return true;
  const int messages = std::clamp(static_cast<int>(kSecondsEach / takes), 4, 100'000);
  const Measured stream = measure(transport, over, 1, bytes, bits_per_second, messages, false);
  const Measured both =
      measure(transport, over, 2, bytes, bits_per_second, std::max(4, messages / 2), false);
  const Measured turns =
      measure(transport, over, 1, bytes, bits_per_second, std::min(messages, 2'000), true);
  const bool fine =
      bytes < kCounted || (near(stream.ratio) && near(both.ratio) && both.fair >= 1 - kAllowed);
  std::printf("%-8s %-6s %12s %10s  %7.3f  %7.3f %6.3f  %7.3f%s\n", transport.c_str(),
              over == Over::bus ? "bus" : "links",
              base::with_unit(bits_per_second, "bit/s").c_str(),
              base::format_bytes(static_cast<double>(bytes)).c_str(), stream.ratio, both.ratio,
              both.fair, turns.ratio, fine ? "" : "  OUTSIDE 5 %");
  std::fflush(stdout);
  return fine;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> transports(argv + 1, argv + argc);
  if (transports.empty()) transports = {"inproc", "shm", "zmq"};
  std::printf("measured / drawn throughput\n%-8s %-6s %12s %10s  %7s  %7s %6s  %7s\n", "", "over",
              "drawn", "message", "stream", "shared", "fair", "turns");
  int outside = 0;
  for (const std::string& transport : transports)
    for (const Over over : {Over::bus, Over::links})
      for (const double bandwidth : {10e6, 100e6, 1e9, 10e9})
        for (const std::size_t bytes :
             {std::size_t{64}, std::size_t{4096}, std::size_t{65536}, std::size_t{1} << 20,
              std::size_t{16} << 20, std::size_t{64} << 20})
          if (!print_row(transport, over, bandwidth, bytes)) ++outside;
  std::printf("%d outside 5 %%\n", outside);
  return outside > 0 ? 1 : 0;
}
