// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/base/json.h"
#include "core/telemetry/frame.h"
#include "core/telemetry/recording_summary.h"
#include "tests/core/telemetry/support.h"
#include "tests/problem_matchers.h"

namespace trainyard::telemetry {
namespace {

using testing::HasSubstr;

std::string error_of_open(const std::filesystem::path& path) {
  const auto reader = RecordingReader::open(path);
  return reader ? "" : reader.error().id;
}

TEST(Recording, returns_every_frame_in_order) {
  const TemporaryDirectory directory;
  write_small_recording(directory.recording());
  const Read read = read_all(directory.recording());
  EXPECT_EQ(read.problem, "");
  std::vector<FrameType> types;
  for (const FrameCopy& frame : read.frames) types.push_back(frame.type);
  EXPECT_EQ(types, (std::vector{FrameType::header, FrameType::plan, FrameType::log,
                                FrameType::events, FrameType::events, FrameType::samples,
                                FrameType::state, FrameType::result, FrameType::index}));
  EXPECT_EQ(read.frames[1], (FrameCopy{FrameType::plan, 0, "program train\n"}));
  EXPECT_EQ(read.frames[2].rank, 1);
}

TEST(Recording, returns_events_and_json_as_written) {
  const TemporaryDirectory directory;
  write_small_recording(directory.recording());
  auto reader = RecordingReader::open(directory.recording());
  ASSERT_TRUE(reader);
  const auto header = json_of(**reader->next());
  ASSERT_TRUE(header);
  EXPECT_EQ(header->at("schema"), kRecordingSchema);
  EXPECT_EQ(header->at("run"), "r1");
  reader->next().value();
  reader->next().value();
  const auto events = events_of(**reader->next());
  ASSERT_TRUE(events);
  ASSERT_EQ(events->size(), 3u);
  EXPECT_EQ(events->at(0).ready_ns, 20);
  EXPECT_EQ(events->at(1).value, 4);
}

TEST(Recording, returns_frames_larger_than_the_read_buffer) {
  const TemporaryDirectory directory;
  std::vector<FrameCopy> expected;
  {
    auto writer = RecordingWriter::create(directory.recording(), small_header());
    ASSERT_TRUE(writer);
    for (const std::size_t size : {0u, 1u, 700'000u, 3'000'000u, 17u, 262'144u}) {
      expected.push_back(
          {FrameType::samples, 3, std::string(size, static_cast<char>('a' + expected.size()))});
      ASSERT_TRUE(
          writer->append(FrameType::samples, 3, std::as_bytes(std::span(expected.back().payload))));
    }
  }  // not closed: a writer that goes away leaves all that it was given
  Read read = read_all(directory.recording());
  EXPECT_EQ(read.problem, "");
  read.frames.erase(read.frames.begin());
  EXPECT_TRUE(read.frames == expected);
}

TEST(Recording, reader_follows_a_writer) {
  const TemporaryDirectory directory;
  auto writer = RecordingWriter::create(directory.recording(), small_header());
  ASSERT_TRUE(writer);
  auto reader = RecordingReader::open(directory.recording());
  ASSERT_TRUE(reader);
  EXPECT_EQ(read_all(*reader).frames.size(), 1u);
  EXPECT_FALSE(*reader->next());
  for (int step = 0; step < 100; ++step) {
    ASSERT_TRUE(writer->append_events(0, std::vector{metric(Metric::samples, step, step, 0)}));
    EXPECT_FALSE(*reader->next()) << "buffered, not written";
    ASSERT_TRUE(writer->flush());
    const auto frame = reader->next();
    ASSERT_TRUE(frame && *frame);
    EXPECT_EQ(events_of(**frame)->at(0).step, step);
  }
}

TEST(Recording, returns_a_frame_when_its_last_byte_is_written) {
  const TemporaryDirectory whole, growing;
  write_small_recording(whole.recording());
  const std::string bytes = file_bytes(whole.recording());
  const Read expected = read_all(whole.recording());
  const std::size_t header = kFrameOverhead + expected.frames[0].payload.size();
  write_bytes(growing.recording(), bytes.substr(0, header));
  auto reader = RecordingReader::open(growing.recording());
  ASSERT_TRUE(reader);
  std::vector<FrameCopy> frames;
  std::size_t whole_at = 0;
  for (std::size_t size = header; size <= bytes.size(); ++size) {
    if (size > header) append_bytes(growing.recording(), bytes.substr(size - 1, 1));
    const Read read = read_all(*reader);
    ASSERT_EQ(read.problem, "");
    ASSERT_LE(read.frames.size(), 1u);
    frames.insert(frames.end(), read.frames.begin(), read.frames.end());
    if (!read.frames.empty()) whole_at = size;
    EXPECT_EQ(reader->unfinished_bytes(), size - whole_at);
  }
  EXPECT_TRUE(frames == expected.frames);
}

TEST(Recording, loses_only_a_truncated_tail) {
  const TemporaryDirectory whole, torn;
  write_small_recording(whole.recording());
  const std::string bytes = file_bytes(whole.recording());
  const Read expected = read_all(whole.recording());
  std::size_t kept = 0, end_of_next = kFrameOverhead + expected.frames[0].payload.size();
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    if (size == end_of_next) {
      ++kept;
      end_of_next +=
          kept < expected.frames.size() ? kFrameOverhead + expected.frames[kept].payload.size() : 1;
    }
    write_bytes(torn.recording(), bytes.substr(0, size));
    const Read read = read_all(torn.recording());
    ASSERT_EQ(read.problem.empty(), kept > 0)
        << size << ": " << read.problem;  // without its header it is no recording
    ASSERT_TRUE(read.frames ==
                std::vector(expected.frames.begin(),
                            expected.frames.begin() + static_cast<std::ptrdiff_t>(kept)))
        << size;
  }
  EXPECT_EQ(kept, expected.frames.size());
}

TEST(Recording, refuses_any_flipped_byte) {
  const TemporaryDirectory whole, flipped;
  write_small_recording(whole.recording());
  const std::string bytes = file_bytes(whole.recording());
  const Read expected = read_all(whole.recording());
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (const int mask : {0x01, 0x80, 0xFF}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ mask);
      write_bytes(flipped.recording(), damaged);
      const Read read = read_all(flipped.recording());
      ASSERT_NE(read.problem, "") << "byte " << at << " mask " << mask;
      ASSERT_LT(read.frames.size(), expected.frames.size());
      ASSERT_TRUE(std::equal(read.frames.begin(), read.frames.end(), expected.frames.begin()))
          << at;
    }
}

