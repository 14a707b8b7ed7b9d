// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/export_trace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <ostream>
#include <set>

#include "core/base/json.h"
#include "core/telemetry/recording.h"

namespace trainyard::telemetry {
namespace {

std::string quoted(const std::string& text) {
  return base::Json(text).dump(-1, ' ', false, base::Json::error_handler_t::replace);
}

// Formats nanoseconds as microseconds, exactly.
std::string microseconds(std::int64_t nanoseconds) {
  const std::uint64_t size = nanoseconds < 0 ? ~static_cast<std::uint64_t>(nanoseconds) + 1
                                             : static_cast<std::uint64_t>(nanoseconds);
  char text[32];
  const int length = std::snprintf(text, sizeof text, "%s%llu.%03llu", nanoseconds < 0 ? "-" : "",
                                   static_cast<unsigned long long>(size / 1000),
                                   static_cast<unsigned long long>(size % 1000));
  return {text, static_cast<std::size_t>(length)};
}

// Returns 0 if the end is before the start, as may be in a malicious recording.
std::int64_t duration(std::int64_t begin, std::int64_t end) {
  return end <= begin ? 0
                      : static_cast<std::int64_t>(static_cast<std::uint64_t>(end) -
                                                  static_cast<std::uint64_t>(begin));
}

// Clamps the value, which may be arbitrary in a malicious recording.
std::int64_t imposed_ns(const Event& event) {
  const std::int64_t most = std::max<std::int64_t>(duration(event.begin_ns, event.end_ns), 0);
  return event.imposed_seconds > 0
             ? std::min<std::int64_t>(std::llround(std::min(event.imposed_seconds * 1e9, 4e18)),
                                      most)
             : 0;
}

std::string number(double value) {
  return base::Json(value).dump();  // "null" for NaN and infinity, which JSON cannot represent
}

class TraceWriter {
 public:
  TraceWriter(std::ostream& out, const std::vector<OpNames>& names) : out_(out), names_(names) {
    out_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  }
  ~TraceWriter() { out_ << "\n]}\n"; }
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  void add(int rank, const Event& event) {
    const Slice slice = slice_of(rank, event);
    if (duration(event.begin_ns, event.ready_ns) > 0)
      write_slice(slice, "\"wait\"", "wait", event.begin_ns, event.ready_ns);
    const std::int64_t begin_ns = std::max(event.begin_ns, event.ready_ns),
                       done_ns = std::max(begin_ns, event.end_ns - imposed_ns(event));
    write_slice(slice, slice.name, "op", begin_ns, done_ns);
    if (duration(done_ns, event.end_ns) > 0)
      write_slice(slice, "\"held back\"", "imposed", done_ns, event.end_ns);
  }

 private:
  struct Slice {
    int rank, track;
    std::string name;       // name of the slice, as JSON text
    std::string arguments;  // arguments of the slice, as JSON text
  };

  Slice slice_of(int rank, const Event& event) {
    const OpNames::Program* program = program_of(rank, event.index);
    const bool named = program != nullptr && event.subject < program->ops.size();
    const std::string numbers =
        "op " + std::to_string(event.index) + "." + std::to_string(event.subject);
    const int track = track_of(rank, named ? program->ops[event.subject].lane : "unnamed", event);
    std::string arguments =
        "{\"step\":" + std::to_string(event.step) + ",\"bytes\":" + number(event.value);
    if (program != nullptr) arguments += ",\"program\":" + quoted(program->name);
    return {rank, track, quoted(named ? program->ops[event.subject].token : numbers),
            arguments + "}"};
  }

  const OpNames::Program* program_of(int rank, std::size_t index) const {
    if (rank < 0 || static_cast<std::size_t>(rank) >= names_.size()) return nullptr;
    const auto& programs = names_[static_cast<std::size_t>(rank)].programs;
    return index < programs.size() ? &programs[index] : nullptr;
  }

  // Returns the first track of the lane whose last op ended before this op began. Adds a track, and
  // writes its name, if there is none.
  int track_of(int rank, const std::string& lane, const Event& event) {
    Rank& of = ranks_[rank];
    if (of.tracks == 0) write_name("process_name", rank, 0, "rank " + std::to_string(rank));
    std::vector<Track>& tracks = of.lanes[lane];
    auto track = std::ranges::find_if(
        tracks, [&](const Track& one) { return one.end_ns <= event.begin_ns; });
    if (track == tracks.end()) {
      const std::string name =
          tracks.empty() ? lane : lane + " (" + std::to_string(tracks.size() + 1) + ")";
      write_name("thread_name", rank, of.tracks, name);
      track = tracks.insert(track, {of.tracks++, 0});
    }
    track->end_ns = std::max({event.begin_ns, event.ready_ns, event.end_ns});
    return track->number;
  }

  void write_name(const char* what, int rank, int track, const std::string& name) {
    begin_record() << R"({"ph":"M","name":")" << what << R"(","pid":)" << rank
                   << ",\"tid\":" << track << ",\"args\":{\"name\":" << quoted(name) << "}}";
  }

  void write_slice(const Slice& slice, const std::string& name, const char* category,
                   std::int64_t begin_ns, std::int64_t end_ns) {
    begin_record() << R"({"ph":"X","name":)" << name << R"(,"cat":")" << category << R"(","pid":)"
                   << slice.rank << ",\"tid\":" << slice.track
                   << ",\"ts\":" << microseconds(begin_ns)
                   << ",\"dur\":" << microseconds(duration(begin_ns, end_ns))
                   << ",\"args\":" << slice.arguments << "}";
  }

  std::ostream& begin_record() { return out_ << (std::exchange(first_, false) ? "\n" : ",\n"); }

  std::ostream& out_;
  const std::vector<OpNames>& names_;
  struct Track {
    int number = 0;
    std::int64_t end_ns = 0;  // end of its last op
  };
  struct Rank {
    std::map<std::string, std::vector<Track>> lanes;
    int tracks = 0;
  };
  std::map<int, Rank> ranks_;
  bool first_ = true;
};

base::Result<void> write_ops(RecordingReader& reader, TraceWriter& trace) {
  for (;;) {
    const auto frame = reader.next();
    if (!frame) return base::fail(frame.error());
    if (!*frame) return {};
    if ((*frame)->type != FrameType::events) continue;
    const auto events = events_of(**frame);
    if (!events) return base::fail(events.error());
    for (const Event& event : *events)
      if (event.kind == EventKind::op) trace.add((*frame)->rank, event);
  }
}

base::Result<void> write_trace(RecordingReader& reader, const std::vector<OpNames>& names,
                               std::ostream& out) {
  TraceWriter trace(out, names);
  return write_ops(reader, trace);
}

}  // namespace

base::Result<void> export_trace(const std::filesystem::path& run_directory,
                                const std::vector<OpNames>& names, std::ostream& out) {
  auto reader = RecordingReader::open(run_directory / kRecordingFile);
  if (!reader) return base::fail(reader.error());
  auto written = write_trace(*reader, names, out);
  out.flush();
  if (!out)
    return base::fail({"export_failed", base::ProblemCode::failed, "export",
                       "cannot write the trace", "",
                       "Free space on the disk, or choose another file."});
  return written;
}

}  // namespace trainyard::telemetry
