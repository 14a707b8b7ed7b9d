// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/coordinator/journal.h"

#include <fmt/core.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/plan/text.h"

namespace trainyard::session {

using telemetry::FrameType;

namespace {

// Values of each series that the coordinator keeps completely. The result needs only totals, and
// the samples of recent gradients.
constexpr std::size_t kKeptValues = 1'024;

}  // namespace

base::Result<Journal> Journal::open(const std::filesystem::path& directory,
                                    const base::Json& header, const plan::Plan& plan,
                                    const telemetry::RecordingLimit& limit,
                                    std::int64_t started_ns) {
  auto recording = telemetry::BoundedRecording::create(directory, header, limit);
  if (!recording) return base::fail(recording.error());
  Journal journal(directory, std::move(*recording), started_ns);
  for (const char* key : {"run", "plan_hash"})
    if (header.contains(key)) journal.order_header_[key] = header[key];
  const std::string text = base::to_text(header);
  static_cast<void>(journal.history_.take({FrameType::header, -1, std::as_bytes(std::span(text))}));
  for (std::int32_t rank = 0; rank < plan.ranks; ++rank) {
    const std::string program = plan::to_text(plan.rank_plan(rank));
    journal.record(FrameType::plan, rank, std::as_bytes(std::span(program)));
  }
  return journal;
}

Journal::Journal(const std::filesystem::path& directory, telemetry::BoundedRecording recording,
                 std::int64_t started_ns)
    : directory_(directory),
      recording_(std::move(recording)),
      log_(directory / kLogFile),
      started_ns_(started_ns),
      history_(kKeptValues) {
  log_ << std::fixed;
  log_.precision(3);
}

void Journal::log(const LogEntry& entry) {
  record_json(FrameType::log, entry.rank,
              {{"level", entry.level}, {"time_ns", entry.time_ns}, {"text", entry.text}});
  write_log_line(base::seconds(entry.time_ns - started_ns_), entry.name, entry.level, entry.text);
}

void Journal::write_log_line(double seconds, const std::string& name, const std::string& level,
                             const std::string& text) {
  log_ << seconds << " s  " << name << "  " << level << ": " << base::printable_line(text)
       << std::endl;
}

void Journal::state(const base::Json& state) { record_json(FrameType::state, -1, state); }

void Journal::events(int rank, std::span<const telemetry::Event> events) {
  note(recording_.append_events(rank, events));
  metrics_.clear();
  for (const telemetry::Event& event : events)
    if (event.kind == telemetry::EventKind::metric) metrics_.push_back(event);
  static_cast<void>(history_.take({FrameType::events, rank, std::as_bytes(std::span(metrics_))}));
}

void Journal::samples(int rank, std::span<const std::byte> values) {
  if (history_.take({FrameType::samples, rank, values}))
    note(recording_.append(FrameType::samples, rank, values));
}

void Journal::order(int rank, std::span<const std::byte> events) {
  if (!order_) {
    auto made = telemetry::RecordingWriter::create(directory_ / kOrderFile, order_header_);
    if (!made) return note(base::fail(made.error()));
    order_.emplace(std::move(*made));
  }
  note(order_->append(FrameType::order, rank, events));
}

void Journal::result(const base::Json& result) { record_json(FrameType::result, -1, result); }

void Journal::flush() {
  note(recording_.flush());
  if (order_) note(order_->flush());
}

void Journal::restore_removed() {
  const auto present = recording_.restore_if_removed();
  if (order_) note(order_->restore_if_removed());
  note(present);
  std::error_code error;
  if (std::filesystem::exists(directory_ / kLogFile, error)) return;
  log_.close();
  log_.open(directory_ / kLogFile, std::ios::app);
  if (!log_.is_open()) return;
  for (const telemetry::LogLine& line : history_.log())
    write_log_line(line.seconds, line.rank < 0 ? "coordinator" : fmt::format("rank {}", line.rank),
                   line.level, line.text);
  log({"warning", "run.log was removed while the run wrote to it; it was written again", -1,
       "coordinator", base::now_nanoseconds()});
}

void Journal::close() {
  note(recording_.close());
  if (order_) note(order_->close());
}

void Journal::record(FrameType type, int rank, std::span<const std::byte> payload) {
  note(recording_.append(type, rank, payload));
  static_cast<void>(history_.take({type, rank, payload}));
}

void Journal::record_json(FrameType type, int rank, const base::Json& json) {
  const std::string text = json.dump(-1, ' ', false, base::Json::error_handler_t::replace);
  record(type, rank, std::as_bytes(std::span(text)));
}

void Journal::note(const base::Result<void>& written) {
  if (!written && !failure_) failure_ = written.error();
}

}  // namespace trainyard::session
