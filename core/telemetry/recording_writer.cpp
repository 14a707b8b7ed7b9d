// SPDX-License-Identifier: GPL-3.0-or-later
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "core/base/descriptor.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/telemetry/frame.h"
#include "core/telemetry/recording.h"

namespace trainyard::telemetry {
namespace {

constexpr std::size_t kBufferedBytes = 1u << 20;

void append_bytes(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

struct RecordingWriter::State {
  State(std::filesystem::path where, base::Descriptor descriptor)
      : path(std::move(where)), file(std::move(descriptor)) {}
  // the destructor ignores a failed flush, because it cannot report it
  ~State() { static_cast<void>(flush()); }

  base::Result<void> append(FrameType type, int rank, std::span<const std::byte> payload);
  base::Result<void> flush();
  base::Result<void> close();
  base::Result<void> restore_if_removed();
  base::Result<void> usable() const;
  base::Result<void> fail_for_good(const char* what, int error_number);
  base::Result<void> append_index();
  void keep_complete_frames();

  std::filesystem::path path;
  base::Descriptor file;
  std::vector<std::byte> buffer;   // Complete frames that are not on disk yet.
  std::uint64_t on_disk = 0;       // Bytes passed to the file system.
  std::vector<IndexEntry> frames;  // Index of all frames, including those still in the buffer.
  std::optional<base::Problem> failure;
};

base::Result<void> RecordingWriter::State::usable() const {
  if (failure) return base::fail(*failure);
  if (!file.is_open())
    return base::fail({"recording_closed", base::ProblemCode::failed, path.string(),
                       "the recording is closed", "", ""});
  return {};
}

base::Result<void> RecordingWriter::State::append(FrameType type, int rank,
                                                  std::span<const std::byte> payload) {
  if (auto ready = usable(); !ready) return ready;
  if (payload.size() > kMaxPayload)
    return base::fail({"frame_too_long", base::ProblemCode::bad_input, path.string(),
                       fmt::format("a frame of {} bytes is too long", payload.size()),
                       fmt::format("at most {} bytes", kMaxPayload), ""});
  const FrameHeader header =
      make_frame_header(static_cast<std::uint32_t>(type), rank, payload.size());
  frames.push_back({on_disk + buffer.size(), header.type, rank});
  append_bytes(buffer, bytes_of(header));
  append_bytes(buffer, payload);
  append_bytes(buffer, bytes_of(base::crc32c(payload)));
  if (buffer.size() < kBufferedBytes) return {};
  return flush();
}

base::Result<void> RecordingWriter::State::flush() {
  if (auto ready = usable(); !ready) return ready;
  std::size_t done = 0;
  while (done < buffer.size()) {
    const ssize_t written = ::write(file.get(), buffer.data() + done, buffer.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int reason = errno;
      on_disk += done;
      keep_complete_frames();
      return fail_for_good("cannot write the recording; everything written before is kept", reason);
    }
    done += static_cast<std::size_t>(written);
  }
  on_disk += done;
  buffer.clear();
  return {};
}

base::Result<void> RecordingWriter::State::fail_for_good(const char* what, int error_number) {
  failure = base::system_problem(path.string(), what, error_number);
  return base::fail(*failure);
}

// The open descriptor still reaches the content of a removed file.
base::Result<void> RecordingWriter::State::restore_if_removed() {
  if (!file.is_open()) return {};
  struct stat open_file {
  }, named{};
  if (::fstat(file.get(), &open_file) != 0) return {};
  if (std::cmp_less(open_file.st_size, on_disk)) {
    failure = {"recording_truncated",
               base::ProblemCode::failed,
               path.string(),
               "another program shortened the recording while the run wrote to it, so a part of it "
               "is lost",
               "",
               "Do not change files of a run before it has ended."};
    return base::fail(*failure);
  }
  if (::stat(path.c_str(), &named) == 0 && named.st_ino == open_file.st_ino &&
      named.st_dev == open_file.st_dev)
    return {};
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    failure = {"recording_replaced",
               base::ProblemCode::failed,
               path.string(),
               "the recording was removed while the run wrote to it, and another file has its "
               "name, so the recording is lost",
               "",
               "Do not change files of a run before it has ended."};
    return base::fail(*failure);
  }
  std::filesystem::create_directories(path.parent_path(), error);
  std::filesystem::copy_file("/proc/self/fd/" + std::to_string(file.get()), path, error);
  base::Descriptor again(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (error || !again.is_open()) return fail_for_good("the recording was removed", ENOENT);
  file = std::move(again);
  return base::fail(
      {"recording_removed", base::ProblemCode::failed, path.parent_path().string(),
       "the run directory, or the recording in it, was removed while the run wrote to "
       "it; the recording was written there again",
       "", "Do not remove a run directory before its run has ended."});
}

// Cuts off the partial frame left by an interrupted write.
void RecordingWriter::State::keep_complete_frames() {
  const auto next =
      std::upper_bound(frames.begin(), frames.end(), on_disk,
                       [](std::uint64_t at, const IndexEntry& frame) { return at < frame.offset; });
  if (next == frames.begin()) return;
  const bool cut = ::ftruncate(file.get(), static_cast<off_t>(std::prev(next)->offset)) == 0;
  // if truncating fails, readers find an incomplete last frame, which they handle
  if (cut) on_disk = std::prev(next)->offset;
}

// Appends the index. Omits it if it is larger than a frame may be: readers then read from front to
// back.
base::Result<void> RecordingWriter::State::append_index() {
  std::vector<std::byte> payload;
  append_bytes(payload, std::as_bytes(std::span(frames)));
  const std::uint64_t own_offset = on_disk + buffer.size();
  append_bytes(payload, bytes_of(own_offset));
  if (payload.size() > kMaxPayload) return {};
  return append(FrameType::index, -1, payload);
}

base::Result<void> RecordingWriter::State::close() {
  if (!failure && !file.is_open()) return {};
  if (auto appended = append_index(); !appended) return appended;
  if (auto flushed = flush(); !flushed) return flushed;
  if (::fsync(file.get()) != 0) return fail_for_good("cannot flush the recording to disk", errno);
  file.close();
  return {};
}

RecordingWriter::RecordingWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
RecordingWriter::RecordingWriter(RecordingWriter&&) noexcept = default;
RecordingWriter& RecordingWriter::operator=(RecordingWriter&&) noexcept = default;
RecordingWriter::~RecordingWriter() = default;

std::string recent_file(int number) { return fmt::format("recording.recent-{}.try", number); }

base::Result<RecordingWriter> RecordingWriter::create(const std::filesystem::path& path,
                                                      base::Json header) {
  base::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file.is_open())
    return base::fail(base::system_problem(path.string(), "cannot create the recording", errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0)
    return base::fail(base::system_problem(path.string(), "cannot create the recording", errno));
  if (status.st_size > 0)
    return base::fail({"recording_exists", base::ProblemCode::refused, path.string(),
                       "the directory already contains a recording", "a new run directory",
                       "Choose another run directory."});
  RecordingWriter writer(std::make_unique<State>(path, std::move(file)));
  header["schema"] = kRecordingSchema;
  if (auto appended = writer.append_json(FrameType::header, -1, header); !appended)
    return base::fail(appended.error());
  if (auto flushed = writer.flush(); !flushed) return base::fail(flushed.error());
  return writer;
}

base::Result<void> RecordingWriter::append(FrameType type, int rank,
                                           std::span<const std::byte> payload) {
  return state_->append(type, rank, payload);
}

base::Result<void> RecordingWriter::append_json(FrameType type, int rank, const base::Json& json) {
  // Replaces bytes that are not UTF-8 (possible in a log line) instead of throwing.
  const std::string text = json.dump(-1, ' ', false, base::Json::error_handler_t::replace);
  return append(type, rank, std::as_bytes(std::span(text)));
}

base::Result<void> RecordingWriter::append_events(int rank, std::span<const Event> events) {
  return append(FrameType::events, rank, std::as_bytes(events));
}

std::uint64_t RecordingWriter::bytes() const { return state_->on_disk + state_->buffer.size(); }
base::Result<void> RecordingWriter::flush() { return state_->flush(); }
base::Result<void> RecordingWriter::restore_if_removed() { return state_->restore_if_removed(); }
base::Result<void> RecordingWriter::close() { return state_->close(); }

}  // namespace trainyard::telemetry
