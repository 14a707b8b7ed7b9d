// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/bounded_recording.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "core/base/json.h"
#include "core/telemetry/packed_metrics.h"
#include "core/telemetry/series_block.h"

namespace trainyard::telemetry {
namespace {

// Number of events and blocks that are written as one frame. A table of metrics has at most 65,535
// events; a reader takes a frame of this size in a few milliseconds.
constexpr std::size_t kPackedEvents = 8'192, kPackedBlocks = 2'048;
// Number of unrecorded ops that are kept in memory for the case of a fault.
constexpr std::size_t kUnrecordedOps = 65'536;
// Steps of a block. The number is adapted to the limit.
constexpr std::int32_t kFirstInterval = 512, kMinInterval = 64, kMaxInterval = 65'536;

}  // namespace

bool is_always_recorded(Metric metric) {
  switch (metric) {
    case Metric::loss_sum:
    case Metric::correct:
    case Metric::samples:
    case Metric::local_gradient_norm:
    case Metric::reduced_gradient_norm:
    case Metric::held_out_loss_sum:
    case Metric::held_out_correct:
    case Metric::held_out_samples:
    case Metric::dropped_events:
    case Metric::skipped_updates:
    case Metric::staleness:
    case Metric::dropped_gradients:
    case Metric::unapplied_gradients:
    case Metric::squared_consensus_distance:
    case Metric::table_ratio: return true;
    default: return false;
  }
}

struct BoundedRecording::State {
  State(std::filesystem::path where, const RecordingLimit& size, RecordingWriter writer)
      : directory(std::move(where)), limit(size), main(std::move(writer)) {}

  base::Result<void> append(FrameType type, int rank, std::span<const std::byte> payload);
  base::Result<void> append_events(int rank, std::span<const Event> events);
  void take_metric(int rank, const Event& event);
  bool is_op_kept(const Event& op) const;
  base::Result<void> write_packed();
  base::Result<void> write_blocks();
  base::Result<void> write_thinned();
  base::Result<void> write_thinning();
  base::Result<void> write_ops(const std::map<int, std::vector<Event>>& ops);
  base::Result<void> begin_thinning();
  base::Result<void> begin_recent_file();
  base::Result<void> begin_recent_file_if_full();
  void adapt_interval();
  base::Result<void> add_to_main(FrameType type, int rank, std::span<const std::byte> payload,
                                 std::uint64_t& bytes);

