// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>

#include "app/cli/bench_allreduce.h"
#include "backends/cpu/cpu.h"
#include "backends/gloo/gloo.h"
#include "core/base/clock.h"
#include "core/base/fields.h"
#include "core/collective/expand.h"
#include "core/comm/expect.h"
#include "core/plan/engine_lane.h"
#include "core/run/bind/layout.h"
#include "core/run/exchange/collective_runner.h"
#include "core/run/exchange/engine_calls.h"
#include "core/run/exchange/transfers.h"

namespace trainyard::cli {
namespace {

using base::Result;

constexpr std::uint32_t kGeneration = 1;
constexpr int kWarmUps = 3;
constexpr std::chrono::seconds kMeetingLimit{60};
constexpr const char* kBuffer = "grads";

// Builds a plan with one op per bucket of the buffer: the all-reduces that the mirrored strategy
// would use for gradients.
plan::RankPlan coarse_plan(const BenchJob& job, int rank) {
  plan::RankPlan plan;
  plan.rank = rank;
  plan.lanes = {{"comm.g0", plan::LaneKind::comm, 0}};
  plan.buffers = {{kBuffer, base::DType::fp32, job.elements(), true}};
  plan::Program program{"all_reduce", 0, 0, 1, {}};
  const std::int64_t bucket =
      job.bucket_bytes > 0 ? std::max<std::int64_t>(1, job.bucket_bytes / 4) : job.elements();
  for (std::int64_t first = 0; first < job.elements(); first += bucket) {
    plan::Op op;
    op.kind = plan::OpKind::all_reduce;
    op.lane = plan::LaneId(0);
    op.bucket = static_cast<std::int32_t>(program.ops.size());
    op.group = 0;
    op.reads =
        op.writes = {{plan.buffer(kBuffer), first, std::min(bucket, job.elements() - first)}};
    program.ops.push_back(std::move(op));
  }
  plan.programs.push_back(std::move(program));
  return plan;
}

plan::Group all_ranks(const BenchJob& job) {
  plan::Group group;
  group.ranks.resize(static_cast<std::size_t>(job.ranks));
  std::iota(group.ranks.begin(), group.ranks.end(), 0);
  return group;
}

// Returns the input value of an element on a rank: an integer so small that fp32 sums the values of
// all ranks exactly in any order.
float value(std::int64_t rank, std::int64_t element) {
  return static_cast<float>(element % 1009 + rank);
}
float reduced(base::Reduction reduction, std::int64_t ranks, std::int64_t element) {
  const std::int64_t sum = ranks * (element % 1009) + ranks * (ranks - 1) / 2;
  switch (reduction) {
    case base::Reduction::sum: return static_cast<float>(sum);
    case base::Reduction::mean: return static_cast<float>(sum) / static_cast<float>(ranks);
    case base::Reduction::min: return value(0, element);
    case base::Reduction::max: return value(ranks - 1, element);
  }
  return 0;
}

// Barrier between all ranks, which can also exchange strings. It uses a separate channel.
class Barrier {
 public:
  explicit Barrier(comm::Transport& transport) : transport_(transport) {}

  Result<void> hold() {
    const comm::Tag tag{kGeneration, count_++, 0};
    for (int peer = 0; peer < transport_.ranks(); ++peer)
      if (peer != transport_.rank())
        if (auto ok = comm::await_post(transport_, peer, kChannel, tag, {}, kMeetingLimit); !ok)
          return ok;
    for (int peer = 0; peer < transport_.ranks(); ++peer) {
      if (peer == transport_.rank()) continue;
      const auto message =
          comm::await_expected(transport_, peer, kChannel, {tag, 0}, kMeetingLimit);
      if (!message) return base::fail(message.error());
      if (auto ok = transport_.release(peer, kChannel); !ok) return ok;
    }
    return {};
  }

