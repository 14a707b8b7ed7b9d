// SPDX-License-Identifier: GPL-3.0-or-later
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <numeric>

#include "app/cli/bench_allreduce.h"
#include "backends/cpu/cpu.h"
#include "core/base/clock.h"
#include "core/collective/expand.h"
#include "core/comm/expect.h"
#include "core/run/collective_runner.h"
#include "core/run/layout.h"

namespace trainyard::cli {
namespace {

using base::Result;

constexpr std::uint32_t kGeneration = 1;
constexpr int kWarmUps = 3;
constexpr std::chrono::seconds kMeetingLimit{60};
constexpr const char* kBuffer = "grads";

// All of the buffer, bucket by bucket, as the mirrored strategy reduces gradients; nothing else.
plan::RankPlan coarse_plan(const BenchJob& job, int rank) {
  plan::RankPlan plan;
  plan.rank = rank;
  plan.lanes = {{"comm.g0", plan::LaneKind::comm, 0}};
  plan.buffers = {{kBuffer, base::DType::fp32, job.elements(), true}};
  plan::Program program{"all_reduce", 0, 0, 1, {}};
  const std::int64_t bucket = job.bucket_bytes > 0 ? std::max<std::int64_t>(1, job.bucket_bytes / 4) : job.elements();
  for (std::int64_t first = 0; first < job.elements(); first += bucket) {
    plan::Op op;
    op.kind = plan::OpKind::all_reduce;
    op.lane = plan::LaneId(0);
    op.bucket = static_cast<std::int32_t>(program.ops.size());
    op.group = 0;
    op.reads = op.writes = {{plan.buffer(kBuffer), first, std::min(bucket, job.elements() - first)}};
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

// Whole numbers that every order of adding sums exactly in fp32.
float value(std::int64_t rank, std::int64_t element) { return static_cast<float>(element % 1009 + rank); }
float sum_over(std::int64_t ranks, std::int64_t element) {
  const std::int64_t sum = ranks * (element % 1009) + ranks * (ranks - 1) / 2;
  return static_cast<float>(sum);
}

// Brings all ranks to one point, over a channel of its own.
class Meeting {
 public:
  explicit Meeting(comm::Transport& transport) : transport_(transport) {}

  Result<void> hold() {
    const comm::Tag tag{kGeneration, count_++, 0};
    for (int peer = 0; peer < transport_.ranks(); ++peer)
      if (peer != transport_.rank())
        if (auto ok = comm::await_post(transport_, peer, kChannel, tag, {}, kMeetingLimit); !ok) return ok;
    for (int peer = 0; peer < transport_.ranks(); ++peer) {
      if (peer == transport_.rank()) continue;
      const auto message = comm::await_expected(transport_, peer, kChannel, {tag, 0}, kMeetingLimit);
      if (!message) return base::fail(message.error());
      if (auto ok = transport_.release(peer, kChannel); !ok) return ok;
    }
    return {};
  }

  // Nobody may leave before its last words were heard.
  Result<void> end() {
    for (int peer = 0; peer < transport_.ranks(); ++peer)
      if (peer != transport_.rank())
        if (auto ok = comm::await_consumed(transport_, peer, kChannel, count_, kMeetingLimit); !ok) return ok;
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
  BenchRank(const BenchJob& job, comm::Transport& transport) : job_(job), transport_(transport), meeting_(transport) {}

  Result<BenchTimes> run() {
    if (const auto ok = prepare(); !ok) return base::fail(ok.error());
    run::CollectiveRunner runner(plan_, bound_, transport_, *compute_, kGeneration);
    fill();
    if (const auto ok = once(runner); !ok) return base::fail(ok.error());
    if (const auto ok = verify(); !ok) return base::fail(ok.error());
    std::fill_n(data_, job_.elements(), 0.0f);  // zeros stay zeros, however often they are summed
    for (int i = 0; i < kWarmUps; ++i)
      if (const auto ok = once(runner); !ok) return base::fail(ok.error());
    return measure(runner);
  }

 private:
  Result<void> prepare() {
    auto compute = cpu::make(1);
    if (!compute) return base::fail(compute.error());
    compute_ = std::move(*compute);
    const std::vector<plan::Group> groups{all_ranks(job_)};
    collective::Method method(job_.algorithm);
    method.segment_bytes = job_.segment_bytes;
    plan_ = collective::expand(coarse_plan(job_, transport_.rank()), groups, method);
    private_memory_.resize(static_cast<std::size_t>(run::layout(plan_).private_bytes));
    auto bound = run::bind(plan_, groups, {}, {}, *compute_, private_memory_, memory());
    if (!bound) return base::fail(bound.error());
    bound_ = std::move(*bound);
    return {};
  }

  std::span<std::byte> memory() {
    const auto bytes = static_cast<std::size_t>(bench_arena_bytes(job_));
    std::span<std::byte> memory = transport_.arena();
    if (memory.size() < bytes) {
      own_memory_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096)));
      memory = {own_memory_.get(), bytes};
    }
    data_ = reinterpret_cast<float*>(memory.data() + run::layout(plan_).buffers.front().offset);
    return memory;
  }

  void fill() {
    for (std::int64_t i = 0; i < job_.elements(); ++i) data_[i] = value(transport_.rank(), i);
  }

  Result<void> verify() const {
    for (std::int64_t i = 0; i < job_.elements(); ++i)
      if (data_[i] != sum_over(job_.ranks, i))
        return base::fail(
            {base::ProblemCode::failed, "rank " + std::to_string(transport_.rank()),
             "element " + std::to_string(i) + " is " + std::to_string(data_[i]) + " after the all-reduce, not " + std::to_string(sum_over(job_.ranks, i)),
             "the sum over all ranks", ""});
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
  Meeting meeting_;
  std::unique_ptr<compute::Compute> compute_;
  std::vector<std::byte> private_memory_;  // of what no peer reads
  std::unique_ptr<std::byte, Release> own_memory_;
  plan::RankPlan plan_;
  run::BoundPlan bound_;
  float* data_ = nullptr;
  std::int64_t step_ = 0;
};

}  // namespace

std::int64_t bench_arena_bytes(const BenchJob& job) { return run::layout(coarse_plan(job, 0)).shared_bytes; }

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