  std::filesystem::path directory;
  RecordingLimit limit;
  RecordingWriter main;
  std::optional<RecordingWriter> recent;
  int number = 0;  // Number of the file `recent`.
  RecordedThinning thinning;
  std::int32_t newest_step = -1;
  std::int32_t keep_until = -1;  // Last step after a fault of which all ops are recorded.
  bool keep_all = false;
  std::vector<RankEvent> packed;
  std::map<std::tuple<int, int, int>, SeriesBlock> open;
  std::vector<SeriesBlock> blocks;
  std::deque<RankEvent> unrecorded;
  // Bytes of frames with metrics of all steps, and, since the interval was adapted last, of frames
  // whose number depends on the interval.
  std::uint64_t bytes_of_steps = 0, bytes_of_blocks = 0;
  std::int32_t adapted_at = 0;  // Step.
};

base::Result<void> BoundedRecording::State::append(FrameType type, int rank,
                                                   std::span<const std::byte> payload) {
  // The result ends the history of a reader, so everything else must precede it.
  if (type == FrameType::result && thinning.from_step >= 0)
    if (auto written = write_thinned().and_then([&] { return write_thinning(); }); !written)
      return written;
  if (auto written = main.append(type, rank, payload); !written || !recent) return written;
  return recent->append(type, rank, payload);
}

base::Result<void> BoundedRecording::State::append_events(int rank, std::span<const Event> events) {
  if (thinning.from_step < 0) {
    for (const Event& event : events) newest_step = std::max(newest_step, event.step);
    if (auto written = main.append_events(rank, events); !written) return written;
    if (limit.bytes == 0 || main.bytes() < static_cast<std::uint64_t>(limit.full_bytes()))
      return {};
    return begin_thinning();
  }
  std::vector<Event> ops;
  for (const Event& event : events) {
    newest_step = std::max(newest_step, event.step);
    if (event.kind != EventKind::op) {
      take_metric(rank, event);
    } else if (is_op_kept(event)) {
      ops.push_back(event);
    } else {
      ++thinning.dropped_ops;
      unrecorded.push_back({rank, event});
      if (unrecorded.size() > kUnrecordedOps) unrecorded.pop_front();
    }
  }
  if (auto written = recent->append_events(rank, events); !written) return written;
  if (!ops.empty())
    if (auto written = write_ops({{rank, ops}}); !written) return written;
  if (packed.size() >= kPackedEvents)
    if (auto written = write_packed(); !written) return written;
  if (blocks.size() >= kPackedBlocks)
    if (auto written = write_blocks(); !written) return written;
  return begin_recent_file_if_full();
}

bool BoundedRecording::State::is_op_kept(const Event& op) const {
  return keep_all || op.step % thinning.interval_steps == 0 || op.step <= keep_until;
}

void BoundedRecording::State::take_metric(int rank, const Event& event) {
  if (is_always_recorded(Metric{event.subject})) {
    packed.push_back({rank, event});
    return;
  }
  SeriesBlock& block = open[{rank, event.subject, event.index}];
  if (block.count > 0 &&
      event.step / thinning.interval_steps != block.last.step / thinning.interval_steps) {
    blocks.push_back(block);
    block = {};
  }
  block.rank = rank;
  block.metric = event.subject;
  block.index = event.index;
  block.add(event);
  ++thinning.summarized_values;
}

base::Result<void> BoundedRecording::State::add_to_main(FrameType type, int rank,
                                                        std::span<const std::byte> payload,
                                                        std::uint64_t& bytes) {
  const std::uint64_t before = main.bytes();
  auto written = main.append(type, rank, payload);
  bytes += main.bytes() - before;
  return written;
}

base::Result<void> BoundedRecording::State::write_packed() {
  if (packed.empty()) return {};
  auto written = add_to_main(FrameType::metrics, -1, pack_metrics(packed), bytes_of_steps);
  packed.clear();
  return written;
}

base::Result<void> BoundedRecording::State::write_blocks() {
  if (blocks.empty()) return {};
  auto written = add_to_main(FrameType::blocks, -1, pack_blocks(blocks), bytes_of_blocks);
  blocks.clear();
  return written;
}

// Writes everything that is still collected. Afterwards the recording contains all earlier events.
base::Result<void> BoundedRecording::State::write_thinned() {
  for (const auto& [key, block] : open) blocks.push_back(block);
  open.clear();
  return write_packed().and_then([&] { return write_blocks(); });
}

base::Result<void> BoundedRecording::State::write_thinning() {
  const base::Json json = to_json(thinning);
  if (auto written = main.append_json(FrameType::thinning, -1, json); !written || !recent)
    return written;
  return recent->append_json(FrameType::thinning, -1, json);
}

base::Result<void> BoundedRecording::State::write_ops(
    const std::map<int, std::vector<Event>>& ops) {
  for (const auto& [rank, events] : ops)
    if (auto written =
            add_to_main(FrameType::events, rank, std::as_bytes(std::span(events)), bytes_of_blocks);
        !written)
      return written;
  return {};
}

base::Result<void> BoundedRecording::State::begin_thinning() {
  thinning.from_step = newest_step + 1;
  thinning.limit_bytes = limit.bytes;
  thinning.interval_steps = kFirstInterval;
  adapted_at = newest_step;
  return write_thinning().and_then([&] { return begin_recent_file(); });
}

// A reader that reaches the end of one file with recent data continues with the next one, or, if
// that was removed, in the recording after the mark of the next one.
base::Result<void> BoundedRecording::State::begin_recent_file() {
  if (auto written = write_thinned(); !written) return written;
  ++number;
  const base::Json mark{{"number", number}};
  auto next = RecordingWriter::create(directory / recent_file(number), mark);
  if (!next) return base::fail(next.error());
  if (auto written = main.append_json(FrameType::recent, -1, mark); !written) return written;
  if (recent) {
    auto closed =
        recent->append_json(FrameType::recent, -1, mark).and_then([&] { return recent->close(); });
    if (!closed) return closed;
  }
  recent = std::move(*next);
  std::error_code ignored;
  std::filesystem::remove(directory / recent_file(number - 2), ignored);
  return {};
}

base::Result<void> BoundedRecording::State::begin_recent_file_if_full() {
  if (recent->bytes() < static_cast<std::uint64_t>(limit.recent_bytes())) return {};
  const std::int64_t before = thinning.interval_steps;
  if (auto begun = begin_recent_file(); !begun) return begun;
  adapt_interval();
  return thinning.interval_steps == before ? base::Result<void>() : write_thinning();
}

// Adapts the interval so that the remaining steps fit into the rest of the limit. A twentieth of
// the limit is left as a margin. If metrics of all steps need more than the limit, blocks still get
// a small part of it.
void BoundedRecording::State::adapt_interval() {
  const auto steps_since = [&](std::int64_t step) {
    return static_cast<double>(newest_step) - static_cast<double>(step);
  };
  const double done = steps_since(thinning.from_step), passed = steps_since(adapted_at),
               left = -steps_since(limit.steps);
  if (done <= 0 || passed <= 0 || left <= 0) return;
  const auto limit_bytes = static_cast<double>(limit.bytes);
  const double intervals = std::max(passed / static_cast<double>(thinning.interval_steps), 1.0),
               bytes_of_block = static_cast<double>(bytes_of_blocks) / intervals,
               bytes_of_left_steps = static_cast<double>(bytes_of_steps) / done * left,
               free = limit_bytes * 0.95 - static_cast<double>(main.bytes()) -
                      2 * static_cast<double>(limit.recent_bytes()) - bytes_of_left_steps,
               wanted = left * bytes_of_block / std::max(free, limit_bytes / 64);
  thinning.interval_steps = static_cast<std::int64_t>(std::bit_ceil(
      static_cast<std::uint64_t>(std::clamp(wanted, double{kMinInterval}, double{kMaxInterval}))));
  bytes_of_blocks = 0;
  adapted_at = newest_step;
}

BoundedRecording::BoundedRecording(std::unique_ptr<State> state) : state_(std::move(state)) {}
BoundedRecording::BoundedRecording(BoundedRecording&&) noexcept = default;
BoundedRecording& BoundedRecording::operator=(BoundedRecording&&) noexcept = default;
BoundedRecording::~BoundedRecording() = default;

base::Result<BoundedRecording> BoundedRecording::create(const std::filesystem::path& directory,
                                                        const base::Json& header,
                                                        const RecordingLimit& limit) {
  return RecordingWriter::create(directory / kRecordingFile, header)
      .map([&](RecordingWriter writer) {
        return BoundedRecording(std::make_unique<State>(directory, limit, std::move(writer)));
      });
}

base::Result<void> BoundedRecording::append(FrameType type, int rank,
                                            std::span<const std::byte> payload) {
  return state_->append(type, rank, payload);
}

base::Result<void> BoundedRecording::append_events(int rank, std::span<const Event> events) {
  return state_->append_events(rank, events);
}

void BoundedRecording::keep_ops(bool all) { state_->keep_all = all; }

base::Result<void> BoundedRecording::keep_ops_around_now() {
  State& state = *state_;
  state.keep_until = state.newest_step + kStepsAroundFault;
  std::map<int, std::vector<Event>> ops;
  for (const auto& [rank, event] : state.unrecorded)
    if (event.step > state.newest_step - kStepsAroundFault) ops[rank].push_back(event);
  for (const auto& [rank, events] : ops) state.thinning.dropped_ops -= std::ssize(events);
  state.unrecorded.clear();
  return state.write_ops(ops);
}

base::Result<void> BoundedRecording::flush() {
  if (auto flushed = state_->main.flush(); !flushed || !state_->recent) return flushed;
  return state_->recent->flush();
}

base::Result<void> BoundedRecording::restore_if_removed() {
  if (state_->recent) static_cast<void>(state_->recent->restore_if_removed());
  return state_->main.restore_if_removed();
}

base::Result<void> BoundedRecording::close() {
  if (auto written = state_->write_thinned(); !written) return written;
  if (auto closed = state_->main.close(); !closed || !state_->recent) return closed;
  return state_->recent->close();
}

const RecordedThinning& BoundedRecording::thinning() const { return state_->thinning; }

}  // namespace trainyard::telemetry
