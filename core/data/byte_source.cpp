// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/byte_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/units.h"

namespace trainyard::data {
namespace {

using base::fail;
using base::Problem;
using base::ProblemCode;
using base::Result;

constexpr int kGzipOnly = 15 + 16;  // windowBits for inflateInit2: gzip format only.
constexpr char kDownloadAdvice[] =
    "Download or copy the file again. The command gzip --test checks a file.";
constexpr std::uint8_t kMagic[] = {0x1f, 0x8b};

bool begins_gzip(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && std::equal(std::begin(kMagic), std::end(kMagic), bytes.begin());
}

}  // namespace

Problem missing_file(const std::filesystem::path& path, std::string advice) {
  return {"missing_file",   ProblemCode::unavailable, path.string(), "the file does not exist", "",
          std::move(advice)};
}

ByteSource::ByteSource(std::filesystem::path path, std::uint64_t size)
    : path_(std::move(path)),
      size_(size),
      file_(path_, std::ios::binary),
      block_(std::make_unique<std::array<std::uint8_t, 1 << 16>>()) {}

Result<ByteSource> ByteSource::open(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return fail(missing_file(path, ""));
  if (!std::filesystem::is_regular_file(status))
    return fail({"not_a_regular_file", ProblemCode::bad_input, path.string(),
                 "the path is not a regular file", "a file",
                 "Name a file instead of a directory, device or pipe."});
  const auto size = std::filesystem::file_size(path, error);
  if (error)
    return fail({"unreadable_file", ProblemCode::unavailable, path.string(),
                 fmt::format("cannot read the file: {}", error.message()), "",
                 "Check the path and the permissions of the file."});
  ByteSource source(path, size);
  if (!source.file_)
    return fail({"unreadable_file", ProblemCode::unavailable, path.string(),
                 fmt::format("cannot open the file: {}", std::strerror(errno)), "",
                 "Check its permissions."});
  if (size == 0)
    return fail(source.problem("the file is empty", "a file with samples", "Name another file."));
  return source.sniff().map([&] { return std::move(source); });
}

Problem ByteSource::problem(std::string what, std::string accepted, std::string advice) const {
  return {"bad_data_file", ProblemCode::bad_input, path_.string(),
          std::move(what), std::move(accepted),    std::move(advice)};
}

Problem ByteSource::not_read() const {
  return {
      "unreadable_file", ProblemCode::unavailable, path_.string(), "reading the file failed", "",
      "Check the disk."};
}

bool ByteSource::refill() {
  if (!unused_.empty()) return true;
  file_.read(reinterpret_cast<char*>(block_->data()), static_cast<std::streamsize>(block_->size()));
  unused_ = std::span(*block_).first(static_cast<std::size_t>(file_.gcount()));
  return !unused_.empty();
}

Result<void> ByteSource::sniff() {
  refill();
  gzip_ = begins_gzip(unused_);
  if (!gzip_) return {};
  stream_.reset(new z_stream{});
  if (inflateInit2(stream_.get(), kGzipOnly) != Z_OK)
    return fail({"zlib_failed", ProblemCode::failed, path_.string(),
                 "zlib could not be initialized", "", ""});
  return {};
}

Result<std::size_t> ByteSource::read(std::span<std::uint8_t> bytes) {
  return gzip_ ? read_gzip(bytes) : read_plain(bytes);
}

Result<std::string> ByteSource::read_all(std::size_t max_bytes) {
  constexpr std::size_t kStep = std::size_t{1} << 16;
  std::string text;
  while (text.size() <= max_bytes) {
    const std::size_t start = text.size();
    text.resize(start + kStep);
    auto got = read({reinterpret_cast<std::uint8_t*>(text.data()) + start, kStep});
    if (!got) return fail(got.error());
    text.resize(start + *got);
    if (*got < kStep) return text;
  }
  return fail(problem(
      fmt::format("the file has more than {}", base::format_bytes(static_cast<double>(max_bytes))),
      "a smaller file"));
}

Result<std::size_t> ByteSource::read_plain(std::span<std::uint8_t> bytes) {
  std::size_t done = 0;
  while (done < bytes.size() && refill()) {
    const std::size_t count = std::min(unused_.size(), bytes.size() - done);
    std::copy_n(unused_.begin(), count, bytes.begin() + static_cast<std::ptrdiff_t>(done));
    unused_ = unused_.subspan(count);
    done += count;
  }
  if (file_.bad()) return fail(not_read());
  return done;
}

Result<std::size_t> ByteSource::read_gzip(std::span<std::uint8_t> bytes) {
  std::size_t done = 0;
  while (done < bytes.size() && !ended_) {
    if (!refill())
      return fail(file_.bad() ? not_read()
                              : problem("the gzip data ends too early: the file is truncated", "",
                                        kDownloadAdvice));
    const auto room = static_cast<uInt>(std::min<std::size_t>(bytes.size() - done, 1u << 30));
    // zlib declares the pointer non-const, but only reads.
    stream_->next_in = const_cast<Bytef*>(unused_.data());
    stream_->avail_in = static_cast<uInt>(unused_.size());
    stream_->next_out = bytes.data() + done;
    stream_->avail_out = room;
    const int code = inflate(stream_.get(), Z_NO_FLUSH);
    unused_ = unused_.last(stream_->avail_in);
    done += room - stream_->avail_out;
    expanded_ += room - stream_->avail_out;
    if (expanded_ > std::max(kMinExpanded, kMaxExpansion * size_))
      return fail(
          problem(fmt::format("the gzip data expands to more than {} times the size of the file",
                              kMaxExpansion),
                  "a data set", "If the file is what you expect, decompress it with gunzip."));
    if (code == Z_STREAM_END) {
      if (auto next = end_member(); !next) return fail(next.error());
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return fail(problem(std::string("the gzip data is damaged: ") +
                              (stream_->msg != nullptr ? stream_->msg : "zlib gives no reason"),
                          "", kDownloadAdvice));
    }
  }
  return done;
}

// A gzip file may hold several concatenated members, which are read as one. Other bytes after a
// member are an error.
Result<void> ByteSource::end_member() {
  ended_ = !refill();
  if (ended_) return {};
  // The two bytes of the gzip magic number may be in different blocks of the file.
  const bool split = unused_.size() == 1 && unused_[0] == kMagic[0];
  if (!split && !begins_gzip(unused_))
    return fail(problem("bytes follow the end of the gzip data", "",
                        "Decompress the file, and compress it again."));
  inflateReset(stream_.get());
  return {};
}

}  // namespace trainyard::data