TEST(Recording, reports_a_damaged_frame_and_its_position_repeatedly) {
  const TemporaryDirectory directory;
  write_small_recording(directory.recording());
  std::string bytes = file_bytes(directory.recording());
  const std::size_t second =
      kFrameOverhead + read_all(directory.recording()).frames[0].payload.size();
  bytes[second + kFrameHeaderBytes] ^= 1;
  write_bytes(directory.recording(), bytes);
  auto reader = RecordingReader::open(directory.recording());
  ASSERT_TRUE(reader);
  ASSERT_TRUE(*reader->next());
  for (int again = 0; again < 2; ++again) {
    const auto frame = reader->next();
    ASSERT_FALSE(frame);
    EXPECT_THAT(frame.error().where, HasSubstr("byte " + std::to_string(second)));
    EXPECT_EQ(frame.error().id, "bad_frame_content");
  }
}

TEST(Recording, refuses_a_huge_frame_length_immediately) {
  const TemporaryDirectory directory;
  const FrameHeader header = make_frame_header(3, 0, kMaxPayload + 1);
  const std::string header_frame = frame_bytes(1, -1, R"({"schema":1})");
  write_bytes(directory.recording(),
              header_frame + std::string(reinterpret_cast<const char*>(&header), sizeof header));
  const Read read = read_all(directory.recording());
  EXPECT_EQ(read.frames.size(), 1u);
  EXPECT_THAT(read.problem, HasSubstr("67108865"));
}

