// SPDX-License-Identifier: GPL-3.0-or-later
// bench allreduce: the job and the measurements of one rank and of all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/field_table.h"
#include "core/base/json_fwd.h"
#include "core/base/reduction.h"
#include "core/base/result.h"
#include "core/collective/algorithm.h"
#include "core/comm/transport.h"
#include "core/experiment/fields.h"

namespace trainyard::cli {

enum class BenchTransport { shm, zmq, inproc };

struct BenchJob {
  std::int64_t ranks = 2;
  std::int64_t bytes = 64 << 20;  // size of the fp32 buffer
  std::int64_t bucket_bytes = 0;  // bytes per all-reduce; 0: the full buffer
  std::int64_t segment_bytes =
      0;  // Larger buckets are split into segments of this size. 0: the default of experiments.
  std::int64_t repeat = 20;
  collective::Algorithm algorithm = collective::Algorithm::ring;
  // Transport between the ranks. It determines whether ranks are processes or threads. If an engine
  // such as Gloo runs the collectives, ranks use this transport only to exchange their addresses.
  BenchTransport transport = BenchTransport::shm;
  experiment::Engine engine = experiment::Engine::own;
  base::Reduction reduction = base::Reduction::sum;
  bool bind = false;  // true: pins each process to a core, round-robin

  std::int64_t elements() const { return bytes / 4; }
};

// Measurements of a rank: begin and end of every repeat (CLOCK_MONOTONIC), and the bytes sent in
// one repeat.
struct BenchTimes {
  std::vector<std::int64_t> begin_ns, end_ns;
  std::int64_t sent_payload_bytes = 0;
  std::int64_t peak_memory_bytes = 0;  // peak memory of the rank's process
};

// Number of channels: one for the collective, one for the barriers between repeats.
inline constexpr int kBenchChannels = 2;

// Returns the size in bytes of a rank's arena, which its peers read.
std::int64_t bench_arena_bytes(const BenchJob& job);

// Runs the bench on one rank: one verified all-reduce, warm-ups, then timed repeats. Before every
// repeat, each rank rewrites its buffer, as a backward pass does, and then waits for the other
// ranks. The buffer is in the transport's arena, or in private memory if the transport has no
// arena. A failure aborts the transport.
base::Result<BenchTimes> bench_rank(const BenchJob& job, comm::Transport& transport);

using BenchAllTimes = std::vector<BenchTimes>;  // by rank
// Runs the bench on all ranks, in processes or threads. If a rank fails, the other ranks are ended.
base::Result<BenchAllTimes> measure_allreduce(const BenchJob& job);

base::Json to_json(const BenchTimes& times);
base::Result<BenchTimes> bench_times(const base::Json& json);

}  // namespace trainyard::cli

template <>
struct trainyard::base::Names<trainyard::cli::BenchTransport> {
  using T = trainyard::cli::BenchTransport;
  static constexpr std::pair<T, std::string_view> table[] = {
      {T::shm, "shm"}, {T::zmq, "zmq"}, {T::inproc, "inproc"}};
};
template <>
struct trainyard::base::Fields<trainyard::cli::BenchJob> {
  using J = trainyard::cli::BenchJob;
  static constexpr std::string_view title = "All-reduce benchmark";
  static auto table() {
    return std::tuple{
        field("ranks", &J::ranks, "ranks", {1, 256}, "Number of ranks"),
        field("bytes", &J::bytes, "B", {4, 1e12}, "Size of the fp32 buffer that is reduced"),
        field("bucket_bytes", &J::bucket_bytes, "B", {0, 1e12},
              "Bucket size of the reduction; 0: one bucket"),
        field("segment_bytes", &J::segment_bytes, "B", {0, 1e12},
              "Segment size of larger buckets; 0: the default of an experiment"),
        field("repeat", &J::repeat, "", {1, 1e6}, "Number of timed repeats"),
        field("algorithm", &J::algorithm, "", {}, "All-reduce algorithm"),
        field("transport", &J::transport, "", {},
              "Transport between ranks; shm: shared memory; zmq: sockets; inproc: threads of one "
              "process"),
        field("engine", &J::engine, "", {},
              "Collectives library; own: Trainyard's collectives; gloo: Gloo over TCP; nccl: NCCL"),
        field("bind", &J::bind, "", {}, "Pin each process to a core"),
        field("reduction", &J::reduction, "", {},
              "Reduction operation over the numbers of all ranks")};
  }
};
template <>
struct trainyard::base::Fields<trainyard::cli::BenchTimes> {
  using T = trainyard::cli::BenchTimes;
  static constexpr std::string_view title = "Rank times";
  static auto table() {
    return std::tuple{
        field("begin_ns", &T::begin_ns, "ns", {}, "Begin of each repeat"),
        field("end_ns", &T::end_ns, "ns", {}, "End of each repeat"),
        field("sent_payload_bytes", &T::sent_payload_bytes, "B", {}, "Payload sent in one repeat"),
        field("peak_memory_bytes", &T::peak_memory_bytes, "B", {},
              "Peak resident set size of the process")};
  }
};
