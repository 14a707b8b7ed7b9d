// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/descriptor.h"
#include "core/base/json.h"
#include "core/telemetry/frame.h"
#include "core/telemetry/recording.h"
#include "core/telemetry/recording_summary.h"

namespace trainyard::telemetry {
namespace {

constexpr std::size_t kReadBytes = 256u << 10;

ssize_t read_some(int fd, std::span<std::byte> into) {
  ssize_t got = 0;
  do got = ::read(fd, into.data(), into.size());
  while (got < 0 && errno == EINTR);
  return got;
}

// Copies the bytes into values of type T. Ignores an incomplete value at the end. `bytes` may be
// unaligned.
template <class T>
std::vector<T> copy_as(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// Problem of a file that is not a recording and cannot be repaired.
base::Problem unreadable(const char* id, const std::string& where, std::string what) {
  return {id,
          base::ProblemCode::bad_input,
          where,
          std::move(what),
          "a recording written by a run",
          "Choose the directory of another run."};
}

base::Result<void> check_header(const Frame& frame, const std::string& where) {
  if (frame.type != FrameType::header)
    return base::fail(
        unreadable("no_recording_header", where, "the recording does not begin with its header"));
  const auto header = json_of(frame);
  if (!header)
    return base::fail(
        unreadable("bad_recording_header", where,
                   fmt::format("the header of the recording is invalid: {}", header.error().what)));
  const auto schema = header->is_object() ? header->find("schema") : header->end();
  if (schema == header->end() || !schema->is_number_integer() || *schema < 1)
    return base::fail(unreadable("bad_recording_schema", where,
                                 "the header of the recording has no valid schema"));
  if (*schema > kRecordingSchema)
    return base::fail(
        {"newer_recording", base::ProblemCode::refused, where,
         fmt::format("the recording has schema {}, which is newer than this program",
                     schema->dump()),
         fmt::format("schema 1 to {}", kRecordingSchema),
         fmt::format("Open the recording with the version that wrote it (software: {}).",
                     header->value("software", base::Json("unknown")).dump())});
  return {};
}

}  // namespace

// Buffered part of the file, from `cursor` on. Bytes [begin, end) of `buffer` were read from the
// file but not returned yet.
struct RecordingReader::State {
  State(std::filesystem::path where, base::Descriptor descriptor)
      : path(std::move(where)), file(std::move(descriptor)) {}

  base::Result<std::optional<Frame>> peek();
  base::Result<bool> fill(std::size_t needed);
  void make_room();
  void move_to(std::uint64_t offset);
  std::vector<IndexEntry> read_index();
  base::Problem located(base::Problem problem) const;

