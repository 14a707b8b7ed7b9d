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
// Number of unrecorded ops of a rank that are kept in memory for the case of a fault.
constexpr std::size_t kUnrecordedOps = 16'384;
// Steps of a block. The number is adapted to the limit.
constexpr std::int32_t kFirstInterval = 512, kMaxInterval = 65'536;

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
  // Progress of one rank, and its ops that are not recorded yet.
  struct RankOps {
    std::int32_t newest_step = -1;
    std::int32_t complete_step = -1;  // Last step whose time the rank has reported.
    // Steps around a fault, of which all ops are recorded.
    std::int32_t keep_from = 0, keep_until = -1;
    std::deque<Event> unrecorded;
  };

  State(std::filesystem::path where, const RecordingLimit& size, RecordingWriter writer)
      : directory(std::move(where)), limit(size), main(std::move(writer)) {}

  base::Result<void> append(FrameType type, int rank, std::span<const std::byte> payload);
  base::Result<void> append_events(int rank, std::span<const Event> events);
  base::Result<void> append_thinned(int rank, std::span<const Event> events);
  double predicted_bytes() const;
  void note_progress(int rank, std::span<const Event> events);
  void take_metric(int rank, const Event& event);
  bool is_op_kept(const RankOps& rank, const Event& op) const;
  void remember(RankOps& rank, const Event& op);
  base::Result<void> write_packed();
  base::Result<void> write_blocks();
  base::Result<void> write_thinned();
  base::Result<void> write_thinning();
  base::Result<void> write_ops(int rank, std::span<const Event> ops);
  base::Result<void> begin_thinning();
  base::Result<bool> begin_recent_file();
  base::Result<void> begin_recent_file_if_full();
  void adapt_interval();
  base::Result<void> add_to_main(FrameType type, int rank, std::span<const std::byte> payload,
                                 double& bytes);

  std::filesystem::path directory;
  RecordingLimit limit;
  RecordingWriter main;
  std::optional<RecordingWriter> recent;
  int number = 0;             // Number of the file `recent`.
  RecordedThinning thinning;  // Its counts exclude what the files of recent events contain.
  // Numbers of dropped ops and of summarized values that the file `recent` contains, and that the
  // file before it contains.
  struct Counts {
    std::int64_t ops = 0, values = 0;
  };
  Counts in_recent, in_previous;
  std::int32_t first_step = -1, newest_step = -1;  // -1: no event yet.
  std::map<int, RankOps> ranks;
  bool keep_all = false;
  std::vector<RankEvent> packed;
  std::map<std::tuple<int, int, int>, SeriesBlock> open;
  std::vector<SeriesBlock> blocks;
  // Costs of the thinned part so far, from which those of the remaining steps are predicted.
  double bytes_of_metrics = 0, bytes_of_blocks = 0, bytes_of_ops = 0;
  double intervals = 0;         // Number of intervals that have passed.
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
  note_progress(rank, events);
  if (recent) return append_thinned(rank, events);
  if (auto written = main.append_events(rank, events); !written) return written;
  if (main.bytes() < static_cast<std::uint64_t>(limit.full_bytes()) ||
      limit.fits(predicted_bytes()))
    return {};
  return begin_thinning();
}

// Returns the size of a complete recording of all steps, if the remaining ones need as much as
// those so far.
double BoundedRecording::State::predicted_bytes() const {
  const double done = newest_step - first_step + 1,
               all = static_cast<double>(limit.steps) - first_step;
  return static_cast<double>(main.bytes()) * std::max(all / done, 1.0);
}

void BoundedRecording::State::note_progress(int rank, std::span<const Event> events) {
  RankOps& of_rank = ranks[rank];
  for (const Event& event : events) {
    of_rank.newest_step = std::max(of_rank.newest_step, event.step);
    if (event.kind == EventKind::metric && Metric{event.subject} == Metric::step_seconds)
      of_rank.complete_step = event.step;
  }
  newest_step = std::max(newest_step, of_rank.newest_step);
  if (first_step < 0) first_step = newest_step;
}