  // Sends a string to all ranks. Returns the strings of all ranks, by rank.
  Result<std::vector<std::string>> exchange(const std::string& own) {
    const comm::Tag tag{kGeneration, count_++, 0};
    std::vector<std::string> all(static_cast<std::size_t>(transport_.ranks()));
    for (int peer = 0; peer < transport_.ranks(); ++peer)
      if (peer != transport_.rank())
        if (auto ok = comm::await_post(transport_, peer, kChannel, tag,
                                       std::as_bytes(std::span(own)), kMeetingLimit);
            !ok)
          return base::fail(ok.error());
    for (int peer = 0; peer < transport_.ranks(); ++peer) {
      if (peer == transport_.rank()) continue;
      const auto message =
          comm::await_expected(transport_, peer, kChannel, {tag, own.size()}, kMeetingLimit);
      if (!message) return base::fail(message.error());
      all[static_cast<std::size_t>(peer)].assign(
          reinterpret_cast<const char*>(message->bytes.data()), message->bytes.size());
      if (auto ok = transport_.release(peer, kChannel); !ok) return base::fail(ok.error());
    }
    if (auto ok = end(); !ok) return base::fail(ok.error());
    return all;
  }

  // Waits until all peers have received this rank's messages. A rank must not leave the transport
  // before that.
  Result<void> end() {
    for (int peer = 0; peer < transport_.ranks(); ++peer)
      if (peer != transport_.rank())
        if (auto ok = comm::await_consumed(transport_, peer, kChannel, count_, kMeetingLimit); !ok)
          return ok;
    return {};
  }

 private:
  static constexpr int kChannel = 1;
  comm::Transport& transport_;
  std::uint32_t count_ = 0;
};

struct Release {
  void operator()(std::byte* memory) const { std::free(memory); }
};

class BenchRank {
 public:
  BenchRank(const BenchJob& job, comm::Transport& transport)
      : job_(job), transport_(transport), meeting_(transport) {}

  Result<BenchTimes> run() {
    if (const auto ok = prepare(); !ok) return base::fail(ok.error());
    const bool divides =
        job_.engine == experiment::Engine::own && job_.reduction == base::Reduction::mean;
    run::CollectiveRunner runner(plan_, bound_, *exchange_, divides ? job_.ranks : 0);
    fill();
    if (const auto ok = once(runner); !ok) return base::fail(ok.error());
    if (const auto ok = verify(); !ok) return base::fail(ok.error());
    for (int i = 0; i < kWarmUps; ++i) {
      rewrite();
      if (const auto ok = once(runner); !ok) return base::fail(ok.error());
    }
    return measure(runner);
  }

 private:
  Result<void> prepare() {
    auto compute = cpu::make(1);
    if (!compute) return base::fail(compute.error());
    compute_ = std::move(*compute);
    const std::vector<plan::Group> groups{all_ranks(job_)};
    if (auto ok = job_.engine == experiment::Engine::own ? expand(groups) : hand_over(groups); !ok)
      return ok;
    const run::Layout layout = run::layout(plan_);
    const std::span<std::byte> own = own_memory(private_memory_, layout.private_bytes);
    std::span<std::byte> shared = transport_.arena();
    if (static_cast<std::int64_t>(shared.size()) < layout.shared_bytes)
      shared = own_memory(send_memory_, layout.shared_bytes);
    const run::Placement& place = layout.buffers[plan_.buffer(kBuffer).index()];
    data_ = reinterpret_cast<float*>((place.shared ? shared : own).data() + place.offset);
    auto bound = run::bind(plan_, groups, {}, {}, *compute_, own, shared);
    if (!bound) return base::fail(bound.error());
    bound_ = std::move(*bound);
    return {};
  }

  Result<void> expand(const std::vector<plan::Group>& groups) {
    collective::Method method(job_.algorithm);
    method.segment_bytes = job_.segment_bytes;
    plan_ = collective::expand(coarse_plan(job_, transport_.rank()), groups, method);
    exchange_ =
        std::make_unique<run::Transfers>(transport_, *compute_, kGeneration, job_.reduction);
    return {};
  }

  Result<void> hand_over(const std::vector<plan::Group>& groups) {
    plan_ = plan::assign_to_engine(coarse_plan(job_, transport_.rank()),
                                   std::string(base::name_of(job_.engine)));
    gloo::Options options;
    options.rank = transport_.rank();
    options.groups = {{groups.front().ranks.begin(), groups.front().ranks.end()}};
    options.patience = comm::patience(transport_.ranks());
    auto bound = gloo::bind(options);
    if (!bound) return base::fail(bound.error());
    const auto endpoints = meeting_.exchange((*bound)->endpoint());
    if (!endpoints) return base::fail(endpoints.error());
    auto engine = (*bound)->connect(*endpoints);
    if (!engine) return base::fail(engine.error());
    engine_ = std::move(*engine);
    exchange_ = std::make_unique<run::EngineCalls>(*engine_, job_.reduction);
    return {};
  }

