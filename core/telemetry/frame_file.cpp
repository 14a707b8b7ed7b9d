// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/frame_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "core/base/json.h"

namespace trainyard::telemetry {
namespace {

constexpr std::size_t kReadBytes = 256u << 10;

ssize_t read_some(int fd, std::span<std::byte> into) {
  ssize_t got = 0;
  do got = ::read(fd, into.data(), into.size());
  while (got < 0 && errno == EINTR);
  return got;
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

base::Problem FrameFile::located(base::Problem problem) const {
  problem.where = fmt::format("{}, byte {}", path_.string(), cursor_);
  return problem;
}

// Makes room for one more read. The buffer_ grows with the bytes read, never with the length that a
// frame claims.
void FrameFile::make_room() {
  if (begin_ > 0) {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= std::exchange(begin_, 0);
  }
  if (buffer_.size() - end_ < kReadBytes) buffer_.resize(std::max(buffer_.size() * 2, kReadBytes));
}

// Returns true once `needed` bytes from the cursor_ on are in the buffer_.
base::Result<bool> FrameFile::fill(std::size_t needed) {
  while (end_ - begin_ < needed) {
    if (buffer_.size() - end_ < kReadBytes / 2) make_room();
    const ssize_t got = read_some(file_.get(), std::span(buffer_).subspan(end_));
    if (got < 0)
      return base::fail(base::system_problem(path_.string(), "cannot read the recording", errno));
    if (got == 0) return false;
    end_ += static_cast<std::size_t>(got);
  }
  return true;
}

base::Result<std::optional<Frame>> FrameFile::peek() {
  if (const auto there = fill(kFrameHeaderBytes); !there || !*there)
    return there.map([](bool) { return std::optional<Frame>(); });
  const auto header = parse_frame_header(std::span(buffer_).subspan(begin_));
  if (!header) return base::fail(located(header.error()));
  const std::size_t size = kFrameOverhead + header->length;
  if (const auto there = fill(size); !there || !*there)
    return there.map([](bool) { return std::optional<Frame>(); });
  const auto payload = payload_of(std::span(buffer_).subspan(begin_, size));
  if (!payload) return base::fail(located(payload.error()));
  return Frame{static_cast<FrameType>(header->type), header->rank, *payload};
}

void FrameFile::skip(const Frame& frame) {
  const std::size_t size = kFrameOverhead + frame.payload.size();
  begin_ += size;
  cursor_ += size;
}

void FrameFile::move_to(std::uint64_t offset) {
  ::lseek(file_.get(), static_cast<off_t>(offset), SEEK_SET);
  begin_ = end_ = 0;
  cursor_ = offset;
}

std::vector<IndexEntry> FrameFile::read_index() {
  struct stat status {};
  std::uint64_t offset = 0;
  constexpr std::uint64_t kTail = sizeof offset + sizeof(std::uint32_t);
  if (::fstat(file_.get(), &status) != 0 || static_cast<std::uint64_t>(status.st_size) < kTail)
    return {};
  const std::uint64_t size = static_cast<std::uint64_t>(status.st_size);
  if (::pread(file_.get(), &offset, sizeof offset, static_cast<off_t>(size - kTail)) !=
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

base::Result<FrameFile> FrameFile::open(const std::filesystem::path& path) {
  base::Descriptor file(::open(
      // O_NONBLOCK: if the file is a named pipe, opening it must not block.
      path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open())
    return base::fail(base::system_problem(path.string(), "cannot open the recording", errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return base::fail(
        unreadable("not_a_file", path.string(), "the recording is not a regular file"));
  FrameFile frames(path, std::move(file));
  const auto first = frames.peek();
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
  return frames;
}

}  // namespace trainyard::telemetry