TEST(Recording, allocates_no_memory_for_a_claimed_length_before_the_bytes_exist) {
  const TemporaryDirectory directory;
  const FrameHeader header = make_frame_header(3, 0, kMaxPayload);
  write_bytes(directory.recording(),
              frame_bytes(1, -1, R"({"schema":1})") +
                  std::string(reinterpret_cast<const char*>(&header), sizeof header));
  const Read read = read_all(directory.recording());
  EXPECT_EQ(read.frames.size(), 1u);
  EXPECT_EQ(read.problem, "");
}

TEST(Recording, does_not_write_a_payload_over_the_limit) {
  const TemporaryDirectory directory;
  auto writer = RecordingWriter::create(directory.recording(), small_header());
  ASSERT_TRUE(writer);
  const std::vector<std::byte> huge(kMaxPayload + 1);
  EXPECT_FALSE(writer->append(FrameType::samples, 0, huge));
  ASSERT_TRUE(writer->append(FrameType::samples, 0, {}));
  ASSERT_TRUE(writer->close());
  EXPECT_EQ(read_all(directory.recording()).frames.size(), 3u);
}

TEST(Recording, refuses_files_that_are_not_recordings) {
  const TemporaryDirectory directory;
  const auto missing = RecordingReader::open(directory.recording());
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error(),
              testing::AllOf(base::IsProblem("missing_file", directory.recording().string()),
                             base::Reports(std::strerror(ENOENT))));
  EXPECT_EQ(error_of_open(directory.path()), "not_a_file");
  write_bytes(directory.recording(), "");
  EXPECT_EQ(error_of_open(directory.recording()), "recording_incomplete");
  write_bytes(directory.recording(), "PK\x03\x04, which is a zip file and not one of ours");
  EXPECT_EQ(error_of_open(directory.recording()), "not_a_recording");
  write_bytes(directory.recording(), frame_bytes(3, 0, ""));
  EXPECT_EQ(error_of_open(directory.recording()), "no_recording_header");
  write_bytes(directory.recording(), frame_bytes(1, -1, "{"));
  EXPECT_EQ(error_of_open(directory.recording()), "bad_recording_header");
  for (const char* header : {"[1]", "{}", R"({"schema":"1"})", R"({"schema":0})"}) {
    write_bytes(directory.recording(), frame_bytes(1, -1, header));
    EXPECT_EQ(error_of_open(directory.recording()), "bad_recording_schema") << header;
  }
}

TEST(Recording, refuses_a_newer_schema_and_names_its_software) {
  const TemporaryDirectory directory;
  write_bytes(directory.recording(), frame_bytes(1, -1, R"({"schema":2,"software":"9.1"})"));
  const auto reader = RecordingReader::open(directory.recording());
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, base::ProblemCode::refused);
  EXPECT_THAT(reader.error(),
              testing::AllOf(base::IsProblem("newer_recording", directory.recording().string()),
                             base::Reports("schema 2"), base::Advises("9.1")));
}

TEST(Recording, never_overwrites_a_recording) {
  const TemporaryDirectory directory;
  write_small_recording(directory.recording());
  const std::string before = file_bytes(directory.recording());
  const auto writer = RecordingWriter::create(directory.recording(), small_header());
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code, base::ProblemCode::refused);
  EXPECT_EQ(file_bytes(directory.recording()), before);
}

TEST(Recording, reports_a_directory_that_cannot_be_written) {
  const auto writer = RecordingWriter::create("/proc/self/recording.try", small_header());
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().id, "missing_file");
  EXPECT_EQ(writer.error().where, "/proc/self/recording.try");
}

TEST(Recording, reports_a_full_disk) {
  const auto writer = RecordingWriter::create("/dev/full", small_header());
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().id, "no_space");
}