  using Memory = std::unique_ptr<std::byte, Release>;
  static std::span<std::byte> own_memory(Memory& memory, std::int64_t bytes) {
    memory.reset(static_cast<std::byte*>(
        std::aligned_alloc(4096, static_cast<std::size_t>((bytes + 4095) / 4096 * 4096))));
    return {memory.get(), static_cast<std::size_t>(bytes)};
  }

  void fill() {
    for (std::int64_t i = 0; i < job_.elements(); ++i) data_[i] = value(transport_.rank(), i);
  }

  // Writes the buffer as a backward pass would, so that every rank's cache has modified lines.
  void rewrite() { std::fill_n(data_, job_.elements(), 0.0f); }

  Result<void> verify() const {
    for (std::int64_t i = 0; i < job_.elements(); ++i)
      if (const float expected = reduced(job_.reduction, job_.ranks, i); data_[i] != expected)
        return base::fail(
            {"wrong_result", base::ProblemCode::failed, fmt::format("rank {}", transport_.rank()),
             fmt::format("element {} is {} after the all-reduce, not {}", i, data_[i], expected),
             fmt::format("the {} over all ranks", base::name_of(job_.reduction)), ""});
    return {};
  }

  Result<void> once(run::CollectiveRunner& runner) {
    if (auto ok = meeting_.hold(); !ok) return ok;
    return runner.run(0, step_++);
  }

  std::int64_t sent() const {
    std::uint64_t bytes = 0;
    for (int peer = 0; peer < transport_.ranks(); ++peer)
      if (peer != transport_.rank()) bytes += transport_.traffic(peer).sent_payload_bytes;
    return static_cast<std::int64_t>(bytes);
  }

  Result<BenchTimes> measure(run::CollectiveRunner& runner) {
    BenchTimes times;
    const std::int64_t sent_before = sent();
    for (std::int64_t i = 0; i < job_.repeat; ++i) {
      rewrite();
      if (const auto ok = meeting_.hold(); !ok) return base::fail(ok.error());
      times.begin_ns.push_back(base::now_nanoseconds());
      if (const auto ok = runner.run(0, step_++); !ok) return base::fail(ok.error());
      times.end_ns.push_back(base::now_nanoseconds());
    }
    times.sent_payload_bytes = (sent() - sent_before) / job_.repeat;
    if (const auto ok = meeting_.hold(); !ok) return base::fail(ok.error());
    if (const auto ok = meeting_.end(); !ok) return base::fail(ok.error());
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    times.peak_memory_bytes = usage.ru_maxrss * 1024;
    return times;
  }

  const BenchJob& job_;
  comm::Transport& transport_;
  Barrier meeting_;
  std::unique_ptr<compute::Compute> compute_;
  Memory private_memory_;  // memory for buffers that no peer reads
  Memory send_memory_;     // memory for buffers that peers read, if the transport has no arena
  std::unique_ptr<comm::Collectives> engine_;
  std::unique_ptr<run::Exchange> exchange_;
  plan::RankPlan plan_;
  run::BoundPlan bound_;
  float* data_ = nullptr;
  std::int64_t step_ = 0;
};

}  // namespace

std::int64_t bench_arena_bytes(const BenchJob& job) {
  return run::layout(coarse_plan(job, 0)).shared_bytes;
}

Result<BenchTimes> bench_rank(const BenchJob& job, comm::Transport& transport) {
  auto times = BenchRank(job, transport).run();
  if (!times) transport.abort(times.error());
  return times;
}

base::Json to_json(const BenchTimes& times) { return base::write_document(times); }

Result<BenchTimes> bench_times(const base::Json& json) {
  BenchTimes times;
  base::Problems problems;
  base::read_document(json, times, "", problems);
  if (!problems.empty()) return base::fail(problems.front());
  return times;
}

}  // namespace trainyard::cli
