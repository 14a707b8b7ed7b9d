// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>

#include <algorithm>

#include "core/base/json.h"
#include "core/telemetry/frame_file.h"
#include "core/telemetry/recording.h"
#include "core/telemetry/recording_summary.h"

namespace trainyard::telemetry {
namespace {

// Returns the number in a `recent` frame; 0 if it has none.
int number_in(const Frame& frame) {
  const auto json = json_of(frame);
  const auto number =
      json && json->is_object() ? json->find("number") : base::Json::const_iterator();
  return json && json->is_object() && number != json->end() && number->is_number_integer()
             ? number->get<int>()
             : 0;
}

}  // namespace

struct RecordingReader::State {
  explicit State(FrameFile recording) : main(std::move(recording)) {}

  void enter_recent_file(int next_number);
  base::Result<std::optional<Frame>> peek();

  FrameFile main;
  std::optional<FrameFile> recent;  // File beside the recording that is read instead of it.
  int number = 0;                   // Number of the last mark. The numbers increase.
  // If above 0: frames of the recording are skipped up to the mark with this number, because they
  // were read from another file.
  int skipping_to = 0;
};

// Continues in the file with this number. If the file was removed, continues in the recording,
// after the mark with this number.
void RecordingReader::State::enter_recent_file(int next_number) {
  number = next_number;
  const bool in_main = !recent.has_value();
  auto next = FrameFile::open(main.path().parent_path() / recent_file(number));
  if (next) {
    recent.emplace(std::move(*next));
  } else {
    recent.reset();
    skipping_to = in_main ? 0 : number;
  }
}

base::Result<std::optional<Frame>> RecordingReader::State::peek() {
  for (;;) {
    FrameFile& file = recent ? *recent : main;
    auto frame = file.peek();
    if (!frame || !*frame) return frame;
    const FrameType type = (*frame)->type;
    const int mark = type == FrameType::recent ? number_in(**frame) : 0;
    const bool skipped = !recent && skipping_to > 0;
    const bool is_frame_of_recent_file =
        recent && (type == FrameType::header || type == FrameType::index);
    if (type != FrameType::recent && !skipped && !is_frame_of_recent_file) return frame;
    file.skip(**frame);
    if (skipped && mark == skipping_to) skipping_to = 0;
    else if (!skipped && mark > number) enter_recent_file(mark);
  }
}

RecordingReader::RecordingReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
RecordingReader::RecordingReader(RecordingReader&&) noexcept = default;
RecordingReader& RecordingReader::operator=(RecordingReader&&) noexcept = default;
RecordingReader::~RecordingReader() = default;

base::Result<RecordingReader> RecordingReader::open(const std::filesystem::path& path) {
  return FrameFile::open(path).map(
      [](FrameFile frames) { return RecordingReader(std::make_unique<State>(std::move(frames))); });
}

base::Result<std::optional<Frame>> RecordingReader::next() {
  auto frame = state_->peek();
  if (frame && *frame) (state_->recent ? *state_->recent : state_->main).skip(**frame);
  return frame;
}

std::size_t RecordingReader::unfinished_bytes() const {
  const FrameFile& file = state_->recent ? *state_->recent : state_->main;
  return file.unfinished_bytes();
}

bool RecordingReader::jump_to_last(FrameType type) {
  FrameFile& main = state_->main;
  const std::uint64_t back = main.cursor();
  const auto entries = main.read_index();
  const auto wanted = [&](const IndexEntry& entry) {
    return entry.type == static_cast<std::uint32_t>(type) && entry.offset < main.cursor();
  };
  const auto found = std::find_if(entries.rbegin(), entries.rend(), wanted);
  main.move_to(found == entries.rend() ? back : found->offset);
  if (found == entries.rend()) return false;
  state_->recent.reset();
  state_->skipping_to = 0;
  return true;
}

base::Result<std::vector<Event>> events_of(const Frame& frame) {
  if (frame.payload.size() % sizeof(Event) != 0)
    return base::fail({"bad_recording", base::ProblemCode::bad_input, "recording",
                       fmt::format("an events frame has {} bytes", frame.payload.size()),
                       fmt::format("a multiple of {}", sizeof(Event)), ""});
  return copy_as<Event>(frame.payload);
}

base::Result<std::vector<RankEvent>> rank_events_of(const Frame& frame) {
  if (frame.type == FrameType::metrics) return unpack_metrics(frame.payload);
  return events_of(frame).map([&](const std::vector<Event>& events) {
    std::vector<RankEvent> all;
    all.reserve(events.size());
    for (const Event& event : events) all.push_back({frame.rank, event});
    return all;
  });
}

base::Result<base::Json> json_of(const Frame& frame) {
  return base::parse_json(
      {reinterpret_cast<const char*>(frame.payload.data()), frame.payload.size()}, "recording");
}

namespace {

// Returns the content of the next frame of that type; null JSON if there is none.
base::Result<base::Json> find_json(RecordingReader& reader, FrameType type) {
  for (;;) {
    const auto frame = reader.next();
    if (!frame) return base::fail(frame.error());
    if (!*frame) return base::Json();
    if ((*frame)->type == type) return json_of(**frame);
  }
}

}  // namespace

base::Result<RecordingSummary> read_summary(const std::filesystem::path& run_directory) {
  auto reader = RecordingReader::open(run_directory / kRecordingFile);
  if (!reader) return base::fail(reader.error());
  const auto header = find_json(*reader, FrameType::header);
  if (!header) return base::fail(header.error());
  // if there is no index, the search continues from the current frame
  reader->jump_to_last(FrameType::result);
  const auto result = find_json(*reader, FrameType::result);
  return RecordingSummary{*header, result.value_or(base::Json())};
}

}  // namespace trainyard::telemetry
