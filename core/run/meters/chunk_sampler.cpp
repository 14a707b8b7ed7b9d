// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/meters/chunk_sampler.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "core/collective/chunk_spans.h"

namespace trainyard::run {
namespace {

using plan::Access;
using plan::Op;
using plan::OpKind;

// Returns the access of a communication op to the bucket, as opposed to its access to a sum in
// scratch memory.
const Access& in_bucket(const Op& op) {
  return op.kind == OpKind::send || op.kind == OpKind::reduce_many ? op.reads.front()
                                                                   : op.writes.front();
}
const std::byte* in_memory(const BoundOp& op) {
  return op.kind == OpKind::reduce_many ? op.own : op.data;
}

// Collects the ops of the first collective of each bucket. A program may have several collectives
// of a bucket, one after another. The first one ends where an op repeats.
class FirstCollectives {
 public:
  using Key = std::pair<std::int32_t, std::int32_t>;  // group and bucket number

  explicit FirstCollectives(const plan::Program& program) {
    for (std::size_t i = 0; i < program.ops.size(); ++i)
      if (const Op& op = program.ops[i];
          plan::communicates(op.kind) && !plan::coarse(op.kind) && !is_mixing_transfer(program, op))
        add(op, static_cast<int>(i));
  }
  const std::map<Key, std::vector<int>>& ops() const { return ops_; }

 private:
  // True for a transfer of parameters that gossip mixes, because such a transfer is not part of a
  // collective.
  static bool is_mixing_transfer(const plan::Program& program, const Op& op) {
    return std::any_of(program.wanted.begin(), program.wanted.end(),
                       [&](const plan::Wanted& wanted) {
                         return wanted.kind == OpKind::mix && wanted.group == op.group &&
                                wanted.bucket == op.bucket;
                       });
  }

  void add(const Op& op, int number) {
    const std::tuple which{op.kind, op.round, op.chunk, op.chunks, op.peer, op.summands};
    if (seen_[{op.group, op.bucket}].insert(which).second)
      ops_[{op.group, op.bucket}].push_back(number);
  }