base::Result<void> BoundedRecording::State::append_thinned(int rank,
                                                           std::span<const Event> events) {
  RankOps& of_rank = ranks[rank];
  std::vector<Event> ops;
  for (const Event& event : events) {
    if (event.kind != EventKind::op) take_metric(rank, event);
    else if (is_op_kept(of_rank, event)) ops.push_back(event);
    else remember(of_rank, event);
  }
  if (auto written = recent->append_events(rank, events); !written) return written;
  if (auto written = write_ops(rank, ops); !written) return written;
  if (packed.size() >= kPackedEvents)
    if (auto written = write_packed(); !written) return written;
  if (blocks.size() >= kPackedBlocks)
    if (auto written = write_blocks(); !written) return written;
  return begin_recent_file_if_full();
}

// The place of the recorded step within its interval varies, so that it does not always coincide
// with events that have a period, such as an average every eight steps.
bool BoundedRecording::State::is_op_kept(const RankOps& rank, const Event& op) const {
  const auto interval = static_cast<std::uint64_t>(thinning.interval_steps);
  const auto step = static_cast<std::uint64_t>(std::max(op.step, 0));
  const std::uint64_t place = (step / interval * 2'654'435'761u) % interval;
  return keep_all || step % interval == place ||
         (op.step >= rank.keep_from && op.step <= rank.keep_until);
}

void BoundedRecording::State::remember(RankOps& rank, const Event& op) {
  ++in_recent.ops;
  rank.unrecorded.push_back(op);
  const std::int32_t first = rank.newest_step - kStepsAroundFault;
  while (!rank.unrecorded.empty() &&
         (rank.unrecorded.size() > kUnrecordedOps || rank.unrecorded.front().step <= first))
    rank.unrecorded.pop_front();
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
  ++in_recent.values;
}

base::Result<void> BoundedRecording::State::add_to_main(FrameType type, int rank,
                                                        std::span<const std::byte> payload,
                                                        double& bytes) {
  const std::uint64_t before = main.bytes();
  auto written = main.append(type, rank, payload);
  bytes += static_cast<double>(main.bytes() - before);
  return written;
}

base::Result<void> BoundedRecording::State::write_packed() {
  if (packed.empty()) return {};
  auto written = add_to_main(FrameType::metrics, -1, pack_metrics(packed), bytes_of_metrics);
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
  return write_blocks().and_then([&] { return write_packed(); });
}

base::Result<void> BoundedRecording::State::write_thinning() {
  const base::Json json = to_json(thinning);
  if (auto written = main.append_json(FrameType::thinning, -1, json); !written || !recent)
    return written;
  return recent->append_json(FrameType::thinning, -1, json);
}

base::Result<void> BoundedRecording::State::write_ops(int rank, std::span<const Event> ops) {
  if (ops.empty()) return {};
  return add_to_main(FrameType::events, rank, std::as_bytes(ops), bytes_of_ops);
}

base::Result<void> BoundedRecording::State::begin_thinning() {
  const auto begun = begin_recent_file();
  if (!begun) return base::fail(begun.error());
  if (!*begun) return {};
  thinning.limit_bytes = limit.bytes;
  thinning.interval_steps = kFirstInterval;
  // Ranks may be at different steps, and may have reported a part of the next step.
  thinning.from_step = std::max(newest_step, 0);
  for (const auto& [rank, progress] : ranks)
    if (progress.complete_step >= 0)
      thinning.from_step = std::min<std::int64_t>(thinning.from_step, progress.complete_step + 1);
  adapted_at = newest_step;
  return write_thinning();
}

// Begins the next file with recent events. Returns false if it cannot be created; it is tried again
// later. A reader that reaches the end of one file continues with the next one, or, if that was
// removed, in the recording after the mark of the next one. So the mark must be on disk before a
// file is removed.
base::Result<bool> BoundedRecording::State::begin_recent_file() {
  const base::Json mark{{"number", number + 1}};
  auto next = RecordingWriter::create(directory / recent_file(number + 1), mark);
  if (!next) return false;
  auto written = write_thinned()
                     .and_then([&] { return main.append_json(FrameType::recent, -1, mark); })
                     .and_then([&] { return main.flush(); });
  if (written && recent)
    written =
        recent->append_json(FrameType::recent, -1, mark).and_then([&] { return recent->flush(); });
  if (!written) return base::fail(written.error());
  recent = std::move(*next);
  thinning.dropped_ops += in_previous.ops;
  thinning.summarized_values += in_previous.values;
  in_previous = std::exchange(in_recent, {});
  std::error_code ignored;
  std::filesystem::remove(directory / recent_file(number - 1), ignored);
  ++number;
  return true;
}

base::Result<void> BoundedRecording::State::begin_recent_file_if_full() {
  if (recent->bytes() < static_cast<std::uint64_t>(limit.recent_bytes())) return {};
  const std::int64_t before = thinning.interval_steps;
  const auto begun = begin_recent_file();
  if (!begun) return base::fail(begun.error());
  if (!*begun) return {};
  adapt_interval();
  return thinning.interval_steps == before ? base::Result<void>() : write_thinning();
}

// Adapts the interval N so that the remaining steps fit into the rest of the limit, of which a
// twentieth is left as a margin. Costs of a step: its metrics; 1/N of the ops of a step; and
// blocks, which end after N steps and at the end of each file with recent events. If metrics of all
// steps need more than the limit, ops and blocks still get a small part of it.
void BoundedRecording::State::adapt_interval() {
  const auto steps_since = [&](std::int64_t step) {
    return static_cast<double>(newest_step) - static_cast<double>(step);
  };
  const double done = steps_since(thinning.from_step), left = -steps_since(limit.steps);
  intervals += steps_since(adapted_at) / static_cast<double>(thinning.interval_steps);
  adapted_at = newest_step;
  if (done <= 0 || left <= 0) return;
  const auto limit_bytes = static_cast<double>(limit.bytes), files = static_cast<double>(number);
  const double ops_of_step = bytes_of_ops / std::max(intervals, 1.0),
               blocks_of_all_series = bytes_of_blocks / (intervals + files),
               bytes_of_left_steps =
                   left / done * (bytes_of_metrics + files * blocks_of_all_series),
               free = limit_bytes * 0.95 - static_cast<double>(main.bytes()) -
                      2 * static_cast<double>(limit.recent_bytes()) - bytes_of_left_steps,
               least = limit_bytes / 64 * left / (done + left),
               wanted = left * (ops_of_step + blocks_of_all_series) / std::max(free, least);
  thinning.interval_steps = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(
      std::clamp(wanted, double{RecordingLimit::kMinInterval}, double{kMaxInterval}))));
}