// No file may grow beyond some bytes while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_limit_);
    const rlimit limit{bytes, old_limit_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::signal(SIGXFSZ, old_handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit old_limit_{};
  void (*old_handler_)(int) = nullptr;
};

TEST(Recording, keeps_complete_frames_when_the_disk_fills_up) {
  const TemporaryDirectory directory;
  auto writer = RecordingWriter::create(directory.recording(), small_header());
  ASSERT_TRUE(writer);
  const std::string payload(1000, 'x');
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(writer->append(FrameType::samples, i, std::as_bytes(std::span(payload))));
  {
    const FileSizeLimit limit(5000);
    const auto flushed = writer->flush();
    ASSERT_FALSE(flushed);
    EXPECT_EQ(flushed.error().id, "file_size_limit");
    EXPECT_EQ(flushed.error().where, directory.recording().string());
  }
  EXPECT_FALSE(writer->append(FrameType::samples, 0, {}));
  EXPECT_FALSE(writer->flush());
  EXPECT_FALSE(writer->close());
  auto reader = RecordingReader::open(directory.recording());
  ASSERT_TRUE(reader);
  const Read read = read_all(*reader);
  EXPECT_EQ(read.problem, "");
  EXPECT_EQ(read.frames.size(), 5u);  // the header and four of 1,024 bytes
  EXPECT_EQ(reader->unfinished_bytes(), 0u);
}

TEST(Recording, appends_nothing_after_close) {
  const TemporaryDirectory directory;
  auto writer = RecordingWriter::create(directory.recording(), small_header());
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->close());
  EXPECT_FALSE(writer->append(FrameType::samples, 0, {}));
  EXPECT_TRUE(writer->close());
  EXPECT_EQ(read_all(directory.recording()).frames.size(), 2u);
}

TEST(Recording, index_locates_the_last_frame_of_a_type) {
  const TemporaryDirectory directory;
  write_small_recording(directory.recording());
  auto reader = RecordingReader::open(directory.recording());
  ASSERT_TRUE(reader);
  ASSERT_TRUE(reader->jump_to_last(FrameType::events));
  const auto frame = reader->next();
  ASSERT_TRUE(frame && *frame);
  EXPECT_EQ((*frame)->type, FrameType::events);
  EXPECT_EQ((*frame)->rank, 1);
  EXPECT_EQ((*reader->next())->type, FrameType::samples);
}

TEST(Recording, cursor_does_not_move_without_an_index) {
  const TemporaryDirectory directory;
  write_small_recording(directory.recording());
  std::string bytes = file_bytes(directory.recording());
  for (const std::size_t missing : {1u, 100u, 400u}) {
    write_bytes(directory.recording(), bytes.substr(0, bytes.size() - missing));
    auto reader = RecordingReader::open(directory.recording());
    ASSERT_TRUE(reader);
    ASSERT_TRUE(*reader->next());
    EXPECT_FALSE(reader->jump_to_last(FrameType::events));
    EXPECT_EQ((*reader->next())->type, FrameType::plan);
  }
}

TEST(Recording, summary_has_header_and_result_with_and_without_an_index) {
  const TemporaryDirectory directory;
  write_small_recording(directory.recording());
  const std::string bytes = file_bytes(directory.recording());
  for (const std::size_t missing : {0u, 1u}) {
    write_bytes(directory.recording(), bytes.substr(0, bytes.size() - missing));
    const auto seen = read_summary(directory.path());
    ASSERT_TRUE(seen) << base::to_string(seen.error());
    EXPECT_EQ(seen->header.at("run"), "r1");
    EXPECT_EQ(seen->result.at("status"), "completed");
  }
}

TEST(Recording, summary_of_an_unfinished_run_has_no_result) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(RecordingWriter::create(directory.recording(), small_header()));
  const auto seen = read_summary(directory.path());
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->result.is_null());
}

TEST(Recording, replaces_invalid_utf8_in_log_text) {
  const TemporaryDirectory directory;
  auto writer = RecordingWriter::create(directory.recording(), small_header());
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->append_json(FrameType::log, 0, {{"text", "bad \xFF byte"}}));
  ASSERT_TRUE(writer->close());
  EXPECT_EQ(read_all(directory.recording()).frames[1].payload,
            "{\"text\":\"bad \xEF\xBF\xBD byte\"}");
}

}  // namespace
}  // namespace trainyard::telemetry