  std::map<Key, std::vector<int>> ops_;
  std::map<Key, std::set<std::tuple<OpKind, std::int32_t, std::int32_t, std::int32_t, std::int32_t,
                                    std::vector<std::int32_t>>>>
      seen_;
};

// Returns the span of the bucket that the rank accesses.
Access span_of(const plan::Program& program, const std::vector<int>& ops) {
  Access span = in_bucket(program.ops[static_cast<std::size_t>(ops.front())]);
  std::int64_t end = span.first + span.count;
  for (const int op : ops) {
    const Access& access = in_bucket(program.ops[static_cast<std::size_t>(op)]);
    span.first = std::min(span.first, access.first);
    end = std::max(end, access.first + access.count);
  }
  span.count = end - span.first;
  return span;
}

collective::Exercise exercise_of(const plan::Program& program, const FirstCollectives::Key& key,
                                 const Access& touched, const plan::Group& group,
                                 const collective::Method& method) {
  collective::Exercise exercise{.algorithm = method.algorithm,
                                .hosts = {},
                                .elements = touched.count,
                                .segment_bytes = method.segment_bytes};
  for (const plan::Wanted& wanted : program.wanted)
    if (wanted.group == key.first && wanted.bucket == key.second) {
      exercise.collective = *collective::collective_of(wanted.kind);
      exercise.elements = wanted.span.count;
      exercise.row = wanted.row;
    }
  for (const std::int32_t rank : group.ranks)
    exercise.hosts.push_back(method.hosts.empty() ? 0
                                                  : method.hosts[static_cast<std::size_t>(rank)]);
  return exercise;
}

// Copies the sampled elements of a bucket at `data`. If the host cannot access the memory, first
// copies the full bucket, which is rare.
void copy_numbers(compute::Compute* device, const telemetry::ChunkValues& values,
                  const std::byte* data, std::vector<std::byte>& to) {
  const std::int64_t size = base::size_of(values.dtype);
  std::vector<std::byte> brought;
  if (device != nullptr && !device->on_host()) {
    brought.resize(static_cast<std::size_t>(values.elements * size));
    device->copy(brought.data(), data, std::ssize(brought));
    data = brought.data();
  }
  for (std::size_t i = 0; i < values.places.size(); ++i)
    std::memcpy(to.data() + static_cast<std::int64_t>(i) * size, data + values.places[i] * size,
                static_cast<std::size_t>(size));
}

}  // namespace

bool sampled_step(std::int64_t step) {
  return step >= 0 && (step == 0 || std::has_single_bit(static_cast<std::uint64_t>(step)));
}

std::vector<std::int64_t> sampled_places(const collective::Exercise& bucket) {
  std::vector<std::int64_t> places;
  for (const collective::ChunkSpan& chunk : collective::chunk_spans(bucket)) {
    const std::int64_t n = std::min(chunk.count, kSampledOfChunk);
    for (std::int64_t i = 0; i < n; ++i)
      places.push_back(chunk.first + chunk.count * (2 * i + 1) / (2 * n));
  }
  return places;
}

ChunkSampler::ChunkSampler(const plan::RankPlan& plan, const std::vector<plan::Group>& groups,
                           const BoundPlan& bound, const collective::Method& method,
                           const Gate& gate, telemetry::ChunkValueQueue& box)
    : device_(bound.device), gate_(gate), box_(box) {
  for (std::size_t p = 0; p < plan.programs.size(); ++p) {
    const plan::Purpose purpose = plan::purpose(plan.programs[p].name);
    const bool between_steps =
        purpose == plan::Purpose::evaluation || purpose == plan::Purpose::average;
    programs_.push_back(between_steps
                            ? Program()
                            : sampled(plan, groups, plan.programs[p], bound.programs[p], method));
    programs_.back().before_steps = purpose == plan::Purpose::start;
  }
}

ChunkSampler::Program ChunkSampler::sampled(const plan::RankPlan& plan,
                                            const std::vector<plan::Group>& groups,
                                            const plan::Program& program, const BoundProgram& bound,
                                            const collective::Method& method) const {
  Program result;
  result.bucket_of.assign(program.ops.size(), -1);
  const FirstCollectives first(program);
  for (const auto& [key, ops] : first.ops()) {
    const plan::Group& group = groups[static_cast<std::size_t>(key.first)];
    const Access touched = span_of(program, ops);
    collective::Exercise exercise = exercise_of(program, key, touched, group, method);
    exercise.dtype = plan.buffers[touched.buffer.index()].dtype;
    if (exercise.dtype == base::DType::byte || exercise.members() > collective::kMaxPlayedMembers ||
        touched.count != exercise.elements)
      continue;
    Bucket bucket;
    bucket.values = {
        0,  key.first, key.second, exercise.dtype, exercise.elements, sampled_places(exercise),
        {}, {}};
    if (bucket.values.places.empty()) continue;
    const auto known = static_cast<std::size_t>(ops.front());
    bucket.data =
        in_memory(bound.ops[known]) -
        (in_bucket(program.ops[known]).first - touched.first) * base::size_of(exercise.dtype);
    bucket.values.before.resize(bucket.values.places.size() *
                                static_cast<std::size_t>(base::size_of(exercise.dtype)));
    bucket.values.after = bucket.values.before;
    bucket.ops = static_cast<int>(ops.size());
    for (const int op : ops)
      result.bucket_of[static_cast<std::size_t>(op)] = static_cast<int>(result.buckets.size());
    result.buckets.push_back(std::move(bucket));
  }
  return result;
}

ChunkSampler::Bucket* ChunkSampler::bucket_of(const plan::Frontier::Ready& op) {
  Program& program = programs_[static_cast<std::size_t>(op.program)];
  if (program.buckets.empty()) return nullptr;
  const int bucket = program.bucket_of[static_cast<std::size_t>(op.op)];
  return bucket < 0 ? nullptr : &program.buckets[static_cast<std::size_t>(bucket)];
}

void ChunkSampler::begins(const plan::Frontier::Ready& op) {
  if (!samples(op)) return;
  Bucket* bucket = bucket_of(op);
  if (bucket == nullptr || bucket->instance == op.instance) return;
  bucket->instance = op.instance;
  bucket->done = 0;
  copy_numbers(device_, bucket->values, bucket->data, bucket->values.before);
}

void ChunkSampler::ends(const plan::Frontier::Ready& op) {
  if (!samples(op)) return;
  Bucket* bucket = bucket_of(op);
  if (bucket != nullptr && ++bucket->done == bucket->ops) put(*bucket, op);
}

void ChunkSampler::put(Bucket& bucket, const plan::Frontier::Ready& last) {
  const std::size_t bytes = telemetry::size_of(bucket.values);
  full_ = full_ || put_bytes_ + bytes > kMaxSampledBytes;
  if (full_) return;
  put_bytes_ += bytes;
  copy_numbers(device_, bucket.values, bucket.data, bucket.values.after);
  const bool before_steps = programs_[static_cast<std::size_t>(last.program)].before_steps;
  bucket.values.step =
      before_steps ? telemetry::kBeforeSteps : static_cast<std::int32_t>(last.step);
  box_.put(bucket.values);
}

}  // namespace trainyard::run