BoundedRecording::BoundedRecording(std::unique_ptr<State> state) : state_(std::move(state)) {}
BoundedRecording::BoundedRecording(BoundedRecording&&) noexcept = default;
BoundedRecording& BoundedRecording::operator=(BoundedRecording&&) noexcept = default;
BoundedRecording::~BoundedRecording() = default;

base::Result<BoundedRecording> BoundedRecording::create(const std::filesystem::path& directory,
                                                        const base::Json& header,
                                                        const RecordingLimit& limit) {
  auto writer = RecordingWriter::create(directory / kRecordingFile, header);
  if (!writer) return base::fail(writer.error());
  return BoundedRecording(std::make_unique<State>(directory, limit, std::move(*writer)));
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
  for (auto& [rank, progress] : state_->ranks) {
    progress.keep_from = progress.newest_step - kStepsAroundFault;
    progress.keep_until = progress.newest_step + kStepsAroundFault;
    const std::vector<Event> ops(progress.unrecorded.begin(), progress.unrecorded.end());
    progress.unrecorded.clear();
    std::int64_t recorded = std::ssize(ops);
    for (std::int64_t* dropped :
         {&state_->in_recent.ops, &state_->in_previous.ops, &state_->thinning.dropped_ops}) {
      const std::int64_t part = std::min(recorded, *dropped);
      *dropped -= part, recorded -= part;
    }
    if (auto written = state_->write_ops(rank, ops); !written) return written;
  }
  return {};
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