  std::filesystem::path path;
  base::Descriptor file;
  std::vector<std::byte> buffer;
  std::size_t begin = 0, end = 0;
  std::uint64_t cursor = 0;  // File offset of buffer[begin].
};

base::Problem RecordingReader::State::located(base::Problem problem) const {
  problem.where = fmt::format("{}, byte {}", path.string(), cursor);
  return problem;
}

// Makes room for one more read. The buffer grows with the bytes read, never with the length that a
// frame claims.
void RecordingReader::State::make_room() {
  if (begin > 0) {
    std::copy(buffer.begin() + static_cast<std::ptrdiff_t>(begin),
              buffer.begin() + static_cast<std::ptrdiff_t>(end), buffer.begin());
    end -= std::exchange(begin, 0);
  }
  if (buffer.size() - end < kReadBytes) buffer.resize(std::max(buffer.size() * 2, kReadBytes));
}

// Returns true once `needed` bytes from the cursor on are in the buffer.
base::Result<bool> RecordingReader::State::fill(std::size_t needed) {
  while (end - begin < needed) {
    if (buffer.size() - end < kReadBytes / 2) make_room();
    const ssize_t got = read_some(file.get(), std::span(buffer).subspan(end));
    if (got < 0)
      return base::fail(base::system_problem(path.string(), "cannot read the recording", errno));
    if (got == 0) return false;
    end += static_cast<std::size_t>(got);
  }
  return true;
}

// Returns the complete frame at the cursor without moving it.
base::Result<std::optional<Frame>> RecordingReader::State::peek() {
  if (const auto there = fill(kFrameHeaderBytes); !there || !*there)
    return there.map([](bool) { return std::optional<Frame>(); });
  const auto header = parse_frame_header(std::span(buffer).subspan(begin));
  if (!header) return base::fail(located(header.error()));
  const std::size_t size = kFrameOverhead + header->length;
  if (const auto there = fill(size); !there || !*there)
    return there.map([](bool) { return std::optional<Frame>(); });
  const auto payload = payload_of(std::span(buffer).subspan(begin, size));
  if (!payload) return base::fail(located(payload.error()));
  return Frame{static_cast<FrameType>(header->type), header->rank, *payload};
}

void RecordingReader::State::move_to(std::uint64_t offset) {
  ::lseek(file.get(), static_cast<off_t>(offset), SEEK_SET);
  begin = end = 0;
  cursor = offset;
}

// Reads the index, which is the last frame of a closed recording; the file ends with the frame's
// offset and its checksum. Returns an empty list if there is no index. Moves the cursor, to the
// index if there is one.
std::vector<IndexEntry> RecordingReader::State::read_index() {
  struct stat status {};
  std::uint64_t offset = 0;
  constexpr std::uint64_t kTail = sizeof offset + sizeof(std::uint32_t);
  if (::fstat(file.get(), &status) != 0 || static_cast<std::uint64_t>(status.st_size) < kTail)
    return {};
  const std::uint64_t size = static_cast<std::uint64_t>(status.st_size);
  if (::pread(file.get(), &offset, sizeof offset, static_cast<off_t>(size - kTail)) !=
          sizeof offset ||
      offset >= size)
    return {};
  move_to(offset);
  const auto frame = peek();
  if (!frame || !*frame || (*frame)->type != FrameType::index ||
      offset + kFrameOverhead + (*frame)->payload.size() != size)
    return {};
  return copy_as<IndexEntry>((*frame)->payload);
}

RecordingReader::RecordingReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
RecordingReader::RecordingReader(RecordingReader&&) noexcept = default;
RecordingReader& RecordingReader::operator=(RecordingReader&&) noexcept = default;
RecordingReader::~RecordingReader() = default;

base::Result<RecordingReader> RecordingReader::open(const std::filesystem::path& path) {
  base::Descriptor file(::open(
      // O_NONBLOCK: if the file is a named pipe, opening it must not block.
      path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open())
    return base::fail(base::system_problem(path.string(), "cannot open the recording", errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return base::fail(
        unreadable("not_a_file", path.string(), "the recording is not a regular file"));
  auto state = std::make_unique<State>(path, std::move(file));
  const auto first = state->peek();
  if (!first)
    return base::fail(
        unreadable("not_a_recording", path.string(),
                   fmt::format("the file is not a recording: {}", first.error().what)));
  if (!*first)
    return base::fail({"recording_incomplete", base::ProblemCode::bad_input, path.string(),
                       "the recording ends within its header", "",
                       "If the run has only just started, try again in a moment."});
  if (const auto accepted = check_header(**first, path.string()); !accepted)
    return base::fail(accepted.error());
  return RecordingReader(std::move(state));
}

base::Result<std::optional<Frame>> RecordingReader::next() {
  auto frame = state_->peek();
  if (!frame || !*frame) return frame;
  const std::size_t size = kFrameOverhead + (*frame)->payload.size();
  state_->begin += size;
  state_->cursor += size;
  return frame;
}

std::size_t RecordingReader::unfinished_bytes() const { return state_->end - state_->begin; }

bool RecordingReader::jump_to_last(FrameType type) {
  const std::uint64_t back = state_->cursor;
  const auto entries = state_->read_index();
  const auto wanted = [&](const IndexEntry& entry) {
    return entry.type == static_cast<std::uint32_t>(type) && entry.offset < state_->cursor;
  };
  const auto found = std::find_if(entries.rbegin(), entries.rend(), wanted);
  state_->move_to(found == entries.rend() ? back : found->offset);
  return found != entries.rend();
}

base::Result<std::vector<Event>> events_of(const Frame& frame) {
  if (frame.payload.size() % sizeof(Event) != 0)
    return base::fail({"bad_recording", base::ProblemCode::bad_input, "recording",
                       fmt::format("an events frame has {} bytes", frame.payload.size()),
                       fmt::format("a multiple of {}", sizeof(Event)), ""});
  return copy_as<Event>(frame.payload);
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
